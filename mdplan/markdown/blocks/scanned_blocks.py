"""Blocks of what the scanner found, each made when somebody asks for it."""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.heading_rows import HeadingRows, read_heading
from mdplan.markdown.blocks.parse_time import look_at_time
from mdplan.markdown.blocks.quoted_headings import quoted_headings
from mdplan.markdown.blocks.scanner import Form, Stretches, is_closed, scan
from mdplan.markdown.blocks.scanner_lines import BRACKET, CHUNK, DELIMITER_ROW, FENCE, NESTED_CODE, TRIMMED
from mdplan.markdown.blocks.told_blocks import told_blocks
from mdplan.text.lines import LineIndex, LinesOfPart
from mdplan.text.span import Span

if TYPE_CHECKING:
    from mdplan.markdown.blocks.rescan import Rescan
    from mdplan.text.edit import EditList

_LINE_ENDS: Final = re.compile(r"\r\n?")
# Looking up a member of an enumeration takes its time.
_HEADING: Final = BlockKind.HEADING
_PARAGRAPH: Final = BlockKind.PARAGRAPH
_ATX: Final = Form.ATX
_SETEXT: Final = Form.SETEXT
_UNKNOWN: Final = Form.UNKNOWN
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

    `lines` is the index of the text. Offsets of `stretches` are those of a text in LF, in which the first
    line begins at `body_start`; where the text `has_one_line_end`, LF, it is this text. Where the scanner
    gives up, `is_complete` is false and nothing else may be asked. `rescan` tells what was known before,
    where that could be used.
    """

    def __init__(
        self,
        text: str,
        lines: LineIndex,
        start: int,
        known: "tuple[ScannedBlocks, EditList] | None" = None,
    ) -> None:
        """Scan `text` from `start` on; all of it, or around the edits that made it of the `known` blocks."""
        self._lines_before = lines.line_at(start) - 1 if start else 0
        if start and start == len(text):
            self._lines_before = lines.count
        self.lines = lines
        self._length, self._last_line = len(text), lines.count
        unified = lines
        # A text that is long, and as the scanner wants it, is not copied.
        scanned_text = text if text.endswith("\n") else f"{text}\n"
        if lines.has_cr:
            scanned_text = _LINE_ENDS.sub("\n", scanned_text)
            unified = LineIndex(scanned_text)
        self._unified = unified
        self.has_one_line_end = unified is lines
        self.body_start = unified.start(self._lines_before + 1) if start else 0
        # What was known to have no NUL gets one by an edit alone.
        new_texts = (edit.new_text for edit in known[1]) if known and not known[0].has_nul else (text,)
        self.has_nul: bool = any("\0" in each for each in new_texts)
        self._text = scanned_text.replace("\0", "\ufffd") if self.has_nul else scanned_text
        self.rescan: Rescan | None = None
        scanned: Stretches | None
        if start and start == len(text):
            # Nothing stands behind the front matter, whose last line may have no end.
            scanned = Stretches()
        elif known and self._goes_on_from(*known):
            # Most documents are looked at, and not edited.
            from mdplan.markdown.blocks.rescan import rescan

            self.rescan = rescan(known[0].stretches, known[1], self._text, self.body_start)
            scanned = self.rescan.stretches if self.rescan else None
        else:
            scanned = scan(self._text, self.body_start)
        self.is_complete = scanned is not None
        self.stretches: Stretches = scanned or Stretches()

    def _goes_on_from(self, known: "ScannedBlocks", edits: "EditList") -> bool:
        """Whether places of `known` are where they were, but for what `edits` shift."""
        has_one_line_end = self.has_one_line_end and known.has_one_line_end
        is_behind = bool(edits) and edits.edits[0].span.start >= self.body_start == known.body_start
        return known.is_complete and has_one_line_end and is_behind

    @cached_property
    def starts(self) -> list[int]:
        """Offset in the text at which each stretch starts."""
        if self.has_one_line_end:
            return self.stretches.starts
        return [self.lines.start(self._line(start)) for start in self.stretches.starts]

    def kept(self, blocks: Mapping[int, tuple[Block, ...]]) -> dict[int, tuple[Block, ...]]:
        """Those of the `blocks` of before, by the index of their stretch, that stand before all edits."""
        run = self.rescan.runs[0] if self.rescan and self.rescan.runs else None
        if run is None or run.first:
            return {}
        return {part: known for part, known in blocks.items() if part < run.stop}

    def headings(self, blocks: MutableMapping[int, tuple[Block, ...]]) -> HeadingRows:
        """Headings of every depth.

        `blocks` are those of the stretches that were looked into; what is made here comes to them.
        """
        rows = HeadingRows()
        self._add_headings(rows, range(len(self.stretches)), blocks)
        return rows

    def edited_headings(
        self,
        blocks: MutableMapping[int, tuple[Block, ...]],
        earlier: "ScannedBlocks",
        known: HeadingRows,
    ) -> HeadingRows:
        """The same after a rescan; what was not scanned has the headings that are `known` of `earlier`."""
        rows = HeadingRows()
        stop = lines = 0
        if self.rescan is None:
            return rows
        scanned = deque(self.rescan.scanned)
        for run in self.rescan.runs:
            self._add_headings(rows, range(stop, run.first), blocks)
            first = earlier.stretches.starts[run.first + run.parts]
            behind = earlier.stretches.ends[run.stop + run.parts - 1]
            # Lines shift by what was scanned before them; all else is as it was.
            while scanned and scanned[0][0].start < first:
                old, new = scanned.popleft()
                lines += self.line_ends_in(new) - earlier.line_ends_in(old)
            same = slice(bisect_left(known.starts, first), bisect_left(known.starts, behind))
            rows.add_rows(known, same, run.characters, lines)
            stop = run.stop
        self._add_headings(rows, range(stop, len(self.stretches)), blocks)
        return rows

    def line_ends_in(self, span: Span) -> int:
        """How many lines end in `span`, by the offsets of `rescan`."""
        return self._text.count("\n", span.start, span.end)

    def _add_headings(
        self, rows: HeadingRows, parts: range, blocks: MutableMapping[int, tuple[Block, ...]]
    ) -> None:
        """Add those of the stretches with these indexes; those at the root in bulk, and without blocks."""
        text, forms = self._text, self.stretches.forms
        starts, ends = self.stretches.starts, self.stretches.ends
        found = [
            part for part in parts if (form := forms[part]) is _ATX or form is _SETEXT or form is _UNKNOWN
        ]
        known = (rows.starts[-1], rows.first_lines[-1]) if rows else None
        numbers = self._lines_of([starts[part] for part in found], known)
        unknown = [index for index, part in enumerate(found) if forms[part] is _UNKNOWN]
        first = 0
        for stop in (*unknown, len(found)):
            places = [(starts[part], ends[part]) for part in found[first:stop]]
            sources = [text[start : end - 1] for start, end in places]
            if not self.has_one_line_end or (places and places[-1][1] > self._length):
                places = [self._places(start, end) for start, end in places]
            rows.add_roots(sources, places)
            rows.first_lines += numbers[first:stop]
            rows.last_lines += [
                number + source.count("\n")
                for number, source in zip(numbers[first:stop], sources, strict=True)
            ]
            first = stop + 1
            if stop == len(found):
                continue
            rows.add_blocks(self._headings_within(found[stop], numbers[stop], blocks))

    def _headings_within(
        self, part: int, first_line: int, blocks: MutableMapping[int, tuple[Block, ...]]
    ) -> Iterable[Block]:
        """At least the headings of a stretch that may hold some; it may be one of `blocks` afterwards."""
        look_at_time()
        if part in blocks:
            return blocks[part]
        start, end = self.stretches.starts[part], self.stretches.ends[part]
        text = self._text[start:end]
        quoted = quoted_headings(text) if self.has_one_line_end else None
        if quoted is None:
            blocks[part] = self.blocks(part, first_line)
            return blocks[part]
        lines = self._lines_of_part(text, start, first_line)
        return [each.block(first_line, lines) for each in quoted]

    def _lines_of(self, starts: Sequence[int], known: tuple[int, int] | None) -> list[int]:
        """Numbers of the lines that begin at these offsets, in order; an offset before them may be `known`.

        To count lines from one to the next costs less than to find out where all lines are.
        """
        at, number = known or (self.body_start, self._lines_before + 1)
        counts = map(self._text.count, repeat("\n"), [at, *starts], starts)
        return list(accumulate(counts, initial=number))[1:]

    def holding(self, kind: BlockKind) -> Iterator[int]:
        """Indexes of the stretches that can hold a block of `kind`, in order; the others hold none."""
        forms = (*_FORMS.get(kind, ()), Form.UNKNOWN)
        in_text, in_containers = _IN_TEXT.get(kind), _IN_CONTAINERS.get(kind)
        for part, (form, start, end) in enumerate(self.stretches.each()):
            if form in forms:
                yield part
                continue
            sign = in_text if form is Form.TEXT else in_containers if form is Form.CONTAINERS else None
            if sign and self._finds(sign, start, end):
                yield part

    def shows(self, part: int, sign: re.Pattern[str]) -> bool:
        """Whether `sign` is found in the lines of the stretch with this index."""
        return self._finds(sign, self.stretches.starts[part], self.stretches.ends[part])

    def _finds(self, sign: re.Pattern[str], start: int, end: int) -> bool:
        """Whether `sign`, which may begin with the line end before a line, is found in these lines."""
        if start:
            return sign.search(self._text, start - 1, end) is not None
        return sign.search(self._lines_of_text(start, end)) is not None

    def _lines_of_text(self, start: int, end: int) -> str:
        """These lines, with a line end before the first one, as patterns of lines want it."""
        return f"\n{self._text[start:end]}"

    def has_containers(self, part: int) -> bool:
        """Whether the stretch with this index holds lists and quotes without headings alone."""
        return self.stretches.forms[part] is Form.CONTAINERS

    def may_hold(self, part: int, kinds: Collection[BlockKind]) -> bool:
        """Whether a block of one of `kinds` may stand in the stretch with this index; False is certain."""
        stretches = self.stretches
        form, start, end = stretches.forms[part], stretches.starts[part], stretches.ends[part]
        if form is Form.UNKNOWN or any(form in _FORMS.get(kind, ()) for kind in kinds):
            return True
        signs = _IN_TEXT if form is Form.TEXT else _IN_CONTAINERS if form is Form.CONTAINERS else {}
        return any(self._finds(signs[kind], start, end) for kind in kinds if kind in signs)

    def __len__(self) -> int:
        return len(self.stretches)

    def blocks(self, part: int, first_line: int | None = None) -> tuple[Block, ...]:
        """All blocks of the stretch with this index, which starts at `first_line`, if that is known."""
        stretches = self.stretches
        form, start, end = stretches.forms[part], stretches.starts[part], stretches.ends[part]
        first_line = self._line(start) if first_line is None else first_line
        found: Iterable[Block]
        match form:
            case Form.ATX | Form.SETEXT:
                return (self._heading(first_line, start, end),)
            case Form.RULE:
                found = (self._rule(start, end),)
            case Form.FENCE:
                found = self._fence(start, end)
            case Form.CODE:
                found = (self._plain(BlockKind.INDENTED_CODE, start, end),)
            case Form.HTML:
                found = (self._plain(BlockKind.HTML, start, end),)
            case Form.TEXT:
                found = self._text_blocks(first_line, start, end)
            case Form.CONTAINERS | Form.UNKNOWN:
                found = self._passed_whole(first_line, start, end)
        return tuple(found)

    def _heading(self, number: int, start: int, end: int) -> Block:
        source = self._text[start : end - 1]
        level, markup, content = read_heading(source)
        return Block(
            kind=_HEADING,
            first_line=number,
            last_line=number + source.count("\n"),
            span=self._span(start, end),
            depth=0,
            level=level,
            markup=markup,
            content=content,
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
        lines = self._lines_of_text(start, end)
        opening = FENCE.match(lines)
        if opening is None or not is_closed(lines, opening):
            return self._passed(start, end)
        line_end = lines.find("\n", opening.end())
        fence = Block(
            kind=BlockKind.FENCE,
            first_line=self._line(start),
            last_line=self._line(end - 1),
            span=self._span(start, end),
            depth=0,
            markup=opening[0][1:],
            content=lines[opening.end() : line_end],
            code=lines[line_end + 1 : lines.rfind("\n", line_end, -1) + 1],
        )
        return (fence,)

    def _plain(self, kind: BlockKind, start: int, end: int) -> Block:
        return Block(
            kind=kind,
            first_line=self._line(start),
            last_line=self._line(end - 1),
            span=self._span(start, end),
            depth=0,
        )

    def _text_blocks(self, first_line: int, start: int, end: int) -> Iterator[Block]:
        # Offsets in `lines` are those of line ends, each of which stands for the line behind it.
        lines, line, at = self._lines_of_text(start, end), first_line, 0
        for chunk in CHUNK.finditer(lines, 0, len(lines) - 1):
            first, last = chunk.span()
            # To count lines from one to the next costs less than to look up each.
            line += lines.count("\n", at, first)
            at = first
            if BRACKET.match(lines, first) or DELIMITER_ROW.search(lines, first, last + 1):
                yield from self._passed(start + first, start + last)
                continue
            content = lines[first + 1 : last]
            yield Block(
                kind=_PARAGRAPH,
                first_line=line,
                last_line=min(line + content.count("\n"), self._last_line),
                span=self._span(start + first, start + last),
                depth=0,
                content=content.strip(TRIMMED),
            )

    def _passed_whole(self, first_line: int, start: int, end: int) -> tuple[Block, ...]:
        """The same of a whole stretch, for which no place of another line is needed."""
        if not self.has_one_line_end:
            return self._passed(start, end)
        text = self._text[start:end]
        return told_blocks(text, self._lines_of_part(text, start, first_line), first_line - 1)

    def _lines_of_part(self, part: str, start: int, first_line: int) -> LinesOfPart:
        return LinesOfPart(part, start, first_line - 1, count=self._last_line, length=self._length)

    def _passed(self, start: int, end: int) -> tuple[Block, ...]:
        """Blocks of these lines, by the reference pass where they are not plain."""
        return told_blocks(self._text[start:end], self.lines, self._line(start) - 1)

    def _line(self, offset: int) -> int:
        """Number of the line that holds the code point at `offset`."""
        return min(self._unified.line_at(offset), self._last_line)

    def _span(self, start: int, end: int) -> Span:
        """Span of these lines in the text that was given."""
        return Span(*self._places(start, end))

    def _places(self, start: int, end: int) -> tuple[int, int]:
        """The same as two offsets."""
        if self.has_one_line_end:
            return start, min(end, self._length)
        span = self.lines.span(self._line(start), self._line(end - 1))
        return span.start, span.end
