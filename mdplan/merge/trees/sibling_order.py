"""The order of siblings that three versions have: what one side moved, and where each side adds."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SiblingPlace(Generic[Name]):
    """One known sibling, None for the place before the first, and what each side adds after it."""

    known: Name | None
    ours: tuple[Name, ...]
    theirs: tuple[Name, ...]


def merged_order(
    base: Sequence[Name], ours: Sequence[Name], theirs: Sequence[Name]
) -> list[SiblingPlace[Name]] | None:
    """The places of the result, in order; None where both sides moved the same names to different places.

    Every name of the base is known, also what a side deleted. What both sides add is known if they add it at
    one place in one order; otherwise it is where ours has it.
    """
    of_base = set(base)
    shared = _shared(_added(ours, of_base), _added(theirs, of_base))
    known = [name for anchor in (None, *base) for name in ((anchor, *shared.get(anchor, ())))]
    of_base.update(name for names in shared.values() for name in names)
    everywhere = set(ours) - of_base
    theirs = [name for name in theirs if name not in everywhere]
    order = _known_order([name for name in known if name is not None], ours, theirs)
    if order is None:
        return None
    own_added, other_added = _added(ours, of_base), _added(theirs, of_base)
    return [
        SiblingPlace(name, tuple(own_added.get(name, ())), tuple(other_added.get(name, ())))
        for name in (None, *order)
    ]


def _shared(
    ours: dict[Name | None, list[Name]], theirs: dict[Name | None, list[Name]]
) -> dict[Name | None, list[Name]]:
    """What both sides add at one place in one order, by the known name before it."""
    found: dict[Name | None, list[Name]] = {}
    for anchor, own in ours.items():
        other = theirs.get(anchor, [])
        both = _kept(other, own)
        if both and both == _kept(own, other):
            found[anchor] = both
    return found


def _added(side: Sequence[Name], known: set[Name]) -> dict[Name | None, list[Name]]:
    """What `side` adds, by the known name before it."""
    added: dict[Name | None, list[Name]] = {}
    last: Name | None = None
    for name in side:
        if name in known:
            last = name
        else:
            added.setdefault(last, []).append(name)
    return added


def _known_order(base: Sequence[Name], ours: Sequence[Name], theirs: Sequence[Name]) -> list[Name] | None:
    own, other = _kept(base, ours), _kept(base, theirs)
    has_moved = own != _kept(ours, base)
    other_has_moved = other != _kept(theirs, base)
    if has_moved and other_has_moved and _kept(theirs, own) != _kept(ours, other):
        return None
    order = other if other_has_moved and not has_moved else own
    # What that side deleted goes back after what was before it.
    behind = _added(base, set(order))
    return [
        name for anchor in (None, *order) for name in (anchor, *behind.get(anchor, ())) if name is not None
    ]


def _kept(names: Sequence[Name], of: Sequence[Name]) -> list[Name]:
    """Those `of` the names that are in `names`, in their order."""
    wanted = set(names)
    return [name for name in of if name in wanted]
