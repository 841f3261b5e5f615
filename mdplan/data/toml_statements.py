"""TOML as statements with places: headers, and keys with their values.

No library gives places, so the lines are scanned here; only what `tomllib` has read before comes in, and what
comes of an edit is read by it again. TOML 1.0, sections "Keys", "String", "Array" and "Table".
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.data.bracket_reader import TOML_STRING
from mdplan.data.node import DataError, Path
from mdplan.text.lines import LineIndex, Span

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = re.compile(r"[ \t]*")
_LINE_END: Final = re.compile(r"[\r\n]|\Z")
_IN_VALUE: Final = re.compile(r"[^\"'#\[\]{}\r\n]+")


@dataclass(frozen=True, slots=True)
class TomlHeader:
    """A line ``[path]`` or ``[[path]]``; `span` is the whole line, `parts` are the names in it.

    In `path` the number of a table is after the name that several tables have.
    """

    path: Path
    is_array: bool
    span: Span
    parts: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class TomlAssignment:
    """``key = value`` below a header of the path `table`; `path` is from the outermost map.

    `span` are the whole lines, `key` and `value` the texts in them, `parts` the names in the key.
    """

    path: Path
    table: Path
    span: Span
    key: Span
    value: Span
    parts: tuple[Span, ...]


Statement = TomlHeader | TomlAssignment


def read_statements(text: str, lines: LineIndex) -> tuple[Statement, ...]:
    """Statements of the TOML `text` in order. Raises `DataError` for what cannot be followed."""
    return tuple(_statements(text, lines))


def _statements(text: str, lines: LineIndex) -> Iterator[Statement]:
    table: Path = ()
    counts: dict[Path, int] = {}
    line = 1
    while line <= lines.count:
        at = _skip_blanks(text, lines.start(line))
        if at == lines.content_end(line) or text[at] == "#":
            line += 1
            continue
        if text[at] == "[":
            is_array = text.startswith("[[", at)
            names, parts, _ = _read_key(text, at + 1 + is_array)
            table = _table_path(names, counts, is_array=is_array)
            yield TomlHeader(table, is_array, lines.span(line, line), parts)
            line += 1
            continue
        name, parts, end = _read_key(text, at)
        if text[end : end + 1] != "=":
            raise DataError("a line of it cannot be followed", at)
        start = _skip_blanks(text, end + 1)
        value = Span(start, _value_end(text, start))
        last = lines.line_at(max(value.end - 1, at))
        key = Span(at, at + len(text[at:end].rstrip(" \t")))
        yield TomlAssignment(table + name, table, lines.span(line, last), key, value, parts)
        line = last + 1


def _table_path(names: tuple[str, ...], counts: dict[Path, int], *, is_array: bool) -> Path:
    """The path of the header `names`; `counts` are the tables so far, by the path of their name."""
    path: Path = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if is_array and index == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _read_key(text: str, at: int) -> tuple[tuple[str, ...], tuple[Span, ...], int]:
    """Dotted key at `at`, the places of its names, and the offset after it and the blanks that follow."""
    names: list[str] = []
    parts: list[Span] = []
    while True:
        at = _skip_blanks(text, at)
        quoted, bare = TOML_STRING.match(text, at), _BARE_KEY.match(text, at)
        found = quoted or bare
        if found is None:
            raise DataError("a key of it cannot be followed", at)
        names.append(tomllib.loads(f"k={found[0]}")["k"] if quoted else found[0])
        parts.append(Span(found.start(), found.end()))
        at = _skip_blanks(text, found.end())
        if text[at : at + 1] != ".":
            return tuple(names), tuple(parts), at
        at += 1


def _value_end(text: str, at: int) -> int:
    """Offset after the value that starts at `at`, without blanks or a comment after it."""
    depth, end = 0, at
    while at < len(text):
        string = TOML_STRING.match(text, at)
        plain = _IN_VALUE.match(text, at)
        character = text[at]
        if string:
            at = end = string.end()
        elif plain:
            end = at + len(plain[0].rstrip(" \t")) if plain[0].strip(" \t") else end
            at = plain.end()
        elif character == "#":
            if not depth:
                break
            at = _line_end(text, at)
        elif character in "\r\n":
            if not depth:
                break
            at += 1
        else:
            depth += 1 if character in "[{" else -1
            at = end = at + 1
            if not depth:
                break
    return end


def _line_end(text: str, at: int) -> int:
    found = _LINE_END.search(text, at)
    assert found is not None, "every text has an end"
    return found.start()


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
