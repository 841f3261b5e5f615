"""The parts of a text after edits, parsed only around these.

All blocks end before an ATX heading in no container (CommonMark 0.31.2, section 4.2). So parsing begins with
the last such heading before an edit, and ends with the first one behind it that is a heading as before.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from mdplan.markdown.blocks.document_parts import DocumentParts
from mdplan.markdown.blocks.event_headings import event_headings
from mdplan.markdown.blocks.heading_rows import HeadingTable
from mdplan.text.edit import EditList
from mdplan.text.span import Span


@dataclass(frozen=True, slots=True)
class Rescan:
    """The parts of the new text; the first `unchanged` of them have the blocks of the old ones.

    `scanned` has, of each piece of text that was parsed, the span in the old text and that in the new one.
    """

    parts: DocumentParts
    unchanged: int
    scanned: tuple[tuple[Span, Span], ...]


def rescan(old: DocumentParts, edits: EditList, text: str) -> Rescan:
    """Parts of `text`, which `edits` made of the text of `old`; all are behind where the first part starts.

    Raises as `event_headings` does.
    """
    return _Rescan(old, edits, text).run()


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where parsing may end: before the old `part`, behind so many of the `edits`."""

    part: int
    edits: int


class _Rescan:
    def __init__(self, old: DocumentParts, edits: EditList, text: str) -> None:
        self._old = old
        self._text = text
        self._spans = [edit.span for edit in edits]
        self._growth = [new.end - span.end for new, span in zip(edits.result_spans, self._spans, strict=True)]
        self._rows = HeadingTable()
        self._starts: list[int] = []
        self._scanned: list[tuple[Span, Span]] = []
        # By how many characters and lines what was reached so far has moved.
        self._shift = self._line_shift = 0

    def run(self) -> Rescan:
        """Parse around each edit that no parse before it has reached."""
        part = edit = 0
        unchanged: int | None = None
        while edit < len(self._spans):
            first = self._restart(self._spans[edit].start, part)
            self._keep(part, first)
            unchanged = first if unchanged is None else unchanged
            stop = self._parse(first, edit)
            part, edit = stop.part, stop.edits
        self._keep(part, len(self._old.starts))
        parts = DocumentParts(self._text, self._old.lines_before, self._rows, self._starts)
        return Rescan(parts, unchanged or 0, tuple(self._scanned))

    def _restart(self, offset: int, part: int) -> int:
        """The last part, from `part` on, the heading of which ends before an edit at the old `offset`."""
        first = bisect_right(self._old.starts, offset) - 1
        while first > part and self._heading_end(first) > offset:
            first -= 1
        return max(first, part)

    def _heading_end(self, part: int) -> int:
        """Where the line of the heading of `part` ends; behind a lone CR one further: a LF may come there."""
        end = self._old.rows.ends[self._old.first_rows[part]]
        return end + self._old.text.endswith("\r", 0, end)

    def _keep(self, first: int, stop: int) -> None:
        """Take the old parts from `first` on, before `stop`."""
        old = self._old
        self._starts += [start + self._shift for start in old.starts[first:stop]]
        rows = slice(old.first_rows[first], old.first_rows[stop])
        self._rows.add_rows(old.rows, rows, self._shift, self._line_shift)

    def _parse(self, first: int, edit: int) -> _Stop:
        """Parse from the old part `first` on, in which `edit` is, as far as other blocks may come of it."""
        old = self._old
        start = old.starts[first] + self._shift
        before = old.lines_before_part(first) + self._line_shift
        stop, reach = self._next_stop(first + 1, edit + 1), 1
        while stop.part < len(old.starts):
            row, shift = old.first_rows[stop.part], self._growth[stop.edits - 1]
            end = old.rows.ends[row] + shift
            rows, starts = event_headings(self._text[start:end], start, before)
            if starts and starts[-1] == old.starts[stop.part] + shift:
                self._add(first, rows, starts, Span(start, starts.pop()), stop)
                self._line_shift = rows.first_lines[-1] - old.rows.first_lines[row]
                return stop
            stop, reach = self._next_stop(stop.part + reach, stop.edits), 2 * reach
        rows, starts = event_headings(self._text[start:], start, before)
        self._add(first, rows, starts, Span(start, len(self._text)), stop)
        return stop

    def _next_stop(self, part: int, edits: int) -> _Stop:
        """The first place from `part` on where no edit touches the line of a heading; `edits` are behind."""
        starts, spans = self._old.starts, self._spans
        part = max(part, bisect_left(starts, spans[edits - 1].end))
        while part < len(starts):
            end = self._heading_end(part)
            while edits < len(spans) and spans[edits].start < end:
                edits += 1
            if spans[edits - 1].end <= starts[part]:
                return _Stop(part, edits)
            part = max(part + 1, bisect_left(starts, spans[edits - 1].end))
        return _Stop(len(starts), len(spans))

    def _add(self, first: int, rows: HeadingTable, starts: list[int], new: Span, stop: _Stop) -> None:
        """Add what was parsed, the headings before the end of `new`."""
        old = self._old
        end = old.starts[stop.part] if stop.part < len(old.starts) else len(old.text)
        self._scanned.append((Span(old.starts[first], end), new))
        self._starts += starts if first else [new.start, *starts]
        self._rows.add_rows(rows, slice(bisect_left(rows.starts, new.end)), 0, 0)
        self._shift = self._growth[stop.edits - 1]
