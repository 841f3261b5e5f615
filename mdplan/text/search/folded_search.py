"""Searching a text once more for what was not found: without what folding drops, or for similar text."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Final

from mdplan.text.diff.common_edges import common_start
from mdplan.text.search.differences import Difference, accents_end, find_differences
from mdplan.text.search.folded_text import Dropped, FoldedText, dropped_kind
from mdplan.text.search.similar_text import find_similar
from mdplan.text.span import Span

# A text that folds to less than this is in many words, of which only whole ones are near.
_SHORT: Final = 8
_MOST_PLACES: Final = 64
_MOST_COMPARED: Final = 12
_MOST_DIFFERENCES: Final = 100
_FARTHEST: Final = 200
_MARKS: Final = frozenset({Dropped.DASH, Dropped.MARKUP})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTerm:
    """A `text` with LF line ends that was not found.

    With `whole_lines` it is lines, else any text. `addressed` is where it should be; the search starts
    there. With `any_case` case is no difference. Without `or_exact` a place that has the exact text is no
    near miss.
    """

    text: str
    whole_lines: bool = False
    addressed: Span | None = None
    any_case: bool = False
    or_exact: bool = True


@dataclass(frozen=True, slots=True)
class SimilarSpan:
    """A `span` of which about `errors` characters of what was wanted differ, the first at `offset`."""

    span: Span
    errors: int
    offset: int


class FoldedSearch:
    """One search for one text. All spans are of the text of `folded`."""

    def __init__(self, folded: FoldedText, wanted: SearchTerm, within: Span) -> None:
        """Search `folded` for `wanted` in the span `within`."""
        self._folded = folded
        self._wanted = wanted
        self._within = within
        self._near = wanted.addressed.start if wanted.addressed else within.start
        self.key = wanted.text.translate(folded.folding)
        self.cores = list(islice(self._folded_spans() if self.key else self._exact_spans(), _MOST_COMPARED))

    @property
    def finds_same(self) -> bool:
        """Whether any place is the same when folded, be it no near miss because it is no miss."""
        return bool(self.cores)

    def same(self) -> Iterator[tuple[Span, list[Difference]]]:
        """Places that are the same when folded, and what differs there; of the closest ones, in any order."""
        for core in self.cores:
            span, differences = self._fitted(core) if self.key else (core, [])
            if self._wanted.any_case:
                differences = [difference for difference in differences if difference.kind != "case"]
            if differences or self._wanted.or_exact:
                yield span, differences

    def similar(self) -> Iterator[SimilarSpan]:
        """Places that differ in few characters."""
        start, end, near = self._folded_bounds()
        for similar in find_similar(self._folded.folded, self.key, Span(start, end), near):
            same = common_start(self._folded.folded[similar.start : similar.end], self.key)
            span = Span(self._folded.start_in_text(similar.start), self._folded.end_in_text(similar.end))
            differing = similar.start + same
            offset = self._folded.start_in_text(differing) if differing < similar.end else span.end
            if self._wanted.whole_lines:
                span = self._whole_lines(span)
            yield SimilarSpan(span, similar.errors, offset)

    def _folded_bounds(self) -> tuple[int, int, int]:
        """Start and end of the searched part, and where to begin, in the folded text."""
        index_at = self._folded.index_at
        return index_at(self._within.start), index_at(self._within.end), index_at(self._near)

    def _folded_spans(self) -> Iterator[Span]:
        """Spans that are the same when folded, without dropped characters around, the closest first."""
        places = _occurrences(self._folded.folded, self.key, *self._folded_bounds())
        for index in islice(places, _MOST_PLACES):
            core = Span(self._folded.start_in_text(index), self._folded.end_in_text(index + len(self.key)))
            if len(self.key) >= _SHORT or self._is_specific(core) or self._is_apart(core):
                yield core

    def _exact_spans(self) -> Iterator[Span]:
        """Where the very text is, for a text of which folding leaves nothing, and which is not blank."""
        wanted = self._wanted.text
        if not wanted.strip():
            return
        places = _occurrences(self._folded.text, wanted, self._within.start, self._within.end, self._near)
        for start in islice(places, _MOST_PLACES):
            span = Span(start, start + len(wanted))
            if not self._wanted.whole_lines or span == self._whole_lines(span):
                yield span

    def _is_specific(self, core: Span) -> bool:
        """Whether `core` is at the place that was addressed."""
        return self._wanted.addressed is not None and self._wanted.addressed.overlaps(core)

    def _is_apart(self, core: Span) -> bool:
        """Whether `core` cuts no word."""
        text = self._folded.text
        cuts_start = _is_word(text[core.start - 1 : core.start]) and _is_word(text[core.start])
        return not cuts_start and not (
            _is_word(text[core.end : core.end + 1]) and _is_word(text[core.end - 1])
        )

    def _fitted(self, core: Span) -> tuple[Span, list[Difference]]:
        """`core` with what stands for the dropped characters around it, and the differences."""
        text, within, folding = self._folded.text, self._within, self._folded.folding
        before = folding.start_of(text[max(within.start, core.start - _FARTHEST) : core.start][::-1])
        core_end = accents_end(text, core.end, within.end)
        after = folding.start_of(text[core_end : min(within.end, core_end + _FARTHEST)])
        wanted = self._wanted.text
        lead, trail = folding.start_of(wanted), folding.start_of(wanted[::-1])[::-1]
        start = core.start - _counterpart(before, lead[::-1])
        end = core_end + _counterpart(after, trail[accents_end(trail, 0, len(trail)) :])
        more: list[Difference] = []
        if self._wanted.whole_lines:
            lines = self._whole_lines(Span(start, end))
            if not folding.drops_all(text[lines.start : core.start]):
                more.append(Difference("more text before it", "", lines.start))
            else:
                start = lines.start
            if not folding.drops_all(text[core.end : lines.end]):
                more.append(Difference("more text after it", "", core.end))
            else:
                end = lines.end
        span = Span(start, end)
        differences = find_differences(folding, text, span, self._wanted.text)
        return span, [*more, *islice(_without_neighbours(differences), _MOST_DIFFERENCES)]

    def _whole_lines(self, span: Span) -> Span:
        """Whole lines around `span`, without the last line end."""
        lines = self._folded.lines
        return Span(lines.start(lines.line_at(span.start)), lines.content_end(lines.line_at(span.end)))


def _occurrences(text: str, wanted: str, start: int, end: int, near: int) -> Iterator[int]:
    """Where `wanted` is in ``text[start:end]``, the closest to `near` first."""

    def ahead() -> Iterator[int]:
        at = text.find(wanted, max(near, start), end)
        while at >= 0:
            yield at
            at = text.find(wanted, at + 1, end)

    def behind() -> Iterator[int]:
        at = text.rfind(wanted, start, min(near + len(wanted) - 1, end))
        while at >= 0:
            yield at
            at = text.rfind(wanted, start, at + len(wanted) - 1)

    return merge(ahead(), behind(), key=lambda at: abs(at - near))


def _counterpart(dropped: str, given: str) -> int:
    """How much of `dropped` stands for `given`; both are dropped characters, read from the inside out."""
    if dropped.startswith(given):
        return len(given)
    kinds = {dropped_kind(character) for character in given}
    if kinds & _MARKS:
        kinds |= _MARKS
    line_ends = given.count("\n")
    for at, character in enumerate(dropped):
        if dropped_kind(character) not in kinds or (character == "\n" and not line_ends):
            return at
        line_ends -= character == "\n"
        if character == "\n" and not line_ends and given.endswith("\n"):
            return at + 1
    return len(dropped)


def _without_neighbours(differences: Iterator[Difference]) -> Iterator[Difference]:
    """`differences`; of several of one kind that touch, the first."""
    last: Difference | None = None
    for difference in differences:
        if last is None or (last.kind, last.offset + 1) != (difference.kind, difference.offset):
            yield difference
        last = difference


def _is_word(character: str) -> bool:
    """Whether `character` is part of a word that has ends: scripts without case may have none."""
    return character.isalnum() and (character.isdecimal() or character.lower() != character.upper())
