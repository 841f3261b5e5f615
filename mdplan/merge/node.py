"""Nodes of the tree that a merge looks at."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class NodeKind(StrEnum):
    """What a node is; `LEAF` is any block that is merged by its lines."""

    ROOT = "root"
    SECTION = "section"
    FRONT_MATTER = "front matter"
    ENTRY = "entry"
    LIST = "list"
    ITEM = "item"
    TABLE = "table"
    ROW = "row"
    DEFINITIONS = "definitions"
    DEFINITION = "definition"
    LEAF = "leaf"


# Members of a set: both sides may add some at one place.
MEMBERS: Final = frozenset({NodeKind.ENTRY, NodeKind.ITEM, NodeKind.ROW, NodeKind.DEFINITION})
# Nodes that are nothing but their children.
SETS: Final = frozenset({NodeKind.LIST, NodeKind.TABLE, NodeKind.DEFINITIONS, NodeKind.FRONT_MATTER})


@dataclass(frozen=True, slots=True)
class Node:
    """A run of 0-based lines: `head`, then those of `children`, up to `stop`; blank lines behind it excluded.

    `style` must be the same for two nodes to be the same: the kind of block, or the markers of a list.
    `label` names it among its siblings: the title of a section, the link of an item, the key of an entry.
    `text` is what two nodes that are the same share: a row has it without padding, a numbered item without
    its number. `level` is that of the heading of a section.
    """

    kind: NodeKind
    head: range
    stop: int
    text: str
    style: str = ""
    label: str = ""
    children: tuple["Node", ...] = ()
    level: int = 0

    @property
    def lines(self) -> range:
        """Its own lines and those of its children."""
        return range(self.head.start, self.stop)

    def walk(self) -> Iterator["Node"]:
        """Itself and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Three(NamedTuple):
    """One node in base, ours and theirs; None where a text does not have it."""

    base: Node | None
    ours: Node | None
    theirs: Node | None
