"""New values as YAML, laid out as the text does it: indentation, dashes, brackets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.data.node import Kind, Node
from mdplan.data.yaml_scalars import can_be_literal, scalar_text, string_text

_INDENT: Final = 2


@dataclass(frozen=True, slots=True)
class Written:
    """A value: what is after the colon, and the whole lines below it, without line ends."""

    head: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """How a block is laid out. Columns are those of a map in a map, and of a list in a map, beyond the map's.

    `flow_lists` says that lists are in brackets, `literals` that strings may become literal blocks.
    """

    indent: int = _INDENT
    list_indent: int = _INDENT
    flow_lists: bool = False
    literals: bool = True

    @classmethod
    def of(cls, root: Node | None) -> "Layout":
        """Layout of the block `root`; the first of its kind decides on indentation, most lists on theirs."""
        maps: list[int] = []
        lists: list[int] = []
        styles: Counter[bool] = Counter()
        for parent, child in _pairs(root):
            if not child.entries:
                continue
            indent = child.column - parent.column
            if child.kind is Kind.LIST:
                styles[child.is_flow] += 1
                lists += [] if child.is_flow else [indent]
            elif not child.is_flow:
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
        """Lines of a list item whose dash is at `column`, `gap` blanks before its text."""
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


class FlowText:
    """Writes what is in brackets and braces."""

    sign = ": "
    comment_signs: tuple[str, ...] = ("#",)

    def key(self, name: str, like: Node | None) -> str:
        """The key `name`, in the quotes of `like`."""
        return string_text(name, _quote(like), in_flow=True)

    def value(self, value: object, like: Node | None, indent: str | None) -> str:
        """`value` on one line, in the quotes of `like`."""
        del indent
        return flow_text(value, _quote(like), in_flow=True)


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


def quote_of(nodes: Sequence[Node]) -> str:
    """The mark that the last string among `nodes` is in; none where it is plain, or there is none."""
    styles = [node.style for node in nodes if node.kind is Kind.SCALAR and isinstance(node.value, str)]
    return styles[-1] if styles and styles[-1] in {"'", '"'} else ""


def _quote(like: Node | None) -> str:
    return "" if like is None else quote_of([like])


def _pairs(node: Node | None) -> Iterator[tuple[Node, Node]]:
    """Every map with each list or map that is the value of one of its keys."""
    for entry in node.entries if node else ():
        if node is not None and node.kind is Kind.MAP and entry.node.kind is not Kind.SCALAR:
            yield node, entry.node
        yield from _pairs(entry.node)
