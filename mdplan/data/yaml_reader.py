"""YAML as nodes with places, read with care: files are written by strangers.

The nodes are made of the parser's events, so that aliases stay what they are and cannot make a few bytes
explode. Front matter is read strictly: blocks with anchors, aliases, tags, merge keys or a key that occurs
twice are refused there, as are deep and large ones. In files these are left as they are: an alias or a tagged
value has no keys that could be changed, and what occurs twice has no name.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from mdplan.data.node import DataError, Entry, Kind, Node, Opaque, Unnamed, named
from mdplan.text.lines import LineIndex

MAX_DEPTH: Final = 100
_STRICT_DEPTH: Final = 32
_STRICT_NODES: Final = 5_000
_TAG: Final = "tag:yaml.org,2002:"
_PROPERTY: Final = re.compile(r"[&!][^\s,\[\]{}]*")
_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]+|(?<=[ \t\r\n])#[^\r\n]*)+")
_RESOLVER: Final = yaml.resolver.Resolver()
_FAST_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, lines: LineIndex, *, is_strict: bool = False) -> Node | None:
    """The one value of the YAML `text`; None where there is nothing but comments.

    Several documents are a list of them. Raises `DataError` for what cannot be read.
    """
    try:
        documents = _Reader(text, lines, is_strict=is_strict).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if "nesting depth" in (error.problem or ""):
            raise DataError("it is nested too deeply", mark.index if mark else None) from error
        raise DataError(_reason(error), mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise DataError("it contains a character that YAML forbids", error.position) from error
    except UnicodeEncodeError as error:
        raise DataError("it contains bytes that are not UTF-8", error.start) from error
    except RecursionError as error:
        raise DataError("it is nested too deeply") from error
    if len(documents) < 2:
        return documents[0] if documents else None
    entries = [Entry(index, None, node, node.start) for index, node in enumerate(documents)]
    return Node(Kind.LIST, 0, len(text), style="documents", entries=entries)


class _Reader:
    """Makes nodes of the events of a text."""

    def __init__(self, text: str, lines: LineIndex, *, is_strict: bool) -> None:
        self._text = text
        self._lines = lines
        self._is_strict = is_strict
        # The parser in C is forty times as fast, and worded otherwise; its events come without recursion.
        loader = yaml.SafeLoader if is_strict else _FAST_LOADER
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._count = 0
        self._anchors: set[str] = set()
        self._constructor = yaml.constructor.SafeConstructor()

    def documents(self) -> list[Node]:
        found: list[Node] = []
        for event in self._events:
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            self._anchors.clear()
            if found and self._is_strict:
                raise DataError("it is not valid YAML", _start(event))
            node = self._node(next(self._events), 0)
            if not _is_nothing(node) or event.explicit:
                found.append(node)
        return found[:1] if len(found) == 1 and _is_nothing(found[0]) and self._is_strict else found

    def _node(self, event: Any, depth: int) -> Node:  # noqa: ANN401 (yaml has no types for events)
        self._check(event, depth)
        start = _start(event)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise DataError("an alias has no anchor before it", start)
            return Node(Kind.SCALAR, start, _end(event), Opaque("alias", event.anchor))
        if event.anchor is not None:
            self._anchors.add(event.anchor)
        inner, start = self._without_properties(event)
        tag = event.tag if event.tag != "!" else None
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, start, tag)
        kind = Kind.MAP if isinstance(event, yaml.MappingStartEvent) else Kind.LIST
        is_flow = bool(event.flow_style)
        node = Node(kind, inner, inner, tag, is_flow=is_flow, anchor=event.anchor)
        add = self._add_keys if kind is Kind.MAP else self._add_items
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
        if depth >= (_STRICT_DEPTH if self._is_strict else MAX_DEPTH):
            reason = ", or has too many values" if self._is_strict else ""
            raise DataError(f"it is nested too deeply{reason}", at)
        if not self._is_strict:
            return
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise DataError("it has an anchor or alias", at)
        if event.tag not in {None, "!"}:
            raise DataError("it has a tag", at)
        if self._count > _STRICT_NODES:
            raise DataError("it is nested too deeply, or has too many values", at)

    def _without_properties(self, event: Any) -> tuple[int, int]:  # noqa: ANN401 (as above)
        """Where a value starts after its anchor and tag; and the same, but with the tag that it has."""
        at: int = _start(event)
        with_tag: int | None = None
        for _ in range((event.anchor is not None) + (event.tag is not None)):
            found = _PROPERTY.match(self._text, at)
            if found is None:
                break
            with_tag = at if found[0][0] == "!" else with_tag
            between = _BETWEEN.match(self._text, found.end())
            at = min(between.end() if between else found.end(), self._limit_of(event))
        return at, at if with_tag is None else with_tag

    def _limit_of(self, event: Any) -> int:  # noqa: ANN401 (as above)
        is_scalar = isinstance(event, yaml.ScalarEvent)
        return _end(event) if is_scalar else len(self._text)

    def _scalar(self, event: Any, start: int, tag: str | None) -> Node:  # noqa: ANN401 (as above)
        style = event.style or ""
        end = max(_end(event), start)
        value: object
        if tag is not None and not tag.startswith(_TAG):
            value = Opaque(tag, event.value)
        else:
            resolved = tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
            value = self._value(resolved, event.value, start)
            value = value if tag is None else Opaque(tag, value)
        return Node(Kind.SCALAR, start, end, value, style=style, anchor=event.anchor)

    def _value(self, tag: str, text: str, at: int) -> object:
        if tag == f"{_TAG}str":
            return text
        if tag == f"{_TAG}merge":
            return Opaque(tag, text)
        node = yaml.ScalarNode(tag, text)
        make = self._constructor.yaml_constructors.get(tag)
        if make is None:
            if self._is_strict:
                raise DataError("it is not valid YAML", at)
            return Opaque(tag, text)
        try:
            return make(self._constructor, node)
        except (ValueError, OverflowError, TypeError, AttributeError, yaml.YAMLError) as error:
            if self._is_strict:
                raise DataError("it contains a number or date that cannot be read", at) from error
            return Opaque(tag, text)

    def _add_keys(self, node: Node, depth: int) -> int:
        while True:
            event = next(self._events)
            if isinstance(event, yaml.MappingEndEvent):
                named(node.entries)
                if self._is_strict and any(isinstance(each.name, Unnamed) for each in node.entries):
                    self._refuse_unnamed(node)
                return _end(event)
            start = _start(event)
            key = self._node(event, depth)
            if self._is_strict and key.kind is not Kind.SCALAR:
                raise DataError("one of its keys is a list or map", start)
            is_merge = isinstance(key.value, Opaque) and key.value.kind.endswith("merge") and not key.style
            if self._is_strict and is_merge:
                raise DataError("it has a merge key", start)
            has_name = key.kind is Kind.SCALAR and not isinstance(event, yaml.AliasEvent)
            name = event.value if has_name else Unnamed("", start)
            node.entries.append(Entry(name, key, self._node(next(self._events), depth), start))

    def _refuse_unnamed(self, node: Node) -> None:
        second = next(
            each for each in node.entries if isinstance(each.name, Unnamed) and each.name.index == 1
        )
        raise DataError("a key occurs twice", second.start)

    def _add_items(self, node: Node, depth: int) -> int:
        while True:
            event = next(self._events)
            if isinstance(event, yaml.SequenceEndEvent):
                return _end(event)
            start = _start(event)
            item = self._node(event, depth)
            if not node.is_flow:
                start = self._dash_before(node, start)
            node.entries.append(Entry(len(node.entries), None, item, start))

    def _dash_before(self, node: Node, start: int) -> int:
        """Where the dash of an item is whose value has the start `start`.

        The first is where the list starts, and the others are in its column.
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
        # Columns are those of YAML, to which some more characters end a line.
        raise DataError("the dash of an item is somewhere else", start)

    def _find_commas(self, node: Node) -> None:
        if not node.entries:
            return
        ends = [*(each.start for each in node.entries[1:]), node.end]
        for each, end in zip(node.entries, ends, strict=True):
            found = _FLOW_COMMA.match(self._text, each.end, end)
            each.comma = found.end() - 1 if found else None


_FLOW_COMMA: Final = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*,")


def _start(event: Any) -> int:  # noqa: ANN401 (as above)
    return int(event.start_mark.index)


def _end(event: Any) -> int:  # noqa: ANN401 (as above)
    return int(event.end_mark.index)


def _is_nothing(node: Node) -> bool:
    """Whether `node` is that of a document with nothing in it."""
    return node.kind is Kind.SCALAR and node.value is None and node.start == node.end


def _reason(error: yaml.MarkedYAMLError) -> str:
    """What PyYAML says of a place, unless that repeats text of the file."""
    problem = error.problem or ""
    if "maximum nesting depth" in problem:  # the parser in C has a limit of its own since PyYAML 6.0.4
        return "it is nested too deeply"
    quotes = not problem or any(mark in problem for mark in "'\"")
    return "it is not valid YAML" if quotes else f"it is not valid YAML: {problem}"
