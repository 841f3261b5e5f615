"""Blocks of what the scanner found, each made when somebody asks for it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from mdplan.markdown.block import Block, BlockKind
from mdplan.markdown.block_pass import pass_blocks
from mdplan.markdown.scanner import Form, Stretch, scan
from mdplan.markdown.scanner_lines import BRACKET, CHUNK, DELIMITER_ROW, FENCE, NESTED_CODE, TRIMMED
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_LINE_ENDS: Final = re.compile(r"\r\n?")
# Section 4.2: closing marks stand behind a blank.
_CLOSING_MARKS: Final = re.compile(r"[ \t]#+\Z")
# Forms that are one block, by its kind.
_FORMS: Final = {
    BlockKind.HEADING: (Form.ATX, Form.SETEXT),
    BlockKind.RULE: (Form.RULE,),
    BlockKind.FENCE: (Form.FENCE,),
    BlockKind.INDENTED_CODE: (Form.CODE,),
    BlockKind.HTML: (Form.HTML,),
}
_ANY: Final = re.compile(r"")
# What shows in other forms where there is a block of a kind; no kind that is not here stands in them.
_IN_TEXT: Final = {
    BlockKind.PARAGRAPH: _ANY,
    BlockKind.TABLE: DELIMITER_ROW,
    BlockKind.DEFINITION: BRACKET,
}
_IN_CONTAINERS: Final = {
    BlockKind.LIST: _ANY,
    BlockKind.LIST_ITEM: _ANY,
    BlockKind.QUOTE: re.compile(r">"),
    BlockKind.PARAGRAPH: _ANY,
    BlockKind.RULE: re.compile(r"\*[ \t]*\*|_[ \t]*_|-[ \t]*-"),
    BlockKind.FENCE: re.compile(r"```|~~~"),
    BlockKind.INDENTED_CODE: NESTED_CODE,
    BlockKind.HTML: re.compile(r"<[A-Za-z/!?]"),
    BlockKind.TABLE: re.compile(r"[|:-][|: \t-]*\n"),
    BlockKind.DEFINITION: re.compile(r"\]:"),
}


class ScannedBlocks:
    """The blocks of a text from a line start on, in the scanner's stretches.

    `lines` is the index of the whole text. Where the scanner gives up, `is_complete` is false and nothing
    else may be asked.
    """

    def __init__(self, text: str, lines: LineIndex, start: int) -> None:
        before = lines.line_at(start) - 1 if start else 0
        if start and start == len(text):
            before = lines.count
        self._lines = lines
        self._length, self._last_line = len(text), lines.count
        # As the reference pass has it: one more line end, before line ends are made one.
        unified, body = lines, text if not start else text[start:]
        padded = f"\n{body}\n"
        if "\r" in text:
            padded = _LINE_ENDS.sub("\n", padded)
            unified = LineIndex(_LINE_ENDS.sub("\n", text))
        self._line_starts = unified.starts
        self._has_one_line_end = unified is lines
        self._start = unified.start(before + 1) if start else 0
        self._text = padded.replace("\0", "\ufffd")
        scanned = scan(self._text)
        self.is_complete = scanned is not None
        self._stretches: list[Stretch] = scanned or []

    @cached_property
    def starts(self) -> list[int]:
        """Offset in the text at which each stretch starts."""
        if self._has_one_line_end:
            return [start + self._start for _, start, _ in self._stretches]
        return [self._lines.start(self._line(start)) for _, start, _ in self._stretches]

    def holding(self, kind: BlockKind) -> Iterator[int]:
        """Indexes of the stretches that can hold a block of `kind`, in order; the others hold none."""
        forms = (*_FORMS.get(kind, ()), Form.UNKNOWN)
        in_text, in_containers = _IN_TEXT.get(kind), _IN_CONTAINERS.get(kind)
        for part, (form, start, end) in enumerate(self._stretches):
            if form in forms:
                yield part
                continue
            sign = in_text if form is Form.TEXT else in_containers if form is Form.CONTAINERS else None
            if sign and sign.search(self._text, start, end + 1):
                yield part

    def shows(self, part: int, sign: re.Pattern[str]) -> bool:
        """Whether `sign` is found in the lines of the stretch with this index."""
        _, start, end = self._stretches[part]
        return sign.search(self._text, start, end) is not None

    def blocks(self, part: int) -> tuple[Block, ...]:
        """All blocks of the stretch with this index."""
        form, start, end = self._stretches[part]
        found: Iterable[Block]
        match form:
            case Form.ATX:
                return (self._atx(start, end),)
            case Form.SETEXT:
                found = (self._setext(start, end),)
            case Form.RULE:
                found = (self._rule(start, end),)
            case Form.FENCE:
                found = self._fence(start, end)
            case Form.CODE:
                found = (self._plain(BlockKind.INDENTED_CODE, start, end),)
            case Form.HTML:
                found = (self._plain(BlockKind.HTML, start, end),)
            case Form.TEXT:
                found = self._text_blocks(start, end)
            case Form.CONTAINERS | Form.UNKNOWN:
                found = self._passed(start, end)
        return tuple(found)

    def _atx(self, start: int, end: int) -> Block:
        line = self._text[start + 1 : end].strip(" \t")
        title = line.lstrip("#")
        level = len(line) - len(title)
        if title.endswith("#"):
            title = _CLOSING_MARKS.sub("", title)
        number = bisect_right(self._line_starts, start + self._start)
        return Block(
            kind=BlockKind.HEADING,
            first_line=number,
            last_line=number,
            span=self._span(start, end),
            depth=0,
            level=level,
            markup=line[:level],
            content=title.strip(TRIMMED),
        )

    def _setext(self, start: int, end: int) -> Block:
        underline = self._text.rfind("\n", start, end)
        mark = self._text[underline:end].strip(" \t\n")[0]
        return Block(
            kind=BlockKind.HEADING,
            first_line=self._line(start),
            last_line=self._line(end - 1),
            span=self._span(start, end),
            depth=0,
            level=1 if mark == "=" else 2,
            markup=mark,
            content=self._text[start:underline].strip(TRIMMED),
        )

    def _rule(self, start: int, end: int) -> Block:
        marks = self._text[start:end].strip(" \t\n")
        number = self._line(start)
        return Block(
            kind=BlockKind.RULE,
            first_line=number,
            last_line=number,
            span=self._span(start, end),
            depth=0,
            # The parser counts one more than there are.
            markup=marks[0] * (marks.count(marks[0]) + 1),
        )

    def _fence(self, start: int, end: int) -> tuple[Block, ...]:
        """A fence; the parser takes one that is indented, or that may be closed by the end of the text."""
        opening = FENCE.match(self._text, start)
        if opening is None or end == len(self._text) - 1:
            return self._passed(start, end)
        line_end = self._text.find("\n", opening.end())
        fence = Block(
            kind=BlockKind.FENCE,
            first_line=self._line(start),
            last_line=self._line(end - 1),
            span=self._span(start, end),
            depth=0,
            markup=opening[0][1:],
            content=self._text[opening.end() : line_end],
            code=self._text[line_end + 1 : self._text.rfind("\n", start, end) + 1],
        )
        return (fence,)

    def _plain(self, kind: BlockKind, start: int, end: int, content: str = "") -> Block:
        return Block(
            kind=kind,
            first_line=self._line(start),
            last_line=self._line(end - 1),
            span=self._span(start, end),
            depth=0,
            content=content,
        )

    def _text_blocks(self, start: int, end: int) -> Iterator[Block]:
        text = self._text
        for chunk in CHUNK.finditer(text, start, end):
            first, last = chunk.span()
            if BRACKET.match(text, first) or DELIMITER_ROW.search(text, first, last + 1):
                yield from self._passed(first, last)
            else:
                yield self._plain(BlockKind.PARAGRAPH, first, last, text[first:last].strip(TRIMMED))

    def _passed(self, start: int, end: int) -> tuple[Block, ...]:
        """Blocks of these lines by the reference pass."""
        return pass_blocks(self._text[start + 1 : end + 1], self._lines, self._line(start) - 1).blocks

    def _line(self, offset: int) -> int:
        """Number of the line that holds the code point at `offset`."""
        return min(bisect_right(self._line_starts, offset + self._start), self._last_line)

    def _span(self, start: int, end: int) -> Span:
        """Span of these lines in the text that was given."""
        if self._has_one_line_end:
            return Span(start + self._start, min(end + self._start, self._length))
        return self._lines.span(self._line(start), self._line(end - 1))
