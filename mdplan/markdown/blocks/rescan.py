"""The stretches of a text after edits, scanned only around these.

What stands before an ATX heading at the root is told by the text up to the end of its line, and what stands
behind it by the text from there on. So a scan begins behind the last such heading before an edit, and ends
with the first one behind it that was a heading before; the stretches between those places stay as they are.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from mdplan.markdown.blocks.scanner import Form, Stretches, scan
from mdplan.text.edit import EditList
from mdplan.text.span import Span


@dataclass(frozen=True, slots=True)
class Run:
    """Stretches that were known: those before `stop`, from `first` on, of the new ones.

    They are `parts` fewer than the old ones were (by their index), and stand `characters` further behind.
    """

    first: int
    stop: int
    parts: int
    characters: int


@dataclass(frozen=True, slots=True)
class Rescan:
    """All stretches of the new text, and which of them are old ones.

    `scanned` has, of each piece of text that was scanned, the span in the old text and that in the new one.
    """

    stretches: Stretches
    runs: tuple[Run, ...]
    scanned: tuple[tuple[Span, Span], ...]


def rescan(old: Stretches, edits: EditList, text: str, start: int) -> Rescan | None:
    """Stretches of `text` from `start` on, which `edits` made of the text that has the stretches `old`.

    `text` and `start` are as `scan` takes them; `start` is the same in both texts. None where nesting is too
    deep.
    """
    return _Rescan(old, edits, text, start).run()


class _Rescan:
    def __init__(self, old: Stretches, edits: EditList, text: str, start: int) -> None:
        self._old = old
        self._text = text
        self._start = start
        self._old_spans = [edit.span for edit in edits]
        self._new_spans = edits.result_spans
        self._new_starts = [span.start for span in self._new_spans]
        self._growth = [new.end - old.end for new, old in zip(self._new_spans, self._old_spans, strict=True)]
        self._stretches = Stretches()
        self._runs: list[Run] = []
        self._scanned: list[tuple[Span, Span]] = []

    def run(self) -> Rescan | None:
        """Scan around each edit that no scan before it has reached."""
        # How many of the edits, and of the old stretches, lie behind; and by how much these are shifted.
        edit = part = shift = 0
        while edit < len(self._old_spans):
            stop = self._restart(self._old_spans[edit].start, part)
            self._keep(part, stop, shift)
            start = self._stretches.ends[-1] if self._stretches else self._start
            found = scan(self._text, start, self._is_old_heading)
            if found is None:
                return None
            self._stretches.add(found, slice(None), 0)
            is_met = bool(found) and found.forms[-1] is Form.ATX
            met = self._old_part(found.starts[-1], found.ends[-1]) if is_met else None
            if met is None:
                self._note_scanned(start, shift, len(self._text), self._growth[-1])
                part, edit = len(self._old), len(self._old_spans)
            else:
                end = found.ends[-1]
                edit = bisect_left(self._new_starts, end)
                self._note_scanned(start, shift, end, self._growth[edit - 1])
                shift, part = self._growth[edit - 1], met + 1
        self._keep(part, len(self._old), shift)
        return Rescan(self._stretches, tuple(self._runs), tuple(self._scanned))

    def _restart(self, offset: int, part: int) -> int:
        """Index behind the last heading that ends at the old `offset` or before it, from `part` on."""
        stop = bisect_right(self._old.ends, offset, lo=part)
        while stop > part and self._old.forms[stop - 1] is not Form.ATX:
            stop -= 1
        return stop

    def _keep(self, first: int, stop: int, shift: int) -> None:
        """Take the old stretches before `stop`, from `first` on."""
        if first == stop:
            return
        place = len(self._stretches)
        self._stretches.add(self._old, slice(first, stop), shift)
        self._runs.append(Run(place, len(self._stretches), first - place, shift))

    def _is_old_heading(self, start: int, end: int) -> bool:
        """Whether the heading from `start` to `end` of the new text was one, and no edit touches its line."""
        return self._old_part(start, end) is not None

    def _old_part(self, start: int, end: int) -> int | None:
        """Index that this heading had among the old stretches; None for one that is new."""
        edits = bisect_left(self._new_starts, end)
        if not edits or self._new_spans[edits - 1].end > start:
            return None
        old, shift = self._old, self._growth[edits - 1]
        part = bisect_left(old.starts, start - shift)
        if self._old_spans[edits - 1].end > start - shift or part == len(old):
            return None
        is_same = (old.starts[part], old.ends[part]) == (start - shift, end - shift)
        return part if is_same and old.forms[part] is Form.ATX else None

    def _note_scanned(self, start: int, shift: int, end: int, shift_behind: int) -> None:
        self._scanned.append((Span(start - shift, end - shift_behind), Span(start, end)))
