"""Parse JSON, JSON with comments, JSON5 and TOML values into nodes, and edit bracketed lists and maps.

The parser accepts a superset of these; another one validates the text before and after an edit.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from mdplan.data import tree
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, to_lf

MAX_DEPTH: Final = 200

_JSON_BLANK: Final = lazy_pattern(
    r"(?:[ \t\r\n\f\v\xa0\ufeff\u2028\u2029]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL
)

_TOML_BLANK: Final = lazy_pattern(r"(?:[ \t\r\n]+|#[^\r\n]*)*")

_JSON_STRING: Final = lazy_pattern(
    r'"(?:[^"\\\r\n]|\\(?:\r\n|.))*"' + r"|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'", re.DOTALL
)

TOML_STRING: Final = lazy_pattern(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\r\n]|\\.)*"' + r"|'[^'\r\n]*'", re.DOTALL
)

_JSON_WORD: Final = lazy_pattern(r"[^\s,:\[\]{}\"'/]+")
_TOML_WORD: Final = lazy_pattern(r"[^,=\[\]{}\"'#\r\n]*[^,=\[\]{}\"'#\s]")
_TOML_KEY: Final = lazy_pattern(r"[A-Za-z0-9_-]+")
_NUMBER: Final = lazy_pattern(r"-?(?:0|[1-9]\d*)(?P<real>(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPE: Final = lazy_pattern(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS: Final = frozenset({"\n", "\r", "\r\n", "\u2028", "\u2029"})


class _Open(msgspec.Struct):
    """An unclosed list or map; `entry` holds the key whose value comes next."""

    node: tree.Node
    entry: tree.Entry | None = None
    has_value: bool = False


def read_json(text: str) -> tree.Node | None:
    """Parse the JSON `text`; None if it only has comments. Raise `DataError`."""
    reader = _ValueReader(text, tree.Language.JSON)
    at = reader.skip(0)
    if at == len(text):
        return None
    node, end = reader.value(at)
    if reader.skip(end) != len(text):
        raise tree.DataError("something follows its value", reader.skip(end))
    return node


def read_toml_value(text: str, at: int, end: int) -> tree.Node:
    """Parse the TOML value in ``text[at:end]``. Raise `DataError`."""
    node, behind = _ValueReader(text, tree.Language.TOML).value(at)
    if behind != end:
        raise tree.DataError("a value of it cannot be followed", at)
    return node


class _ValueReader:
    """A non-recursive parser of values."""

    def __init__(self, text: str, language: tree.Language) -> None:
        self._text = text
        self._is_toml = language is tree.Language.TOML
        self._blank = _TOML_BLANK if self._is_toml else _JSON_BLANK
        self._string = TOML_STRING if self._is_toml else _JSON_STRING
        self._word = _TOML_WORD if self._is_toml else _JSON_WORD
        self._sign = "=" if self._is_toml else ":"
        self._count = 0

    def skip(self, at: int) -> int:
        """Return the offset after whitespace and comments at `at`."""
        blank = self._blank.match(self._text, at)
        return blank.end() if blank else at

    def value(self, at: int) -> tuple[tree.Node, int]:
        """Parse the value at `at`; return it and the offset after it."""
        stack: list[_Open] = []
        while True:
            node, at = self._start(at, len(stack))
            if node.kind is not tree.Kind.SCALAR:
                stack.append(_Open(node))
            elif not stack:
                return node, at
            else:
                self._add(stack[-1], node)
            at = self._next_value(stack, at)
            if not stack:
                return self._closed, at

    def _start(self, at: int, depth: int) -> tuple[tree.Node, int]:
        """Parse the scalar at `at`, or open a list or map."""
        text = self._text
        self._count += 1
        tree.check_count(self._count, at)
        if depth > MAX_DEPTH:
            raise tree.DataError("it is nested too deeply", at)
        sign = text[at : at + 1]
        if sign and sign in "[{":
            return tree.Node(tree.Kind.LIST if sign == "[" else tree.Kind.MAP, at, at, is_flow=True), at + 1
        string = self._string.match(text, at)
        if string is not None:
            value = self._string_value(string[0], at)
            return tree.Node(tree.Kind.SCALAR, at, string.end(), value, style=sign), string.end()
        word = self._word.match(text, at)
        if word is None:
            raise tree.DataError("a value is missing", at)
        return tree.Node(tree.Kind.SCALAR, at, word.end(), self._word_value(word[0], at)), word.end()

    def _next_value(self, stack: list[_Open], at: int) -> int:
        """Close what ends at `at`; return the start of the next value, or the end."""
        while stack:
            top = stack[-1]
            at = self.skip(at)
            sign = self._text[at : at + 1]
            closing = "]" if top.node.kind is tree.Kind.LIST else "}"
            if sign == closing:
                stack.pop()
                top.node.end = at = at + 1
                if top.node.kind is tree.Kind.MAP:
                    tree.named(top.node.entries)
                if stack:
                    self._add(stack[-1], top.node)
                else:
                    self._closed = top.node
                continue
            if top.has_value:
                if sign != ",":
                    raise tree.DataError("a comma or closing bracket is missing", at)
                top.node.entries[-1].comma = at
                top.has_value = False
                at += 1
                continue
            return self._before_value(top, at)
        return at

    def _before_value(self, top: _Open, at: int) -> int:
        """Parse the key at `at` if `top` is a map; return the offset of the value."""
        if top.node.kind is tree.Kind.LIST:
            return at
        key, at = self._key(at)
        top.entry = tree.Entry(key.value, key, key, key.start)
        at = self.skip(at)
        if self._text[at : at + 1] != self._sign:
            raise tree.DataError(f"a `{self._sign}` is missing", at)
        return self.skip(at + 1)

    def _key(self, at: int) -> tuple[tree.Node, int]:
        text = self._text
        string = self._string.match(text, at)
        if string is not None:
            key = tree.Node(
                tree.Kind.SCALAR, at, string.end(), self._string_value(string[0], at), style=text[at]
            )
            end = string.end()
        else:
            word = (_TOML_KEY if self._is_toml else self._word).match(text, at)
            if word is None:
                raise tree.DataError("a key is missing", at)
            name = tree.Unnamed(word[0], at) if "\\" in word[0] else word[0]
            key, end = tree.Node(tree.Kind.SCALAR, at, word.end(), name), word.end()
        after = self.skip(end)
        if self._is_toml and text[after : after + 1] == ".":
            raise tree.DataError("a dotted key in braces cannot be followed", at)
        return key, end

    def _add(self, top: _Open, node: tree.Node) -> None:
        if top.node.kind is tree.Kind.LIST:
            top.node.entries.append(tree.Entry(len(top.node.entries), None, node, node.start))
        else:
            assert top.entry is not None, "a value of a map has a key"
            top.entry.node = node
            top.node.entries.append(top.entry)
        top.has_value = True

    def _string_value(self, text: str, at: int) -> str:
        if self._is_toml:
            try:
                return str(tomllib.loads(f"k={text}")["k"])
            except tomllib.TOMLDecodeError as error:
                raise tree.DataError("a string of it cannot be read", at) from error
        if "\\" not in text:
            return text[1:-1]
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            return _ESCAPE.sub(_unescaped, text[1:-1])

    def _word_value(self, text: str, at: int) -> object:
        if self._is_toml:
            try:
                return tomllib.loads(f"k={text}")["k"]
            except (ValueError, RecursionError) as error:
                raise tree.DataError("a value of it cannot be read", at) from error
        if text in _WORDS:
            return _WORDS[text]
        number = _NUMBER.fullmatch(text)
        if number is None:
            return tree.Opaque("word", text)
        # Numbers with thousands of digits are slow to parse, and Python refuses them.
        if len(text) > 4_000:
            return tree.Opaque("number", text)
        return float(text) if number["real"] else int(text)


def _unescaped(match: re.Match[str]) -> str:
    body = match[1]
    if body[0] in "ux" and len(body) > 1:
        return chr(int(body[1:], 16))
    return "" if body in _LINE_ENDS else _ESCAPES.get(body, body)


# --- Editing bracketed lists and maps of JSON, YAML and TOML in place


class ValueText(Protocol):
    """How a language writes keys and values."""

    # The separator of key and value.
    sign: str
    comment_signs: tuple[str, ...]

    def key(self, name: str, like: tree.Node | None) -> str:
        """Return the key `name`, in the style of `like` if possible."""

    def value(self, value: object, like: tree.Node | None, indent: str | None) -> str:
        """Return `value`, in the style of `like`; with `indent`, on several lines."""


class FlowWriter:
    """Append splices for bracketed lists and maps to `splices`."""

    def __init__(self, text: str, lines: LineIndex, writes: ValueText, splices: list[tree.Splice]) -> None:
        self._text = text
        self._lines = lines
        self._writes = writes
        self._splices = splices

    def edit_value(self, node: tree.Node, branch: tree.ChangeTree) -> None:
        """Replace the value `node`, or edit its entries."""
        old = tree.values_of(node)
        value = tree.value_after(old, branch)
        if tree.values_equal(old, value, in_order=True) and not branch.inner:
            return
        inside = tree.entry_changes(old, branch)
        if inside is not None and node.kind is not tree.Kind.SCALAR and entry_stays(node, inside):
            self._edit_entries(node, inside)
            return
        if inside is not None and self._has_comment(node):
            raise tree.DataError("comments would be lost with its last entry", node.start)
        indent = self._indent_at(node.start) if self._may_be_long(node) else None
        # `value` has dates instead of their texts.
        final = value if branch.is_inside else branch.value
        self._add(node.span, self._writes.value(final, _string_in(node), indent), branch.changes)

    def _new_entry(self, new: tree.NewItem, like: tree.Node | None, indent: str | None) -> str:
        """Return the text of a new entry, in the style of `like`."""
        value = self._writes.value(new.value, like, indent)
        return value if new.name is None else f"{self._writes.key(new.name, None)}{self._writes.sign}{value}"

    def _may_be_long(self, node: tree.Node) -> bool:
        """Return True if a replacement of `node` may span lines: it is empty or already does."""
        if node.kind is not tree.Kind.SCALAR and node.entries:
            return "\n" in to_lf(self._text[node.start : node.end])
        return True

    def _edit_entries(self, node: tree.Node, branch: tree.ChangeTree) -> None:
        if self._text[node.start : node.start + 1] not in ("[", "{"):
            old = tree.values_of(node)
            if tree.values_equal(old, tree.value_after(old, branch), in_order=True):
                return
            raise tree.DataError("a map in a list has no braces", node.start)
        by_name = {entry.name: entry for entry in node.entries}
        slots = [
            each if isinstance(each, tree.NewItem) else by_name[each]
            for each in tree.slots([*by_name], branch)
        ]
        has_trailing = bool(node.entries) and node.entries[-1].comma is not None
        for index, entry in enumerate(slots):
            if isinstance(entry, tree.Entry):
                self._edit_entry(entry, branch.inner.get(entry.name))
                self._set_comma(entry, branch, is_wanted=has_trailing or index < len(slots) - 1)
        self._cut(node, [each for each in slots if isinstance(each, tree.Entry)], branch)
        self._insert(node, slots, branch, has_trailing=has_trailing)

    def _edit_entry(self, entry: tree.Entry, branch: tree.ChangeTree | None) -> None:
        if branch is None:
            return
        if branch.name is not None and entry.key is not None:
            self._add(entry.key.span, self._writes.key(branch.name, entry.key), branch.changes)
        if branch.is_inside and not (branch.inner or branch.inserted):
            return
        node, is_empty = entry.node, entry.node.start == entry.node.end
        if is_empty and branch.as_value is None:
            return
        if entry.key is not None and is_empty:
            has_sign = self._writes.sign.strip() in self._text[entry.key.end : node.start]
            text = self._writes.value(branch.as_value, None, None)
            at = node.start if has_sign else entry.key.end
            self._add(Span(at, at), f" {text}" if has_sign else f"{self._writes.sign}{text}", branch.changes)
            return
        self.edit_value(node, branch)

    def _set_comma(self, entry: tree.Entry, branch: tree.ChangeTree, *, is_wanted: bool) -> None:
        if is_wanted and entry.comma is None:
            self._add(Span(entry.end, entry.end), ",", branch.changes)
        elif not is_wanted and entry.comma is not None:
            self._add(Span(entry.comma, entry.comma + 1), "", branch.changes)

    def _cut(self, node: tree.Node, staying: Sequence[tree.Entry], branch: tree.ChangeTree) -> None:
        """Delete entries that do not stay with their comma, or with lines that hold nothing else."""
        kept = {id(each) for each in staying}
        last = staying[-1].start
        for entry in node.entries:
            if id(entry) in kept:
                continue
            end = entry.end if entry.comma is None else entry.comma + 1
            span = self._own_lines(node, entry, end)
            if span is None and entry.start < last:
                while self._text[end : end + 1] in (" ", "\t"):
                    end += 1
                span = Span(entry.start, end)
            elif span is None:
                start = entry.start
                while self._text[start - 1] in " \t":
                    start -= 1
                span = Span(start, end)
            self._add(span, "", branch.inner[entry.name].changes)

    def _own_lines(self, node: tree.Node, entry: tree.Entry, end: int) -> Span | None:
        """Return the lines of `entry` if they hold only it and a comment."""
        first = self._lines.line_at(entry.start)
        last = self._lines.line_at(end - 1)
        rest = self._text[end : self._lines.content_end(last)].strip(" \t")
        start = self._lines.start(first)
        is_alone = not self._text[start : entry.start].strip(" \t") and self._is_line_comment(rest)
        is_inside = node.start < start and self._lines.end(last) < node.end
        return Span(start, self._lines.end(last)) if is_alone and is_inside else None

    def _is_line_comment(self, rest: str) -> bool:
        if not rest or any(rest.startswith(sign) for sign in self._writes.comment_signs):
            return True
        return rest.startswith("/*") and rest.find("*/") == len(rest) - 2

    def _insert(
        self,
        node: tree.Node,
        slots: Sequence[tree.Entry | tree.NewItem],
        branch: tree.ChangeTree,
        *,
        has_trailing: bool,
    ) -> None:
        before: tree.Entry | None = None
        first = next(each for each in slots if isinstance(each, tree.Entry))
        is_long = self._is_long(node)
        for index, slot in enumerate(slots):
            if isinstance(slot, tree.Entry):
                before = slot
                continue
            like = before or first
            has_comma = has_trailing or index < len(slots) - 1
            indent = self._before_on_line(like) if is_long else None
            text = self._entry_text(node, slot, indent) + ("," if has_comma else "")
            changes = slot.changes or branch.changes
            if is_long:
                self._insert_line(before, like, f"{self._before_on_line(like)}{text}", changes)
            elif before is None:
                self._add(Span(like.start, like.start), f"{text}{self._gap(node)}", changes)
            else:
                at = before.end if before.comma is None else before.comma + 1
                self._add(Span(at, at), f"{self._gap(node)}{text}", changes)

    def _insert_line(
        self, before: tree.Entry | None, like: tree.Entry, line: str, changes: Sequence[int]
    ) -> None:
        if before is None:
            at = self._lines.start(self._lines.line_at(like.start))
            self._add(Span(at, at), f"{line}\n", changes)
            return
        end = before.end if before.comma is None else before.comma + 1
        at = self._lines.content_end(self._lines.line_at(end - 1))
        rest = self._text[end:at].strip(" \t")
        if not self._is_line_comment(rest):
            at = end
        self._add(Span(at, at), f"\n{line}", changes)

    def _entry_text(self, node: tree.Node, new: tree.NewItem, indent: str | None) -> str:
        if new.source is not None:
            moved = node.entry(new.source)
            assert moved is not None, "what moves is there"
            return self._text[moved.start : moved.end]
        strings = [string for entry in node.entries if (string := _string_in(entry.node)) is not None]
        like = strings[-1] if strings and node.kind is tree.Kind.LIST else None
        beside = self._text[node.entries[-1].node.start : node.entries[-1].node.end]
        if beside[:1] not in ("{", "[") or "\n" in to_lf(beside):
            return self._new_entry(new, like, indent)
        text = self._new_entry(new, like, None)
        is_padded = beside.startswith("{ ") and text.startswith("{") and text != "{}"
        return f"{{ {text[1:-1]} }}" if is_padded else text

    def _is_long(self, node: tree.Node) -> bool:
        """Return True if each entry starts a line."""
        return all(not self._before_on_line(each).strip(" \t") for each in node.entries) and (
            self._lines.start(self._lines.line_at(node.entries[0].start)) > node.start
        )

    def _before_on_line(self, entry: tree.Entry) -> str:
        return self._text[self._lines.start(self._lines.line_at(entry.start)) : entry.start]

    def _indent_at(self, offset: int) -> str:
        """Return the indentation of the line of `offset`."""
        line = self._lines.content(self._lines.line_at(offset))
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _gap(self, node: tree.Node) -> str:
        """Return the text after commas in `node`, usually a space."""
        for entry, following in zip(node.entries, node.entries[1:], strict=False):
            if entry.comma is not None:
                between = to_lf(self._text[entry.comma + 1 : following.start])
                return between if not between.strip() else " "
        return "" if self._writes.sign.strip() == self._writes.sign else " "

    def _has_comment(self, node: tree.Node) -> bool:
        """Return True if there are comments between the entries of `node`."""
        ends = [each.start for each in node.entries] + [node.end]
        starts = [node.start, *(each.end for each in node.entries)]
        between = [self._text[start:end] for start, end in zip(starts, ends, strict=True)]
        return any(sign in text for text in between for sign in (*self._writes.comment_signs, "/*"))

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        self._splices.append(tree.Splice(TextEdit(span, new_text), tuple(changes)))


def _string_in(node: tree.Node) -> tree.Node | None:
    """Return the string whose quotes new strings in `node` copy: itself, or its last string item."""
    if node.kind is tree.Kind.SCALAR:
        return node if isinstance(node.value, str) else None
    strings = [entry.node for entry in node.entries if isinstance(entry.node.value, str)]
    return strings[-1] if strings and node.kind is tree.Kind.LIST else None


def entry_stays(node: tree.Node, branch: tree.ChangeTree) -> bool:
    """Return True if any entry of `node` stays."""
    removed = {name for name, each in branch.inner.items() if each.is_removed}
    return any(entry.name not in removed for entry in node.entries)


# --- Writing JSON in the style of the file

_IDENTIFIER: Final = lazy_pattern(r"[A-Za-z_$][A-Za-z0-9_$]*")
_INDENT: Final = lazy_pattern(r"[\r\n]([ \t]+)[^ \t\r\n]")
_ESCAPED: Final = lazy_pattern(r"\\u[0-9a-fA-F]{4}")


class JsonText:
    """Write keys and values in the style of a file."""

    comment_signs: tuple[str, ...] = ("//",)

    def __init__(self, text: str, root: tree.Node | None) -> None:
        """Detect indentation, separator and quotes from `text`."""
        indent = _INDENT.search(text)
        self._unit = indent[1] if indent else "  "
        self._is_ascii = text.isascii() and _ESCAPED.search(text) is not None
        first = _first_entry(root)
        between = ":"
        if first is not None and first[0].end < first[1].start:
            between = text[first[0].end : first[1].start]
        self.sign = between if first is not None and not between.strip(" :") else ": "
        self._has_plain_keys = first is not None and not first[0].style
        self._is_long = "\n" in text.strip() or "\r" in text.strip()
        self._gap = "" if first is not None and self.sign == ":" else " "

    def key(self, name: str, like: tree.Node | None) -> str:
        """Return the key `name` in the quotes of `like`, or of the first key."""
        is_plain = self._has_plain_keys if like is None else not like.style
        if is_plain and _IDENTIFIER.fullmatch(name):
            return name
        return self._string(name, like)

    def value(self, value: object, like: tree.Node | None, indent: str | None) -> str:
        """Return `value` on one line; with `indent`, non-empty lists and maps on several."""
        if isinstance(value, tree.DateText):
            value = value.text
        if isinstance(value, str):
            return self._string(value, like)
        if isinstance(value, tree.SpelledFloat):
            return value.text
        is_long = self._is_long and indent is not None and isinstance(value, dict | list) and bool(value)
        text = json.dumps(
            value,
            ensure_ascii=self._is_ascii,
            indent=self._unit if is_long else None,
            separators=(",", self.sign) if is_long else (f",{self._gap}", self.sign),
        )
        return text.replace("\n", f"\n{indent}") if is_long else text

    def _string(self, value: str, like: tree.Node | None) -> str:
        text = json.dumps(value, ensure_ascii=self._is_ascii)
        if any("\ud800" <= each <= "\udfff" for each in value):
            text = json.dumps(value)
        if like is None or like.style != "'" or "'" in value:
            return text
        return "'" + text[1:-1].replace('\\"', '"') + "'"


def _first_entry(node: tree.Node | None) -> tuple[tree.Node, tree.Node] | None:
    """Return the first key of `node` at any depth, and its value."""
    while node is not None and node.entries:
        first = node.entries[0]
        if first.key is not None:
            return first.key, first.node
        node = first.node
    return None
