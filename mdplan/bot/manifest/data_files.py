"""Data files of a manifest: JSON, YAML, TOML, CSV and text, as decoded JSON."""

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from mdplan.bot.manifest.snippets import read_snippet
from mdplan.bot.manifest.source_map import SourceMap, read_source_map
from mdplan.diagnostics import Diagnostic
from mdplan.storage.names import visible

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_YAML: Final = frozenset({".yaml", ".yml"})
_JSON: Final = frozenset({".json", ""})


def read_data(text: str, file: str, snippet: str | None = None) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
    """The data in the `text` of `file`, by its suffix; with `snippet` only that part of it, as text.

    Rows of `.csv` and `.tsv` are maps by the names in the first row, and their values are texts. A file with
    an unknown suffix is its text; one without a suffix is JSON. Errors: INVALID_ARGUMENT.
    """
    if snippet is not None:
        return read_snippet(text, snippet, file)
    suffix = PurePosixPath(file).suffix.lower()
    if suffix in _JSON:
        return _json(text, file)
    if suffix in _YAML:
        located = read_source_map(text, file, f"`{visible(file)}`", "data files have no aliases and tags")
        return located.data if isinstance(located, SourceMap) else located
    if suffix == ".toml":
        return _toml(text, file)
    return _rows(text, file, _SEPARATORS[suffix]) if suffix in _SEPARATORS else text


def _json(text: str, file: str) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (RecursionError, ValueError):
        reason = "it is nested too deeply, or contains a number that is too long"
    return Diagnostic.invalid(
        f"`{visible(file)}` is not JSON: {reason}",
        "correct it, or use a suffix that fits: .json, .yaml, .toml, .csv, .tsv, .txt",
    )


def _toml(text: str, file: str) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
    try:
        return _plain(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        return Diagnostic.invalid(f"`{visible(file)}` is not TOML: {error}", "correct it")


def _plain(value: Any) -> Any:  # noqa: ANN401 (any TOML)
    """`value` with dates and times as texts of ISO 8601."""
    match value:
        case Mapping():
            return {name: _plain(part) for name, part in value.items()}
        case list():
            return [_plain(item) for item in value]
        case str() | bool() | int() | float():
            return value
        case _:
            return value.isoformat()


def _rows(text: str, file: str, separator: str) -> list[dict[str, str]] | Diagnostic:
    """The rows of `text`; a row with another number of values than the first is INVALID_ARGUMENT."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = next(reader, [])
        rows: list[dict[str, str]] = []
        for values in reader:
            if values and len(values) != len(names):
                return Diagnostic.invalid(
                    f"`{visible(file)}` has {len(values)} values in line {reader.line_num}, "
                    f"and {len(names)} names in its first row",
                    "give each row as many values as the first; quote a value that contains the separator",
                )
            if values:
                rows.append(dict(zip(names, values, strict=True)))
    except csv.Error as error:
        return Diagnostic.invalid(
            f"`{visible(file)}` is not CSV: {error} in line {reader.line_num}", "correct it"
        )
    return rows
