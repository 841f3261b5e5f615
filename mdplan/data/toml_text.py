"""New keys and values as TOML."""

import datetime as dt
import math
import re
from typing import Final

from mdplan.data.change import DateText
from mdplan.data.node import DataError, Node

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class TomlText:
    """Writes keys and values of TOML on one line."""

    sign = " = "
    comment_signs: tuple[str, ...] = ("#",)

    def key(self, name: str, like: Node | None) -> str:
        """The key `name`."""
        del like
        return key_text(name)

    def value(self, value: object, like: Node | None, indent: str | None) -> str:
        """`value`; a string in the quotes of the string `like` where they can carry it."""
        del indent
        quotes = like.style if like is not None and isinstance(value, str) else ""
        if quotes == "'" and isinstance(value, str) and "'" not in value and value.isprintable():
            return f"'{value}'"
        return value_text(value)


def key_text(name: str) -> str:
    """The key `name`, bare where it can be."""
    return name if _BARE.fullmatch(name) else _string(name)


def value_text(value: object) -> str:
    """`value` on one line. Raises `DataError` for what TOML cannot say."""
    match value:
        case None:
            raise DataError("TOML has no null")
        case list():
            text = f"[{', '.join(map(value_text, value))}]"
        case dict():
            pairs = (f"{key_text(name)} = {value_text(each)}" for name, each in value.items())
            text = f"{{{', '.join(pairs)}}}"
        case _:
            text = _scalar(value)
    return text


def _scalar(value: object) -> str:
    match value:
        case bool():
            text = "true" if value else "false"
        case str():
            text = _string(value)
        case float():
            text = _float(value)
        case DateText():
            text = value.text
        case dt.date() | dt.time():
            text = value.isoformat()
        case _:
            text = str(value)
    return text


def _float(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return repr(value)
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


def _string(value: str) -> str:
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise DataError("TOML has no lone surrogates")
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"
