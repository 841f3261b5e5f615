"""A tree of nodes with positions for keys and values, and changes to it as values."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, Final

import msgspec

from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct, field

_LONGEST_NUMBER: Final = 300
MOST_VALUES: Final = 100_000


class Language(StrEnum):
    """Data languages; `JSON` includes JSON with comments and JSON5."""

    YAML = "yaml"
    JSON = "json"
    TOML = "toml"
    INI = "ini"


class DataError(ValueError):
    """A text cannot be parsed or changed, for a `reason`, at `offset`."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def check_count(count: int, offset: int | None = None) -> None:
    """Raise `DataError` if `count` values, the last at `offset`, exceed the limit."""
    if count > MOST_VALUES:
        raise DataError(f"it has more than {MOST_VALUES:,} values", offset)


class Kind(StrEnum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAP = "map"
    LIST = "list"


class Unnamed(Struct):
    """The name of an unaddressable key: a duplicate, or not a string."""

    text: str
    index: int

    def __str__(self) -> str:
        return f"{self.text}#{self.index + 1}"


Element = str | int | Unnamed
Path = tuple[Element, ...]


class Opaque(Struct):
    """A value that only its own program understands: tagged, an alias, an unusual date."""

    kind: str
    value: object


class Node(msgspec.Struct):
    """A value. `span` is its text, without an anchor before it.

    - `style`: the quote or block indicator of a scalar.
    - `is_flow`: a list or map in brackets.
    - `column`: of the keys or dashes of a block list or map.
    - `end`: after its last character, even if YAML extends the node further.
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
        """The span of its text."""
        return Span(self.start, self.end)

    def entry(self, name: Element) -> "Entry | None":
        """Return the entry of the key or index `name`, if any."""
        if self.kind is Kind.LIST:
            return self.entries[name] if isinstance(name, int) and 0 <= name < len(self.entries) else None
        if self.kind is Kind.MAP and not isinstance(name, int):
            return self.by_name.get(name)
        return None

    @property
    def by_name(self) -> "dict[str | Unnamed, Entry]":
        """The entries of a map by name."""
        return {each.name: each for each in self.entries if not isinstance(each.name, int)}

    def at(self, path: Path) -> "Entry | None":
        """Return the entry at the non-empty `path`, or None."""
        node, entry = self, None
        for name in path:
            entry = node.entry(name)
            if entry is None:
                return None
            node = entry.node
        return entry


class Entry(msgspec.Struct):
    """A key with its value, or a list item, whose `key` is None.

    `start` is the start of its key, dash or value; `comma` the offset of the comma after it.
    """

    name: str | int | Unnamed
    key: Node | None
    node: Node
    start: int
    comma: int | None = None

    @property
    def end(self) -> int:
        """The end of its key and value."""
        return max(self.node.end, self.key.end if self.key else 0)


def values_of(node: Node | None, text: str | None = None) -> Any:  # noqa: ANN401 (any value)
    """Return the value of `node`: dicts and lists of scalars; unaddressable keys are `Unnamed`.

    Given `text`, numbers keep their spelling.
    """
    if node is None:
        return None
    if node.kind is Kind.SCALAR:
        is_number = text is not None and isinstance(node.value, float) and not node.style
        return Plain.of(text[node.start : node.end], node.value) if text and is_number else node.value
    values: Any
    if node.kind is Kind.LIST:
        values = [values_of(entry.node, text) for entry in node.entries]
    else:
        values = {entry.name: values_of(entry.node, text) for entry in node.entries}
    return values if node.value is None else Opaque(str(node.value), values)


def aliased(root: Node | None) -> list[tuple[str, Any]]:
    """Return the anchors that aliases refer to, with their values."""
    nodes: list[Node] = [] if root is None else [root]
    for node in nodes:
        nodes += (each for entry in node.entries for each in (entry.key, entry.node) if each is not None)
    aliases = {
        node.value.value for node in nodes if isinstance(node.value, Opaque) and node.value.kind == "alias"
    }
    return [(node.anchor, values_of(node)) for node in nodes if node.anchor in aliases and node.anchor]


def named(entries: "list[Entry]") -> None:
    """Give the `entries` of a map unique names."""
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        if isinstance(entry.name, str):
            by_name.setdefault(entry.name, []).append(entry)
    for name, equal in by_name.items():
        for index, entry in enumerate(equal if len(equal) > 1 else ()):
            entry.name = Unnamed(name, index)


def places_of(node: Node | None, parent: Path = ()) -> Iterator[tuple[Path, Span]]:
    """Yield the path and span of each key and item in `node`."""
    for index, each in enumerate(node.entries if node else ()):
        name = index if node is not None and node.kind is Kind.LIST else each.name
        if isinstance(name, Unnamed):
            continue
        path = (*parent, name)
        yield path, Span(each.start, each.end)
        yield from places_of(each.node, path)


# --- Changes of keys and items as values, and their effect
#
# Keys are paths of key texts and list indexes from the root; `yes: 1` has the key `yes`, whatever YAML makes
# of it. Values are JSON values, plus dates and times. All paths refer to the text before any change.


class KeyMarker(Enum):
    """Markers for deleted and unchanged keys."""

    REMOVED = "gone"
    KEPT = "kept"


KEPT: Final = KeyMarker.KEPT
REMOVED: Final = KeyMarker.REMOVED


class DateText(Struct):
    """A date or time to write as `text`, which parses to `value`."""

    text: str
    value: object


class SpelledFloat(float):
    """A number to write as `text`, where Python would write it differently."""

    text = ""

    def __repr__(self) -> str:
        """Return its text."""
        return self.text


def plain_text(value: object) -> str:
    """Return a number or boolean as all languages write it; other values as `str` does."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Plain(str):  # noqa: SLOT000 (no subclass of a text may have slots)
    """A text that was written without quotes and parses to `value`: `yes`, `1.10`, `0x1F`.

    Inside other texts it is verbatim; comparisons use its value.
    """

    value: bool | float

    @classmethod
    def of(cls, text: str, value: bool | float) -> "bool | float | Plain":  # noqa: FBT001 (a value, not a flag)
        """Return `value` itself if `text` is its usual spelling."""
        if plain_text(value) == text:
            return value
        plain = cls(text)
        plain.value = value
        return plain

    @property
    def typed(self) -> str | bool | float:
        """Its value if all parsers agree on it, else its text."""
        has_exponent = isinstance(self.value, float) and "e" in self.lower()
        is_number = has_exponent or not isinstance(spelled(str(self)), str)
        return self.value if isinstance(self.value, bool) or is_number else str(self)


def plain_float(text: str) -> float | Plain:
    """Parse the JSON or TOML number `text`."""
    return Plain.of(text, float(text))


def typed_values(value: Any) -> Any:  # noqa: ANN401 (any value)
    """Return `value` with `Plain` texts replaced by their typed value."""
    match value:
        case Plain():
            return value.typed
        case list() | tuple():
            return [typed_values(each) for each in value]
        case dict():
            return {key: typed_values(each) for key, each in value.items()}
        case _:
            return value


_DECIMAL: Final = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?")


def spelled(text: str) -> str | int | float:
    """Return the number that `text` means and is spelled as in every language; else `text`."""
    number = _DECIMAL.fullmatch(text) if len(text) < _LONGEST_NUMBER else None
    if number is None or not number["fraction"]:
        return text if number is None else int(text)
    value = SpelledFloat(text)
    value.text = text
    return value


class KeyChange(Struct):
    """Set `key` to `value`: JSON, a `DateText`, or `REMOVED`. Missing parent maps are created."""

    key: Path
    value: object


class NewEntry(Struct):
    """Insert an entry into the list or map at `key`, before entry number `place` or at the end.

    In a map it is called `name`. Given a `source`, that entry moves.
    """

    key: Path
    place: int | None
    value: object = None
    name: str | None = None
    source: Element | None = None


class NewName(Struct):
    """Rename the last name of the path `key` to `name`."""

    key: Path
    name: str


Change = KeyChange | NewEntry | NewName


class NewItem(msgspec.Struct):
    """An entry to insert before entry number `place`."""

    place: int
    value: object
    name: str | None
    source: Element | None
    changes: list[int]


class ChangeTree(msgspec.Struct):
    """Changes of one value: a new `value`, or changes inside it.

    `changes` are the indexes of the changes that contributed.
    """

    changes: list[int] = field(default_factory=list)
    value: object = KEPT
    name: str | None = None
    inner: "dict[Hashable, ChangeTree]" = field(default_factory=dict)
    inserted: list[NewItem] = field(default_factory=list)

    @property
    def is_removed(self) -> bool:
        """True if the key is removed."""
        return self.value is REMOVED

    @property
    def is_inside(self) -> bool:
        """True if only entries of the value change."""
        return self.value is KEPT

    @property
    def as_value(self) -> object:
        """The value of a new or entirely replaced key."""
        if self.value is not KEPT:
            return self.value
        if self.inserted and self.inserted[0].name is None:
            return [each.value for each in self.inserted]
        values: dict[Any, object] = {
            key: each.as_value for key, each in self.inner.items() if not each.is_removed
        }
        return values | {each.name: each.value for each in self.inserted}


def change_tree(changes: Sequence[Change]) -> ChangeTree:
    """Combine `changes`, whose keys do not contain each other, into one for the root."""
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
    """Return the key changes that turn the map `old` into `value`."""
    gone: dict[Hashable, ChangeTree] = {key: ChangeTree(changes, REMOVED) for key in old if key not in value}
    return ChangeTree(changes, inner=gone | {key: ChangeTree(changes, each) for key, each in value.items()})


def list_changes(value: Sequence[object], old: Sequence[object], changes: list[int]) -> ChangeTree | None:
    """Return the item changes that turn the list `old` into `value`; None if no item can stay."""
    kept = kept_items(old, value)
    if not kept:
        return None
    gone: dict[Hashable, ChangeTree] = {
        index: ChangeTree(changes, REMOVED) for index in range(len(old)) if index not in kept
    }
    added = [NewItem(LAST, each, None, None, changes) for each in value[len(kept) :]]
    return ChangeTree(changes, inner=gone, inserted=added)


def entry_changes(old: object, branch: ChangeTree) -> ChangeTree | None:
    """Return `branch`, also a new value, as changes of the entries of `old`; None if they cannot stay."""
    value = branch.value
    if branch.is_inside:
        return branch
    if isinstance(value, dict) and isinstance(old, dict) and value:
        return map_changes(value, old, branch.changes)
    if isinstance(value, list) and isinstance(old, list):
        return list_changes(value, old, branch.changes)
    return None


def slots(names: Sequence[Element], branch: ChangeTree) -> Iterator[Element | NewItem]:
    """Yield those of `names` that stay, and the new entries, in the order of the result."""
    known = set(names)
    added = [
        NewItem(LAST, each.as_value, name, None, each.changes)
        for name, each in branch.inner.items()
        if isinstance(name, str) and name not in known and not each.is_removed
    ]
    for index, name in enumerate(names):
        yield from (new for new in branch.inserted if new.place == index)
        at = branch.inner.get(name)
        if at is None or not at.is_removed:
            yield name
    yield from added
    yield from (new for new in branch.inserted if new.place >= len(names))


def value_after(value: Any, branch: ChangeTree) -> Any:  # noqa: ANN401 (any value)
    """Return `value` after the changes of `branch`. A map that loses all keys stays, empty."""
    if branch.value is not KEPT:
        return as_read(branch.value)
    if isinstance(value, list):
        return [_entry_after(value, each, branch) for each in slots(range(len(value)), branch)]
    values = value if isinstance(value, dict) else {}
    twice = {name.text for name in values if isinstance(name, Unnamed)}
    result: dict[Any, Any] = {}
    for each in slots(list(values), branch):
        if isinstance(each, NewItem):
            name: Any = each.name if each.source is None else each.source
            if each.source is None and (name in result or name in values or name in twice):
                raise DataError("a key of that name is there already")
        else:
            at = branch.inner.get(each)
            name = each if at is None or at.name is None else at.name
        result[name] = _entry_after(values, each, branch)
    return result


def _entry_after(values: Any, entry: Element | NewItem, branch: ChangeTree) -> Any:  # noqa: ANN401 (any value)
    if isinstance(entry, NewItem):
        return as_read(entry.value) if entry.source is None else values[entry.source]
    at = branch.inner.get(entry)
    is_changed = at is not None and (at.value is not KEPT or at.inner or at.inserted)
    return value_after(values[entry], at) if at is not None and is_changed else values[entry]


def as_read(value: object) -> object:
    """Return `value` as it parses once written: dates for `DateText`."""
    match value:
        case DateText():
            return value.value
        case SpelledFloat():
            return float(value)
        case list():
            return [as_read(each) for each in value]
        case dict():
            return {key: as_read(each) for key, each in value.items()}
        case _:
            return value


def without_emptied(
    values: dict[Any, Any], changes: Sequence[Change], like: Mapping[Any, Any]
) -> dict[Any, Any]:
    """Remove maps from `values` whose last key `changes` removed and that are not in `like`."""
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
    """Return the value at `key`, or `REMOVED`."""
    for element in key:
        is_item = isinstance(values, list) and isinstance(element, int) and 0 <= element < len(values)
        if not is_item and not (isinstance(values, dict) and element in values):
            return REMOVED
        values = values[element]
    return values


def strings_of(values: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield all strings in `values` with their paths, in order."""
    if isinstance(values, str):
        yield path, values
    elif isinstance(values, dict):
        for name, value in values.items():
            if not isinstance(name, Unnamed):
                yield from strings_of(value, (*path, name))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from strings_of(value, (*path, index))


def level_sizes(value: object) -> list[int]:
    """Return the number of values at each depth, without recursion, since it may be deep."""
    sizes, level = [], [value]
    while level:
        sizes.append(len(level))
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return sizes


def values_equal(left: object, right: object, *, in_order: bool = False) -> bool:
    """Return True if values and types are equal: true is not 1, and 1 is not 1.0.

    `in_order` compares the order of keys too.
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
    # Python compares times across zones; here different spellings differ.
    return left == right and getattr(left, "tzinfo", None) == getattr(right, "tzinfo", None)


def kept_items(old: Sequence[object], new: Sequence[object]) -> tuple[int, ...]:
    """Return the indexes of `old` items that occur, in order, as a subsequence of `new`."""
    kept: list[int] = []
    start = 0
    for item in new:
        index = next((at for at in range(start, len(old)) if values_equal(old[at], item)), None)
        if index is None:
            break
        kept.append(index)
        start = index + 1
    return tuple(kept)


class Splice(Struct):
    """An `edit`, and the indexes of the `changes` that it makes."""

    edit: TextEdit
    changes: tuple[int, ...]
