"""Lines inside quotes and list items: where their own text starts, and what new lines next to them need."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind, BlockTree
from mdplan.text.line_end_view import common_start
from mdplan.text.lines import LineIndex

MARKER: Final = re.compile(r"[-+*]|\d{1,9}[.)]")
# GitHub's footnotes; their further lines are indented by four columns.
_FOOTNOTE_MARKER: Final = re.compile(r"\[\^[^\]]+\]:")
_WITH_MARKER: Final = frozenset({BlockKind.LIST_ITEM, BlockKind.FOOTNOTE})
_WHITE: Final = re.compile(r"[ \t]*")
_QUOTE_MARKS: Final = re.compile(r"[ \t]*>")
_MARK_OF_ITEM: Final = re.compile(r"[^ \t>]")
_TAB_STOP: Final = 4


@dataclass(frozen=True, slots=True)
class _Walk:
    """How far the marks of containers go in a line: `at` is after them, `prefix` repeats them."""

    at: int
    prefix: str


@dataclass(frozen=True, slots=True)
class Containers:
    """The quotes, list items and footnotes around a block: the innermost `block`, and those `outer` of it.

    Without a block there are none. CommonMark 0.31.2, sections 5.1 and 5.2.
    """

    block: Block | None = None
    outer: "Containers | None" = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All of them, outermost first."""
        found: list[Block] = []
        here: Containers | None = self
        while here is not None and here.block is not None:
            found.append(here.block)
            here = here.outer
        return tuple(reversed(found))

    def text_start(self, text: str, lines: LineIndex, line: int) -> int | None:
        """Offset of the first character of `line` (1-based) after the containers' marks and white space.

        None where a mark is missing: the line is a lazy continuation, or not inside these containers.
        """
        walk = self._walk(text, lines, line)
        return None if walk is None else walk.at

    def prefix(self, text: str, lines: LineIndex, line: int) -> str | None:
        """What a new line needs so that its text is in the containers, and in the column, of `line`.

        Marks of quotes are repeated; markers of list items that start in `line` become spaces.
        """
        walk = self._walk(text, lines, line)
        return None if walk is None else walk.prefix

    def is_blank(self, text: str, lines: LineIndex, line: int) -> bool:
        """Whether `line` holds nothing but marks of the quotes around."""
        at, end = lines.start(line), lines.content_end(line)
        for block in self.blocks:
            mark = _QUOTE_MARKS.match(text, at, end) if block.kind is BlockKind.QUOTE else None
            at = mark.end() if mark else at
        return not text[at:end].strip(" \t")

    def share_line(self, line: int) -> bool:
        """Whether one of them is a list item or footnote whose marker is in `line`."""
        return any(block.kind in _WITH_MARKER and block.first_line == line for block in self.blocks)

    def _walk(self, text: str, lines: LineIndex, line: int) -> _Walk | None:
        at, end = lines.start(line), lines.content_end(line)
        prefix = ""
        for block in self.blocks:
            start = _behind_white(text, at, end)
            if block.kind is BlockKind.QUOTE:
                if text[start : start + 1] != ">" or start >= end:
                    return None
                prefix += text[at : start + 1]
                at = start + 1
            elif block.first_line == line:
                is_footnote = block.kind is BlockKind.FOOTNOTE
                marker = (_FOOTNOTE_MARKER if is_footnote else MARKER).match(text, start, end)
                if marker is None:
                    return None
                prefix += text[at:start] + " " * (_TAB_STOP if is_footnote else len(marker[0]))
                at = marker.end()
        start = _behind_white(text, at, end)
        return _Walk(start, prefix + text[at:start])


def blocks_with_containers(tree: BlockTree) -> Iterator[tuple[Block, Containers]]:
    """All blocks in document order, with the quotes and list items around each."""
    # Those around the blocks of each depth: a list has none of its own, its items have.
    around = [Containers()]
    for block in tree.blocks:
        del around[block.depth + 1 :]
        yield block, around[-1]
        if block.kind is BlockKind.QUOTE or block.kind in _WITH_MARKER:
            around.append(Containers(block, around[-1]))
        elif block.kind is BlockKind.LIST:
            around.append(around[-1])


def prefix_after(first: str) -> str:
    """What the lines after a block's first one begin with, where its own begins with `first`.

    `first` is what is before the text of the block: indentation, the marks of quotes, which every line
    repeats, and those of list items, in whose place blanks are (CommonMark 0.31.2, sections 5.1 and 5.2).
    """
    return _MARK_OF_ITEM.sub(" ", first)


def with_prefix(prefix: str, line: str) -> str:
    """`line` after `prefix`; an empty one gets no blanks at its end."""
    if not line:
        return prefix.rstrip(" \t")
    # One blank after the mark of a quote belongs to the mark.
    return f"{prefix} {line}" if prefix.endswith(">") and line[0] in " \t" else prefix + line


def without_prefix(prefix: str, line: str) -> str:
    """`line` without what it has of `prefix`; a line may have less of it than others."""
    return line[common_start(prefix, line) :]


def width_of(prefix: str) -> int:
    """Columns that `prefix`, which starts a line, takes: tabs go to the next multiple of 4.

    CommonMark 0.31.2, section 2.2.
    """
    width = 0
    for character in prefix:
        width += _TAB_STOP - width % _TAB_STOP if character == "\t" else 1
    return width


def _behind_white(text: str, at: int, end: int) -> int:
    white = _WHITE.match(text, at, end)
    assert white is not None, "it matches nothing too"
    return white.end()
