"""Types of command options that take the fields of an edit: ranges of lines, typed values, heading paths."""

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import STANDARD_INPUT
from mdplan.field_names import spelled_as
from mdplan.text.lazy_pattern import lazy_pattern

_PATH_SEPARATOR: Final = lazy_pattern(r"\s+[/>]\s+")
_LINES: Final = lazy_pattern(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_NUMBER: Final = lazy_pattern(r"[0-9]{1,9}")
_RANGE: Final = lazy_pattern(r"(\d+):(\d+)-(\d+):(\d+)")
_SECTION_ID: Final = lazy_pattern(r"sha256-[0-9a-fA-F]{8,64}")


def _line_range(text: str) -> dict[str, int]:
    """Parse lines such as ``12`` or ``12-25``, 1-based and inclusive."""
    lines = _LINES.fullmatch(text)
    first, last = (int(lines[1]), int(lines[2] or lines[1])) if lines else (0, 0)
    if not 1 <= first <= last:
        raise ValueError(f"expected a line or a range such as {_range_in(text)}, not `{text}`")
    return {"start": first, "end": last}


def _range_in(text: str) -> str:
    """Return the range meant by other punctuation, as in ``5,7``; otherwise an example."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    is_range = len(numbers) == 2 and min(numbers) > 0
    return "-".join(map(str, sorted(numbers))) if is_range else "12-25"


class FieldType(click.ParamType[Any]):
    """Values with their own syntax: `read` parses the typed text or raises `ValueError`."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's)
        """Return the result of `read`."""
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _text_range(text: str) -> dict[str, dict[str, int]]:
    """Parse a half-open range such as ``12:1-12:9``: line and column, both 1-based."""
    positions = _RANGE.fullmatch(text)
    if positions is None:
        raise ValueError(f"expected LINE:COLUMN-LINE:COLUMN such as 12:1-12:9, not `{text}`")
    line, col, last_line, last_col = map(int, positions.groups())
    return {"start": {"line": line, "col": col}, "end": {"line": last_line, "col": last_col}}


def _key(text: str) -> str:
    """Parse a key such as ``author.name`` or ``nav[0].Home``; ``[ms.topic]`` becomes a JSON Pointer."""
    from mdplan.data.address import pointer, steps_of

    names: Any = None
    if _QUOTED_NAME.search(text):
        raise ValueError(f"a name has no quotes, unlike in `{text}`; `/` before it makes its dots part of it")
    try:
        steps_of(text)
    except ValueError as error:
        if text[:1] == "[" and text[-1:] == "]":
            names = _value(text)
        if not isinstance(names, list) or not all(isinstance(each, str | int) for each in names):
            hint = f"`{text}` is no key: {error}; write names with dots as [ms.topic]"
            raise ValueError(hint) from None
    return text if names is None else pointer(names)


_QUOTED_NAME: Final = lazy_pattern(r"""(?:^|\.)(["']).*\1(?:\.|$)""")
# A null that was typed: to click, None is an option that was not.
NULL: Final = object()


def _value(text: str) -> Any:  # noqa: ANN401 (any JSON)
    """Parse ``true``, ``3``, ``[a, b]`` as in JSON and `NULL` as null; other and quoted values are text."""
    from mdplan.cli.typed_values import typed_value

    typed = typed_value(text)
    return NULL if typed is None else typed


LINE_RANGE: Final = FieldType("lines", _line_range)
TEXT_RANGE: Final = FieldType("range", _text_range)
KEY: Final = FieldType("key", _key)
VALUE: Final = FieldType("value", _value)


def index_or_name(name_field: str | None) -> FieldType:
    """Parse a 0-based index, ``2`` for ``{"index": 2}``, or a name for the `name_field`, if there is one."""

    def read(text: str) -> Any:  # noqa: ANN401 (any JSON)
        if text.isascii() and text.isdigit():
            return {"index": int(text)}
        if text.startswith("{"):
            # The field as a batch has it. The reader of the batch checks its names.
            with suppress(ValueError):
                return json.loads(text)
        if name_field is None:
            raise ValueError(f"expected an index such as 0, not `{text}`")
        return {name_field: text}

    return FieldType("index", read)


def name_list(choices: Sequence[str]) -> FieldType:
    """Parse names separated by commas; without `choices` any name is valid."""

    def read(text: str) -> list[str]:
        names = [spelled_as(name.strip(), choices) for name in text.split(",") if name.strip()]
        unknown = next((name for name in names if choices and name not in choices), None)
        if unknown is not None:
            raise ValueError(f"`{unknown}` is not one of {', '.join(choices)}")
        return names

    return FieldType("names", read)


def assignment(*, is_typed: bool) -> FieldType:
    """Parse ``KEY=VALUE``. The value is text, or typed if the field takes any value."""

    def read(text: str) -> tuple[str, Any]:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise ValueError(f"expected KEY=VALUE, not `{text}`")
        typed = _value(value) if is_typed else value
        return key.strip(), None if typed is NULL else typed

    return FieldType("key=value", read)


def heading_path(text: str) -> list[str]:
    """Return the headings of a path such as ``Guide / Install``; empty for empty text."""
    return _PATH_SEPARATOR.split(text.strip()) if text.strip() else []


HEADING_PATH: Final = FieldType("path", heading_path)


def section_target(text: str) -> dict[str, Any]:
    """Return the target fields of a typed section: a section ID, a path, or a heading."""
    if _SECTION_ID.fullmatch(text.strip()):
        return {"sectionId": text.strip()}
    path = heading_path(text)
    return {"heading": text} if len(path) == 1 else {"headingPath": path}


def whole_words(pattern: str, *, is_regex: bool) -> str:
    """Return a regular expression that matches `pattern` only as whole words."""
    return rf"(?<!\w)(?:{pattern if is_regex else re.escape(pattern)})(?!\w)"


# --- Text from an option, a file, standard input or an editor


def read_content(value: str) -> str:
    """Return the text of `value`: ``-`` is standard input, ``@FILE`` a file, ``@@…`` text with an ``@``.

    A diff, which begins with ``@@ -``, is taken as text. Raises a usage error if the text cannot be read.
    """
    if value == STANDARD_INPUT:
        # A standard input that was closed at the start is None.
        return _decoded(sys.stdin.buffer.read(), "standard input") if sys.stdin is not None else ""
    if value.startswith("@@ -"):
        return value
    if value.startswith("@@"):
        return value[1:]
    if not value.startswith("@"):
        return value
    from pathlib import Path

    try:
        return _decoded(Path(value[1:]).read_bytes(), f"`{value[1:]}`")
    except OSError as error:
        hint = f"@ stands for a file; for a text that begins with @ write `@{value}`"
        raise Misuse(f"`{value[1:]}` cannot be read: {error.strerror}", hint) from None


def edit_text(text: str, suffix: str) -> str | None:
    """Return `text` as saved in the user's editor; None if it is unchanged or empty.

    Raises a usage error if the editor fails, or saves what is not UTF-8.
    """
    saved = click.edit(text.encode(), os.environ.get("MDPLAN_EDITOR") or None, extension=suffix)
    edited = _decoded(saved, "the edited text") if saved else ""
    return edited if edited.strip() and edited != text else None


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{where} is not UTF-8 text.") from None
