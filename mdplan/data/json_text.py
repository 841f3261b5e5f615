"""New keys and values as JSON, written as the file does it."""

import json
import re
from typing import Final

from mdplan.data.change import DateText
from mdplan.data.node import Node

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_INDENT: Final = re.compile(r"[\r\n]([ \t]+)[^ \t\r\n]")
_ESCAPED: Final = re.compile(r"\\u[0-9a-fA-F]{4}")


class JsonText:
    """Writes keys and values as the file `text` has them."""

    comment_signs: tuple[str, ...] = ("//",)

    def __init__(self, text: str, root: Node | None) -> None:
        """Take the indentation, the sign after keys and the quotes from what is there."""
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

    def key(self, name: str, like: Node | None) -> str:
        """The key `name`, in the quotes of `like`, or in those of the first key of the file."""
        is_plain = self._has_plain_keys if like is None else not like.style
        if is_plain and _IDENTIFIER.fullmatch(name):
            return name
        return self._string(name, like)

    def value(self, value: object, like: Node | None, indent: str | None) -> str:
        """`value` on one line; on several where it has entries and `indent` is given."""
        if isinstance(value, DateText):
            value = value.text
        if isinstance(value, str):
            return self._string(value, like)
        is_long = self._is_long and indent is not None and isinstance(value, dict | list) and bool(value)
        text = json.dumps(
            value,
            ensure_ascii=self._is_ascii,
            indent=self._unit if is_long else None,
            separators=(",", self.sign) if is_long else (f",{self._gap}", self.sign),
        )
        return text.replace("\n", f"\n{indent}") if is_long else text

    def _string(self, value: str, like: Node | None) -> str:
        text = json.dumps(value, ensure_ascii=self._is_ascii)
        if any("\ud800" <= each <= "\udfff" for each in value):
            text = json.dumps(value)
        if like is None or like.style != "'" or "'" in value:
            return text
        return "'" + text[1:-1].replace('\\"', '"') + "'"


def _first_entry(node: Node | None) -> tuple[Node, Node] | None:
    """The first key of `node`, and its value, as deep as it may be."""
    while node is not None and node.entries:
        first = node.entries[0]
        if first.key is not None:
            return first.key, first.node
        node = first.node
    return None
