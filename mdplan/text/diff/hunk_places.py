"""Where the hunks of a diff are in a text: exactly as they say, or nowhere.

Nothing is fuzzy: every line that a hunk shows of its base must be there, in order. Only the place may be
another one, if there is just one, and line ends may be others.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from mdplan.text.diff.unified_diff import DiffHunk
from mdplan.text.line_end_view import LineEndView, to_lf
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_MOST_PLACES: Final = 5
_LF: Final = re.compile("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedHunk:
    """A hunk and the `span` of the base that it shows, in the view; `moved_by` lines from where it says.

    With `lacks_newline` the base ends in the last line that the hunk shows, without the line end that the
    hunk gives it: whether the file ends in one stays as it was.
    """

    hunk: DiffHunk
    span: Span
    moved_by: int
    lacks_newline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MisplacedHunk:
    """A hunk that does not are where it says, at the offset `stated` of the view (None: no such line).

    `places` are where it is instead: several, or one before the hunk in front of it. `applied_at` is
    where its result is already.
    """

    hunk: DiffHunk
    stated: int | None
    places: tuple[int, ...] = ()
    applied_at: int | None = None


class HunkPlaces:
    """The text in which hunks are looked for. Offsets are those of its `view` in LF."""

    def __init__(self, text: str, lines: LineIndex, view: LineEndView) -> None:
        """Look in `text`, whose line table is `lines`, and whose view is `view`."""
        self._raw = text
        self._lines = lines
        self._view = view
        self._length = len(view.text)
        self._has_newline = view.text.endswith("\n") or not view.text
        # Lines of a diff end with a line end, so that the last of the text gets one here too.
        self._text = view.text if self._has_newline else view.text + "\n"

    def place(self, hunks: Sequence[DiffHunk]) -> list[PlacedHunk | MisplacedHunk]:
        """Where each of `hunks` is, which come in the order of their places."""
        found: list[PlacedHunk | MisplacedHunk] = []
        behind = shift = 0
        for hunk in hunks:
            outcome = self._place(hunk, behind, shift)
            found.append(outcome)
            if isinstance(outcome, PlacedHunk):
                behind, shift = outcome.span.end, outcome.moved_by
        return found

    def _place(self, hunk: DiffHunk, behind: int, shift: int) -> PlacedHunk | MisplacedHunk:
        old, stated = to_lf(hunk.old), self._offset(hunk.old_start + (not hunk.old))
        if not old:
            return self._place_alone(hunk, stated, behind)
        for moved_by in dict.fromkeys((shift, 0)):
            start = self._offset(hunk.old_start + moved_by)
            if start is not None and start >= behind and self._fits(old, start):
                made = None if self._is_anchored(hunk, old, start) else self._made_at(hunk, old, start)
                if made is not None:
                    return MisplacedHunk(hunk=hunk, stated=stated, applied_at=made)
                return self._placed(hunk, start, old, moved_by)
        places = tuple(islice(self._places(old, behind), _MOST_PLACES))
        if len(places) != 1:
            made = None if places else self._result_at(hunk)
            places = places or tuple(islice(self._places(old, 0), 1))
            return MisplacedHunk(hunk=hunk, stated=stated, places=places, applied_at=made)
        made = self._made_at(hunk, old, places[0])
        if made is not None:
            return MisplacedHunk(hunk=hunk, stated=stated, applied_at=made)
        return self._placed(hunk, places[0], old, self._line(places[0]) - hunk.old_start)

    def _place_alone(self, hunk: DiffHunk, stated: int | None, behind: int) -> PlacedHunk | MisplacedHunk:
        """The place of a hunk that shows nothing of its base: only where it says."""
        if stated is None or stated < behind:
            return MisplacedHunk(hunk=hunk, stated=stated)
        if self._text.startswith(to_lf(hunk.new), stated):
            return MisplacedHunk(hunk=hunk, stated=stated, applied_at=stated)
        return self._placed(hunk, stated, "", 0)

    def _placed(self, hunk: DiffHunk, start: int, old: str, moved_by: int) -> PlacedHunk:
        end = start + len(old)
        return PlacedHunk(
            hunk=hunk,
            span=Span(min(start, self._length), min(end, self._length)),
            moved_by=moved_by,
            lacks_newline=end > self._length,
        )

    def _result_at(self, hunk: DiffHunk) -> int | None:
        """Where all that `hunk` makes is already: where it says, or at one place if it tells enough."""
        new = to_lf(hunk.new)
        start = self._offset(hunk.new_start)
        if not new.strip() or all(line.sign != "+" for line in hunk.lines):
            return None
        if start is not None and self._fits(new, start):
            return start
        if not (hunk.has_context_before and hunk.has_context_behind):
            return None
        places = tuple(islice(self._places(new, 0), 2))
        return places[0] if len(places) == 1 else None

    def _made_at(self, hunk: DiffHunk, old: str, start: int) -> int | None:
        """Where the result of `hunk` is around its base at `start`, so that it was applied there.

        A hunk that shows no line after those that it adds would fit again, and add them again and again.
        """
        new = to_lf(hunk.new)
        if len(new) <= len(old):
            return None
        # A hunk that shows that the base has no last line end does not find one there.
        stop = start + len(new) if old.endswith("\n") else self._length
        at = self._text.find(new, max(start + len(old) - len(new), 0), stop)
        while at >= 0 and not self._starts_line(at):
            at = self._text.find(new, at + 1, stop)
        return at if at >= 0 else None

    def _is_anchored(self, hunk: DiffHunk, old: str, start: int) -> bool:
        """Whether `hunk` shows what is on both sides of its changes, be it an end of the file."""
        begins = hunk.has_context_before or start == 0
        return begins and (hunk.has_context_behind or start + len(old) >= self._length)

    def _fits(self, old: str, start: int) -> bool:
        """Whether the whole lines `old` are at `start`; without a last line end they end the text."""
        if not (self._starts_line(start) and self._text.startswith(old, start)):
            return False
        return old.endswith("\n") or (start + len(old) == self._length and not self._has_newline)

    def _places(self, old: str, behind: int) -> Iterator[int]:
        """Where `old` fits, from `after` on."""
        at = self._text.find(old, behind)
        while at >= 0:
            if self._fits(old, at):
                yield at
            at = self._text.find(old, at + 1)

    def _starts_line(self, offset: int) -> bool:
        return offset == 0 or self._text[offset - 1] == "\n"

    def _offset(self, line: int) -> int | None:
        """Start of `line`, 1-based, of those that end at LF; the end of the text for the one after all."""
        if line == len(self._starts) + 1:
            return len(self._text)
        return self._starts[line - 1] if 1 <= line <= len(self._starts) else None

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    @cached_property
    def _starts(self) -> list[int]:
        """Where lines that end at LF start; a CR alone ends a line in the view, and none of these."""
        if "\r" not in self._raw:
            return self._lines.starts
        ends = (match.end() for match in _LF.finditer(self._raw))
        starts = [0, *(self._view.span_in_view(Span(end, end)).start for end in ends)]
        return starts[:-1] if self._raw.endswith("\n") else starts
