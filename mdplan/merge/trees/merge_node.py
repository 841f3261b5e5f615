"""Nodes of the tree that a merge looks at."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class MergeNodeKind(StrEnum):
    """The kind of a node; `LEAF` is any block that is merged by its lines."""

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
MEMBERS: Final = frozenset(
    {MergeNodeKind.ENTRY, MergeNodeKind.ITEM, MergeNodeKind.ROW, MergeNodeKind.DEFINITION}
)
# Nodes that are nothing but their children.
SETS: Final = frozenset(
    {MergeNodeKind.LIST, MergeNodeKind.TABLE, MergeNodeKind.DEFINITIONS, MergeNodeKind.FRONT_MATTER}
)


@dataclass(frozen=True, slots=True)
class MergeNode:
    """A run of 0-based lines: `head`, then those of `children`, up to `stop`; blank lines after it excluded.

    `style` must be the same for two nodes to be the same: the kind of block, or the markers of a list.
    `label` names it among its siblings: the title of a section, the link of an item, the key of an entry.
    `text` is what two nodes that are the same share: a row has it without padding, a numbered item without
    its number. `level` is that of the heading of a section.
    """

    kind: MergeNodeKind
    head: range
    stop: int
    text: str
    style: str = ""
    label: str = ""
    children: tuple["MergeNode", ...] = ()
    level: int = 0

    @property
    def lines(self) -> range:
        """Its own lines and those of its children."""
        return range(self.head.start, self.stop)

    def walk(self) -> Iterator["MergeNode"]:
        """Itself and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Three(NamedTuple):
    """One node in base, ours and theirs; None where a text does not have it."""

    base: MergeNode | None
    ours: MergeNode | None
    theirs: MergeNode | None
