"""YAML front matter, edited by cutting at node marks: all bytes that belong to no changed key stay.

A value has a head, which is after the colon, and may have whole lines below it. Comments after a head,
and between keys, belong to neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import yaml

from mdplan.markdown.front_matter.block import FrontMatterError
from mdplan.markdown.front_matter.change import Branch, Splice, kept_items, values_equal, within
from mdplan.markdown.front_matter.values import FrontMatterContent
from mdplan.markdown.front_matter.yaml_flow import FlowWriter
from mdplan.markdown.front_matter.yaml_layout import Layout, Written, flow_text, quote_of
from mdplan.text.edit import TextEdit
from mdplan.text.span import Span

_BLOCK_STYLES = frozenset({"|", ">"})


def yaml_edits(content: FrontMatterContent, branches: Mapping[str, Branch]) -> list[Splice]:
    """What makes `branches` of `content`, in its offsets; new lines end in LF.

    Raises `FrontMatterError` where that cannot be done by cutting.
    """
    writer = _BlockWriter(content)
    root = content.root
    if root is None:
        writer.add_keys(_behind_text(content, 0), 0, branches)
    elif root.flow_style:
        writer.flow.edit_map(root, content.values, branches)
    else:
        writer.edit_map(root, content.values, branches, is_root=True)
    return writer.splices


def _behind_text(content: FrontMatterContent, least: int) -> int:
    """Offset behind the last line that is not blank, or `least` where that is further."""
    lines = content.lines
    line = lines.count
    while line and lines.start(line) >= least and not lines.content(line).strip(" \t"):
        line -= 1
    return max(lines.end(line) if line else 0, least)


class _BlockWriter:
    """Collects the splices of one block."""

    def __init__(self, content: FrontMatterContent) -> None:
        self._content = content
        self._text = content.text
        self._lines = content.lines
        self._layout = content.layout
        self.splices: list[Splice] = []
        self.flow = FlowWriter(content, self.splices)

    def edit_map(
        self,
        node: yaml.MappingNode,
        old: Mapping[str, object],
        branches: Mapping[str, Branch],
        *,
        is_root: bool,
    ) -> None:
        """Changes of the keys of a map whose keys stand on lines of their own."""
        entries = self._content.entries(node)
        for text, branch in branches.items():
            if text not in entries:
                continue
            key, value = entries[text]
            if branch.is_removed:
                self._delete_lines(Span(self._entry_start(key), self._end_of(value)), branch.changes)
            else:
                self._edit_value(key, value, old[text], branch)
        end = self._end_of(node)
        column = node.value[0][0].start_mark.column
        new = {text: branch for text, branch in branches.items() if text not in entries}
        self.add_keys(_behind_text(self._content, end) if is_root else end, column, new)

    def add_keys(self, offset: int, column: int, branches: Mapping[str, Branch]) -> None:
        """New keys as lines at the line start `offset`."""
        layout = self._layout_at(offset)
        for text, branch in branches.items():
            lines = layout.map_lines({text: branch.as_value}, column)
            self._insert_lines(offset, lines, branch.changes)

    def _edit_value(self, key: yaml.ScalarNode, node: yaml.Node, old: object, branch: Branch) -> None:
        inner = branch.inner
        if not inner:
            if values_equal(old, branch.as_value):
                return
            if isinstance(old, dict) and isinstance(branch.value, dict) and old.keys() & branch.value.keys():
                inner = within(branch.value, old, branch.changes)
            elif self._edit_list(node, old, branch):
                return
        stays = isinstance(old, dict) and any(text not in inner or not inner[text].is_removed for text in old)
        if inner and stays and isinstance(node, yaml.MappingNode) and isinstance(old, dict):
            if node.flow_style:
                self.flow.edit_map(node, old, inner)
            else:
                self.edit_map(node, old, inner, is_root=False)
            return
        self._replace_value(key, node, branch)

    def _replace_value(self, key: yaml.ScalarNode, node: yaml.Node, branch: Branch) -> None:
        """The head of the new value in place of the old one's, and its lines in place of the old lines."""
        self._entry_start(key)
        colon = self._text.index(":", key.end_mark.index) + 1
        head, lines = self._parts_of(node, colon)
        written = self._written(key, node, branch.as_value, self._layout_at(lines.end))
        if written.head and len(head):
            self._add(head, written.head, branch.changes)
        elif written.head:
            self._add(Span(colon, colon), f" {written.head}", branch.changes)
        elif len(head):
            self._add(Span(colon, head.end), "", branch.changes)
        text = "".join(f"{line}\n" for line in written.lines)
        if text or len(lines):
            self._add(lines, text, branch.changes)

    def _written(self, key: yaml.ScalarNode, node: yaml.Node, value: object, layout: Layout) -> Written:
        quote = quote_of(node.value if isinstance(node, yaml.SequenceNode) else [node])
        is_list = isinstance(node, yaml.SequenceNode) and isinstance(value, list)
        is_map = isinstance(node, yaml.MappingNode) and isinstance(value, dict)
        if (is_list or is_map) and isinstance(node, yaml.CollectionNode) and node.flow_style:
            return Written(flow_text(value, quote))
        if is_list:
            indent = node.start_mark.column - key.start_mark.column
            layout = replace(layout, list_indent=indent, flow_lists=False)
        return layout.written(value, key.start_mark.column, quote)

    def _layout_at(self, offset: int) -> Layout:
        """Layout of lines before `offset`: a literal block would swallow indented comments behind it."""
        lines = self._lines
        line = lines.line_at(offset) if offset < len(self._text) else lines.count + 1
        while line <= lines.count and not lines.content(line):
            line += 1
        is_indented = line <= lines.count and lines.content(line)[0] in " \t"
        behind = lines.content(line).lstrip(" \t") if is_indented else ""
        return replace(self._layout, literals=not is_indented or not (behind == "" or behind[0] == "#"))

    def _parts_of(self, node: yaml.Node, colon: int) -> tuple[Span, Span]:
        """Spans of head and lines of a value; an empty span is where new ones go."""
        start, end = node.start_mark.index, node.end_mark.index
        below = self._lines.end(self._lines.line_at(colon))
        if _is_block_scalar(node):
            indicators = len(self._text[start:]) - len(self._text[start:].lstrip("|>+-0123456789"))
            return Span(start, start + indicators), Span(below, self._end_of(node))
        if _is_block_collection(node):
            if start < below:
                raise FrontMatterError("a list or map stands behind its colon", start)
            return Span(colon, colon), Span(below, self._end_of(node))
        if start == end:
            return Span(colon, colon), Span(below, below)
        below = self._end_of(node)
        return Span(start, end), Span(below, below)

    def _edit_list(self, node: yaml.Node, old: object, branch: Branch) -> bool:
        """Whether some items of a list can stay where they are: then the others go, and new ones come."""
        new = branch.value
        if not (isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list)):
            return False
        kept = kept_items(old, new)
        if not kept:
            return False
        added = new[len(kept) :]
        if node.flow_style:
            self.flow.edit_list(node, kept, added, branch.changes)
            return True
        dashes = self._dashes(node)
        staying = frozenset(kept)
        for index, item in enumerate(node.value):
            if index not in staying:
                span = Span(self._lines.start(self._lines.line_at(dashes[index])), self._end_of(item))
                self._delete_lines(span, branch.changes)
        self._add_items(node, dashes[-1], added, branch.changes)
        return True

    def _add_items(
        self, node: yaml.SequenceNode, dash: int, items: Sequence[object], changes: list[int]
    ) -> None:
        """New items behind the last one, whose dash is at `dash`, laid out as it is."""
        last = node.value[-1]
        between = self._text[dash + 1 : last.start_mark.index]
        gap = len(between) if between and not between.strip(" ") else 1
        quote = quote_of(node.value)
        layout = self._layout_at(self._end_of(node))
        for item in items:
            lines = layout.item_lines(item, node.start_mark.column, quote, gap)
            self._insert_lines(self._end_of(node), lines, changes)

    def _dashes(self, node: yaml.SequenceNode) -> list[int]:
        """Where the dash of each item of a list on lines of its own stands."""
        column = node.start_mark.column
        dashes: list[int] = []
        for item in node.value:
            line = self._lines.line_at(item.start_mark.index)
            while True:
                at = self._lines.start(line) + column
                before = self._text[self._lines.start(line) : at]
                if self._text[at : at + 1] == "-" and not before.strip(" "):
                    break
                # Columns are those of YAML, to which some more characters end a line.
                if line == 1 or (dashes and at <= dashes[-1]):
                    raise FrontMatterError("the dash of an item stands somewhere else", item.start_mark.index)
                line -= 1
            dashes.append(at)
        if any(left >= right for left, right in pairwise(dashes)):
            raise FrontMatterError("the dash of an item stands somewhere else", node.start_mark.index)
        return dashes

    def _entry_start(self, key: yaml.ScalarNode) -> int:
        """Start of the line that `key` begins."""
        start = self._lines.start(self._lines.line_at(key.start_mark.index))
        if self._text[start : key.start_mark.index].strip(" "):
            raise FrontMatterError("a key does not begin its line", key.start_mark.index)
        return start

    def _end_of(self, node: yaml.Node) -> int:
        """Offset behind the last line of a value, with a comment on that line, without blank lines below."""
        leaf = node
        while _is_block_collection(leaf):
            leaf = leaf.value[-1][1] if isinstance(leaf, yaml.MappingNode) else leaf.value[-1]
        end = leaf.end_mark.index
        if not _is_block_scalar(leaf):
            return self._lines.end(self._lines.line_at(end))
        first = self._lines.line_at(leaf.start_mark.index)
        header = self._text[leaf.start_mark.index : leaf.start_mark.index + 3]
        last = self._lines.line_at(end - 1)
        while "+" not in header and last > first and not self._lines.content(last).strip(" \t"):
            last -= 1
        return self._lines.end(last)

    def _delete_lines(self, span: Span, changes: list[int]) -> None:
        self._add(span, "", changes)

    def _insert_lines(self, offset: int, lines: Iterable[str], changes: list[int]) -> None:
        self._add(Span(offset, offset), "".join(f"{line}\n" for line in lines), changes)

    def _add(self, span: Span, new_text: str, changes: list[int]) -> None:
        self.splices.append(Splice(TextEdit(span, new_text), tuple(changes)))


def _is_block_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in _BLOCK_STYLES


def _is_block_collection(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)
