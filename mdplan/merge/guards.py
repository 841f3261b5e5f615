"""Checks of a merged text: what a line merge gets wrong without a conflict.

Each check gives the lines of the result that must not be merged without a person.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, BlockKind
from mdplan.markdown.links.links import local_links
from mdplan.markdown.outline.section import Section
from mdplan.merge.pieces import Origin, Piece, ResultLine, Texts
from mdplan.merge.units import Unit, Units
from mdplan.text.diff.line_blocks import LineComparison

_UNRELEASED: Final = re.compile(
    r"\W*(?:unreleased|master|main|trunk|head|next|dev(?:elop(?:ment)?)?|upcoming|in progress)\b",
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"\d")
# An item that says that the list has none.
_NOTHING: Final = re.compile(r"[\s>]*[-+*]\s+\W*(?:none|nothing|n/a|no changes)\b\W*$", re.IGNORECASE)
# What a section is in all three texts: its path and how often it occurred before, in the base if it is there.
Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """The 0-based `line` of a result that a check refuses, and the `reason`."""

    line: int
    reason: str


class Side:
    """One side with its sections as those of the base."""

    def __init__(self, base: Units, side: Units) -> None:
        """Match the sections of `side` with those of `base`."""
        self.units = side
        self.identities = _identities(base, side)

    def section(self, line: int) -> Section:
        """The section around the 0-based `line`."""
        outline = self.units.outline
        return outline.section_at(outline.source.lines.start(line + 1))

    def identity(self, section: Section) -> Identity:
        """What `section` is in all three texts."""
        return self.identities[section.index]

    def parent(self, section: Section) -> Identity:
        """The identity of the section around `section`."""
        return self.identities[section.parent or 0]

    @cached_property
    def headings(self) -> dict[int, Section]:
        """Sections by the 0-based line of their heading."""
        return {each.heading_line - 1: each for each in self.units.outline.sections[1:]}


def flaws(
    texts: Texts, sides: tuple[Units, Side, Side], pieces: Sequence[Piece], lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
    """What is wrong with the result `lines` of `pieces`, as far as one can see."""
    base, ours, theirs = sides
    result = Units([line.text for line in lines])
    yield from _misplaced(ours, theirs, base, result, lines)
    yield from _reshaped(ours, theirs, result, lines)
    yield from _repeated(ours, theirs, result)
    yield from _lost_or_doubled(texts, pieces, lines)
    yield from _broken(ours, theirs, result)
    yield from _contradicted(ours, theirs, result, lines)


def _name(section: Section) -> Identity:
    return (*section.canonical_path, section.ordinal)


def _identities(base: Units, side: Units) -> list[Identity]:
    old, new = base.outline.sections, side.outline.sections
    pairs = list(_kept_lines(base, side))
    kept = _kept_headings(base, side, pairs)
    names = {_name(each) for each in old}.difference(kept.values())
    taken = {*kept.values(), *({_name(each) for each in new} & names)}
    found: list[Identity] = []
    moved = _lines_from(base, side, pairs)
    for section in new:
        name = _name(section)
        is_known = section.index in kept or name in names
        identity: Identity = kept.get(section.index) or (name if is_known else ("new", *name))
        candidates = Counter[int]() if is_known else moved.get(section.index, Counter())
        for index, count in candidates.most_common(1):
            size = sum(1 for line in _own_lines(base, index) if base.lines[line].strip())
            if _name(old[index]) not in taken and 2 * count >= size:
                identity = _name(old[index])
                taken.add(identity)
        found.append(identity)
    return found


def _kept_headings(base: Units, side: Units, pairs: Sequence[tuple[int, int]]) -> dict[int, Identity]:
    """By the index of a section of `side` the one of `base` with the same heading line and path.

    That another section with this path came or went before it changes nothing.
    """
    old = {each.heading_line - 1: each for each in base.outline.sections[1:]}
    new = {each.heading_line - 1: each for each in side.outline.sections[1:]}
    found: dict[int, Identity] = {}
    for line, new_line in pairs:
        if line in old and new_line in new:
            before, section = old[line], new[new_line]
            parent = found.get(section.parent or 0, _name(side.outline.sections[section.parent or 0]))
            if before.canonical_path == section.canonical_path and parent == _parent_name(base, before):
                found[section.index] = _name(before)
    return found


def _own_lines(units: Units, index: int) -> range:
    section, lines = units.outline.sections[index], units.outline.source.lines
    if not len(section.body):
        return range(0)
    return range(lines.line_at(section.body.start) - 1, lines.line_at(section.body.end - 1))


def _kept_lines(base: Units, side: Units) -> Iterator[tuple[int, int]]:
    """The lines of `base` that `side` kept, each with its line there."""
    at = shift = 0
    for block in LineComparison().differing(list(base.lines), list(side.lines)):
        yield from ((line, line + shift) for line in range(at, block.old_start))
        at, shift = block.old_end, block.new_end - block.old_end
    yield from ((line, line + shift) for line in range(at, len(base.lines)))


def _lines_from(base: Units, side: Units, pairs: Sequence[tuple[int, int]]) -> dict[int, Counter[int]]:
    """By the index of a section of `side`, from which sections of `base` its lines come."""
    found: dict[int, Counter[int]] = {}
    for line, new_line in pairs:
        if base.lines[line].strip():
            found.setdefault(_index_at(side, new_line), Counter())[_index_at(base, line)] += 1
    return found


def _index_at(units: Units, line: int) -> int:
    outline = units.outline
    return outline.section_at(outline.source.lines.start(line + 1)).index


def _misplaced(
    ours: Side, theirs: Side, base: Units, result: Units, lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
    """Lines under another heading than their author saw, and sections with another parent."""
    of_base = {_name(each): _parent_name(base, each) for each in base.outline.sections}
    identities: list[Identity] = [()]
    for section in result.outline.sections[1:]:
        line = lines[section.heading_line - 1]
        found = [
            (side, side.headings[at])
            for side, at in ((ours, line.ours), (theirs, line.theirs))
            if at is not None and at in side.headings
        ]
        if not found:
            yield Flaw(section.heading_line - 1, "it became a heading")
            identities.append(("new",))
            continue
        names = [side.identity(each) for side, each in found]
        identity = names[0] if names[0][:1] != ("new",) else names[-1]
        identities.append(identity)
        parents = {side.parent(each) for side, each in found}
        if len(parents) > 1:
            parents.discard(of_base.get(identity, ()))
        if section.parent and identities[section.parent] not in parents:
            yield Flaw(section.heading_line - 1, "it would be under another heading")
    identities[0] = ours.identities[0]
    for number, line in enumerate(lines):
        if not line.text.strip():
            continue
        allowed = {
            side.identity(side.section(at))
            for side, at in ((ours, line.ours), (theirs, line.theirs))
            if at is not None
        }
        index = _index_at(result, number)
        if (line.ours is None) != (line.theirs is None):
            author = theirs.section(line.theirs or 0) if line.ours is None else ours.section(line.ours)
            if _is_released(author, result.outline.sections[index]):
                yield Flaw(number, "it would be in a version that the other side released")
        if identities[index] not in allowed and identities[index] != ("new",):
            yield Flaw(number, "it would be under another heading")


def _is_released(before: Section, section: Section) -> bool:
    """Whether text of `before`, which is not released, would be in a version: `section` or around it."""
    return (
        any(_UNRELEASED.match(title) for title in before.path)
        and not any(_UNRELEASED.match(title) for title in section.path)
        and any(_VERSION.search(title) for title in section.path)
    )


def _parent_name(units: Units, section: Section) -> Identity:
    return _name(units.outline.sections[section.parent or 0])


def _shapes(units: Units) -> list[tuple[str, ...]]:
    """For each line the kinds of the blocks around it, and whether a block begins there."""
    found: list[tuple[str, ...]] = [()] * len(units.lines)
    around: list[str] = []
    for block in units.outline.blocks:
        del around[block.depth :]
        if block.kind in CONTAINERS:
            around.append(block.kind)
            continue
        kind = _LOOSE.get(block.kind, block.kind)
        for line in range(block.first_line - 1, block.last_line):
            is_first = line == block.first_line - 1
            found[line] = (*around, kind, "first" if is_first else "")
    return found


# Blocks that differ by their surroundings only.
_LOOSE: Final = {BlockKind.INDENTED_CODE: BlockKind.FENCE}


def _reshaped(ours: Side, theirs: Side, result: Units, lines: Sequence[ResultLine]) -> Iterator[Flaw]:
    """Lines that are in another kind of block than where they come from."""
    shapes, own, other = _shapes(result), _shapes(ours.units), _shapes(theirs.units)
    for number, line in enumerate(lines):
        if not line.text.strip():
            continue
        before = [shape[at] for shape, at in ((own, line.ours), (other, line.theirs)) if at is not None]
        if not any(each[:-1] == shapes[number][:-1] for each in before):
            yield Flaw(number, "it would be another kind of block")
        elif all(each[-1:] == ("first",) for each in before) and shapes[number][-1] != "first":
            yield Flaw(number, "it would become a part of the block above it")


def _repeated(ours: Side, theirs: Side, result: Units) -> Iterator[Flaw]:
    """Headings and labels that are repeated more often than in a side."""
    most = Counter(each.canonical_path for each in ours.units.outline.sections)
    most |= Counter(each.canonical_path for each in theirs.units.outline.sections)
    for section in reversed(result.outline.sections[1:]):
        path = section.canonical_path
        if section.ordinal > most[path]:
            yield Flaw(section.heading_line - 1, "the heading would be repeated")
    labels = _labels(ours.units) | _labels(theirs.units)
    seen: Counter[str] = Counter()
    for unit in _definitions(result):
        seen[unit.key] += 1
        if seen[unit.key] > labels[unit.key]:
            yield Flaw(unit.lines.start, "the label would be repeated")


def _definitions(units: Units) -> Iterator[Unit]:
    before = None
    for unit in units.at:
        if (
            unit is not None
            and unit is not before
            and unit.kind in {BlockKind.DEFINITION, BlockKind.FOOTNOTE}
        ):
            yield unit
        before = unit


def _labels(units: Units) -> Counter[str]:
    return Counter(unit.key for unit in _definitions(units))


def _lost_or_doubled(texts: Texts, pieces: Sequence[Piece], lines: Sequence[ResultLine]) -> Iterator[Flaw]:
    """A line that occurs more or less often than the changes of both sides say."""
    if any(piece.origin is Origin.CONFLICT for piece in pieces):
        return
    merged = {number for number, piece in enumerate(pieces) if piece.origin is Origin.MERGED}
    declared = {
        line
        for number in merged
        for side, where in (
            (texts.base, pieces[number].base),
            (texts.ours, pieces[number].ours),
            (texts.theirs, pieces[number].theirs),
        )
        for line in texts.part(side, where)
    } | {line.text for line in lines if line.piece in merged}
    base, ours, theirs = Counter(texts.base), Counter(texts.ours), Counter(texts.theirs)
    counts = Counter(line.text for line in lines)
    for text in {*base, *ours, *theirs, *counts}:
        if not text.strip() or text in declared:
            continue
        own, other = ours[text] - base[text], theirs[text] - base[text]
        together = base[text] + own + other
        apart = base[text] + (max(own, other) if min(own, other) > 0 else min(own, other))
        is_same_way = own * other > 0
        low, high = sorted((together, apart)) if is_same_way else (together, together)
        if not low <= counts[text] <= high and not text.lstrip().startswith("|"):
            at = next((number for number, line in enumerate(lines) if line.text == text), 0)
            yield Flaw(at, "a line would be lost or doubled")


def _broken(ours: Side, theirs: Side, result: Units) -> Iterator[Flaw]:
    """Links into the document that are good in each side that has them, and broken in the result."""
    bad = [each for each in local_links(result.outline) if not each.resolves]
    if not bad:
        return
    known = [
        (link.target, link.resolves) for side in (ours, theirs) for link in local_links(side.units.outline)
    ]
    good = {target for target, resolves in known if resolves} - {
        target for target, resolves in known if not resolves
    }
    for link in bad:
        if link.target in good:
            yield Flaw(link.line - 1, f"the link to {link.target} would be broken")


def _contradicted(ours: Side, theirs: Side, result: Units, lines: Sequence[ResultLine]) -> Iterator[Flaw]:
    """Items such as "None." that would get other items beside them."""
    for number, line in enumerate(lines):
        if not _NOTHING.match(line.text) or _is_only_item(result, number):
            continue
        before = (
            (side.units, at) for side, at in ((ours, line.ours), (theirs, line.theirs)) if at is not None
        )
        if all(_is_only_item(units, at) for units, at in before):
            yield Flaw(number, "it says that there is nothing, beside items of the other side")


def _is_only_item(units: Units, line: int) -> bool:
    """Whether no other item is in the text of the section around `line`."""
    around = (units.at[each] for each in _own_lines(units, _index_at(units, line)))
    return len({each for each in around if each is not None and each.kind is BlockKind.LIST_ITEM}) == 1
