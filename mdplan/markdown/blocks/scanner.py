"""The root of a document in one pass over its text: which lines are what, without looking into anything.

At the root of a document the parser remembers nothing: what a line begins is told by the lines from there on.
So one search for the next line that can begin something (`scanner_lines.START`) takes the place of trying
all rules on all lines. What is left to the reference pass are paragraphs that a later line can turn into
something else while they may be a table or a definition, and lazy lines (`scanner_containers`).

It is exact: the blocks are those of the reference pass, or there is no scan (`None`) and that pass is taken.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

from mdplan.markdown.blocks.block import ENDED_BY_BLANK_LINES, BlockKind
from mdplan.markdown.blocks.block_pass import pass_roots
from mdplan.markdown.blocks.parse_time import look_at_time
from mdplan.markdown.blocks.scanner_containers import list_end, quote_end
from mdplan.markdown.blocks.scanner_html import ending_of, is_named, is_tag_alone
from mdplan.markdown.blocks.scanner_lines import (
    BLANK,
    BLANKS,
    BRACKET,
    CODE_LINES,
    DEEP,
    DELIMITER_ROW,
    HEADING_LINE,
    NESTED_HEADING,
    START,
)

# Stretches that are found between looks at the time.
_BETWEEN_LOOKS: Final = 256


class Form(Enum):
    """What a stretch of lines is."""

    # One block each.
    ATX = auto()
    SETEXT = auto()
    RULE = auto()
    FENCE = auto()
    CODE = auto()
    HTML = auto()
    # Paragraphs, tables and definitions.
    TEXT = auto()
    # A quote, or lists that follow each other, without headings.
    CONTAINERS = auto()
    # Root blocks, of which only the reference pass knows what they are and whether they hold headings.
    UNKNOWN = auto()


# Looking up a member of an enumeration costs as much as a search does.
_ATX: Final = Form.ATX
_TEXT: Final = Form.TEXT
# A form, start and end.
_Taken: TypeAlias = tuple[Form | None, int, int]


class Stretches:
    """Some lines after others, of each its form, start and end (half-open); blank lines may stand at its end.

    Each starts and ends where a line starts, or at the end of the text; places are offsets in it. It grows
    while it is made, and then never changes.
    """

    __slots__ = ("ends", "forms", "starts")

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def __len__(self) -> int:
        return len(self.forms)

    def each(self) -> Iterator[tuple[Form, int, int]]:
        """Form, start and end of each."""
        return zip(self.forms, self.starts, self.ends, strict=True)

    def add(self, other: "Stretches", stretches: slice, distance: int) -> None:
        """Add those `stretches` of `other`, so many characters further behind."""
        self.forms += other.forms[stretches]
        starts, ends = other.starts[stretches], other.ends[stretches]
        self.starts += [start + distance for start in starts] if distance else starts
        self.ends += [end + distance for end in ends] if distance else ends


def scan(text: str, start: int = 0, is_known: Callable[[int, int], bool] | None = None) -> Stretches | None:
    """Stretches of `text`, in order; between them stand blank lines only. None where nesting is too deep.

    `text` is in LF, without NUL, and its last line has a line end. The first line is the one at `start`,
    which begins at the root; the last one is the first ATX heading of which `is_known` is true, told its
    start and end, or that of the text.
    """
    if start == len(text):
        return Stretches()
    if start:
        return _Scan(text, is_known, before=1).run(start)
    return _scan_from_first_line(text, is_known)


def _scan_from_first_line(text: str, is_known: Callable[[int, int], bool] | None) -> Stretches | None:
    """The same from the first line on, before which there is no line end.

    What stands before an ATX heading at the root is told by the text up to its end. So it is enough to copy
    that much of the text behind a line end; all of it, where no such heading is found.
    """
    least = 0
    while True:
        heading = HEADING_LINE.search(text, least)
        end = heading.end() if heading else len(text)
        head = _Scan(f"\n{text[:end]}", is_known, before=0)
        found = head.run(0)
        if found is None or head.is_over or end == len(text):
            return found
        if found.forms[-1] is _ATX and found.ends[-1] == end:
            break
        # It is code, or the like. What is scanned again must not cost more than the rest.
        least = 4 * end
    rest = scan(text, end, is_known)
    if rest is None:
        return None
    found.add(rest, slice(None), 0)
    return found


# A document can hold as many lengths of fences as it likes.
@lru_cache(maxsize=64)
def _closing_of(fence: str) -> re.Pattern[str]:
    """The line that closes `fence` (section 4.5)."""
    return re.compile(rf"\n {{0,3}}{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n)")


def is_closed(lines: str, opening: re.Match[str]) -> bool:
    """Whether the fence with this `opening` is closed by the last line of `lines`, which has a line end."""
    last = lines.rfind("\n", opening.end(), -1)
    return last > 0 and _closing_of(opening[0].lstrip("\n ")).match(lines, last) is not None


class _Scan:
    """One pass over `text`, which has a line end before the first line that it looks at.

    Its offsets are those of line ends, each of which stands for the line behind it; `before` is what they are
    less than the offsets of `scan`. `_done` is where the last block has ended: what follows is at the root.
    `is_over` tells that a known heading, or too deep a nesting, has ended the pass.
    """

    def __init__(self, text: str, is_known: Callable[[int, int], bool] | None, *, before: int) -> None:
        self._text = text
        self._end = len(text) - 1
        self._done = 0
        self._is_known = is_known
        self._before = before
        self._is_too_deep = self.is_over = False
        # The paragraph that was looked at last: its start, how far it was read, whether it is one for sure.
        self._paragraph = -1
        self._read_to = -1
        self._is_ambiguous = False

    def run(self, start: int) -> Stretches | None:
        """Stretches from the line at `start` on."""
        self._done = start - self._before
        found = self._find()
        if self._is_too_deep:
            return None
        # Adding up all of them at once costs less than as they come.
        stretches = Stretches()
        stretches.add(found, slice(None), self._before)
        return stretches

    def _find(self) -> Stretches:
        text, end, stretches = self._text, self._end, Stretches()
        takers = {
            "atx": self._take_atx,
            "fence": self._take_fence,
            "quote": self._take_quote,
            "rule": self._take_rule,
            "underline": self._take_underline,
            "item": self._take_item,
            "html": self._take_html,
            "code": self._take_code,
        }
        # What is called for each stretch is looked up once.
        search, add_form = START.search, stretches.forms.append
        add_start, add_end = stretches.starts.append, stretches.ends.append
        at = self._done
        while (start := search(text, at)) is not None and start.start() < end:
            assert start.lastgroup is not None
            if not len(stretches.forms) % _BETWEEN_LOOKS:
                look_at_time()
            form, first, at = takers[start.lastgroup](start)
            if form is None:
                continue
            # One line end before it is that of the line before it, or of a blank one.
            if first > self._done + 1 and (text_start := self._behind_blanks()) < first:
                add_form(_TEXT)
                add_start(text_start)
                add_end(first)
            add_form(form)
            add_start(first)
            add_end(at)
            self._done = at
            if self.is_over:
                return stretches
        if (text_start := self._behind_blanks()) < end:
            add_form(_TEXT)
            add_start(text_start)
            add_end(end)
        return stretches

    def _behind_blanks(self) -> int:
        """Where the blank lines end that follow the last block, if any do."""
        blanks = BLANKS.match(self._text, self._done)
        assert blanks is not None
        return blanks.end()

    # What each class of line begins: a stretch, or without a form the place to search on at.

    def _take_atx(self, start: re.Match[str]) -> _Taken:
        at, end = start.span()
        if self._is_known is not None:
            self.is_over = self._is_known(at + self._before, end + self._before)
        return _ATX, at, end

    def _take_rule(self, start: re.Match[str]) -> _Taken:
        return Form.RULE, start.start(), start.end()

    def _take_fence(self, start: re.Match[str]) -> _Taken:
        closing = _closing_of(start[0].lstrip("\n "))
        end = closing.search(self._text, start.end())
        return Form.FENCE, start.start(), end.end() if end else self._end

    def _take_html(self, start: re.Match[str]) -> _Taken:
        text, line_end = self._text, self._text.find("\n", start.end())
        # The mark of a tag and the character behind it are read.
        line = text[start.end() - 2 : line_end]
        ending = ending_of(line)
        if ending:
            end = ending.search(text, start.end() - 2)
            return Form.HTML, start.start(), text.find("\n", end.end()) if end else self._end
        if not is_named(line):
            if not is_tag_alone(line):
                return None, line_end, line_end
            if self._is_in_paragraph(start.start()):
                return self._continue_paragraph(start.start(), line_end)
        blank = BLANK.search(text, line_end)
        return Form.HTML, start.start(), blank.start() if blank else self._end

    def _take_code(self, start: re.Match[str]) -> _Taken:
        if self._is_in_paragraph(start.start()):
            return self._continue_paragraph(start.start(), self._text.find("\n", start.end()))
        lines = CODE_LINES.match(self._text, start.start())
        assert lines is not None
        return Form.CODE, start.start(), lines.end()

    def _take_underline(self, start: re.Match[str]) -> _Taken:
        at, end = start.span()
        if self._is_in_paragraph(at):
            paragraph = self._certain_paragraph(at, end)
            return self._take_unknown() if paragraph is None else (Form.SETEXT, paragraph, end)
        marks = start[0].strip("\n \t")
        if marks[0] == "=" or len(marks) == 2:
            return None, end, end
        return (Form.RULE, at, end) if len(marks) > 2 else self._take_list(at)

    def _take_item(self, start: re.Match[str]) -> _Taken:
        at = start.start()
        if self._is_in_paragraph(at):
            line_end = self._text.find("\n", start.end())
            is_empty = not self._text[start.end() : line_end].strip(" \t")
            number = start[0].lstrip("\n ")[:-1]
            # An item without content, or one of another number than 1, interrupts no paragraph.
            if is_empty or (number and int(number) != 1):
                return self._continue_paragraph(at, line_end)
        return self._take_list(at)

    def _take_list(self, start: int) -> _Taken:
        return self._take_containers(start, list_end(self._text, start, self._end, self._root_starts))

    def _take_quote(self, start: re.Match[str]) -> _Taken:
        at = start.start()
        return self._take_containers(at, quote_end(self._text, at, self._end, self._root_starts))

    def _take_containers(self, start: int, end: int) -> _Taken:
        may_hold_heading = NESTED_HEADING.search(self._text, start, end + 1)
        if DEEP.search(self._text, start, end):
            self._is_too_deep = self.is_over = True
        return Form.UNKNOWN if may_hold_heading else Form.CONTAINERS, start, end

    # Paragraphs.

    def _is_in_paragraph(self, at: int) -> bool:
        """Whether the line before the one at `at` is text."""
        if at <= self._done:
            return False
        before = self._text.rfind("\n", self._done, at)
        return self._text[before + 1 : at].strip(" \t") != ""

    def _continue_paragraph(self, at: int, line_end: int) -> _Taken:
        """The line at `at` goes on with a paragraph, unless that is none."""
        if self._certain_paragraph(at, line_end) is None:
            return self._take_unknown()
        return None, line_end, line_end

    def _certain_paragraph(self, at: int, line_end: int) -> int | None:
        """Start of the paragraph before the line at `at`; None where it may be a table or a definition."""
        text = self._text
        is_known = self._done <= self._paragraph <= self._read_to <= at
        if not is_known or BLANK.search(text, self._read_to, at + 1):
            self._paragraph = self._read_to = self._start_of_lines(at)
            self._is_ambiguous = BRACKET.match(text, self._paragraph) is not None
        if not self._is_ambiguous:
            self._is_ambiguous = DELIMITER_ROW.search(text, self._read_to, at + 1) is not None
        self._read_to = at
        # The line can be the header of a table that interrupts the paragraph.
        is_header = "|" in text[at:line_end] and DELIMITER_ROW.match(text, line_end)
        return None if self._is_ambiguous or is_header else self._paragraph

    def _start_of_lines(self, at: int) -> int:
        """Start of the lines before `at` without a blank one between them."""
        while at > self._done:
            before = self._text.rfind("\n", self._done, at)
            if not self._text[before + 1 : at].strip(" \t"):
                break
            at = before
        return at

    def _take_unknown(self) -> _Taken:
        """What began as the paragraph that was looked at last, and all else that ends before a blank line."""
        text, start = self._text, self._paragraph
        blank = BLANK.search(text, text.find("\n", start + 1))
        end = blank.start() if blank else self._end
        roots = self._roots(start, end)
        if len(roots) > 1 and roots[-1][0] not in ENDED_BY_BLANK_LINES:
            # It can go on behind the blank line.
            end = roots[-1][1]
        return Form.UNKNOWN, start, end

    # The reference pass.

    def _root_starts(self, start: int, end: int) -> list[int]:
        return [at for _, at in self._roots(start, end)]

    def _roots(self, start: int, end: int) -> list[tuple[BlockKind, int]]:
        """Kinds and starts of the root blocks in lines that begin at the root."""
        if DEEP.search(self._text, start, end):
            self._is_too_deep = self.is_over = True
            return []
        found: list[tuple[BlockKind, int]] = []
        at, line = start, 0
        for kind, first_line in pass_roots(self._text[start + 1 : end + 1]):
            for _ in range(first_line - line):
                at = self._text.find("\n", at + 1)
            line = first_line
            found.append((kind, at))
        return found
