"""Merge of one conflicting place by the units that stand there: items, rows, definitions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rapidfuzz import fuzz

from mdplan.markdown.blocks.block import BlockKind
from mdplan.merge.line_merge import merge_lines
from mdplan.merge.pieces import Origin, Piece, Texts
from mdplan.merge.units import SETS, Unit, Units, cells_of
from mdplan.text.diff.line_blocks import LineComparison

_ALIKE: Final = 85
_SAME: Final = 60
# So many pairs of units are compared by their likeness; more are different.
_MOST_PAIRS: Final = 2_500
_NUMBER: Final = re.compile(r"\s*\d+[.)]")


@dataclass(frozen=True, slots=True)
class Place:
    """One side of a conflict: its lines, and its units; with the blank lines before or behind each."""

    lines: Sequence[str]
    where: range
    units: Sequence[Unit]
    leads: bool

    def lines_of(self, index: int) -> range:
        """The lines of a unit with the blank lines that go with it."""
        if self.leads:
            start = self.units[index - 1].lines.stop if index else self.where.start
            is_last = index == len(self.units) - 1
            return range(start, self.where.stop if is_last else self.units[index].lines.stop)
        start = self.units[index].lines.start if index else self.where.start
        is_last = index == len(self.units) - 1
        return range(start, self.where.stop if is_last else self.units[index + 1].lines.start)


def resolve(texts: Texts, documents: Sequence[Units], piece: Piece) -> list[Piece]:
    """The conflict `piece` in pieces that are as small as can be; `documents` are base, ours and theirs."""
    ranges = (piece.base, piece.ours, piece.theirs)
    sentences = _sentences(texts, piece)
    if sentences is not None:
        return [sentences]
    covered = [document.covering(where) for document, where in zip(documents, ranges, strict=True)]
    if any(units is None for units in covered):
        return [piece]
    units = [each or [] for each in covered]
    if _are_sections(documents, units):
        return _one_after_the_other(piece)
    if not _are_one_set([each for side in units for each in side]):
        return [piece]
    leads = any(
        where and not document.lines[where.start].strip()
        for document, where in zip(documents, ranges, strict=True)
    )
    places = [
        Place(document.lines, where, side, leads)
        for document, where, side in zip(documents, ranges, units, strict=True)
    ]
    found = list(_merged(texts, places))
    before, after = _marked([piece]), _marked(found)
    return found if after < before else [piece]


def _marked(pieces: Sequence[Piece]) -> int:
    return sum(len(each.ours) + len(each.theirs) for each in pieces if each.origin is Origin.CONFLICT)


def _are_one_set(units: Sequence[Unit]) -> bool:
    """Whether all are of one kind that can be added to, in the same containers or nested in each other."""
    if not units or any(each.kind not in SETS for each in units):
        return False
    if any(_NUMBER.match(each.text) for each in units if each.kind is BlockKind.LIST_ITEM):
        return False
    outer = min((each.around for each in units), key=len)
    return len({each.kind for each in units}) == 1 and all(
        each.around[: len(outer)] == outer for each in units
    )


def _are_sections(documents: Sequence[Units], units: Sequence[Sequence[Unit]]) -> bool:
    """Whether both sides add only new sections of one level and other titles."""
    if units[0] or not all(side and side[0].kind is BlockKind.HEADING for side in units[1:]):
        return False
    titles: list[set[str]] = []
    levels: set[int] = set()
    for document, side in zip(documents[1:], units[1:], strict=True):
        starts = {each.lines.start for each in side if each.kind is BlockKind.HEADING}
        sections = [each for each in document.outline.sections[1:] if each.heading_line - 1 in starts]
        if not sections or min(each.level for each in sections) != sections[0].level:
            return False
        levels.add(sections[0].level)
        titles.append({each.title.casefold() for each in sections if each.level == sections[0].level})
    return len(levels) == 1 and not titles[0] & titles[1]


def _one_after_the_other(piece: Piece) -> list[Piece]:
    nothing = range(piece.base.start, piece.base.start)
    return [
        Piece(origin=Origin.OURS, base=nothing, ours=piece.ours, theirs=_none(piece.theirs)),
        Piece(origin=Origin.THEIRS, base=nothing, ours=_none(piece.ours), theirs=piece.theirs),
    ]


def _none(where: range) -> range:
    return range(where.start, where.start)


def _merged(texts: Texts, places: Sequence[Place]) -> Iterator[Piece]:
    base, ours, theirs = places
    own, other = _matches(base.units, ours.units), _matches(base.units, theirs.units)
    own_new, other_new = _added(own, len(ours.units)), _added(other, len(theirs.units))
    for index in range(-1, len(base.units)):
        if index >= 0:
            yield _of_three(texts, places, index, own.get(index), other.get(index))
        yield from _both_added(places, own_new.get(index, ()), other_new.get(index, ()))


def _matches(old: Sequence[Unit], new: Sequence[Unit]) -> dict[int, int]:
    """Which unit of `new` each unit of `old` became: the same text, the same key, or a similar text."""
    found: dict[int, int] = {}
    old_texts, new_texts = [each.text for each in old], [each.text for each in new]
    at = new_at = 0
    gaps = list(LineComparison().differing(old_texts, new_texts))
    for gap in gaps:
        found.update(zip(range(at, gap.old_start), range(new_at, gap.new_start), strict=True))
        at, new_at = gap.old_end, gap.new_end
        first = gap.new_start
        for index in range(gap.old_start, gap.old_end):
            if gap.comparisons > _MOST_PAIRS:
                break
            for candidate in range(first, gap.new_end):
                if _is_same(old[index], new[candidate]):
                    found[index] = candidate
                    first = candidate + 1
                    break
    found.update(zip(range(at, len(old)), range(new_at, len(new)), strict=True))
    return found


def _is_same(old: Unit, new: Unit) -> bool:
    if old.around != new.around:
        return False
    if old.key or new.key:
        return old.key == new.key
    return fuzz.ratio(old.text, new.text) >= _SAME


def _added(matches: dict[int, int], count: int) -> dict[int, list[int]]:
    """Units that match none, by the matched unit of the base before them (-1 for none)."""
    back = {new: old for old, new in matches.items()}
    added: dict[int, list[int]] = {}
    last = -1
    for index in range(count):
        if index in back:
            last = back[index]
        else:
            added.setdefault(last, []).append(index)
    return added


def _of_three(texts: Texts, places: Sequence[Place], index: int, own: int | None, other: int | None) -> Piece:
    base, ours, theirs = places
    old = base.lines_of(index)
    own_lines = _none(ours.where) if own is None else ours.lines_of(own)
    other_lines = _none(theirs.where) if other is None else theirs.lines_of(other)
    text = base.units[index].text
    own_text = None if own is None else ours.units[own].text
    other_text = None if other is None else theirs.units[other].text
    if own_text == text:
        origin = Origin.THEIRS
        # A row that was only padded keeps its new padding.
        if other_text == text and texts.part(texts.theirs, other_lines) == texts.part(texts.base, old):
            origin = Origin.OURS
    elif other_text in {text, own_text}:
        origin = Origin.OURS
    else:
        merged = _cells(texts, old, own_lines, other_lines) if own_text and other_text else None
        origin = Origin.CONFLICT if merged is None else Origin.MERGED
        return Piece(
            origin=origin,
            base=old,
            ours=own_lines,
            theirs=other_lines,
            merged=merged or (),
            reason="both sides changed it" if own_text and other_text else "deleted and changed",
        )
    return Piece(origin=origin, base=old, ours=own_lines, theirs=other_lines)


def _both_added(places: Sequence[Place], own: Sequence[int], other: Sequence[int]) -> Iterator[Piece]:
    base, ours, theirs = places
    nothing = _none(base.where)
    known = {ours.units[index].text for index in own}
    other = [index for index in other if theirs.units[index].text not in known]
    alike = [
        (left, right)
        for left in own
        for right in other
        if len(own) * len(other) <= _MOST_PAIRS and _is_alike(ours.units[left], theirs.units[right])
    ]
    if alike or len(own) * len(other) > _MOST_PAIRS:
        yield Piece(
            origin=Origin.CONFLICT,
            base=nothing,
            ours=range(ours.lines_of(own[0]).start, ours.lines_of(own[-1]).stop),
            theirs=range(theirs.lines_of(other[0]).start, theirs.lines_of(other[-1]).stop),
            reason="both sides added nearly the same",
        )
        return
    added = [(Origin.OURS, ours, index) for index in own]
    added += [(Origin.THEIRS, theirs, index) for index in other]
    if own and other and _is_sorted(ours) and _is_sorted(theirs):
        added.sort(key=lambda each: _sort_key(each[1].units[each[2]]))
    for origin, place, index in added:
        lines = place.lines_of(index)
        is_ours = origin is Origin.OURS
        yield Piece(
            origin=origin,
            base=nothing,
            ours=lines if is_ours else _none(ours.where),
            theirs=_none(theirs.where) if is_ours else lines,
        )


def _is_alike(left: Unit, right: Unit) -> bool:
    return (left.key != "" and left.key == right.key) or fuzz.ratio(left.text, right.text) >= _ALIKE


def _sort_key(unit: Unit) -> str:
    return re.sub(r"\W+", " ", unit.text).strip().casefold()


def _is_sorted(place: Place) -> bool:
    """Whether the units of `place` are sorted, and all are in the same containers."""
    keys = [_sort_key(each) for each in place.units]
    is_flat = len({each.around for each in place.units}) == 1
    return is_flat and all(left <= right for left, right in pairwise(keys))


def _cells(texts: Texts, base: range, ours: range, theirs: range) -> tuple[str, ...] | None:
    """A table row both sides changed, if they changed different cells; else None."""
    rows = [
        line
        for lines, where in ((texts.base, base), (texts.ours, ours), (texts.theirs, theirs))
        for line in texts.part(lines, where)
    ]
    if len(rows) != 3 or "|" not in rows[0]:
        return None
    cut = [re.split(r"(?<!\\)(\|)", row) for row in rows]
    if not len(cut[0]) == len(cut[1]) == len(cut[2]) or len(cells_of(rows[0])) < 2:
        return None
    cells: list[str] = []
    for old, own, other in zip(*cut, strict=True):
        if other.strip() in {old.strip(), own.strip()}:
            cells.append(own)
        elif own.strip() == old.strip():
            cells.append(other)
        else:
            return None
    return ("".join(cells),)


def _sentences(texts: Texts, piece: Piece) -> Piece | None:
    """One long line both sides changed, if an unchanged sentence is between their changes; else None."""
    if not len(piece.base) == len(piece.ours) == len(piece.theirs) == 1:
        return None
    lines = (texts.base[piece.base.start], texts.ours[piece.ours.start], texts.theirs[piece.theirs.start])
    if any(line.lstrip().startswith(("|", "#", "<", "[")) for line in lines):
        return None
    cut = [re.split(r"((?<=[.!?])[ ]+(?=\S))", line) for line in lines]
    sides = Texts(*[_with_spaces(each) for each in cut])
    if len(sides.base) < 3:
        return None
    pieces = merge_lines(sides)
    if any(each.origin is Origin.CONFLICT for each in pieces):
        return None
    changed = {
        Origin.OURS: sides.ours,
        Origin.THEIRS: sides.theirs,
        Origin.BOTH: sides.ours,
    }
    merged = "".join(
        part
        for each in pieces
        for part in sides.part(
            changed[each.origin], each.theirs if each.origin is Origin.THEIRS else each.ours
        )
    )
    return Piece(
        origin=Origin.MERGED, base=piece.base, ours=piece.ours, theirs=piece.theirs, merged=(merged,)
    )


def _with_spaces(parts: Sequence[str]) -> list[str]:
    """Sentences, each with the white space behind it."""
    return ["".join(parts[at : at + 2]) for at in range(0, len(parts), 2)]
