"""Changes of front matter as values: which key gets which value, and what the block then says.

Keys are paths of key texts from the outermost map inward; `yes: 1` has the key `yes`, whatever YAML makes of
it. Values are those of JSON, and dates and times where a block has them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from mdplan.text.edit import TextEdit

Key = tuple[str, ...]


class Removed(Enum):
    """What a key is set to that is deleted."""

    REMOVED = "gone"


REMOVED: Final = Removed.REMOVED


@dataclass(frozen=True, slots=True)
class DateText:
    """A date or time that is to be written as `text`, which reads as `value`."""

    text: str
    value: object


@dataclass(frozen=True, slots=True)
class KeyChange:
    """`key` gets `value`: JSON, a `DateText`, or `REMOVED`. What is missing on its way is made."""

    key: Key
    value: object


@dataclass(slots=True)
class Branch:
    """Changes at one key: its own new `value`, or those of the keys inside of it.

    `changes` are the indexes of the changes that it was made of.
    """

    changes: list[int] = field(default_factory=list)
    value: object = None
    inner: "dict[str, Branch]" = field(default_factory=dict)

    @property
    def is_removed(self) -> bool:
        """Whether the key goes."""
        return self.value is REMOVED

    @property
    def as_value(self) -> object:
        """The value of a key that was not there before, or of which nothing stays."""
        if not self.inner:
            return self.value
        return {key: each.as_value for key, each in self.inner.items() if not each.is_removed}


def branches_of(changes: Sequence[KeyChange]) -> dict[str, Branch]:
    """`changes`, no key of which lies inside of another's, by the keys of the outermost map."""
    top = Branch()
    for index, change in enumerate(changes):
        branch = top
        for element in change.key:
            branch = branch.inner.setdefault(element, Branch())
            branch.changes.append(index)
        branch.value = change.value
    return top.inner


def within(value: Mapping[str, object], old: Mapping[str, object], changes: list[int]) -> dict[str, Branch]:
    """The map `value` in place of the map `old`, as changes of its keys."""
    gone = {key: Branch(changes, REMOVED) for key in old if key not in value}
    return gone | {key: Branch(changes, each) for key, each in value.items()}


def changed(values: Mapping[str, Any], changes: Sequence[KeyChange]) -> dict[str, Any]:
    """What a block that says `values` says after `changes`. A map that loses its last key stays, empty."""
    return _changed(values, branches_of(changes))


def _changed(values: Mapping[str, Any], branches: Mapping[str, Branch]) -> dict[str, Any]:
    result = dict(values)
    for key, branch in branches.items():
        old = result.get(key)
        if branch.inner:
            result[key] = _changed(old if isinstance(old, dict) else {}, branch.inner)
        elif branch.is_removed:
            del result[key]
        else:
            result[key] = as_read(branch.value)
    return result


def as_read(value: object) -> object:
    """What `value`, once it is written, reads as: dates in place of each `DateText` in it."""
    match value:
        case DateText():
            return value.value
        case list():
            return [as_read(each) for each in value]
        case dict():
            return {key: as_read(each) for key, each in value.items()}
        case _:
            return value


def without_emptied(
    values: dict[str, Any], changes: Sequence[KeyChange], like: Mapping[str, Any]
) -> dict[str, Any]:
    """`values` without the maps that lost their last key by `changes` and are not in `like` either."""
    for change in changes:
        for length in range(len(change.key) - 1, 0, -1):
            parent, name = value_at(values, change.key[: length - 1]), change.key[length - 1]
            is_emptied = change.value is REMOVED and isinstance(parent, dict) and parent.get(name) == {}
            if is_emptied and value_at(like, change.key[:length]) is REMOVED:
                del parent[name]
    return values


def value_at(values: Mapping[str, Any], key: Key) -> Any:  # noqa: ANN401 (any value)
    """Value of `key`; `REMOVED` where it is not there."""
    found: Any = values
    for element in key:
        if not isinstance(found, dict) or element not in found:
            return REMOVED
        found = found[element]
    return found


def depth_of(value: object) -> int:
    """How many maps and lists lie in each other in `value`; without recursion, for that is the question."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth - 1


def values_equal(left: object, right: object) -> bool:
    """Whether two values are equal and of one type all through: true is not 1, and 1 is not 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(values_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(values_equal, left, right))
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    # Two times of day are equal in different zones; here they are not, for they are written differently.
    return left == right and getattr(left, "tzinfo", None) == getattr(right, "tzinfo", None)


def kept_items(old: Sequence[object], new: Sequence[object]) -> tuple[int, ...]:
    """Indexes of the items of `old` that `new` begins with, in their order; others lie between them."""
    kept: list[int] = []
    at = 0
    for item in new:
        found = next((index for index in range(at, len(old)) if values_equal(old[index], item)), None)
        if found is None:
            break
        kept.append(found)
        at = found + 1
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Splice:
    """`edit` is in the offsets of the block's content, or of the document; `changes` are their indexes."""

    edit: TextEdit
    changes: tuple[int, ...]
