"""Which edit of a batch made which text edit of a plan.

A plan does not say so: it has the text edits of each file, and of each edit the places that it claims in the
base and the lines that it wrote in the result. Both are matched here. Where that leaves several edits, all of
them are named; a text edit that none of them made is one of the engine, a link for example.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mdplan.plan import EditResult
from mdplan.planning.results import MOST_MATCHES
from mdplan.review.file_sides import FileSides
from mdplan.text.lines import LineIndex, Span

Owners = tuple[int, ...]
_NO_OWNER: Final[Owners] = ()


class EditedLines(NamedTuple):
    """Half-open range of code points that an edit has to do with."""

    start: int
    end: int
    edit: int


@dataclass(frozen=True, slots=True)
class EditPlaces:
    """Who made each text edit of a file: `owners`, ascending; no one where the engine did.

    `claimed` are places in the base, `written` in the result, both sorted; they tell several owners of one
    text edit apart.
    """

    owners: Sequence[Owners]
    claimed: Sequence[EditedLines] = ()
    written: Sequence[EditedLines] = ()


def places_of(sides: FileSides, results: Sequence[EditResult], *, sequential: bool) -> EditPlaces:
    """Who made the text edits of `sides`.

    `results` are those of the plan. In a `sequential` plan what an edit claims is in a document between the
    base and the result, so only what it wrote counts.
    """
    change = sides.change
    own = [each for each in results if change.path in (each.file, each.to_file) and not each.no_op]
    only: Owners = (own[0].edit_index,) if len(own) == 1 else _NO_OWNER
    if only and not change.references_updated:
        return EditPlaces((only,) * len(sides.edits))
    claimed = [] if sequential else sorted(_claimed(own, change.path, sides.base.lines))
    by_claim = _touching([edit.span for edit in sides.edits], claimed)
    written = sorted(_written(own, change.path, sides.result_lines))
    by_lines = list(_touching(sides.edits.result_spans, written))
    owners = [
        _decided(edit.span, claims, lines)
        for edit, claims, lines in zip(sides.edits, by_claim, by_lines, strict=True)
    ]
    # What one edit took and another wrote in its place is one text edit.
    missed = {each.edit_index for each in own}.difference(*owners)
    found = [
        tuple(sorted({*owner, *(place.edit for place in lines if place.edit in missed)}))
        for owner, lines in zip(owners, by_lines, strict=True)
    ]
    uncertain = only or tuple(each.edit_index for each in own if _is_capped(each) or sequential)
    nobody = _NO_OWNER if change.references_updated else uncertain
    return EditPlaces([owner or nobody for owner in found], claimed, written)


def _claimed(results: Sequence[EditResult], path: str, lines: LineIndex) -> Iterator[EditedLines]:
    for each in results:
        for place in each.ranges if each.file == path else ():
            start, end = lines.offset(place.start), lines.offset(place.end)
            if start is not None and end is not None:
                yield EditedLines(start, end, each.edit_index)


def _written(results: Sequence[EditResult], path: str, lines: LineIndex) -> Iterator[EditedLines]:
    for each in results:
        for place in each.result_lines if (each.to_file or each.file) == path else ():
            yield EditedLines(lines.start(place.start), lines.end(place.end), each.edit_index)


def _decided(span: Span, claims: Sequence[EditedLines], lines: Sequence[EditedLines]) -> Owners:
    """The edits that a text edit with `span` belongs to, of those whose claims or lines it touches."""
    inside = {place.edit for place in claims if place.start < span.end and span.start < place.end}
    at = {place.edit for place in claims if place.start == place.end == span.start}
    wrote = {place.edit for place in lines}
    near = {place.edit for place in claims}
    # The first of these that names an edit: what is certain comes before what is only near.
    choices = (inside & wrote, at & wrote, inside, wrote & near, wrote, at, near)
    return tuple(sorted(next((choice for choice in choices if choice), set())))


def _touching(spans: Sequence[Span], places: Sequence[EditedLines]) -> Iterator[list[EditedLines]]:
    """For each of `spans`, which are sorted, the `places` (sorted by start) that share a point with it."""
    active: list[EditedLines] = []
    added = 0
    for span in spans:
        while added < len(places) and places[added].start <= span.end:
            active.append(places[added])
            added += 1
        active = [place for place in active if place.end >= span.start]
        yield [place for place in active if place.start <= span.end]


def _is_capped(result: EditResult) -> bool:
    """Whether its report leaves places out."""
    return MOST_MATCHES in (len(result.ranges), len(result.result_lines))
