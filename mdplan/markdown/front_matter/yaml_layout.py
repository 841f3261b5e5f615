"""New values as YAML, laid out as the block does it: indentation, dashes, brackets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import yaml

from mdplan.markdown.front_matter.yaml_scalars import can_be_literal, scalar_text, string_text

_INDENT: Final = 2


@dataclass(frozen=True, slots=True)
class Written:
    """A value: what stands behind the colon, and the whole lines below it, without line ends."""

    head: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """How a block is laid out. Columns are those of a map in a map, and of a list in a map, beyond the map's.

    `flow_lists` says that lists stand in brackets, `literals` that strings may become literal blocks.
    """

    indent: int = _INDENT
    list_indent: int = _INDENT
    flow_lists: bool = False
    literals: bool = True

    @classmethod
    def of(cls, root: yaml.Node | None) -> "Layout":
        """Layout of the block `root`; the first of its kind decides on indentation, most lists on theirs."""
        maps: list[int] = []
        lists: list[int] = []
        styles: Counter[bool] = Counter()
        for parent, child in _pairs(root):
            if not child.value:
                continue
            indent = child.start_mark.column - parent.start_mark.column
            if isinstance(child, yaml.SequenceNode):
                styles[bool(child.flow_style)] += 1
                lists += [] if child.flow_style else [indent]
            elif not child.flow_style:
                maps.append(indent)
        return cls(
            indent=maps[0] if maps else _INDENT,
            list_indent=lists[0] if lists else _INDENT,
            flow_lists=styles[True] > styles[False],
        )

    def written(self, value: object, column: int, quote: str = "", *, in_flow: bool = False) -> Written:
        """`value` of a key that starts at `column`; `quote` as in `scalar_text`."""
        if in_flow or not isinstance(value, list | dict | str):
            return Written(flow_text(value, quote, in_flow=in_flow))
        if isinstance(value, str):
            return self._string(value, column + self.indent, quote)
        if not value or (isinstance(value, list) and self.flow_lists):
            return Written(flow_text(value, quote))
        if isinstance(value, dict):
            return Written("", tuple(self.map_lines(value, column + self.indent)))
        at = column + self.list_indent
        return Written("", tuple(line for item in value for line in self.item_lines(item, at, quote)))

    def map_lines(self, value: Mapping[str, object], column: int) -> Iterator[str]:
        """Lines of the keys and values of a map that starts at `column`."""
        for key, each in value.items():
            written = self.written(each, column)
            head = f" {written.head}" if written.head else ""
            yield f"{' ' * column}{string_text(key)}:{head}"
            yield from written.lines

    def item_lines(self, item: object, column: int, quote: str = "", gap: int = 1) -> Iterator[str]:
        """Lines of a list item whose dash stands at `column`, `gap` blanks before its text."""
        lead = " " * column + "-" + " " * gap
        if isinstance(item, dict) and item:
            first, *rest = self.map_lines(item, len(lead))
            yield lead + first.lstrip(" ")
            yield from rest
        elif isinstance(item, str):
            written = self._string(item, len(lead), quote)
            yield lead + written.head
            yield from written.lines
        else:
            yield lead + flow_text(item, quote)

    def _string(self, value: str, column: int, quote: str) -> Written:
        """A string on one line; several lines that are not quoted become a literal block at `column`."""
        if quote or not self.literals or not can_be_literal(value):
            return Written(string_text(value, quote))
        ends = value.endswith("\n")
        lines = value.removesuffix("\n").split("\n")
        indented = (" " * column + line if line else "" for line in lines)
        return Written("|" if ends else "|-", tuple(indented))


def flow_text(value: object, quote: str = "", *, in_flow: bool = False) -> str:
    """`value` on one line; lists and maps in brackets and braces."""
    if isinstance(value, dict):
        pairs = (
            f"{string_text(key, in_flow=True)}: {flow_text(each, in_flow=True)}"
            for key, each in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(item, quote, in_flow=True) for item in value) + "]"
    return scalar_text(value, quote, in_flow=in_flow)


def quote_of(nodes: Sequence[yaml.Node]) -> str:
    """The mark that the last string among `nodes` stands in; none where it is plain, or there is none."""
    styles = [
        node.style or "" for node in nodes if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str")
    ]
    return styles[-1] if styles and styles[-1] in {"'", '"'} else ""


def _pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.CollectionNode]]:
    """Every map with each list or map that is the value of one of its keys."""
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            if isinstance(value, yaml.CollectionNode):
                yield node, value
                yield from _pairs(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _pairs(item)
