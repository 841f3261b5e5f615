"""YAML, edited by cutting at node marks: all bytes that belong to no changed key stay.

A value has a head, which is after its colon or dash, and may have whole lines below it. Comments after a
head, and between keys, belong to neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from mdplan.data.bracket_writer import BracketWriter, added_entries, entry_stays
from mdplan.data.change import Branch, Inserted, Splice, changed, values_equal, within, within_list
from mdplan.data.node import DataError, Entry, Kind, Node, values_of
from mdplan.data.yaml_layout import FlowText, Layout, Written, flow_text, quote_of
from mdplan.data.yaml_scalars import string_text
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex, Span

_BLOCK_STYLES: Final = frozenset({"|", ">"})


def yaml_edits(
    text: str, lines: LineIndex, root: Node | None, branch: Branch, *, is_block: bool
) -> list[Splice]:
    """What makes the changes of `branch` in the YAML `text` with the value `root`; new lines end in LF.

    A file that loses its last key says `{}`; front matter, which `is_block`, has nothing in it. Raises
    `DataError` where that cannot be done by cutting.
    """
    writer = _BlockWriter(text, lines, root, is_block=is_block)
    if root is None:
        writer.write_whole(branch)
    elif root.style == "documents":
        for index, each in branch.inner.items():
            document = root.entry(index) if isinstance(index, int) else None
            if document is None or each.is_removed or branch.inserted:
                raise DataError("a document is not added or deleted by its number")
            writer.edit_root(document.node, each, is_only=False)
    else:
        writer.edit_root(root, branch, is_only=True)
    return writer.splices


class _BlockWriter:
    """Collects the splices of one text."""

    def __init__(self, text: str, lines: LineIndex, root: Node | None, *, is_block: bool) -> None:
        self._is_block = is_block
        self._text = text
        self._lines = lines
        self._layout = Layout.of(root)
        self.splices: list[Splice] = []
        self._flow = BracketWriter(text, lines, FlowText(), self.splices)

    def write_whole(self, branch: Branch) -> None:
        """The value of a text that has none."""
        value = branch.as_value
        if not isinstance(value, dict):
            raise DataError("the file is empty")
        for key, each in value.items():
            self._insert_lines(self._behind_text(0), self._layout.map_lines({key: each}, 0), branch.changes)

    def edit_root(self, node: Node, branch: Branch, *, is_only: bool) -> None:
        """Changes of the outermost value."""
        if not branch.is_inside:
            raise DataError("the whole file is not set as a value", node.start)
        if node.is_flow:
            self._flow.edit_value(node, branch)
        elif node.kind is Kind.SCALAR:
            raise DataError("its outermost value is not a map or list", node.start)
        else:
            end = self._end_of(node)
            end = self._behind_text(end) if is_only and self._is_open() else end
            self._edit_entries(node, branch, end)
            if not self._is_block and not changed(values_of(node), branch):
                empty = "{}" if node.kind is Kind.MAP else "[]"
                self._insert_lines(end, [empty], branch.changes)

    def _is_open(self) -> bool:
        """Whether nothing marks the end of the only document."""
        return not any(
            self._lines.content(line).startswith(("...", "---")) for line in range(2, self._lines.count + 1)
        )

    def _behind_text(self, least: int) -> int:
        """Offset after the last line that is not blank, or `least` where that is further."""
        lines = self._lines
        line = lines.count
        while line and lines.start(line) >= least and not lines.content(line).strip(" \t"):
            line -= 1
        return max(lines.end(line) if line else 0, least)

    def _edit_entries(self, node: Node, branch: Branch, end: int) -> None:
        """Changes of the keys or items of a value on lines of its own, after which `end` is."""
        before = node.entries[0]
        moved = {each.source for each in branch.inserted}
        for index, entry in enumerate(node.entries):
            at = branch.inner.get(entry.name)
            if at is not None and at.is_removed:
                self._delete(node, index, at.changes, moves=entry.name in moved)
            elif at is not None:
                self._edit_entry(node, entry, at)
        for each in (*added_entries(node, branch), *branch.inserted):
            place = min(each.place, len(node.entries))
            if place == len(node.entries):
                offset = end
            elif place:
                offset = self._end_of(node.entries[place - 1].node)
            else:
                self._insert_first(node, before, each)
                continue
            self._insert_lines(offset, self._entry_lines(node, each, offset), each.changes)

    def _insert_first(self, node: Node, first: Entry, new: Inserted) -> None:
        """A new entry before the `first` one, which may be after the dash of a list around it."""
        line = self._lines.start(self._lines.line_at(first.start))
        lines = self._entry_lines(node, new, first.start)
        if self._text[line : first.start].strip(" "):
            if self._text[line : first.start].strip(" -"):
                raise DataError("an entry does not begin its line", first.start)
            text = "\n".join(lines).lstrip(" ")
            self._add(Span(first.start, first.start), f"{text}\n{' ' * node.column}", new.changes)
        else:
            self._insert_lines(line, lines, new.changes)

    def _entry_lines(self, node: Node, new: Inserted, offset: int) -> list[str]:
        """Lines of a new entry, laid out as those around it are."""
        if new.source is not None:
            return self._moved_lines(node, new.source)
        layout = self._layout_at(offset)
        if node.kind is Kind.MAP:
            assert new.name is not None, "an entry of a map has a name"
            return list(layout.map_lines({new.name: new.value}, node.column))
        last = node.entries[-1]
        between = self._text[last.start + 1 : last.node.start]
        gap = len(between) if between and not between.strip(" ") else 1
        quote = quote_of([each.node for each in node.entries])
        return list(layout.item_lines(new.value, node.column, quote, gap))

    def _moved_lines(self, node: Node, source: Any) -> list[str]:  # noqa: ANN401 (a name or index)
        entry = node.entry(source)
        assert entry is not None, "what moves is there"
        return to_lf(self._text[self._above(entry) : self._end_of(entry.node)]).removesuffix("\n").split("\n")

    def _edit_entry(self, node: Node, entry: Entry, branch: Branch) -> None:
        if branch.name is not None and entry.key is not None:
            self._rename(entry.key, branch)
        if branch.is_inside and not (branch.inner or branch.inserted):
            return
        old = values_of(entry.node)
        inside: Branch | None = branch if branch.is_inside else None
        if inside is None:
            if values_equal(old, branch.as_value):
                return
            if isinstance(old, dict) and isinstance(branch.value, dict) and old.keys() & branch.value.keys():
                inside = within(branch.value, old, branch.changes)
            elif isinstance(old, list) and isinstance(branch.value, list):
                inside = within_list(branch.value, old, branch.changes)
        if inside is not None and entry_stays(entry.node, inside):
            if entry.node.is_flow:
                self._flow.edit_value(entry.node, inside)
            else:
                self._edit_entries(entry.node, inside, self._end_of(entry.node))
            return
        value = changed(old, branch) if branch.is_inside and isinstance(old, dict | list) else branch.as_value
        if entry.key is None:
            self._replace_item(node, entry, value, branch.changes)
        else:
            self._replace_value(node, entry, value, branch.changes)

    def _rename(self, key: Node, branch: Branch) -> None:
        assert branch.name is not None, "it was asked for"
        if key.style in _BLOCK_STYLES:
            raise DataError("a key has several lines", key.start)
        self._add(key.span, string_text(branch.name, quote_of([key])), branch.changes)

    def _replace_item(self, node: Node, entry: Entry, value: object, changes: list[int]) -> None:
        """A list item in place of another, from its dash to its end."""
        quote = quote_of([entry.node]) or quote_of([each.node for each in node.entries])
        layout = self._layout_at(self._end_of(entry.node))
        between = self._text[entry.start + 1 : entry.node.start]
        is_beside = len(between) > 0 and not between.strip(" ")
        lines = list(layout.item_lines(value, node.column, quote, len(between) if is_beside else 1))
        is_short = entry.node.kind is Kind.SCALAR or entry.node.is_flow or not entry.node.entries
        if is_short and entry.node.style not in _BLOCK_STYLES and is_beside:
            # A comment after the old value stays there.
            self._add(entry.node.span, lines[0][node.column + 1 :].lstrip(" "), changes)
            if len(lines) > 1:
                self._insert_lines(self._end_of(entry.node), lines[1:], changes)
            return
        text = "\n".join(lines)[node.column :]
        end = self._lines.content_end(self._lines.line_at(max(self._end_of(entry.node) - 1, 0)))
        self._add(Span(entry.start, end), text, changes)

    def _replace_value(self, node: Node, entry: Entry, value: object, changes: list[int]) -> None:
        """The head of the new value in place of the old one's, and its lines in place of the old lines."""
        assert entry.key is not None, "it is one of a map"
        colon = self._text.find(":", entry.key.end) + 1
        line = self._lines.start(self._lines.line_at(entry.start))
        if not colon or self._text[line : entry.start].strip(" -"):
            raise DataError("a key does not begin its line", entry.start)
        if entry.node.anchor is not None:
            # What is after the colon begins with the anchor, which stays.
            found = self._text.find(f"&{entry.node.anchor}", colon)
            colon = found + 1 + len(entry.node.anchor) if found >= 0 else colon
        head, lines = self._parts_of(entry.node, colon)
        written = self._written(node, entry, value, self._layout_at(lines.end))
        if written.head and len(head):
            self._add(head, written.head, changes)
        elif written.head:
            self._add(Span(colon, colon), f" {written.head}", changes)
        elif len(head):
            self._add(Span(colon, head.end), "", changes)
        if written.lines or len(lines):
            self._replace_lines(lines, written.lines, changes)

    def _written(self, parent: Node, entry: Entry, value: object, layout: Layout) -> Written:
        node = entry.node
        quote = quote_of([each.node for each in node.entries] if node.kind is Kind.LIST else [node])
        is_list = node.kind is Kind.LIST and isinstance(value, list)
        is_map = node.kind is Kind.MAP and isinstance(value, dict)
        if (is_list or is_map) and node.is_flow:
            return Written(flow_text(value, quote))
        if is_list and node.entries:
            layout = replace(layout, list_indent=node.column - parent.column, flow_lists=False)
        return layout.written(value, parent.column, quote)

    def _layout_at(self, offset: int) -> Layout:
        """Layout of lines before `offset`: a literal block would swallow indented comments after it."""
        lines = self._lines
        line = lines.line_at(offset) if offset < len(self._text) else lines.count + 1
        while line <= lines.count and not lines.content(line):
            line += 1
        is_indented = line <= lines.count and lines.content(line)[0] in " \t"
        behind = lines.content(line).lstrip(" \t") if is_indented else ""
        return replace(self._layout, literals=not is_indented or not (behind == "" or behind[0] == "#"))

    def _parts_of(self, node: Node, colon: int) -> tuple[Span, Span]:
        """Spans of head and lines of a value; an empty span is where new ones go."""
        below = self._lines.end(self._lines.line_at(colon))
        if _is_block_scalar(node):
            start = node.start
            indicators = len(self._text[start:]) - len(self._text[start:].lstrip("|>+-0123456789"))
            return Span(start, start + indicators), Span(below, self._end_of(node))
        if _is_block_collection(node):
            if node.start < below:
                raise DataError("a list or map follows its colon", node.start)
            return Span(colon, colon), Span(below, self._end_of(node))
        if node.start == node.end:
            return Span(colon, colon), Span(below, below)
        below = self._end_of(node)
        return node.span, Span(below, below)

    def _above(self, entry: Entry) -> int:
        """Start of the line that `entry` begins, or of the comments right above it in its column."""
        start = self._lines.start(self._lines.line_at(entry.start))
        if self._text[start : entry.start].strip(" "):
            raise DataError("a key does not begin its line", entry.start)
        line, lead = self._lines.line_at(entry.start), self._text[start : entry.start]
        while line > 1 and self._lines.content(line - 1).startswith(f"{lead}#"):
            line -= 1
        return self._lines.start(line)

    def _end_of(self, node: Node) -> int:
        """Offset after the last line of a value, with a comment on that line, without blank lines below."""
        leaf = node
        while _is_block_collection(leaf):
            leaf = leaf.entries[-1].node
        end = leaf.end
        if not _is_block_scalar(leaf):
            return self._lines.end(self._lines.line_at(end))
        first = self._lines.line_at(leaf.start)
        header = self._text[leaf.start : leaf.start + 3]
        last = self._lines.line_at(max(end - 1, leaf.start))
        while "+" not in header and last > first and not self._lines.content(last).strip(" \t"):
            last -= 1
        return self._lines.end(last)

    def _delete(self, node: Node, index: int, changes: list[int], *, moves: bool) -> None:
        """Delete the lines of an entry; the first one of a map after a dash goes up to the next one."""
        entry = node.entries[index]
        start = self._lines.start(self._lines.line_at(entry.start))
        if moves and not self._text[start : entry.start].strip(" "):
            self._add(Span(self._above(entry), self._end_of(entry.node)), "", changes)
            return
        if not self._text[start : entry.start].strip(" "):
            self._add(Span(start, self._end_of(entry.node)), "", changes)
            return
        following = node.entries[index + 1] if index + 1 < len(node.entries) else None
        if self._text[start : entry.start].strip(" -") or following is None:
            raise DataError("a key does not begin its line", entry.start)
        end = self._end_of(entry.node)
        if self._text[end : following.start].strip(" "):
            raise DataError("comments are between a key and the next one", entry.start)
        self._add(Span(entry.start, following.start), "", changes)

    def _insert_lines(self, offset: int, lines: Iterable[str], changes: list[int]) -> None:
        self._replace_lines(Span(offset, offset), lines, changes)

    def _replace_lines(self, span: Span, lines: Iterable[str], changes: Sequence[int]) -> None:
        """`lines` in place of those of `span`; after a last line without a line end one is put first."""
        text = "".join(f"{line}\n" for line in lines)
        start = span.start
        is_cut = start == len(self._text) and start and self._text[start - 1] not in "\r\n"
        self._add(span, f"\n{text.removesuffix(chr(10))}" if is_cut and text else text, changes)

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        self.splices.append(Splice(TextEdit(span, new_text), tuple(changes)))


def _is_block_scalar(node: Node) -> bool:
    return node.kind is Kind.SCALAR and node.style in _BLOCK_STYLES


def _is_block_collection(node: Node) -> bool:
    return node.kind is not Kind.SCALAR and not node.is_flow and bool(node.entries)
