"""Match siblings in three versions, order them in the result, and find conflicts."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from mdplan.text.diff import LineComparison
from mdplan.values import Struct

Name = TypeVar("Name", bound=Hashable)
Sibling = TypeVar("Sibling")

# A sibling's first occurrence: the text (0 to 2) and its index there.
FirstPlace = tuple[int, int]

# Pairs of matching indexes in two versions.
Pairs = Iterable[tuple[int, int]]

# The limit of sibling pairs compared by similarity; beyond it they differ.
MOST_PAIRS: Final = 2_500

# Reasons for a conflict.
CHANGED: Final = "both sides changed it"
WITH_DELETED: Final = "deleted and changed"
MOVED: Final = "both sides moved it"


class SiblingPlace(Struct, Generic[Name]):
    """A known sibling (None for the start), and what each side adds after it.

    If siblings of the base are `gone`, `ours` and `theirs` are their replacements, which conflict.
    """

    known: Name | None
    ours: tuple[Name, ...]
    theirs: tuple[Name, ...]
    gone: tuple[Name, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of the conflict."""
        return CHANGED if self.ours and self.theirs else WITH_DELETED


# --- The order of siblings: moves, additions and replacements


def merged_order(
    base: Sequence[Name], ours: Sequence[Name], theirs: Sequence[Name]
) -> list[SiblingPlace[Name]] | None:
    """Return the places of the result, in order; None if both sides moved the same names differently.

    Every base name is known, even if deleted. Names that both sides add at the same place in the same order
    are known too; otherwise the position in ours counts. Names gone on both sides must have equal
    replacements; else one side changed what the other changed or deleted.
    """
    of_base = set(base)
    shared = _shared(_added(ours, of_base), _added(theirs, of_base))
    known = [name for anchor in (None, *base) for name in ((anchor, *shared.get(anchor, ())))]
    names = of_base.union(*shared.values())
    everywhere = set(ours) - names
    rest = [name for name in theirs if name not in everywhere]
    order = _known_order([name for name in known if name is not None], ours, rest)
    if order is None:
        return None
    own_added, other_added = _added(ours, names), _added(rest, names)
    places = [
        SiblingPlace(name, tuple(own_added.get(name, ())), tuple(other_added.get(name, ())))
        for name in (None, *order)
    ]
    own, other = _replaced(base, ours), _replaced(base, theirs)
    disputed = {name for name in own.keys() & other.keys() if own[name] != other[name]}
    return _with_disputes(places, (base, ours, rest), disputed) if disputed else places


def _replaced(base: Sequence[Name], side: Sequence[Name]) -> dict[Name, object]:
    """Return the replacement of each deleted base name: the additions next to it."""
    of_base, of_side = set(base), set(side)
    additions: dict[Name, list[list[Name]]] = {name: [] for name in base if name not in of_side}
    for names, new in ((base, side), (base[::-1], side[::-1])):
        added, last = _added(new, of_base), None
        for name in names:
            if name in of_side:
                last = name
            else:
                additions[name].append(added.get(last, []))
    return dict(additions)


def _with_disputes(
    places: Sequence[SiblingPlace[Name]], sides: Sequence[Sequence[Name]], disputed: set[Name]
) -> list[SiblingPlace[Name]] | None:
    """Merge places between common names into one place if a name there is disputed.

    Return None if a replacement was moved elsewhere.
    """
    base, ours, theirs = ({name: index for index, name in enumerate(side)} for side in sides)
    groups: list[list[SiblingPlace[Name]]] = []
    for place in places:
        if place.known is None or (place.known in base and place.known in ours and place.known in theirs):
            groups.append([])
        groups[-1].append(place)
    result: list[SiblingPlace[Name]] = []
    for group in groups:
        inside = [each.known for each in group[1:] if each.known is not None]
        if disputed.isdisjoint(inside):
            result += group
            continue
        inside += (name for each in group for name in (*each.ours, *each.theirs))
        gone, own, other = (
            tuple(sorted((name for name in inside if name in at), key=at.__getitem__))
            for at in (base, ours, theirs)
        )
        if own == other:
            return None
        result.append(SiblingPlace(group[0].known, own, other, gone))
    return result


def _shared(
    ours: dict[Name | None, list[Name]], theirs: dict[Name | None, list[Name]]
) -> dict[Name | None, list[Name]]:
    """Return what both sides add at the same place in the same order, by the known name before it."""
    shared: dict[Name | None, list[Name]] = {}
    for anchor, own in ours.items():
        other = theirs.get(anchor, [])
        both = _kept(other, own)
        if both and both == _kept(own, other):
            shared[anchor] = both
    return shared


def _added(side: Sequence[Name], known: set[Name]) -> dict[Name | None, list[Name]]:
    """Return what `side` adds, by the known name before it."""
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
    # Names that this side deleted go after their predecessor.
    behind = _added(base, set(order))
    return [
        name for anchor in (None, *order) for name in (anchor, *behind.get(anchor, ())) if name is not None
    ]


def _kept(names: Sequence[Name], of: Sequence[Name]) -> list[Name]:
    """Return the names in `of` that are in `names`, in order."""
    wanted = set(names)
    return [name for name in of if name in wanted]


# --- Matching siblings of two or three versions


def named_siblings(
    versions: Sequence[Sequence[Sibling]],
    same: Callable[[Sequence[Sibling], Sequence[Sibling]], dict[int, int]],
    same_new: Callable[[Sequence[Sibling], Sequence[Sibling]], dict[int, int]],
) -> list[dict[FirstPlace, Sibling]]:
    """Return the siblings of base, ours and theirs, with shared names for matches.

    `same` matches siblings of the base with a side, `same_new` the additions of both sides.
    """
    base, ours, theirs = versions
    own, other = ({new: (0, old) for old, new in same(base, side).items()} for side in (ours, theirs))
    own_new = [index for index in range(len(ours)) if index not in own]
    other_new = [index for index in range(len(theirs)) if index not in other]
    both = same_new([ours[index] for index in own_new], [theirs[index] for index in other_new])
    own |= {index: (1, index) for index in own_new}
    other |= {index: (2, index) for index in other_new}
    other |= {other_new[right]: (1, own_new[left]) for left, right in both.items()}
    return [
        {(0, index): each for index, each in enumerate(base)},
        {own[index]: each for index, each in enumerate(ours)},
        {other[index]: each for index, each in enumerate(theirs)},
    ]


def same_siblings(
    old: Sequence[Hashable], new: Sequence[Hashable], alike: Callable[[range, range], Pairs]
) -> dict[int, int]:
    """Match the names `old` to `new`, by index.

    Equal names match in place or, if unique, elsewhere. `alike` matches the remaining ones in each gap.
    """
    pairs: dict[int, int] = {}
    at = new_at = 0
    numbers: dict[Hashable, int] = {}
    keys = [[str(numbers.setdefault(name, len(numbers))) for name in names] for names in (old, new)]
    for gap in LineComparison().differing(*keys):
        pairs.update(zip(range(at, gap.old_start), range(new_at, gap.new_start), strict=True))
        at, new_at = gap.old_end, gap.new_end
        if 0 < gap.comparisons <= MOST_PAIRS:
            pairs.update(alike(range(gap.old_start, at), range(gap.new_start, new_at)))
    pairs.update(zip(range(at, len(old)), range(new_at, len(new)), strict=True))
    pairs.update(_moved(old, new, pairs))
    return pairs


def alike(
    where: range,
    new_where: range,
    likeness: Callable[[int, int], float],
    can_be_rewritten: Callable[[int, int], bool] = lambda *_: False,
) -> Iterator[tuple[int, int]]:
    """Yield pairs of a gap, in order: the most alike ones, and in between complete rewrites."""
    scores = {(at, new): likeness(at, new) for at in where for new in new_where}

    def pairs(where: range, new_where: range) -> Iterator[tuple[int, int]]:
        here = [(scores[at, new], -at, -new) for at in where for new in new_where]
        score, at, new = max(here, default=(0, 0, 0))
        if score:
            yield from pairs(range(where.start, -at), range(new_where.start, -new))
            yield -at, -new
            yield from pairs(range(1 - at, where.stop), range(1 - new, new_where.stop))
        elif len(where) == len(new_where) and all(map(can_be_rewritten, where, new_where)):
            yield from zip(where, new_where, strict=True)

    return pairs(where, new_where)


def _moved(
    old: Sequence[Hashable], new: Sequence[Hashable], found: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield moved siblings with a name that is unique on both sides."""
    taken = set(found.values())
    once, new_once = ({name for name, count in Counter(names).items() if count == 1} for names in (old, new))
    places = {name: index for index, name in enumerate(new) if name in new_once and index not in taken}
    for index, name in enumerate(old):
        if index not in found and name in once and name in places:
            yield index, places[name]
