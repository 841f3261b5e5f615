"""Parse untrusted YAML into nodes with positions, write YAML, and edit it in place.

Nodes are built from parser events, so that aliases, with which a few bytes could fill the memory, are not
expanded. Front matter is parsed strictly: anchors, aliases, tags, merge keys, duplicate keys, and deep or
large blocks are refused. In files, an alias or tagged value has no editable keys, and a duplicate key has no
name.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import yaml

from mdplan.data import tree
from mdplan.data.brackets import FlowWriter, entry_stays
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, to_lf
from mdplan.values import Struct, replace

MAX_DEPTH: Final = 100
_STRICT_DEPTH: Final = 32
_STRICT_NODES: Final = 5_000
_TAG: Final = "tag:yaml.org,2002:"
_PROPERTY: Final = lazy_pattern(r"[&!][^\s,\[\]{}]*")
_BETWEEN: Final = lazy_pattern(r"(?:[ \t\r\n]+|(?<=[ \t\r\n])#[^\r\n]*)+")
_RESOLVER: Final = yaml.resolver.Resolver()
_FAST_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, lines: LineIndex, *, is_strict: bool = False) -> tree.Node | None:
    """Parse the YAML `text`; None if it only has comments.

    Several documents become a list. Raise `DataError`.
    """
    if is_strict and parsers_agree(text):
        # If the C parser refuses the text, parse it again for the Python parser's error message.
        with suppress(yaml.YAMLError, tree.DataError, UnicodeEncodeError, RecursionError):
            return next(iter(_EventReader(text, lines, _FAST_LOADER, is_strict=True).documents()), None)
    try:
        loader = yaml.SafeLoader if is_strict else _FAST_LOADER
        documents = _EventReader(text, lines, loader, is_strict=is_strict).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise tree.DataError(_reason(error), mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise tree.DataError("it contains a character that YAML forbids", error.position) from error
    except UnicodeEncodeError as error:
        raise tree.DataError("it contains bytes that are not UTF-8", error.start) from error
    except RecursionError as error:
        raise tree.DataError("it is nested too deeply") from error
    if len(documents) < 2:
        return documents[0] if documents else None
    entries = [tree.Entry(index, None, node, node.start) for index, node in enumerate(documents)]
    return tree.Node(tree.Kind.LIST, 0, len(text), style="documents", entries=entries)


# The C parser is forty times as fast, emits events without recursion, and has other messages. It differs on
# tabs, newlines other than LF, directives, tags, complex keys, brackets, and comments right after a block
# indicator.
_ITEM: Final = r"""(?:\w[\w ./-]*+|"[\w ./-]*+"|'[\w ./-]*+')"""
_SIMPLE_LIST: Final = lazy_pattern(rf"\[(?:{_ITEM}(?:, ?{_ITEM})*+)?\]")
_READ_DIFFERENTLY: Final = lazy_pattern(
    "[^\n -~\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[{[]"
    "|(?<![^\\s-])[!?]|[|>][+0-9-]*#|^%",
    re.MULTILINE,
)


def parsers_agree(text: str) -> bool:
    """Return True if both parsers of PyYAML are known to agree on `text`, even in refusing it."""
    return _READ_DIFFERENTLY.search(_SIMPLE_LIST.sub("", text)) is None


class _EventReader:
    """Build nodes from the events of a text."""

    def __init__(self, text: str, lines: LineIndex, loader: Any, *, is_strict: bool) -> None:  # noqa: ANN401 (one of two classes)
        self._text = text
        self._lines = lines
        self._is_strict = is_strict
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._count = 0
        self._anchors: set[str] = set()
        self._constructor = yaml.constructor.SafeConstructor()

    def documents(self) -> list[tree.Node]:
        documents: list[tree.Node] = []
        for event in self._events:
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            self._anchors.clear()
            if documents and self._is_strict:
                raise tree.DataError("it is not valid YAML", _start(event))
            node = self._node(next(self._events), 0)
            is_empty = node.kind is tree.Kind.SCALAR and node.value is None and node.start == node.end
            if not is_empty or event.explicit:
                documents.append(node)
        return documents

    def _node(self, event: Any, depth: int) -> tree.Node:  # noqa: ANN401 (yaml has no types for events)
        self._check(event, depth)
        start = _start(event)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise tree.DataError("an alias has no anchor before it", start)
            return tree.Node(tree.Kind.SCALAR, start, _end(event), tree.Opaque("alias", event.anchor))
        if event.anchor is not None:
            self._anchors.add(event.anchor)
        inner, start = self._without_properties(event)
        tag = event.tag if event.tag != "!" else None
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, start, tag)
        kind = tree.Kind.MAP if isinstance(event, yaml.MappingStartEvent) else tree.Kind.LIST
        is_flow = bool(event.flow_style)
        node = tree.Node(kind, inner, inner, tag, is_flow=is_flow, anchor=event.anchor)
        add = self._add_keys if kind is tree.Kind.MAP else self._add_items
        end = add(node, depth + 1)
        if is_flow:
            node.end = end
            self._find_commas(node)
        elif node.entries:
            node.end = node.entries[-1].end
            first = node.entries[0].start
            node.column = first - self._lines.start(self._lines.line_at(first))
            inner = first
        node.start = start if tag else inner
        return node

    def _check(self, event: Any, depth: int) -> None:  # noqa: ANN401 (as above)
        at = _start(event)
        self._count += 1
        if self._is_strict and (depth >= _STRICT_DEPTH or self._count > _STRICT_NODES):
            raise tree.DataError("it is nested too deeply, or has too many values", at)
        if depth >= MAX_DEPTH:
            raise tree.DataError("it is nested too deeply", at)
        tree.check_count(self._count // 2, at)
        if self._is_strict and (isinstance(event, yaml.AliasEvent) or event.anchor is not None):
            raise tree.DataError("it has an anchor or alias", at)
        if self._is_strict and event.tag not in {None, "!"}:
            raise tree.DataError("it has a tag", at)

    def _without_properties(self, event: Any) -> tuple[int, int]:  # noqa: ANN401 (as above)
        """Return the start of a value after its anchor and tag, and its start including the tag."""
        at: int = _start(event)
        limit = _end(event) if isinstance(event, yaml.ScalarEvent) else len(self._text)
        with_tag: int | None = None
        for _ in range((event.anchor is not None) + (event.tag is not None)):
            anchor_or_tag = _PROPERTY.match(self._text, at)
            if anchor_or_tag is None:
                break
            with_tag = at if anchor_or_tag[0][0] == "!" else with_tag
            between = _BETWEEN.match(self._text, anchor_or_tag.end())
            at = min(between.end() if between else anchor_or_tag.end(), limit)
        return at, at if with_tag is None else with_tag

    def _scalar(self, event: Any, start: int, tag: str | None) -> tree.Node:  # noqa: ANN401 (as above)
        style = event.style or ""
        end = max(_end(event), start)
        value: object
        if tag is not None and not tag.startswith(_TAG):
            value = tree.Opaque(tag, event.value)
        else:
            resolved = tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
            value = self._value(resolved, event.value, start)
            value = value if tag is None else tree.Opaque(tag, value)
        return tree.Node(tree.Kind.SCALAR, start, end, value, style=style, anchor=event.anchor)

    def _value(self, tag: str, text: str, at: int) -> object:
        if tag == f"{_TAG}str":
            return text
        if tag == f"{_TAG}merge":
            return tree.Opaque(tag, text)
        node = yaml.ScalarNode(tag, text)
        make = self._constructor.yaml_constructors.get(tag)
        if make is None:
            if self._is_strict:
                raise tree.DataError("it is not valid YAML", at)
            return tree.Opaque(tag, text)
        try:
            return make(self._constructor, node)
        except (ValueError, OverflowError, TypeError, AttributeError, yaml.YAMLError) as error:
            if self._is_strict:
                raise tree.DataError("it contains a number or date that cannot be read", at) from error
            return tree.Opaque(tag, text)

    def _add_keys(self, node: tree.Node, depth: int) -> int:
        while True:
            event = next(self._events)
            if isinstance(event, yaml.MappingEndEvent):
                tree.named(node.entries)
                for entry in node.entries if self._is_strict else ():
                    if isinstance(entry.name, tree.Unnamed) and entry.name.index == 1:
                        raise tree.DataError("a key occurs twice", entry.start)
                return _end(event)
            start = _start(event)
            key = self._node(event, depth)
            if self._is_strict and key.kind is not tree.Kind.SCALAR:
                raise tree.DataError("one of its keys is a list or map", start)
            is_merge = (
                isinstance(key.value, tree.Opaque) and key.value.kind.endswith("merge") and not key.style
            )
            if self._is_strict and is_merge:
                raise tree.DataError("it has a merge key", start)
            has_name = key.kind is tree.Kind.SCALAR and not isinstance(event, yaml.AliasEvent)
            name = event.value if has_name else tree.Unnamed("", start)
            node.entries.append(tree.Entry(name, key, self._node(next(self._events), depth), start))

    def _add_items(self, node: tree.Node, depth: int) -> int:
        while True:
            event = next(self._events)
            if isinstance(event, yaml.SequenceEndEvent):
                return _end(event)
            start = _start(event)
            item = self._node(event, depth)
            if not node.is_flow:
                start = self._dash_before(node, start)
            node.entries.append(tree.Entry(len(node.entries), None, item, start))

    def _dash_before(self, node: tree.Node, start: int) -> int:
        """Return the offset of the dash of the item whose value starts at `start`.

        The first dash is at the start of the list; the others are in the same column.
        """
        if not node.entries:
            return node.start
        lines, line = self._lines, self._lines.line_at(start)
        column = node.start - lines.start(lines.line_at(node.start))
        while lines.start(line) + column > node.entries[-1].start:
            at = lines.start(line) + column
            if self._text[at : at + 1] == "-" and not self._text[lines.start(line) : at].strip(" "):
                return at
            line -= 1
        # YAML has more line breaks than `LineIndex`.
        raise tree.DataError("the dash of an item is somewhere else", start)

    def _find_commas(self, node: tree.Node) -> None:
        if not node.entries:
            return
        ends = [*(each.start for each in node.entries[1:]), node.end]
        for entry, end in zip(node.entries, ends, strict=True):
            comma = _FLOW_COMMA.match(self._text, entry.end, end)
            entry.comma = comma.end() - 1 if comma else None


_FLOW_COMMA: Final = lazy_pattern(r"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*,")


def _start(event: Any) -> int:  # noqa: ANN401 (as above)
    return int(event.start_mark.index)


def _end(event: Any) -> int:  # noqa: ANN401 (as above)
    return int(event.end_mark.index)


def _reason(error: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's problem, unless it quotes the file."""
    problem = error.problem or ""
    if "nesting depth" in problem:  # The C parser has a limit since PyYAML 6.0.4.
        return "it is nested too deeply"
    quotes = not problem or any(mark in problem for mark in "'\"")
    return "it is not valid YAML" if quotes else f"it is not valid YAML: {problem}"


# --- Editing YAML in place: all bytes outside changed keys stay
#
# A value has a head after its colon or dash, and may have lines below it. Comments after a head and between
# keys belong to neither.

_BLOCK_STYLES: Final = frozenset({"|", ">"})
_LITERAL: Final = lazy_pattern(r"[|>][0-9+]*(?: +#.*)?$", re.MULTILINE)


def yaml_edits(
    text: str, lines: LineIndex, root: tree.Node | None, branch: tree.ChangeTree, *, is_block: bool
) -> list[tree.Splice]:
    """Return splices that make the changes of `branch` in the YAML `text` with the value `root`.

    New lines end in LF. A file that loses its last key becomes `{}`; front matter (`is_block`) becomes empty.
    Raise `DataError` if the edits cannot be made in place.
    """
    writer = _BlockWriter(text, lines, root, is_block=is_block)
    if root is None:
        writer.write_whole(branch)
    elif root.style == "documents":
        for index, each in branch.inner.items():
            document = root.entry(index) if isinstance(index, int) else None
            if document is None or each.is_removed or branch.inserted:
                raise tree.DataError("a document is not added or deleted by its number")
            writer.edit_root(document.node, each, is_only=False)
    else:
        writer.edit_root(root, branch, is_only=True)
    return writer.splices


class Written(Struct):
    """A value as text after the colon, and whole lines below it, without newlines."""

    head: str
    lines: tuple[str, ...] = ()


# --- The style of new values: indentation, dashes, brackets

_INDENT: Final = 2


class Layout(Struct):
    """The style of a block; columns of nested maps and lists are relative to the outer map.

    `flow_lists`: lists are in brackets. `literals`: strings may become literal blocks.
    """

    indent: int = _INDENT
    list_indent: int = _INDENT
    flow_lists: bool = False
    literals: bool = True

    @classmethod
    def of(cls, root: tree.Node | None) -> "Layout":
        """Detect the indentation of the first map and list in `root`, and the usual style of lists."""
        maps: list[int] = []
        lists: list[int] = []
        styles: Counter[bool] = Counter()
        for parent, child in _pairs(root):
            if not child.entries:
                continue
            indent = child.column - parent.column
            if child.kind is tree.Kind.LIST:
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
        """Return `value` as text for a key at `column`; `quote` as in `scalar_text`."""
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
        """Yield the lines of a map at `column`."""
        for key, each in value.items():
            written = self.written(each, column)
            head = f" {written.head}" if written.head else ""
            yield f"{' ' * column}{string_text(key)}:{head}"
            yield from written.lines

    def item_lines(self, item: object, column: int, quote: str = "", gap: int = 1) -> Iterator[str]:
        """Yield the lines of a list item with its dash at `column`, `gap` spaces before its text."""
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
        """Write a string on one line; unquoted multi-line strings become a literal block at `column`."""
        if quote or not self.literals or not can_be_literal(value):
            return Written(string_text(value, quote))
        ends = value.endswith("\n")
        lines = value.removesuffix("\n").split("\n")
        indented = (" " * column + line if line else "" for line in lines)
        return Written("|" if ends else "|-", tuple(indented))


class _BlockWriter:
    """Collect the splices of one text."""

    def __init__(self, text: str, lines: LineIndex, root: tree.Node | None, *, is_block: bool) -> None:
        self._is_block = is_block
        self._text = text
        self._lines = lines
        self._root = root
        self._is_ended = False
        self._layout = Layout.of(root)
        self.splices: list[tree.Splice] = []
        self._flow = FlowWriter(text, lines, FlowText(), self.splices)

    def write_whole(self, branch: tree.ChangeTree) -> None:
        """Write the value of an empty text."""
        value = branch.as_value
        if not isinstance(value, dict):
            raise tree.DataError("the file is empty")
        for key, each in value.items():
            self._insert_lines(self._behind_text(0), self._layout.map_lines({key: each}, 0), branch.changes)

    def edit_root(self, node: tree.Node, branch: tree.ChangeTree, *, is_only: bool) -> None:
        """Edit the root value."""
        if not branch.is_inside:
            raise tree.DataError("the whole file is not set as a value", node.start)
        if node.is_flow:
            self._flow.edit_value(node, branch)
        elif node.kind is tree.Kind.SCALAR:
            raise tree.DataError("its outermost value is not a map or list", node.start)
        else:
            end = self._end_of(node)
            starts = (self._lines.content(line)[:3] for line in range(2, self._lines.count + 1))
            if is_only and not any(start in {"...", "---"} for start in starts):
                end = self._behind_text(end)
            self._edit_entries(node, branch, end)
            if not self._is_block and not tree.value_after(tree.values_of(node), branch):
                empty = "{}" if node.kind is tree.Kind.MAP else "[]"
                self._insert_lines(end, [empty], branch.changes)

    def _behind_text(self, least: int) -> int:
        """Return the offset after the last non-blank line, at least `least`."""
        return max(self._lines.end(self._lines.last_with_text(1, self._lines.count)), least)

    def _edit_entries(self, node: tree.Node, branch: tree.ChangeTree, end: int) -> None:
        """Edit the keys or items of a block value that ends at `end`."""
        before = node.entries[0]
        moved = {each.source for each in branch.inserted}
        for index, entry in enumerate(node.entries):
            at = branch.inner.get(entry.name)
            if at is not None and at.is_removed:
                self._delete(node, index, at.changes, moves=entry.name in moved)
            elif at is not None:
                self._edit_entry(node, entry, at)
        for each in tree.slots([entry.name for entry in node.entries], branch):
            if not isinstance(each, tree.NewItem):
                continue
            place = min(each.place, len(node.entries))
            if place == len(node.entries):
                offset = end
            elif place:
                offset = self._end_of(node.entries[place - 1].node)
            else:
                self._insert_first(node, before, each)
                continue
            self._insert_lines(offset, self._entry_lines(node, each, offset), each.changes)

    def _insert_first(self, node: tree.Node, first: tree.Entry, new: tree.NewItem) -> None:
        """Insert an entry before the `first` one, which may follow the dash of an outer list."""
        line = self._lines.start(self._lines.line_at(first.start))
        lines = self._entry_lines(node, new, first.start)
        if self._text[line : first.start].strip(" "):
            if self._text[line : first.start].strip(" -"):
                raise tree.DataError("an entry does not begin its line", first.start)
            text = "\n".join(lines).lstrip(" ")
            self._add(Span(first.start, first.start), f"{text}\n{' ' * node.column}", new.changes)
        else:
            self._insert_lines(line, lines, new.changes)

    def _entry_lines(self, node: tree.Node, new: tree.NewItem, offset: int) -> list[str]:
        """Return the lines of a new entry in the style of its neighbours."""
        if new.source is not None:
            moved = node.entry(new.source)
            assert moved is not None, "what moves is there"
            start = self._above(moved)
            text = self._text[start : self._end_of(moved.node)]
            if (sign := self._open_header(moved.node)) is not None:
                text = f"{text[: sign.start - start]}-{text[sign.end - start :]}"
            return to_lf(text).removesuffix("\n").split("\n")
        layout = self._layout_at(offset)
        if node.kind is tree.Kind.MAP:
            assert new.name is not None, "an entry of a map has a name"
            return list(layout.map_lines({new.name: new.value}, node.column))
        last = node.entries[-1]
        between = self._text[last.start + 1 : last.node.start]
        gap = len(between) if between and not between.strip(" ") else 1
        quote = quote_of([each.node for each in node.entries])
        return list(layout.item_lines(new.value, node.column, quote, gap))

    def _edit_entry(self, node: tree.Node, entry: tree.Entry, branch: tree.ChangeTree) -> None:
        if branch.name is not None and entry.key is not None:
            self._rename(entry.key, branch)
        if branch.is_inside and not (branch.inner or branch.inserted):
            return
        old = tree.values_of(entry.node)
        if not branch.is_inside and tree.values_equal(old, branch.as_value):
            return
        inside = tree.entry_changes(old, branch)
        if inside is not None and entry_stays(entry.node, inside):
            if entry.node.is_flow:
                self._flow.edit_value(entry.node, inside)
            else:
                self._edit_entries(entry.node, inside, self._end_of(entry.node))
            return
        value = (
            tree.value_after(old, branch)
            if branch.is_inside and isinstance(old, dict | list)
            else branch.as_value
        )
        if entry.key is None:
            self._replace_item(node, entry, value, branch.changes)
        else:
            self._replace_value(node, entry, value, branch.changes)

    def _rename(self, key: tree.Node, branch: tree.ChangeTree) -> None:
        assert branch.name is not None, "it was asked for"
        if key.style in _BLOCK_STYLES:
            raise tree.DataError("a key has several lines", key.start)
        self._add(key.span, string_text(branch.name, quote_of([key])), branch.changes)

    def _replace_item(self, node: tree.Node, entry: tree.Entry, value: object, changes: list[int]) -> None:
        """Replace the value of a list item; its anchor and a comment beside it stay."""
        quote = quote_of([entry.node]) or quote_of([each.node for each in node.entries])
        layout = self._layout_at(self._end_of(entry.node))
        dash = entry.start + 1
        between = self._text[dash : entry.node.start]
        is_beside = len(between) > 0 and not between.strip(" ")
        lines = list(layout.item_lines(value, node.column, quote, len(between) if is_beside else 1))
        written = Written(lines[0][node.column + 1 :].lstrip(" "), tuple(lines[1:]))
        if _is_block_collection(entry.node) and entry.node.start < self._lines.end(self._lines.line_at(dash)):
            first = dash + len(between) - len(between.lstrip(" "))
            last = self._lines.line_at(max(self._end_of(entry.node) - 1, 0))
            text = "\n".join([written.head, *written.lines])
            self._add(Span(first, self._lines.content_end(last)), text, changes)
            return
        at = self._after_anchor(entry.node, dash)
        rest = self._text[dash : self._lines.content_end(self._lines.line_at(dash))]
        if isinstance(value, dict) and value and rest.lstrip(" ")[:1] in ("&", "#"):
            # On the same line, the first key would get the anchor or be part of the comment.
            written = Written("", tuple(layout.map_lines(value, node.column + layout.indent)))
        self._replace_parts(entry.node, at, written, changes)

    def _replace_value(self, node: tree.Node, entry: tree.Entry, value: object, changes: list[int]) -> None:
        """Replace the value of a key; its anchor and a comment beside it stay."""
        assert entry.key is not None, "it is one of a map"
        colon = self._text.find(":", entry.key.end) + 1
        line = self._lines.start(self._lines.line_at(entry.start))
        if not colon or self._text[line : entry.start].strip(" -"):
            raise tree.DataError("a key does not begin its line", entry.start)
        colon = self._after_anchor(entry.node, colon)
        _, lines = self._parts_of(entry.node, colon)
        written = self._written(node, entry, value, self._layout_at(lines.end))
        self._replace_parts(entry.node, colon, written, changes)

    def _after_anchor(self, node: tree.Node, sign: int) -> int:
        """Return the offset after the anchor of `node`, or `sign`, the offset before it."""
        anchor = -1 if node.anchor is None else self._text.find(f"&{node.anchor}", sign)
        return sign if anchor < 0 else anchor + 1 + len(node.anchor or "")

    def _replace_parts(self, node: tree.Node, at: int, written: Written, changes: list[int]) -> None:
        """Replace the head of the value after offset `at`, and the lines below it."""
        head, lines = self._parts_of(node, at)
        if written.head and len(head):
            self._add(head, written.head, changes)
        elif written.head:
            self._add(Span(at, at), f" {written.head}", changes)
        elif len(head):
            self._add(Span(at, head.end), "", changes)
        if written.lines or len(lines):
            self._replace_lines(lines, written.lines, changes, is_literal=written.head == "|")

    def _written(self, parent: tree.Node, entry: tree.Entry, value: object, layout: Layout) -> Written:
        node = entry.node
        quote = quote_of([each.node for each in node.entries] if node.kind is tree.Kind.LIST else [node])
        is_list = node.kind is tree.Kind.LIST and isinstance(value, list)
        is_map = node.kind is tree.Kind.MAP and isinstance(value, dict)
        if (is_list or is_map) and node.is_flow:
            return Written(flow_text(value, quote))
        if is_list and node.entries:
            layout = replace(layout, list_indent=node.column - parent.column, flow_lists=False)
        return layout.written(value, parent.column, quote)

    def _layout_at(self, offset: int) -> Layout:
        """Return the layout for `offset`: a literal block would swallow indented comments after it."""
        lines = self._lines
        line = lines.line_at(offset) if offset < len(self._text) else lines.count + 1
        while line <= lines.count and not lines.content(line):
            line += 1
        is_indented = line <= lines.count and lines.content(line)[0] in " \t"
        behind = lines.content(line).lstrip(" \t") if is_indented else ""
        return replace(self._layout, literals=not is_indented or not (behind == "" or behind[0] == "#"))

    def _parts_of(self, node: tree.Node, colon: int) -> tuple[Span, Span]:
        """Return the spans of head and lines of a value; empty if missing."""
        below = self._lines.end(self._lines.line_at(colon))
        if _is_block_scalar(node):
            start = node.start
            indicators = len(self._text[start:]) - len(self._text[start:].lstrip("|>+-0123456789"))
            return Span(start, start + indicators), Span(below, self._end_of(node))
        if _is_block_collection(node):
            if node.start < below:
                raise tree.DataError("a list or map follows its colon", node.start)
            return Span(colon, colon), Span(below, self._end_of(node))
        if node.start == node.end:
            return Span(colon, colon), Span(below, below)
        below = self._end_of(node)
        return node.span, Span(below, below)

    def _above(self, entry: tree.Entry) -> int:
        """Return the start of the line of `entry`, or of the aligned comments directly above it."""
        start = self._lines.start(self._lines.line_at(entry.start))
        if self._text[start : entry.start].strip(" "):
            raise tree.DataError("a key does not begin its line", entry.start)
        line, lead = self._lines.line_at(entry.start), self._text[start : entry.start]
        while line > 1 and self._lines.content(line - 1).startswith(f"{lead}#"):
            line -= 1
        return self._lines.start(line)

    def _end_of(self, node: tree.Node) -> int:
        """Return the offset after the last non-blank line of a value."""
        leaf = node
        while _is_block_collection(leaf):
            leaf = leaf.entries[-1].node
        end = leaf.end
        if not _is_block_scalar(leaf):
            return self._lines.end(self._lines.line_at(end))
        first = self._lines.line_at(leaf.start)
        header = self._text[leaf.start : leaf.start + 3]
        last = self._lines.line_at(max(end - 1, leaf.start))
        return self._lines.end(last if "+" in header else self._lines.last_with_text(first + 1, last))

    def _delete(self, node: tree.Node, index: int, changes: list[int], *, moves: bool) -> None:
        """Delete the lines of an entry; the first key after a dash is deleted up to the next key."""
        entry = node.entries[index]
        start = self._lines.start(self._lines.line_at(entry.start))
        if not self._text[start : entry.start].strip(" "):
            start = self._above(entry) if moves else start
            self._add(Span(start, self._end_of(entry.node)), "", changes)
            return
        following = node.entries[index + 1] if index + 1 < len(node.entries) else None
        if self._text[start : entry.start].strip(" -") or following is None:
            raise tree.DataError("a key does not begin its line", entry.start)
        end = self._end_of(entry.node)
        if self._text[end : following.start].strip(" "):
            raise tree.DataError("comments are between a key and the next one", entry.start)
        self._add(Span(entry.start, following.start), "", changes)

    def _open_header(self, node: tree.Node) -> Span | None:
        """Return where to add `-` to the header of an unterminated final block scalar.

        Without it, the value would gain a newline once text follows.
        """
        while _is_block_collection(node):
            node = node.entries[-1].node
        header = self._text[node.start + 1 : node.start + 3]
        is_text = _is_block_scalar(node) and isinstance(node.value, str)
        if not is_text or node.value.endswith("\n") or "-" in header:
            return None
        keep = header.find("+")
        at = node.start + 1 + max(keep, 0)
        return Span(at, at + (keep >= 0))

    def _insert_lines(self, offset: int, lines: Iterable[str], changes: list[int]) -> None:
        self._replace_lines(Span(offset, offset), lines, changes)

    def _replace_lines(
        self, span: Span, lines: Iterable[str], changes: Sequence[int], *, is_literal: bool = False
    ) -> None:
        """Replace the lines of `span` by `lines`, after a newline if the line before has none.

        The last line then has none either, unless it ends a literal block, whose value would change.
        """
        text = "".join(f"{line}\n" for line in lines)
        start = span.start
        if text and start == len(self._text) and start and self._text[start - 1] not in "\r\n":
            is_literal |= _LITERAL.search(text) is not None
            text = f"\n{text if is_literal else text.removesuffix(chr(10))}"
            sign = self._open_header(self._root) if self._root and not self._is_ended else None
            self._is_ended = True
            if sign is not None:
                self._add(sign, "-", changes)
        self._add(span, text, changes)

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        self.splices.append(tree.Splice(TextEdit(span, new_text), tuple(changes)))


def _is_block_scalar(node: tree.Node) -> bool:
    return node.kind is tree.Kind.SCALAR and node.style in _BLOCK_STYLES


def _is_block_collection(node: tree.Node) -> bool:
    return node.kind is not tree.Kind.SCALAR and not node.is_flow and bool(node.entries)


class FlowText:
    """Write keys and values in brackets and braces."""

    sign = ": "
    comment_signs: tuple[str, ...] = ("#",)

    def key(self, name: str, like: tree.Node | None) -> str:
        """Return the key `name` in the quotes of `like`."""
        return string_text(name, quote_of([like]), in_flow=True)

    def value(self, value: object, like: tree.Node | None, indent: str | None) -> str:
        """Return `value` on one line, in the quotes of `like`."""
        del indent
        return flow_text(value, quote_of([like]), in_flow=True)


def flow_text(value: object, quote: str = "", *, in_flow: bool = False) -> str:
    """Return `value` on one line, lists and maps in brackets and braces."""
    if isinstance(value, dict):
        pairs = (
            f"{string_text(key, in_flow=True)}: {flow_text(each, in_flow=True)}"
            for key, each in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(item, quote, in_flow=True) for item in value) + "]"
    return scalar_text(value, quote, in_flow=in_flow)


def quote_of(nodes: Sequence[tree.Node | None]) -> str:
    """Return the quote of the last string in `nodes`, or an empty string if it is plain."""
    styles = [
        node.style for node in nodes if node and node.kind is tree.Kind.SCALAR and isinstance(node.value, str)
    ]
    return styles[-1] if styles and styles[-1] in {"'", '"'} else ""


def _pairs(node: tree.Node | None) -> Iterator[tuple[tree.Node, tree.Node]]:
    """Yield each map with each list or map among its values."""
    for entry in node.entries if node else ():
        if node is not None and node.kind is tree.Kind.MAP and entry.node.kind is not tree.Kind.SCALAR:
            yield node, entry.node
        yield from _pairs(entry.node)


# --- Writing scalars: plain if every reader would see the same string, else quoted
#
# PyYAML implements YAML 1.1. Texts that YAML 1.2 or Go's parser would read as a number, boolean or date are
# quoted too.

_INDICATORS: Final = frozenset("?:,[]{}#&*!|>'\"%@`")
_FLOW_INDICATORS: Final = lazy_pattern(r"[,\[\]{}]")

# Characters that must be escaped: controls, YAML line breaks, BOMs, surrogates.
_UNPRINTABLE: Final = lazy_pattern(
    "[^\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
)

_OTHERWISE: Final = lazy_pattern(
    r"[yYnN]|[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?|[-+]?0o?[0-7_]+|[-+]?0x[\da-fA-F_]+"
    r"|[-+]?0b[01_]+|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?"
)

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def scalar_text(value: object, quote: str = "", *, in_flow: bool = False) -> str:
    """Return the scalar `value` on one line.

    `quote` is the preferred quote for strings: ``'``, ``"``, or none.
    """
    match value:
        case str():
            text = string_text(value, quote, in_flow=in_flow)
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case float():
            # YAML 1.1 requires a point before an exponent.
            text = repr(value)
            text = text if "." in text else text.replace("e", ".0e", 1)
        case tree.DateText():
            text = value.text
        case dt.date():
            text = value.isoformat()
        case _:
            text = str(value)
    return text


def string_text(value: str, quote: str = "", *, in_flow: bool = False) -> str:
    """Return the string `value` on one line; see `scalar_text`."""
    if quote == "" and _is_plain(value, in_flow=in_flow):
        return value
    can_be_single = _UNPRINTABLE.search(value) is None
    wants_single = quote == "'" or (quote == "" and ('"' in value or "\\" in value))
    if can_be_single and wants_single:
        return "'" + value.replace("'", "''") + "'"
    return '"' + re.sub(f'[\\\\"]|{_UNPRINTABLE.pattern}', _escape, value) + '"'


def can_be_literal(value: str) -> bool:
    """Return True if a literal block can hold `value`: several lines, the first without indentation."""
    lines = value.split("\n")
    return (
        len(lines) > 1
        and lines[0] != ""
        and lines[0][0] not in " \t"
        and lines[-2:] != ["", ""]
        and not any(_UNPRINTABLE.search(line.replace("\t", " ")) for line in lines)
    )


def _is_plain(value: str, *, in_flow: bool) -> bool:
    if not value or value != value.strip() or _UNPRINTABLE.search(value):
        return False
    if value[0] in _INDICATORS or value.startswith(("---", "...")):
        return False
    if value[0] == "-" and (len(value) == 1 or value[1] in " ,[]{}"):
        return False
    if ": " in value or " #" in value or value[-1] == ":":
        return False
    if (in_flow and _FLOW_INDICATORS.search(value)) or _OTHERWISE.fullmatch(value):
        return False
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]
    return tag == f"{_TAG}str"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
