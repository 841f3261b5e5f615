"""Checks of a merged text: what a line merge gets wrong without a conflict.

Each check gives the lines of the result that must not be merged without a person.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mdplan.markdown.blocks import CONTAINERS, BlockKind
from mdplan.markdown.links import local_links
from mdplan.markdown.sections import Section
from mdplan.merge.line_merge import kept_lines
from mdplan.merge.pieces import ResultLine, Texts
from mdplan.merge.trees.document_tree import DocumentTree, row_text
from mdplan.merge.trees.merge_node import MergeNode, MergeNodeKind

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
    """The 0-based `line` of a result that a check refuses, and the `reason`.

    With a `lost` line it is that one that is missing or doubled, wherever it was.
    """

    line: int
    reason: str
    lost: str = ""


class MatchedSide:
    """One side with its sections as those of the base."""

    def __init__(self, base: DocumentTree, side: DocumentTree) -> None:
        """Match the sections of `side` with those of `base`."""
        self.units = side
        self.identities = _identities(base, side)

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
    texts: Texts,
    sides: tuple[DocumentTree, MatchedSide, MatchedSide],
    lines: Sequence[ResultLine],
    declared: frozenset[str] | None = frozenset(),
) -> Iterator[Flaw]:
    """What is wrong with the result `lines`, as far as one can see.

    Lines with the texts `declared` may be lost or new; None where lines cannot be counted.
    """
    base, ours, theirs = sides
    result = DocumentTree([line.text for line in lines])
    yield from _misplaced(ours, theirs, base, result, lines)
    yield from _reshaped(ours, theirs, result, lines)
    yield from _repeated(ours, theirs, result)
    if declared is not None:
        yield from _lost_or_doubled(texts, lines, declared)
    yield from _broken(ours, theirs, result)
    yield from _contradicted(ours, theirs, result, lines)


def _name(section: Section) -> Identity:
    return (*section.canonical_path, section.ordinal)


def _identities(base: DocumentTree, side: DocumentTree) -> list[Identity]:
    old, new = base.outline.sections, side.outline.sections
    pairs = list(kept_lines(base.lines, side.lines))
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


def _kept_headings(
    base: DocumentTree, side: DocumentTree, pairs: Sequence[tuple[int, int]]
) -> dict[int, Identity]:
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


def _own_lines(units: DocumentTree, index: int) -> range:
    section, lines = units.outline.sections[index], units.outline.source.lines
    if not len(section.body):
        return range(0)
    return range(lines.line_at(section.body.start) - 1, lines.line_at(section.body.end - 1))


def _lines_from(
    base: DocumentTree, side: DocumentTree, pairs: Sequence[tuple[int, int]]
) -> dict[int, Counter[int]]:
    """By the index of a section of `side`, from which sections of `base` its lines come."""
    found: dict[int, Counter[int]] = {}
    for line, new_line in pairs:
        if base.lines[line].strip():
            come = found.setdefault(side.section_at(new_line).index, Counter())
            come[base.section_at(line).index] += 1
    return found


def _misplaced(
    ours: MatchedSide,
    theirs: MatchedSide,
    base: DocumentTree,
    result: DocumentTree,
    lines: Sequence[ResultLine],
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
    # Definitions are those of the whole document, wherever they are.
    defined = {line for node in _definitions(result) for line in node.lines}
    for number, line in enumerate(lines):
        if not line.text.strip() or number in defined:
            continue
        allowed = {
            side.identity(side.units.section_at(at))
            for side, at in ((ours, line.ours), (theirs, line.theirs))
            if at is not None
        }
        index = result.section_at(number).index
        if (line.ours is None) != (line.theirs is None):
            side, at = (theirs, line.theirs or 0) if line.ours is None else (ours, line.ours)
            author = side.units.section_at(at)
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


def _parent_name(units: DocumentTree, section: Section) -> Identity:
    return _name(units.outline.sections[section.parent or 0])


def _shapes(units: DocumentTree) -> list[tuple[str, ...]]:
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


def _reshaped(
    ours: MatchedSide, theirs: MatchedSide, result: DocumentTree, lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
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


def _repeated(ours: MatchedSide, theirs: MatchedSide, result: DocumentTree) -> Iterator[Flaw]:
    """Headings and labels that are repeated more often than in a side."""
    most = Counter(each.canonical_path for each in ours.units.outline.sections)
    most |= Counter(each.canonical_path for each in theirs.units.outline.sections)
    for section in reversed(result.outline.sections[1:]):
        path = section.canonical_path
        if section.ordinal > most[path]:
            yield Flaw(section.heading_line - 1, "the heading would be repeated")
    labels = _labels(ours.units) | _labels(theirs.units)
    seen: Counter[str] = Counter()
    for node in _definitions(result):
        seen[node.label] += 1
        if seen[node.label] > labels[node.label]:
            yield Flaw(node.lines.start, "the label would be repeated")


def _definitions(document: DocumentTree) -> Iterator[MergeNode]:
    return (node for node in document.root.walk() if node.kind is MergeNodeKind.DEFINITION)


def _labels(document: DocumentTree) -> Counter[str]:
    return Counter(node.label for node in _definitions(document))


def _lost_or_doubled(texts: Texts, lines: Sequence[ResultLine], declared: frozenset[str]) -> Iterator[Flaw]:
    """A line that occurs more or less often than the changes of both sides say."""
    base, ours, theirs = (Counter(map(unpadded, side)) for side in texts)
    counts = Counter(unpadded(line.text) for line in lines)
    for text in {*base, *ours, *theirs, *counts} - {unpadded(line) for line in declared}:
        own, other = ours[text] - base[text], theirs[text] - base[text]
        together = base[text] + own + other
        apart = base[text] + (max(own, other) if min(own, other) > 0 else min(own, other))
        low, high = sorted((together, apart)) if own * other > 0 else (together, together)
        if text.strip() and not low <= counts[text] <= high:
            yield Flaw(0, "a line would be lost or doubled", text)


def unpadded(line: str) -> str:
    """`line`; a row of a table without its padding."""
    return row_text(line) + "\n" if line.lstrip().startswith("|") else line


def _broken(ours: MatchedSide, theirs: MatchedSide, result: DocumentTree) -> Iterator[Flaw]:
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


def _contradicted(
    ours: MatchedSide, theirs: MatchedSide, result: DocumentTree, lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
    """Items such as "None." that would get other items next to them."""
    for number, line in enumerate(lines):
        if not _NOTHING.match(line.text) or _is_only_item(result, number):
            continue
        before = (
            (side.units, at) for side, at in ((ours, line.ours), (theirs, line.theirs)) if at is not None
        )
        if all(_is_only_item(units, at) for units, at in before):
            yield Flaw(number, "it says that there is nothing, next to items of the other side")


def _is_only_item(document: DocumentTree, line: int) -> bool:
    """Whether no other item is in the text of the section around `line`."""
    around = _own_lines(document, document.section_at(line).index)
    return sum(line in document.item_starts for line in around) == 1
