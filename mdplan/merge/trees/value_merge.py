"""Merge of three trees of keys and values: what theirs changed, as changes of ours, and what both changed."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mdplan.data.tree import (
    REMOVED,
    Change,
    Element,
    KeyChange,
    NewEntry,
    Opaque,
    Path,
    Unnamed,
    values_equal,
)
from mdplan.merge.trees.sibling_order import SiblingPlace, merged_order

_BOTH: Final = "both sides changed it"
_BOTH_ADDED: Final = "both sides added it, and not the same"
_WITH_DELETED: Final = "deleted and changed"
_MOVED: Final = "both sides moved its entries"
_DEEP: Final = 100


@dataclass(frozen=True, slots=True)
class ValueConflict:
    """A key that needs a person, and why: its path in base, ours and theirs, None in a text without it."""

    base: Path | None
    ours: Path | None
    theirs: Path | None
    reason: str


@dataclass(slots=True)
class ValueMerge:
    """The merged `value`, the `changes` that make it of ours, and the `conflicts`, in which it is ours."""

    value: Any = None
    changes: list[Change] = field(default_factory=list)
    conflicts: list[ValueConflict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Spot:
    """One key in the three texts: its value in each, `REMOVED` for none, and its path there."""

    values: tuple[Any, Any, Any]
    paths: tuple[Path, Path, Path]

    def inner(self, values: Sequence[Any], names: Sequence[Element | None]) -> "_Spot":
        """An entry of it, by its `names` in the three texts."""
        base, ours, theirs = (
            path if name is None else (*path, name) for path, name in zip(self.paths, names, strict=True)
        )
        old, own, other = values
        return _Spot((old, own, other), (base, ours, theirs))


def merge_values(base: Any, ours: Any, theirs: Any) -> ValueMerge:  # noqa: ANN401 (any value)
    """The merge of three values of a file: of maps key by key, of lists item by item."""
    found = ValueMerge()
    found.value = _merged(_Spot((base, ours, theirs), ((), (), ())), found)
    return found


def _merged(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    """The value at `spot`, or `REMOVED`; what makes it of ours goes to `found`."""
    base, ours, theirs = spot.values
    if _equal(theirs, base) or _equal(theirs, ours):
        return ours
    if _equal(ours, base):
        # The caller adds what ours does not have: it knows the place.
        if ours is not REMOVED:
            found.changes.append(KeyChange(spot.paths[1], theirs))
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _map(spot, found)
    if isinstance(ours, list) and isinstance(theirs, list) and isinstance(base, list):
        return _list(spot, found)
    reason = _BOTH_ADDED if base is REMOVED else _WITH_DELETED if REMOVED in (ours, theirs) else _BOTH
    return _conflict(spot, found, reason)


def _conflict(spot: _Spot, found: ValueMerge, reason: str) -> Any:  # noqa: ANN401 (any value)
    base, ours, theirs = (
        None if value is REMOVED else path for value, path in zip(spot.values, spot.paths, strict=True)
    )
    found.conflicts.append(ValueConflict(base, ours, theirs, reason))
    return spot.values[1]


def _map(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    base, ours, theirs = (value if isinstance(value, dict) else {} for value in spot.values)
    if any(isinstance(name, Unnamed) for name in (*base, *ours, *theirs)) or len(spot.paths[0]) > _DEEP:
        return _conflict(spot, found, _BOTH)
    order = merged_order(list(base), list(ours), list(theirs))
    if order is None:
        return _conflict(spot, found, _MOVED)
    result: dict[Any, Any] = {}
    for name in _names(order):
        values = [each.get(name, REMOVED) for each in (base, ours, theirs)]
        merged = _merged(spot.inner(values, (name, name, name)), found)
        if merged is not REMOVED:
            result[name] = merged
    places = {name: place for place, name in enumerate(ours)}
    for name, place in _new(list(result), places):
        found.changes.append(NewEntry(spot.paths[1], place, result[name], name))
    return result


def _list(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    names = _items(*spot.values)
    order = merged_order(*(list(each) for each in names)) if names else None
    if names is None or order is None:
        return _conflict(spot, found, _MOVED if names else _BOTH)
    ours = list(names[1])
    result: list[tuple[Hashable, Any]] = []
    for name in _names(order):
        at = [each.get(name) for each in names]
        values = [
            REMOVED if index is None else value[index] for index, value in zip(at, spot.values, strict=True)
        ]
        merged = _merged(spot.inner(values, at), found)
        if merged is not REMOVED:
            result.append((name, merged))
    kept = [name for name, _ in result if name in names[1]]
    if kept != [name for name in ours if name in set(kept)]:
        # Theirs moved items: one change of the whole list in place of those inside it.
        depth = len(spot.paths[1])
        found.changes = [each for each in found.changes if each.key[:depth] != spot.paths[1]]
        found.changes.append(KeyChange(spot.paths[1], [value for _, value in result]))
        return [value for _, value in result]
    by_name = dict(result)
    for name, place in _new([name for name, _ in result], names[1]):
        found.changes.append(NewEntry(spot.paths[1], place, by_name[name]))
    return [value for _, value in result]


def _names(order: Sequence[SiblingPlace[Any]]) -> Iterator[Any]:
    for place in order:
        yield from (() if place.known is None else (place.known,))
        yield from place.theirs
        yield from place.ours


def _new(result: Sequence[Any], ours: Mapping[Any, int]) -> Iterator[tuple[Any, int | None]]:
    """Names of `result` that ours does not have, each with the place of the next one that it has."""
    following: int | None = None
    found: list[tuple[Any, int | None]] = []
    for name in reversed(result):
        if name in ours:
            following = ours[name]
        else:
            found.append((name, following))
    yield from reversed(found)


def _items(*lists: Sequence[Any]) -> tuple[dict[Hashable, int], ...] | None:
    """The items of each of `lists` by what they are in all: by a key that names them, or else by their value.

    None where two items of one list are the same.
    """
    items = [each for values in lists for each in values]
    if items and all(isinstance(each, dict) for each in items):
        for key in items[0]:
            named = [_by(values, key) for values in lists]
            if all(each is not None for each in named):
                return tuple(each for each in named if each is not None)
    texts = [[_text(each) for each in values] for values in lists]
    if any(len(set(each)) < len(each) for each in texts):
        return None
    return tuple({text: index for index, text in enumerate(each)} for each in texts)


def _by(values: Sequence[Mapping[Any, Any]], key: object) -> dict[Hashable, int] | None:
    """The indexes of `values`, maps, by what each has under `key`; None where that does not name them."""
    found: dict[Hashable, int] = {}
    for index, each in enumerate(values):
        name = each.get(key)
        if not isinstance(name, str | int) or isinstance(name, bool) or name in found:
            return None
        found[name] = index
    return found


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _equal(left: object, right: object) -> bool:
    if left is REMOVED or right is REMOVED:
        return left is right
    return left == right if isinstance(left, Opaque) else values_equal(left, right)
