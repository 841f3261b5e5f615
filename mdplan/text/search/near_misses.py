"""The places most like a text that was not found, and how they differ: for hints, never for edits."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.text.lines import LineIndex
from mdplan.text.search.differences import Difference
from mdplan.text.search.folded_search import FoldedSearch, SearchTerm
from mdplan.text.search.folded_text import FoldedText
from mdplan.text.search.near_miss import NearMiss
from mdplan.text.span import Span

_MOST_SHOWN: Final = 3
_KINDS_SHOWN: Final = 4
_LONGEST: Final = 20_000
_ESCAPE: Final = re.compile(r"\\([nt])")
_ESCAPED: Final = {"n": "\n", "t": "\t"}


def find_near_misses(
    folded: FoldedText,
    wanted: SearchTerm,
    within: Span,
    remark: Callable[[Span], str] = lambda _: "",
) -> tuple[NearMiss, ...]:
    """Up to three places inside `within` that differ least from `wanted`, the best first.

    First those that are the same when folded; only where there is none, those that differ in few characters.
    `remark` says in a few words what else is to be known of a place, if anything; places with a remark come
    last. Spans are of the text of `folded`. What is compared has fixed bounds, so the work grows as the text.
    """
    if len(wanted.text) > _LONGEST:
        return ()
    places = [(place, remark(place.span)) for place in _places(folded, wanted, within)]
    places.sort(key=lambda each: (each[1] != "", _rank(each[0], wanted)))
    return tuple(_near_miss(folded.lines, wanted, place, said) for place, said in places[:_MOST_SHOWN])


def describe_near_misses(near: Sequence[NearMiss]) -> str:
    """`near` as a hint; empty where there is none."""
    return f"nearest: {'; '.join(map(_describe, near))}" if near else ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place, what differs there in words, and in how many places or characters."""

    span: Span
    differs: str
    weight: int


def _places(folded: FoldedText, wanted: SearchTerm, within: Span) -> Iterator[_Place]:
    """Places of the first way to search that finds any."""
    lines = folded.lines
    search = FoldedSearch(folded, wanted, within)
    if search.finds_same:
        for span, differences in search.same():
            yield _Place(span, _names(lines, span, differences), len(differences))
        return
    unescaped = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], wanted.text)
    if unescaped != wanted.text:
        second = FoldedSearch(folded, replace(wanted, text=unescaped, or_exact=True), within)
        for span, differences in second.same():
            names = ["escapes (given as a backslash and a letter)"]
            names += [_names(lines, span, differences)] if differences else []
            yield _Place(span, ", ".join(names), len(differences))
        if second.finds_same:
            return
    for similar in search.similar():
        place = _at(lines, similar.offset, similar.span)
        differs = f"about {similar.errors} of {len(search.key)} characters, from {place} on"
        yield _Place(similar.span, differs, similar.errors)


def _rank(place: _Place, wanted: SearchTerm) -> tuple[bool, int, int]:
    """What places are ordered by: those that were meant first, then by weight, then by distance."""
    meant = wanted.addressed
    if meant is None:
        return False, place.weight, place.span.start
    is_meant = meant.overlaps(place.span) or meant.start == place.span.start
    return not is_meant, place.weight, abs(place.span.start - meant.start)


def _near_miss(lines: LineIndex, wanted: SearchTerm, place: _Place, remark: str) -> NearMiss:
    start = lines.position(place.span.start)
    # Text that ends in a line end has no part in the next line, unless it is lines of which that is one.
    last = place.span.end if wanted.whole_lines else max(place.span.end - 1, place.span.start)
    differs = place.differs or "the place only"
    return NearMiss(
        line=start.line,
        col=start.col,
        end_line=lines.line_at(last),
        differs=f"{differs} ({remark})" if remark else differs,
    )


def _names(lines: LineIndex, span: Span, differences: Iterable[Difference]) -> str:
    """`differences` at `span` by kind, each with its first place."""
    kinds: dict[str, list[Difference]] = {}
    for difference in differences:
        kinds.setdefault(difference.kind, []).append(difference)
    names = [_name(lines, span, same) for same in kinds.values()]
    return ", ".join(names[:_KINDS_SHOWN]) + (", and more" if len(names) > _KINDS_SHOWN else "")


def _name(lines: LineIndex, span: Span, same: Sequence[Difference]) -> str:
    detail = f" ({same[0].detail})" if same[0].detail else ""
    name = f"{same[0].kind}{detail} at {_at(lines, same[0].offset, span)}"
    others = len(same) - 1
    return f"{name} and {others} other {'place' if others == 1 else 'places'}" if others else name


def _at(lines: LineIndex, offset: int, span: Span) -> str:
    """`offset` in words; its line is left out where that is the first of `span`."""
    position = lines.position(offset)
    if position.line == lines.line_at(span.start):
        return f"column {position.col}"
    return f"{position.line}:{position.col}"


def _describe(near: NearMiss) -> str:
    start = f"{near.line}:{near.col}" if near.col > 1 else str(near.line)
    if near.end_line > near.line:
        return f"lines {start}-{near.end_line} differ in {near.differs}"
    return f"line {start} differs in {near.differs}"
