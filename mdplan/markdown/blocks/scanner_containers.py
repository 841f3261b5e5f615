"""Where quotes and lists end at the root of a document.

A container is not looked into: it is enough to find a line that stands outside of it for certain, whatever is
inside. Where a line can be a lazy continuation of a paragraph (CommonMark 0.31.2, sections 5.1 and 5.2), the
reference pass decides, for as many lines as it takes to come to a place that is certain.

Offsets are those of line ends in the padded text of `scanner_lines`; each stands for the line behind it.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from mdplan.markdown.blocks.parse_time import in_time
from mdplan.markdown.blocks.scanner_html import ending_of, is_named
from mdplan.markdown.blocks.scanner_lines import (
    BLANK,
    BLANKS,
    INTERRUPTER,
    INTERRUPTING,
    ITEM,
    QUOTE_HAS_ENDED,
    QUOTE_LINES,
)

# Where the root blocks of some whole lines start, that begin at the root.
RootStarts = Callable[[int, int], list[int]]

_HTML: Final = re.compile(r"\n {0,3}(<[A-Za-z/!?][^\n]*)")
_TABBED: Final = re.compile(r"\n *\t")
_CODE_FROM: Final = 5
_FIRST_WINDOW: Final = 4


def interrupts(text: str, at: int) -> bool:
    """Whether the line at `at` ends whatever container it does not belong to, paragraphs in it included."""
    if INTERRUPTER.match(text, at):
        return True
    tag = _HTML.match(text, at)
    return tag is not None and (ending_of(tag[1]) is not None or is_named(tag[1]))


def quote_end(text: str, start: int, end: int, root_starts: RootStarts) -> int:
    """End of the quote that starts at `start`; `end` is that of the text."""
    lines = QUOTE_LINES.match(text, start)
    assert lines is not None
    at = lines.end()
    if at >= end or BLANK.match(text, at) or interrupts(text, at):
        return min(at, end)
    # Most quotes end soon, and the parser looks at all lines that there are, for each quote again.
    window = _FIRST_WINDOW
    while True:
        seen = _lines_on(text, at, window, end)
        certain = QUOTE_HAS_ENDED.search(text, at + 1, seen + (seen == end))
        stop = certain.start() if certain else seen
        starts = root_starts(start, stop)
        if certain or seen == end:
            return starts[1] if len(starts) > 1 else stop
        if len(starts) > 1 and starts[1] < text.rfind("\n", start, seen):
            return starts[1]
        window *= 4


def _lines_on(text: str, at: int, count: int, stop: int) -> int:
    """Offset that is `count` lines behind `at`, or `stop` when that comes first."""
    for _ in range(count):
        at = text.find("\n", at + 1, stop)
        if at < 0:
            return stop
    return at


def list_end(text: str, start: int, end: int, root_starts: RootStarts) -> int:
    """End of the lists that follow each other from `start` on; blank lines behind them are included."""
    at = start
    while at < end and (item := ITEM.match(text, at)) is not None:
        in_time()
        at = _item_end(text, item, end, root_starts)
    return at


def _item_end(text: str, item: re.Match[str], end: int, root_starts: RootStarts) -> int:
    """End of `item` and of those behind it that look like it."""
    start, content = item.span()
    if item.lastgroup is not None:
        offset = content - start - 1
    else:
        line_end = text.find("\n", content)
        if text[content:line_end].strip(" \t"):
            offset = _content_offset(text, item)
        elif BLANK.match(text, line_end):
            # An item that begins with a blank line has no second one.
            blanks = BLANKS.match(text, line_end)
            assert blanks is not None
            return min(blanks.end(), end)
        else:
            offset = content - start
    outside = _outside(offset).search(text, content)
    if outside is None or (at := outside.start()) >= end:
        return end
    if _is_new_behind_blank(text, at) or interrupts(text, at):
        return at
    certain = _certain(offset).search(text, at + 1)
    stop = end if certain is None else min(certain.end(), end)
    starts = root_starts(start, stop)
    return starts[1] if len(starts) > 1 else stop


def _content_offset(text: str, item: re.Match[str]) -> int:
    """Column at which the content of `item`, which has some on its first line, begins."""
    marker = column = item.end() - item.start() - 1
    at = item.end()
    while (character := text[at]) in " \t":
        column += 4 - column % 4 if character == "\t" else 1
        at += 1
    # What is indented by five columns or more is code, one column behind the marker.
    return column if column - marker < _CODE_FROM else marker + 1


def _is_new_behind_blank(text: str, at: int) -> bool:
    """Whether the line at `at` follows a blank one, and no tab hides how far it is indented."""
    follows_blank = text[at - 1] == "\n" or not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")
    return follows_blank and not _TABBED.match(text, at)


@cache
def _outside(offset: int) -> re.Pattern[str]:
    """The next line that is not indented up to `offset`, and begins no item with content at that offset.

    Behind such an item the same lines are outside. Items are told from rules and from items without content.
    """
    fewer = rf"\n(?= {{0,{offset - 1}}}[^ \t\n])"
    if offset > 4:
        # A tab can go as far or not.
        return re.compile(rf"\n(?= {{0,{offset - 1}}}[^ \n])(?=[ \t]*+[^ \t\n])")
    items = []
    for indentation in range(offset - 1):
        for blanks in range(1, offset - indentation):
            width = offset - indentation - blanks
            if width == 1:
                items.append(rf" {{{indentation}}}[-+*] {{{blanks}}}")
            else:
                items.append(rf" {{{indentation}}}[0-9]{{{width - 1}}}[.)] {{{blanks}}}")
    return re.compile(rf"{fewer}(?!(?:{'|'.join(items)})(?=[^ \t\n])(?![-*][-* \t]*+\n))")


@cache
def _certain(offset: int) -> re.Pattern[str]:
    """The end of this pattern is a place at which an item with content at `offset` has ended for certain."""
    return re.compile(
        rf"\n[ \t]*+(?=\n {{0,{offset - 1}}}[^ \t\n])"
        rf"|(?=\n {{0,{min(offset - 1, 3)}}}[^ \t\n])(?={INTERRUPTING})"
    )
