"""Candidates that replace text which a pattern finds."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mdplan.derive.candidate import Candidate, cost_of
from mdplan.derive.change import Change, Hunk
from mdplan.markdown.edits.matches import EXCLUDED_BY_DEFAULT, UNDECIDED, kept_out_by
from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.line_end_view import to_lf
from mdplan.text.span import Span

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Unchanged characters between two changes of a hunk past which two edits are smaller than one.
_GAPS = (60, 1 << 30)
# A pattern shorter than this might later be found in other words.
_FEWEST_CHARACTERS = 20
_MOST_CHARACTERS = 600
# Whether context is taken before and behind the change.
_WAYS = ((True, True), (True, False), (False, True))
_MOST_WORDS = 40
_COMPARISONS = 100_000


@dataclass(frozen=True, slots=True)
class Segment:
    """Text `span` of the old version that becomes `new`; `floor` and `ceiling` bound its context."""

    span: Span
    new: str
    floor: int
    ceiling: int


class MatchCandidates:
    """Makes patterns that occur once, within an allowance of searches."""

    def __init__(self, change: Change) -> None:
        """Make patterns of the old text of `change`."""
        self._change = change
        self._text = change.old.source.text
        self._end = Span(len(self._text), len(self._text))
        self._left = 300_000_000

    def of_hunk(self, hunk: Hunk) -> Iterator[Candidate]:
        """The hunk as replaced text: as one match, and as one match for each place that differs."""
        # Whole lines that come or go say nothing of the lines beside them: a pattern would join the two.
        if hunk.old_start == hunk.old_end or hunk.new_start == hunk.new_end:
            return
        seen = set()
        for gap in _GAPS:
            segments = tuple(self.segments(hunk, gap))
            if segments and segments not in seen:
                seen.add(segments)
                found = [self._edit(segment) for segment in segments]
                if None not in found:
                    at_end = any(segment.span == self._end for segment in segments)
                    yield Candidate(tuple(edit for edit in found if edit is not None), is_weak=at_end)

    def everywhere(self, hunks: Sequence[Hunk]) -> Iterator[tuple[tuple[Hunk, ...], Candidate]]:
        """One replacement of all occurrences of a text, and the hunks that consist of such replacements."""
        places: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        sizes: Counter[int] = Counter()
        for hunk in hunks:
            for segment in self.segments(hunk, 1):
                whole = self._words(segment)
                old = self._text[whole.span.start : whole.span.end]
                places[old, whole.new][hunk.index] += 1
                sizes[hunk.index] += 1
        for (old, new), found in places.items():
            count = sum(found.values())
            if count < 2 or not old.strip() or any(sizes[index] != times for index, times in found.items()):
                continue
            covered = tuple(hunk for hunk in hunks if hunk.index in found)
            first = next(self.segments(covered[0], 1))
            yield (
                covered,
                Candidate.of(
                    "replace_match",
                    pattern=to_lf(old),
                    replacement=to_lf(new),
                    expectedMatchCount=count,
                    include=self._include(self._words(first).span),
                ),
            )

    def segments(self, hunk: Hunk, gap: int) -> Iterator[Segment]:
        """The places of `hunk` that differ by words; those with less than `gap` between them are one."""
        change = self._change
        start = change.old_span(hunk.old_start, hunk.old_end).start
        old = _WORD.findall(change.old_text(hunk.old_start, hunk.old_end))
        new = _WORD.findall(change.new_text(hunk))
        runs: list[tuple[int, int, int, int]] = []
        old_at, new_at = _offsets(old), _offsets(new)
        for block in LineComparison(_COMPARISONS).differing(old, new):
            at = (
                old_at[block.old_start],
                old_at[block.old_end],
                new_at[block.new_start],
                new_at[block.new_end],
            )
            if runs and at[0] - runs[-1][1] < gap:
                runs[-1] = (runs[-1][0], at[1], runs[-1][2], at[3])
            else:
                runs.append(at)
        text = change.new_text(hunk)
        floor = change.old_span(hunk.floor, hunk.floor).start
        for index, (first, last, begin, end) in enumerate(runs):
            ceiling = start + runs[index + 1][0] if index + 1 < len(runs) else self._start_of(hunk.ceiling)
            yield Segment(Span(start + first, start + last), text[begin:end], floor, ceiling)
            floor = start + last

    def _start_of(self, line: int) -> int:
        return self._change.old_span(line, line).start

    def _words(self, segment: Segment) -> Segment:
        """`segment` with all of the words that it cuts."""
        start, end = segment.span.start, segment.span.end
        while start > segment.floor and _is_word(self._text[start - 1]):
            start -= 1
        while end < segment.ceiling and _is_word(self._text[end]):
            end += 1
        return self._with_context(segment, start, end)

    def _with_context(self, segment: Segment, start: int, end: int) -> Segment:
        text, span = self._text, segment.span
        new = text[start : span.start] + segment.new + text[span.end : end]
        return Segment(Span(start, end), new, segment.floor, segment.ceiling)

    def _edit(self, segment: Segment) -> dict[str, object] | None:
        """A replacement of the shortest pattern around `segment` that occurs once."""
        # What stands on one side of an insertion does not prove that the other side is unchanged.
        ways = _WAYS if len(segment.span) or segment.span == self._end else _WAYS[:1]
        found = [self._grown(segment, way) for way in ways]
        edits = []
        for each in found:
            if each is not None:
                fields: dict[str, object] = {
                    "op": "replace_match",
                    "pattern": to_lf(self._text[each.span.start : each.span.end]),
                    "replacement": to_lf(each.new),
                }
                include = self._include(each.span)
                edits.append({**fields, "include": include} if include else fields)
        return min(edits, key=lambda edit: cost_of((edit,)), default=None)

    def _grown(self, segment: Segment, way: tuple[bool, bool]) -> Segment | None:
        """`segment` with words before it, after it or both, until it is a pattern that occurs once."""
        text = self._text
        words = self._words(segment)
        start, end = words.span.start, words.span.end
        back, forth = way
        for _ in range(_MOST_WORDS):
            if end - start > max(_MOST_CHARACTERS, 2 * len(segment.span)):
                return None
            is_long = end - start >= _FEWEST_CHARACTERS
            if is_long and self._is_inside(segment, start, end) and self._is_unique(start, end):
                return self._with_context(segment, start, end)
            before, after = start, end
            if back and start > segment.floor:
                start = _previous_word(text, start, segment.floor)
            if forth and end < segment.ceiling:
                end = _next_word(text, end, segment.ceiling)
            if (start, end) == (before, after):
                return self._last_line(segment)
        return None

    def _last_line(self, segment: Segment) -> Segment | None:
        """A `segment` at the end of the text with all of its line; the whole file has to guard it."""
        start = max(self._text.rfind("\n", 0, segment.span.start) + 1, segment.floor)
        is_last = segment.span == self._end and start < self._end.start
        found = is_last and self._is_unique(start, self._end.end)
        return self._with_context(segment, start, self._end.end) if found else None

    def _is_inside(self, segment: Segment, start: int, end: int) -> bool:
        """Whether the pattern breaks no line at its edges, and has text on both sides of an insertion."""
        text, span = self._text, segment.span
        if text[start] in "\r\n" or text[end - 1] in "\r\n":
            return False
        is_between = text[start : span.start].strip() and text[span.end : end].strip()
        return bool(len(span) or is_between or span == self._end)

    def _is_unique(self, start: int, end: int) -> bool:
        self._left -= len(self._text)
        if self._left < 0:
            return False
        pattern = self._text[start:end]
        first = self._text.find(pattern)
        return first == start and self._text.find(pattern, start + 1) < 0

    def _include(self, span: Span) -> list[str] | None:
        """The kind of node that has to be included to find `span`."""
        kind = kept_out_by(self._change.old, span, EXCLUDED_BY_DEFAULT)
        return None if kind is None or kind == UNDECIDED else [str(kind)]


def _offsets(words: list[str]) -> list[int]:
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    return offsets


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _previous_word(text: str, at: int, floor: int) -> int:
    at -= 1
    while at > floor and not (_is_word(text[at]) and not _is_word(text[at - 1])):
        at -= 1
    return max(at, floor)


def _next_word(text: str, at: int, ceiling: int) -> int:
    at += 1
    while at < ceiling and not (_is_word(text[at - 1]) and not _is_word(text[at])):
        at += 1
    return min(at, ceiling)
