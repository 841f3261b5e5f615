"""A file of keys and values as a tree of nodes with places."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


class Language(StrEnum):
    """Languages that keys and values are written in. `JSON` is also JSON with comments, and JSON5."""

    YAML = "yaml"
    JSON = "json"
    TOML = "toml"
    INI = "ini"


class DataError(ValueError):
    """A text cannot be read, or a change cannot be made: at `offset` of the text, for a `reason`."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class Kind(StrEnum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAP = "map"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Unnamed:
    """The name of a key that no path of texts can name: one of several equal ones, or one that is no text."""

    text: str
    index: int

    def __str__(self) -> str:
        return f"{self.text}#{self.index + 1}"


Element = str | int | Unnamed

Path = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that means something to its own program alone: a tagged one, an alias, an odd date."""

    kind: str
    value: object


@dataclass(slots=True)
class Node:
    """A value. `span` is its text, without an anchor before it.

    `style` is the quote or block sign of a scalar, `is_flow` says that a list or map is in brackets.
    `column` is where the keys or dashes of a list or map on lines of its own are.
    `end` is where its last character ends, also where YAML lets the node reach further.
    """

    kind: Kind
    start: int
    end: int
    value: Any = None
    style: str = ""
    is_flow: bool = False
    column: int = 0
    entries: "list[Entry]" = field(default_factory=list)
    anchor: str | None = None

    @property
    def span(self) -> Span:
        """Its text."""
        return Span(self.start, self.end)

    def entry(self, name: Element) -> "Entry | None":
        """The entry of the key `name`, or with that index; None where there is none."""
        if self.kind is Kind.LIST:
            return self.entries[name] if isinstance(name, int) and 0 <= name < len(self.entries) else None
        if self.kind is Kind.MAP and not isinstance(name, int):
            return self.by_name.get(name)
        return None

    @property
    def by_name(self) -> "dict[str | Unnamed, Entry]":
        """Return the entries of a map by their names."""
        return {each.name: each for each in self.entries if not isinstance(each.name, int)}

    def at(self, path: Path) -> "Entry | None":
        """Return the entry at `path`, which is not empty; None where there is none."""
        node, found = self, None
        for name in path:
            found = node.entry(name)
            if found is None:
                return None
            node = found.node
        return found


@dataclass(slots=True)
class Entry:
    """A key with its value, or an item of a list, which has no `key`.

    `start` is where it begins: its key, its dash, or its value. `comma` is the offset of the comma after it.
    """

    name: str | int | Unnamed
    key: Node | None
    node: Node
    start: int
    comma: int | None = None

    @property
    def end(self) -> int:
        """Where its key and value end."""
        return max(self.node.end, self.key.end if self.key else 0)


def values_of(node: Node | None) -> Any:  # noqa: ANN401 (any value)
    """What `node` says: dicts and lists of scalars. Keys without a name stay as `Unnamed`."""
    if node is None:
        return None
    if node.kind is Kind.SCALAR:
        return node.value
    if node.kind is Kind.LIST:
        found: Any = [values_of(each.node) for each in node.entries]
    else:
        found = {each.name: values_of(each.node) for each in node.entries}
    return found if node.value is None else Opaque(str(node.value), found)


def aliased(root: Node | None) -> list[tuple[str, Any]]:
    """What the values with an anchor say that an alias repeats."""
    nodes: list[Node] = [] if root is None else [root]
    for node in nodes:
        nodes += (each for entry in node.entries for each in (entry.key, entry.node) if each is not None)
    aliases = {
        node.value.value for node in nodes if isinstance(node.value, Opaque) and node.value.kind == "alias"
    }
    return [(node.anchor, values_of(node)) for node in nodes if node.anchor in aliases and node.anchor]


def named(entries: "list[Entry]") -> None:
    """Give `entries`, which are those of a map, names that are unique."""
    seen: dict[str, list[Entry]] = {}
    for each in entries:
        if isinstance(each.name, str):
            seen.setdefault(each.name, []).append(each)
    for text, equal in seen.items():
        if len(equal) > 1:
            for index, each in enumerate(equal):
                each.name = Unnamed(text, index)


def places_of(node: Node | None, parent: Path = ()) -> Iterator[tuple[Path, Span]]:
    """Paths of all keys and items of `node`, each with the place of its key and value."""
    for index, each in enumerate(node.entries if node else ()):
        name = index if node is not None and node.kind is Kind.LIST else each.name
        if isinstance(name, Unnamed):
            continue
        path = (*parent, name)
        yield path, Span(each.start, each.end)
        yield from places_of(each.node, path)


# --- Changes of keys and items as values: what becomes of which, and what the text then says.
#
# Keys are paths of key texts, and of indexes of list items, from the outermost map inward; `yes: 1` has
# the key
# `yes`, whatever YAML makes of it. Values are those of JSON, and dates and times where a text has them.
# All
# paths are of the text before any change.


class KeyMarker(Enum):
    """Markers for keys that are deleted, or stay as they are."""

    REMOVED = "gone"
    KEPT = "kept"


KEPT: Final = KeyMarker.KEPT

REMOVED: Final = KeyMarker.REMOVED


@dataclass(frozen=True, slots=True)
class DateText:
    """A date or time that is to be written as `text`, which reads as `value`."""

    text: str
    value: object


@dataclass(frozen=True, slots=True)
class KeyChange:
    """`key` gets `value`: JSON, a `DateText`, or `REMOVED`. What is missing on its way is made."""

    key: Path
    value: object


@dataclass(frozen=True, slots=True)
class NewEntry:
    """The list or map at `key` gets an entry before its entry number `place`; at its end without.

    A map gets one with that `name`. With `source` it is the entry of that name or index, which moves.
    """

    key: Path
    place: int | None
    value: object = None
    name: str | None = None
    source: Element | None = None


@dataclass(frozen=True, slots=True)
class NewName:
    """The key at the end of the path `key` gets another `name`."""

    key: Path
    name: str


Change = KeyChange | NewEntry | NewName


@dataclass(slots=True)
class NewItem:
    """An entry that comes before the entry number `place`."""

    place: int
    value: object
    name: str | None
    source: Element | None
    changes: list[int]


@dataclass(slots=True)
class ChangeTree:
    """Changes at one value: its own new `value`, or those inside it.

    `changes` are the indexes of the changes that it was made of.
    """

    changes: list[int] = field(default_factory=list)
    value: object = KEPT
    name: str | None = None
    inner: "dict[Hashable, ChangeTree]" = field(default_factory=dict)
    inserted: list[NewItem] = field(default_factory=list)

    @property
    def is_removed(self) -> bool:
        """Whether the key goes."""
        return self.value is REMOVED

    @property
    def is_inside(self) -> bool:
        """Whether only entries of the value change."""
        return self.value is KEPT

    @property
    def as_value(self) -> object:
        """The value of a key that was not there before, or of which nothing stays."""
        if self.value is not KEPT:
            return self.value
        if self.inserted and self.inserted[0].name is None:
            return [each.value for each in self.inserted]
        found: dict[Any, object] = {
            key: each.as_value for key, each in self.inner.items() if not each.is_removed
        }
        return found | {each.name: each.value for each in self.inserted}


def change_tree(changes: Sequence[Change]) -> ChangeTree:
    """`changes`, no key of which lies inside another's, as one of the outermost value."""
    top = ChangeTree()
    for index, change in enumerate(changes):
        branch = top
        for element in change.key:
            branch = branch.inner.setdefault(element, ChangeTree())
            branch.changes.append(index)
        match change:
            case KeyChange():
                branch.value = change.value
            case NewName():
                branch.name = change.name
            case NewEntry():
                place = LAST if change.place is None else change.place
                branch.inserted.append(NewItem(place, change.value, change.name, change.source, [index]))
                if change.source is not None:
                    gone = branch.inner.setdefault(change.source, ChangeTree())
                    gone.value = REMOVED
                    gone.changes.append(index)
    return top


# After all entries.
LAST: Final = 1 << 60


def map_changes(value: Mapping[Any, object], old: Mapping[Any, object], changes: list[int]) -> ChangeTree:
    """The map `value` in place of the map `old`, as changes of its keys."""
    gone: dict[Hashable, ChangeTree] = {key: ChangeTree(changes, REMOVED) for key in old if key not in value}
    return ChangeTree(changes, inner=gone | {key: ChangeTree(changes, each) for key, each in value.items()})


def list_changes(value: Sequence[object], old: Sequence[object], changes: list[int]) -> ChangeTree | None:
    """The list `value` in place of the list `old`, as changes of its items; None where none can stay."""
    kept = kept_items(old, value)
    if not kept:
        return None
    gone: dict[Hashable, ChangeTree] = {
        index: ChangeTree(changes, REMOVED) for index in range(len(old)) if index not in kept
    }
    added = [NewItem(LAST, each, None, None, changes) for each in value[len(kept) :]]
    return ChangeTree(changes, inner=gone, inserted=added)


def value_after(value: Any, branch: ChangeTree) -> Any:  # noqa: ANN401 (any value)
    """What a text that says `value` says after the changes of `branch`. A map that loses all stays, empty."""
    if branch.value is not KEPT:
        return as_read(branch.value)
    if isinstance(value, list):
        return _list_after(value, branch)
    return _map_after(value if isinstance(value, dict) else {}, branch)


def _list_after(value: list[Any], branch: ChangeTree) -> list[Any]:
    result: list[Any] = []
    for index in range(len(value) + 1):
        is_end = index == len(value)
        result += (
            value[new.source] if isinstance(new.source, int) else as_read(new.value)
            for new in branch.inserted
            if new.place == index or (is_end and new.place > index)
        )
        at = branch.inner.get(index)
        if not is_end and not (at and at.is_removed):
            result.append(value_after(value[index], at) if at else value[index])
    return result


def _map_after(value: dict[Any, Any], branch: ChangeTree) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    names = list(value)
    for index in range(len(names) + 1):
        is_end = index == len(names)
        if is_end:
            added = {key: each for key, each in branch.inner.items() if key not in value}
            twice = {name.text for name in names if isinstance(name, Unnamed)}
            if twice & added.keys():
                raise DataError("a key of that name occurs twice")
            result |= {key: value_after(None, each) for key, each in added.items() if not each.is_removed}
        for new in branch.inserted:
            if new.place == index or (is_end and new.place > index):
                _insert(result, value, new)
        if is_end:
            break
        name = names[index]
        at = branch.inner.get(name)
        if at and at.is_removed:
            continue
        new_name = at.name if at and at.name is not None else name
        result[new_name] = value_after(value[name], at) if at and _has_changes(at) else value[name]
    return result


def _has_changes(branch: ChangeTree) -> bool:
    return branch.value is not KEPT or bool(branch.inner) or bool(branch.inserted)


def _insert(result: dict[Any, Any], value: dict[Any, Any], new: NewItem) -> None:
    if new.source is not None:
        result[new.source] = value[new.source]
    elif new.name in result or new.name in value:
        raise DataError("a key of that name is there already")
    else:
        result[new.name] = as_read(new.value)


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
    values: dict[Any, Any], changes: Sequence[Change], like: Mapping[Any, Any]
) -> dict[Any, Any]:
    """`values` without the maps that lost their last key by `changes` and are not in `like` either."""
    for change in changes:
        if not isinstance(change, KeyChange) or change.value is not REMOVED:
            continue
        for length in range(len(change.key) - 1, 0, -1):
            parent, name = value_at(values, change.key[: length - 1]), change.key[length - 1]
            is_emptied = isinstance(parent, dict) and parent.get(name) == {}
            if is_emptied and value_at(like, change.key[:length]) is REMOVED:
                del parent[name]
    return values


def value_at(values: Any, key: Path) -> Any:  # noqa: ANN401 (any value)
    """Value of `key`; `REMOVED` where it is not there."""
    found = values
    for element in key:
        is_item = isinstance(found, list) and isinstance(element, int) and 0 <= element < len(found)
        if not is_item and not (isinstance(found, dict) and element in found):
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


def values_equal(left: object, right: object, *, in_order: bool = False) -> bool:
    """Whether two values are equal and of one type all through: true is not 1, and 1 is not 1.0.

    With `in_order` maps also have their keys in one order.
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        has_same_keys = list(left) == list(right) if in_order else left.keys() == right.keys()
        return has_same_keys and all(values_equal(left[key], right[key], in_order=in_order) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            values_equal(one, other, in_order=in_order) for one, other in zip(left, right, strict=True)
        )
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
    """`edit` is in the offsets of the text that is changed; `changes` are their indexes."""

    edit: TextEdit
    changes: tuple[int, ...]
