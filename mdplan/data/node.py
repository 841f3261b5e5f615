"""A file of keys and values as a tree of nodes with places."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

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
