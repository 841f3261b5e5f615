"""Candidates that replace text which a pattern finds."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from mdplan.derive.candidate import CandidateEdits, cost_of
from mdplan.derive.section_candidates import address_of
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.markdown.edits.matches import EXCLUDED_BY_DEFAULT, UNDECIDED, exclusion_of
from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.line_end_view import to_lf
from mdplan.text.span import Span

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Unchanged characters between two changes past which two edits are smaller than one.
_LARGEST_GAP = 90
# Changes of one hunk for which all ways to join them are compared.
_MOST_SEGMENTS = 10
# A pattern shorter than this might later be found in other words.
_FEWEST_CHARACTERS = 20
_FEWEST_OF_ROW = 40
_MOST_CHARACTERS = 600
# Whether context is taken before and after the change.
_WAYS = ((True, True), (True, False), (False, True))
_MOST_WORDS = 40
_COMPARISONS = 100_000


@dataclass(frozen=True, slots=True)
class Segment:
    """Text `span` of the old version that becomes `new`; `floor` and `ceiling` bound its context.

    One that `opens` or `closes` with an insertion says nothing of the text on that side.
    """

    span: Span
    new: str
    floor: int
    ceiling: int
    opens: bool
    closes: bool


class MatchCandidates:
    """Makes patterns that occur once, within an allowance of searches."""

    def __init__(self, change: Change) -> None:
        """Make patterns of the old text of `change`."""
        self._change = change
        self._text = change.old.source.text
        self._end = Span(len(self._text), len(self._text))
        self._left = 300_000_000

    def of_hunk(self, hunk: ChangedRun) -> Iterator[CandidateEdits]:
        """The hunk as replaced text: as one match, and as the matches that are smallest together."""
        segments = tuple(self.segments(hunk, 1))
        if len(segments) > _MOST_SEGMENTS:
            segments = tuple(self.segments(hunk, _LARGEST_GAP))
        if not segments:
            return
        at_end = any(segment.span == self._end for segment in segments)
        whole = self._edit(self._joined(segments))
        if whole is not None:
            yield CandidateEdits((whole,), is_weak=at_end)
        if 1 < len(segments) <= _MOST_SEGMENTS:
            edits = self._smallest(segments)
            if edits is not None and len(edits) > 1:
                yield CandidateEdits(edits, is_weak=at_end)

    def _smallest(self, segments: Sequence[Segment]) -> tuple[Mapping[str, object], ...] | None:
        """Edits of all `segments`, those next to each other joined where that is smaller."""
        best: list[tuple[int, tuple[Mapping[str, object], ...]] | None] = [(0, ())]
        for end in range(1, len(segments) + 1):
            ways = []
            for start in range(end - 1, -1, -1):
                part = segments[start:end]
                if len(part) > 1 and part[1].span.start - part[0].span.end > _LARGEST_GAP:
                    break
                before = best[start]
                edit = self._edit(self._joined(part)) if before is not None else None
                if before is not None and edit is not None:
                    ways.append((before[0] + cost_of((edit,)), (*before[1], edit)))
            best.append(min(ways, key=lambda way: way[0], default=None))
        return best[-1][1] if best[-1] is not None else None

    def _joined(self, segments: Sequence[Segment]) -> Segment:
        """`segments`, which follow each other, as one with the text between them."""
        parts = [segments[0].new]
        for before, after in pairwise(segments):
            parts += [self._text[before.span.end : after.span.start], after.new]
        span = Span(segments[0].span.start, segments[-1].span.end)
        first, last = segments[0], segments[-1]
        return Segment(span, "".join(parts), first.floor, last.ceiling, first.opens, last.closes)

    def everywhere(
        self, hunks: Sequence[ChangedRun]
    ) -> Iterator[tuple[tuple[ChangedRun, ...], CandidateEdits]]:
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
                CandidateEdits.of(
                    "replace_match",
                    pattern=to_lf(old),
                    replacement=to_lf(new),
                    expectedMatchCount=count,
                    include=self._include(self._words(first).span),
                ),
            )

    def segments(self, hunk: ChangedRun, gap: int) -> Iterator[Segment]:
        """The places of `hunk` that differ by words; those with less than `gap` between them are one."""
        change = self._change
        start = change.old_span(hunk.old_start, hunk.old_end).start
        old = _WORD.findall(change.old_text(hunk.old_start, hunk.old_end))
        new = _WORD.findall(change.new_text(hunk))
        runs: list[tuple[int, int, int, int]] = []
        old_at, new_at = (list(accumulate(map(len, words), initial=0)) for words in (old, new))
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
        floor = self._start_of(hunk.floor)
        for index, (first, last, begin, end) in enumerate(runs):
            is_last = index + 1 == len(runs)
            # Two edits must not share their context.
            ceiling = self._start_of(hunk.ceiling) if is_last else start + (last + runs[index + 1][0]) // 2
            is_new = first == last
            yield Segment(Span(start + first, start + last), text[begin:end], floor, ceiling, is_new, is_new)
            floor = ceiling

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
        return replace(segment, span=Span(start, end), new=new)

    def _edit(self, segment: Segment) -> dict[str, object] | None:
        """A replacement of the shortest pattern around `segment` that occurs once."""
        # What is on one side of an insertion does not prove that the other side is unchanged.
        is_one_sided = not (segment.opens or segment.closes) or segment.span == self._end
        ways = _WAYS if is_one_sided else _WAYS[:1]
        inside = self._in_line(segment)
        found = [self._grown(each, way) for each in dict.fromkeys((inside, segment)) for way in ways]
        edits = []
        for each in found:
            if each is not None:
                fields: dict[str, object] = {
                    "op": "replace_match",
                    "pattern": to_lf(self._text[each.span.start : each.span.end]),
                    "replacement": to_lf(each.new),
                }
                include = self._include(each.span)
                scope = self._section_of(each)
                edits.append({**fields, **scope, **({"include": include} if include else {})})
        # A pattern of one line survives what is done to the next one.
        return min(edits, key=lambda edit: (cost_of((edit,)) + _breaks(edit), _breaks(edit)), default=None)

    def _section_of(self, segment: Segment) -> Mapping[str, object]:
        """The section of a row: rows move from table to table, and mean something else there."""
        section = self._change.old.section_at(segment.span.start)
        is_named = section.heading is not None and self._is_row(segment)
        return address_of(self._change, section) if is_named else {}

    def _is_row(self, segment: Segment) -> bool:
        return self._text.startswith("|", self._text.rfind("\n", 0, segment.span.start) + 1)

    def _in_line(self, segment: Segment) -> Segment:
        """`segment` with no more context than its own lines."""
        start, end = segment.span.start, segment.span.end
        floor = max(self._text.rfind("\n", 0, start) + 1, segment.floor)
        behind = self._text.find("\n", end)
        ceiling = min(behind if behind >= 0 else len(self._text), segment.ceiling)
        return replace(segment, floor=floor, ceiling=max(ceiling, end))

    def _grown(self, segment: Segment, way: tuple[bool, bool]) -> Segment | None:
        """`segment` with words before it, after it or both, until it is a pattern that occurs once."""
        text = self._text
        words = self._words(segment)
        start, end = words.span.start, words.span.end
        back, forth = way
        for _ in range(_MOST_WORDS):
            if end - start > max(_MOST_CHARACTERS, 2 * len(segment.span)):
                return None
            if self._is_pattern(segment, start, end):
                return self._with_context(segment, *self._shrunk(segment, start, end))
            before, after = start, end
            if back and start > segment.floor:
                start = _next(_starts_word, text, start, segment.floor)
            if forth and end < segment.ceiling:
                end = _next(_ends_word, text, end, segment.ceiling)
            if (start, end) == (before, after):
                return self._last_line(segment)
        return None

    def _shrunk(self, segment: Segment, start: int, end: int) -> tuple[int, int]:
        """Without words at the edges of the pattern that it does not need."""
        words = self._words(segment)
        while start < words.span.start:
            nearer = _next(_starts_word, self._text, start, words.span.start)
            if not self._is_pattern(segment, nearer, end):
                break
            start = nearer
        while end > words.span.end:
            nearer = _next(_ends_word, self._text, end, words.span.end)
            if not self._is_pattern(segment, start, nearer):
                break
            end = nearer
        return start, end

    def _is_pattern(self, segment: Segment, start: int, end: int) -> bool:
        text = self._text
        # White space pads the cells of tables, and rows have much else in common, which says little.
        fewest = _FEWEST_OF_ROW if self._is_row(segment) else _FEWEST_CHARACTERS
        is_long = len(" ".join(text[start:end].split())) >= fewest
        return is_long and self._is_inside(segment, start, end) and self._is_unique(start, end)

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
        if span == self._end:
            return True
        # Part of a run of marks would be found in a longer run.
        if _is_mark(text[start]) and start > 0 and (text[start - 1] == " " or _is_mark(text[start - 1])):
            return False
        if _is_mark(text[end - 1]) and end < len(text) and _is_mark(text[end]):
            return False
        is_before = text[start : span.start].strip() or not segment.opens
        is_behind = text[span.end : end].strip() or not segment.closes
        return bool(is_before and is_behind)

    def _is_unique(self, start: int, end: int) -> bool:
        self._left -= len(self._text)
        if self._left < 0:
            return False
        pattern = self._text[start:end]
        first = self._text.find(pattern)
        # Where the result has it too, the edit would be made again where it was made already.
        is_gone = self._change.new.source.text.find(pattern) < 0
        return first == start and self._text.find(pattern, start + 1) < 0 and is_gone

    def _include(self, span: Span) -> list[str] | None:
        """The kind of node that has to be included to find `span`."""
        kind = exclusion_of(self._change.old, span, EXCLUDED_BY_DEFAULT)
        return None if kind is None or kind == UNDECIDED else [str(kind)]


def _is_mark(character: str) -> bool:
    return not (_is_word(character) or character.isspace())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _breaks(edit: Mapping[str, object]) -> int:
    """Lines that end inside the pattern of `edit`."""
    return str(edit["pattern"]).count("\n")


def _starts_word(text: str, at: int) -> bool:
    return _is_word(text[at]) and not _is_word(text[at - 1])


def _ends_word(text: str, at: int) -> bool:
    return _is_word(text[at - 1]) and not _is_word(text[at])


def _next(is_edge: Callable[[str, int], bool], text: str, at: int, bound: int) -> int:
    """The edge of a word next to `at` in the direction of `bound`, or `bound` itself."""
    step = 1 if at < bound else -1
    at += step
    while at != bound and not is_edge(text, at):
        at += step
    return at
