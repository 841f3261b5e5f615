"""Blocks while they are made of the parser's events: a tree, with line numbers inside of one part."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from mdplan.markdown.blocks.block import BlockKind


@dataclass(slots=True, eq=False)
class BlockNode:
    """One block and the blocks in it. Lines are 0-based and inclusive.

    Until the tree is complete, `last_line` of a container is the last line that the parser counts to it,
    which can be a blank one behind its last block. Other fields are those of `Block`.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    children: "list[BlockNode]" = field(default_factory=list)
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""

    def leaves(self) -> "Iterator[BlockNode]":
        """Blocks in it, and in those, without blocks of their own; it itself if it has none."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.children:
                stack += reversed(node.children)
            else:
                yield node


class PartLines:
    """Lines of a prepared text. Numbers are 0-based; a final line end opens no line."""

    def __init__(self, text: str) -> None:
        """Split `text`."""
        lines = text.split("\n")
        self.starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
        if not lines[-1]:
            lines.pop()
            self.starts.pop()
        self.texts = [line.removesuffix("\r") for line in lines] if "\r" in text else lines
        self._length = len(text)

    def end(self, line: int) -> int:
        """Offset behind `line` and its line end."""
        return min(self.starts[line + 1], self._length)
