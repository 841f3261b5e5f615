"""Values that people type on the command line: text, unless mdplan writes them back exactly as typed."""

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from mdplan.data.tree import spelled
from mdplan.data.yaml import scalar_text
from mdplan.text import shell
from mdplan.text.lazy_pattern import lazy_pattern

_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_TYPED_TAGS: Final = tuple(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null"))
_CLOSING: Final[Mapping[str, str]] = {"[": "]", "{": "}"}

# Inside brackets a quote begins a text only where an entry begins.
_SIGN: Final = lazy_pattern(
    r"""(?:(?<=[,:\[{])|\A)\s*(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'(?!')|(?P<quote>["']))"""
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)


def typed_value(text: str) -> Any:  # noqa: ANN401 (any JSON)
    """Return the value of typed text, with JSON types; dates stay text.

    A number, true, false, null, quoted text, `[…]` and `{…}` count as such only if mdplan would write the
    same; everything else is text. Raises `ValueError` for an unclosed quote or bracket.
    """
    text = text.strip(" \t")
    if not text.startswith(("[", "{", '"', "'")):
        return _plain(text)
    node = _whole(text)
    if node is None and (missing := _missing(text)) is not None:
        # The shell removes quotes, so the value needs its own.
        word = "KEY='" + text.replace("'", "''") + "'"
        call = shell.quote(word) if set('"$`\\!') & set(word) else f'"{word}"'
        raise ValueError(f"`{text}` has no closing `{missing}`; add it, or to set it as text: {call}")
    try:
        return text if node is None else _built(node)
    except _NotJsonError:
        return text


def is_date(text: str) -> bool:
    """Return True if `text`, a value with its quotes, is a date or timestamp, or a list with one."""
    return _has_date(_whole(text.strip(" \t")))


def is_decimal(text: str) -> bool:
    """Return True if `text` is a number that mdplan would write differently, such as 0.20."""
    return isinstance(_plain(text.strip()), str) and not isinstance(spelled(text.strip()), str)


def is_quoted(text: str) -> bool:
    """Return True if `text` is in quotes."""
    return text.strip()[:1] in ("'", '"')


class _NotJsonError(Exception):
    """A map has a key that is not text, the same key twice, or a key without a value."""


def _plain(text: str) -> Any:  # noqa: ANN401 (any scalar)
    """Return unquoted `text` as a number, boolean or null if it is one; else unchanged."""
    tag = _LOADER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if tag not in _TYPED_TAGS:
        return text
    try:
        value = yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))
    except ValueError:  # Such as an integer of too many digits.
        return text
    return value if scalar_text(value) == text else text


def _whole(text: str) -> yaml.Node | None:
    """Return the node that `text` forms as a whole, or None."""
    try:
        if any(getattr(event, "tag", None) or getattr(event, "anchor", None) for event in yaml.parse(text)):
            return None
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    is_whole = node is not None and (node.start_mark.index, node.end_mark.index) == (0, len(text))
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    return node if is_whole and not is_block else None


def _built(node: yaml.Node) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(node, yaml.SequenceNode):
        return [_built(each) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        built = {_key(key): _built(value) for key, value in node.value}
        if len(built) < len(node.value):
            raise _NotJsonError
        return built
    if isinstance(node, yaml.ScalarNode) and node.style is not None:
        return node.value
    if not node.value:
        raise _NotJsonError
    return _plain(node.value)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _NotJsonError
    return str(node.value)


def _missing(text: str) -> str | None:
    """Return the missing closing quote or bracket of `text`, or None."""
    opened: list[str] = []
    for sign in _SIGN.finditer(text):
        if sign["quote"]:
            return sign["quote"]
        if sign["open"]:
            opened.append(_CLOSING[sign["open"]])
        elif sign["close"] and opened.pop() != sign["close"]:
            return _CLOSING["{" if sign["close"] == "]" else "["]
        if not opened:
            return None
    return opened[-1] if opened else None


def _has_date(node: yaml.Node | None) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return any(map(_has_date, node.value))
    return node is not None and node.tag == _TIMESTAMP


_LOADER: Final = yaml.SafeLoader("")
