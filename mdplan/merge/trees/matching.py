"""Which nodes of two or three versions are the same."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from rapidfuzz import fuzz

from mdplan.merge.trees.merge_node import SETS, MergeNode, MergeNodeKind
from mdplan.text.diff import LineComparison

# Percent of the characters in the same order that make two texts the same one, and two new ones too alike.
_SAME: Final = 60
_ALIKE: Final = 85
# So many pairs of nodes are compared by their likeness; more are different.
_MOST_PAIRS: Final = 2_500


def matches(old: Sequence[MergeNode], new: Sequence[MergeNode]) -> dict[int, int]:
    """Which of the siblings `new` each of the siblings `old` became, by their indexes."""
    old_names, new_names = [_name(each) for each in old], [_name(each) for each in new]
    found: dict[int, int] = {}
    at = new_at = 0
    numbers: dict[Hashable, int] = {}
    keys = [
        [str(numbers.setdefault(name, len(numbers))) for name in names] for names in (old_names, new_names)
    ]
    for gap in LineComparison().differing(*keys):
        found.update(zip(range(at, gap.old_start), range(new_at, gap.new_start), strict=True))
        at, new_at = gap.old_end, gap.new_end
        found.update(
            _alike_in(old, new, range(gap.old_start, gap.old_end), range(gap.new_start, gap.new_end))
        )
    found.update(zip(range(at, len(old)), range(new_at, len(new)), strict=True))
    found.update(_moved(old_names, new_names, found))
    return found


def new_in_both(ours: Sequence[MergeNode], theirs: Sequence[MergeNode]) -> dict[int, int]:
    """Which of the new siblings `theirs` is the same as one of the new siblings `ours`, or too alike."""
    found: dict[int, int] = {}
    by_name: dict[Hashable, list[int]] = defaultdict(list)
    for index, node in enumerate(theirs):
        for name in (_name(node), _label(node)):
            by_name[name].append(index)
    taken: set[int] = set()
    for index, node in enumerate(ours):
        candidates = [*by_name[_name(node)], *(by_name[_label(node)] if node.label else ())]
        free = next((each for each in candidates if each not in taken), None)
        if free is None and len(ours) * len(theirs) <= _MOST_PAIRS:
            free = next(
                (each for each, other in enumerate(theirs) if each not in taken and _is_alike(node, other)),
                None,
            )
        if free is not None:
            found[index] = free
            taken.add(free)
    return found


def _name(node: MergeNode) -> Hashable:
    """What two siblings share that are surely the same."""
    return _label(node) if node.kind is MergeNodeKind.SECTION else (node.kind, node.style, node.text)


def _label(node: MergeNode) -> Hashable:
    return (node.kind, node.style, "label", node.label)


def _alike_in(
    old: Sequence[MergeNode], new: Sequence[MergeNode], where: range, new_where: range
) -> Iterator[tuple[int, int]]:
    """Pairs of nodes in a gap that are the same: by label or likeness, or as all that was rewritten there."""
    if len(where) * len(new_where) > _MOST_PAIRS:
        return
    first = new_where.start
    left = list(where)
    new_left = list(new_where)
    for index in where:
        for candidate in range(first, new_where.stop):
            if _is_same(old[index], new[candidate]):
                yield index, candidate
                left.remove(index)
                new_left.remove(candidate)
                first = candidate + 1
                break
    rewritten = list(zip(left, new_left, strict=False))
    if len(left) == len(new_left) and all(
        _can_be_rewritten(old[at], new[new_at]) for at, new_at in rewritten
    ):
        yield from rewritten


def _can_be_rewritten(old: MergeNode, new: MergeNode) -> bool:
    """Whether `new` may be `old` with no word left: what has a name of its own is another one."""
    has_name = old.kind is MergeNodeKind.SECTION or old.label or new.label
    return not has_name and (old.kind, old.style) == (new.kind, new.style)


def _is_same(old: MergeNode, new: MergeNode) -> bool:
    if (old.kind, old.style) != (new.kind, new.style):
        return False
    if old.kind is MergeNodeKind.SECTION or old.kind in SETS:
        return _shared_lines(old, new)
    if old.label or new.label:
        return old.label == new.label
    return fuzz.ratio(old.text, new.text) >= _SAME


def _shared_lines(old: MergeNode, new: MergeNode) -> bool:
    """Whether at least half of the lines of one are in the other, headings aside."""
    own, other = (
        Counter(line for child in node.children for line in child.text.split("\n") if line.strip())
        for node in (old, new)
    )
    return 2 * (own & other).total() >= max(1, min(own.total(), other.total()))


def _moved(
    old: Sequence[Hashable], new: Sequence[Hashable], found: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Pairs at other places, of nodes whose name no other node has on either side."""
    taken = set(found.values())
    once, new_once = ({name for name, count in Counter(names).items() if count == 1} for names in (old, new))
    places = {name: index for index, name in enumerate(new) if name in new_once and index not in taken}
    for index, name in enumerate(old):
        if index not in found and name in once and name in places:
            yield index, places[name]


def _is_alike(left: MergeNode, right: MergeNode) -> bool:
    if (left.kind, left.style) != (right.kind, right.style) or left.kind is MergeNodeKind.SECTION:
        return False
    return fuzz.ratio(left.text, right.text) >= _ALIKE
