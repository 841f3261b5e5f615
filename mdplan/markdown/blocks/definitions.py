"""Link reference definitions (CommonMark 0.31.2, section 4.7), for which the parser has no events.

They are in the lines that belong to no other block and begin, after the marks of their containers, with a
bracket. The parser shows of each text whether it begins with a definition, and where that ends.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mdplan.markdown.blocks.block import CONTAINERS, BlockKind
from mdplan.markdown.blocks.deadline import check_deadline
from mdplan.markdown.blocks.event_tree import BlockNode, PartLines
from mdplan.markdown.blocks.pulldown import leading_definition

_MARKER: Final = re.compile(r"[-+*]|[0-9]{1,9}[.)]|\[\^[^\]]+\]:")
_LABEL_END: Final = "]:"
_CODE_INDENT: Final = 4
# So far indented, no line of a definition looks like the beginning of another block.
_FURTHER_LINE: Final = "\n    "


def add_definitions(roots: list[BlockNode], lines: PartLines, text: str) -> None:
    """Put the definitions of `text` among the blocks that `roots` are and contain. Raises `ParserFailure`."""
    if _LABEL_END not in text:
        return
    reader = _LineReader(roots, lines)
    found: dict[int, tuple[list[BlockNode], list[BlockNode]]] = {}
    for stretch in _free_ranges(roots, lines, reader):
        for line, count in _definitions(stretch):
            siblings = line.parents[-1].children if line.parents else roots
            node = BlockNode(BlockKind.DEFINITION, line.number, line.number + count - 1)
            found.setdefault(id(siblings), (siblings, []))[1].append(node)
    for siblings, nodes in found.values():
        siblings.extend(nodes)
        siblings.sort(key=_first_line)


class _Line(NamedTuple):
    """A line after the marks of its containers, with tabs as spaces, and its containers, outermost first."""

    number: int
    parents: tuple[BlockNode, ...]
    text: str


def _definitions(lines_range: Sequence[_Line]) -> Iterator[tuple[_Line, int]]:
    """First lines of the definitions in `stretch`, each with how many lines it takes."""
    # A definition can only reach into a line that may begin another one inside its title.
    starts = [at for at, line in enumerate(lines_range) if line.text.startswith("[")]
    stops = [*starts, len(lines_range)]
    behind = 0
    parents: tuple[BlockNode, ...] = ()
    for index, start in enumerate(starts):
        if start < behind:
            continue
        for following in range(index + 1, len(stops)):
            stop = stops[following]
            check_deadline()
            source = _FURTHER_LINE.join(line.text for line in lines_range[start:stop])
            end = leading_definition(source)
            if end is not None:
                count = source[:end].rstrip().count("\n") + 1
                behind = start + count
                line = lines_range[start]
                if line.parents == parents[: len(line.parents)]:
                    # It continues the paragraph that definitions are to the parser, perhaps as a lazy line.
                    line = line._replace(parents=parents)
                parents = line.parents
                yield line, count
                break


def _free_ranges(roots: list[BlockNode], lines: PartLines, reader: "_LineReader") -> Iterator[list[_Line]]:
    """Lines side by side that belong to no leaf block and are not blank."""
    is_free = [True] * len(lines.texts)
    for root in roots:
        for leaf in root.leaves():
            if leaf.kind not in CONTAINERS:
                stop = leaf.last_line + 1
                is_free[leaf.first_line : stop] = [False] * (stop - leaf.first_line)
    stretch: list[_Line] = []
    for number, text in enumerate(lines.texts):
        line = reader.read(number) if is_free[number] and text else None
        if line is not None and line.text:
            stretch.append(line)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


class _LineReader:
    """Reads lines without the marks of the containers that they belong to."""

    def __init__(self, roots: Sequence[BlockNode], lines: PartLines) -> None:
        self._roots = roots
        self._lines = lines
        # By how many columns the further lines of an item are indented at least.
        self._widths: dict[int, int] = {}

    def read(self, number: int) -> _Line:
        """The line with this number."""
        line = self._lines.texts[number].expandtabs(4)
        at = 0
        parents: list[BlockNode] = []
        for node in self._containers(number):
            if node.kind is BlockKind.LIST:
                continue
            behind = self._behind_mark(node, number, line, at)
            if behind is None:
                break
            at = behind
            parents.append(node)
        return _Line(number, tuple(parents), line[at:].strip(" "))

    def _containers(self, number: int) -> Iterator[BlockNode]:
        """Containers whose lines reach over this one, outermost first."""
        nodes = self._roots
        while index := bisect_right(nodes, number, key=_first_line):
            node = nodes[index - 1]
            if node.kind not in CONTAINERS or node.last_line < number:
                return
            yield node
            nodes = node.children

    def _behind_mark(self, node: BlockNode, number: int, line: str, at: int) -> int | None:
        """Where the text of `node` begins in this line; None where the line is not in it."""
        indent = len(line) - at - len(line[at:].lstrip(" "))
        if node.kind is BlockKind.QUOTE:
            if not line.startswith(">", at + indent):
                return None
            return at + indent + 1 + line.startswith(" ", at + indent + 1)
        if node.first_line == number:
            marker = _MARKER.match(line, at + indent)
            if marker is None:
                return None
            spaces = len(line) - marker.end() - len(line[marker.end() :].lstrip(" "))
            is_one = spaces > _CODE_INDENT or marker.end() + spaces == len(line)
            start = marker.end() + (1 if is_one else spaces)
            self._widths[id(node)] = _CODE_INDENT if node.kind is BlockKind.FOOTNOTE else start - at
            return min(start, len(line))
        if id(node) not in self._widths:
            self.read(node.first_line)
        width = self._widths.get(id(node))
        return None if width is None or indent < width else at + width


def _first_line(node: BlockNode) -> int:
    return node.first_line
