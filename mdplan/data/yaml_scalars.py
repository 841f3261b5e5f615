"""Scalars as YAML: plain where every reader takes that for the same string, quoted where not.

What PyYAML resolves is YAML 1.1; texts that YAML 1.2 or Go's reader would take for a number, a boolean or a
date are quoted too.
"""

import datetime as dt
import re
from typing import Final

import yaml

from mdplan.data.change import DateText

_INDICATORS: Final = frozenset("?:,[]{}#&*!|>'\"%@`")
_FLOW_INDICATORS: Final = re.compile(r"[,\[\]{}]")
# Everything else must be escaped: controls, line ends of YAML, byte order marks, surrogates.
_UNPRINTABLE: Final = re.compile(
    "[^\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
)
_OTHERWISE: Final = re.compile(
    r"[yYnN]|[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?|[-+]?0o?[0-7_]+|[-+]?0x[\da-fA-F_]+"
    r"|[-+]?0b[01_]+|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?"
)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_STRING: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final = yaml.resolver.Resolver()


def scalar_text(value: object, quote: str = "", *, in_flow: bool = False) -> str:
    """`value`, which is not a list or map, on one line.

    `quote` is the mark that strings should stand in, if it can carry them: ``'``, ``"``, or none.
    """
    match value:
        case str():
            text = string_text(value, quote, in_flow=in_flow)
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case float():
            text = _float_text(value)
        case DateText():
            text = value.text
        case dt.date():
            text = value.isoformat()
        case _:
            text = str(value)
    return text


def string_text(value: str, quote: str = "", *, in_flow: bool = False) -> str:
    """The string `value` on one line; see `scalar_text`."""
    if quote == "" and _is_plain(value, in_flow=in_flow):
        return value
    can_be_single = _UNPRINTABLE.search(value) is None
    wants_single = quote == "'" or (quote == "" and ('"' in value or "\\" in value))
    if can_be_single and wants_single:
        return "'" + value.replace("'", "''") + "'"
    return '"' + re.sub(f'[\\\\"]|{_UNPRINTABLE.pattern}', _escape, value) + '"'


def can_be_literal(value: str) -> bool:
    """Whether a literal block can carry `value`: lines of text, the first of which shows the indentation."""
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
    return tag == _STRING


def _float_text(value: float) -> str:
    """The shortest text of `value`; YAML 1.1 wants a point before an exponent."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e", 1)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
