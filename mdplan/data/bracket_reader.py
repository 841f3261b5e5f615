"""JSON, JSON with comments, JSON5, and the values of TOML, as nodes with places.

What is read is more than any one of them allows; another reader judges the text before and after an edit.
"""

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any, Final

from mdplan.data.node import DataError, Entry, Kind, Language, Node, Opaque, Unnamed, named

MAX_DEPTH: Final = 200
_JSON_BLANK: Final = re.compile(r"(?:[ \t\r\n\f\v\xa0\ufeff\u2028\u2029]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TOML_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_JSON_STRING: Final = re.compile(
    r'"(?:[^"\\\r\n]|\\(?:\r\n|.))*"' + r"|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'", re.DOTALL
)
TOML_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\r\n]|\\.)*"' + r"|'[^'\r\n]*'", re.DOTALL
)
_JSON_WORD: Final = re.compile(r"[^\s,:\[\]{}\"'/]+")
_TOML_WORD: Final = re.compile(r"[^,=\[\]{}\"'#\r\n]*[^,=\[\]{}\"'#\s]")
_TOML_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?P<real>(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS: Final = frozenset({"\n", "\r", "\r\n", "\u2028", "\u2029"})


@dataclass(slots=True)
class _Open:
    """A list or map that is not closed yet; `entry` is that of the key whose value comes next."""

    node: Node
    entry: Entry | None = None
    has_value: bool = False


def read_json(text: str) -> Node | None:
    """The one value of the JSON `text`; None where there is nothing but comments. Raises `DataError`."""
    reader = _Reader(text, Language.JSON)
    at = reader.skip(0)
    if at == len(text):
        return None
    node, end = reader.value(at)
    if reader.skip(end) != len(text):
        raise DataError("something follows its value", reader.skip(end))
    return node


def read_toml_value(text: str, at: int, end: int) -> Node:
    """The value of TOML at `at` in `text`, which ends at `end`. Raises `DataError`."""
    node, behind = _Reader(text, Language.TOML).value(at)
    if behind != end:
        raise DataError("a value of it cannot be followed", at)
    return node


class _Reader:
    """Reads values without recursion."""

    def __init__(self, text: str, language: Language) -> None:
        self._text = text
        self._is_toml = language is Language.TOML
        self._blank = _TOML_BLANK if self._is_toml else _JSON_BLANK
        self._string = TOML_STRING if self._is_toml else _JSON_STRING
        self._word = _TOML_WORD if self._is_toml else _JSON_WORD
        self._sign = "=" if self._is_toml else ":"

    def skip(self, at: int) -> int:
        """Offset after the blanks and comments at `at`."""
        found = self._blank.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int) -> tuple[Node, int]:
        """The value at `at`, and the offset after it."""
        stack: list[_Open] = []
        while True:
            node, at = self._start(at, len(stack))
            if node.kind is not Kind.SCALAR:
                stack.append(_Open(node))
            elif not stack:
                return node, at
            else:
                self._add(stack[-1], node)
            at = self._next_value(stack, at)
            if not stack:
                return self._closed, at

    def _start(self, at: int, depth: int) -> tuple[Node, int]:
        """The scalar at `at`, or a list or map that is open."""
        text = self._text
        if depth > MAX_DEPTH:
            raise DataError("it is nested too deeply", at)
        sign = text[at : at + 1]
        if sign and sign in "[{":
            return Node(Kind.LIST if sign == "[" else Kind.MAP, at, at, is_flow=True), at + 1
        string = self._string.match(text, at)
        if string is not None:
            value = self._string_value(string[0], at)
            return Node(Kind.SCALAR, at, string.end(), value, style=sign), string.end()
        word = self._word.match(text, at)
        if word is None:
            raise DataError("a value is missing", at)
        return Node(Kind.SCALAR, at, word.end(), self._word_value(word[0], at)), word.end()

    def _next_value(self, stack: list[_Open], at: int) -> int:
        """Offset of the next value, or after the last bracket where none is open; closes what ends."""
        while stack:
            top = stack[-1]
            at = self.skip(at)
            sign = self._text[at : at + 1]
            closing = "]" if top.node.kind is Kind.LIST else "}"
            if sign == closing:
                stack.pop()
                top.node.end = at = at + 1
                if top.node.kind is Kind.MAP:
                    named(top.node.entries)
                if stack:
                    self._add(stack[-1], top.node)
                else:
                    self._closed = top.node
                continue
            if top.has_value:
                if sign != ",":
                    raise DataError("a comma or closing bracket is missing", at)
                top.node.entries[-1].comma = at
                top.has_value = False
                at += 1
                continue
            return self._before_value(top, at)
        return at

    def _before_value(self, top: _Open, at: int) -> int:
        """Offset of the value of the next entry of `top`, whose key is at `at` if it has one."""
        if top.node.kind is Kind.LIST:
            return at
        key, at = self._key(at)
        top.entry = Entry(key.value, key, key, key.start)
        at = self.skip(at)
        if self._text[at : at + 1] != self._sign:
            raise DataError(f"a `{self._sign}` is missing", at)
        return self.skip(at + 1)

    def _key(self, at: int) -> tuple[Node, int]:
        text = self._text
        string = self._string.match(text, at)
        if string is not None:
            key = Node(Kind.SCALAR, at, string.end(), self._string_value(string[0], at), style=text[at])
            end = string.end()
        else:
            word = (_TOML_KEY if self._is_toml else self._word).match(text, at)
            if word is None:
                raise DataError("a key is missing", at)
            name: Any = word[0]
            if "\\" in word[0]:
                name = Unnamed(word[0], at)
            key, end = Node(Kind.SCALAR, at, word.end(), name), word.end()
        after = self.skip(end)
        if self._is_toml and text[after : after + 1] == ".":
            raise DataError("a dotted key in braces cannot be followed", at)
        return key, end

    def _add(self, top: _Open, node: Node) -> None:
        if top.node.kind is Kind.LIST:
            top.node.entries.append(Entry(len(top.node.entries), None, node, node.start))
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
                raise DataError("a string of it cannot be read", at) from error
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
                raise DataError("a value of it cannot be read", at) from error
        if text in _WORDS:
            return _WORDS[text]
        number = _NUMBER.fullmatch(text)
        if number is None:
            return Opaque("word", text)
        # A number of thousands of digits takes long to read, and Python refuses it.
        if len(text) > 4_000:
            return Opaque("number", text)
        return float(text) if number["real"] else int(text)


def _unescaped(match: re.Match[str]) -> str:
    body = match[1]
    if body[0] in "ux" and len(body) > 1:
        return chr(int(body[1:], 16))
    return "" if body in _LINE_ENDS else _ESCAPES.get(body, body)
