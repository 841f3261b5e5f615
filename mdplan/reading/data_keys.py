"""Find and list keys and items of data files and front matter by position; and check conditions on them."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mdplan.data.address import find, key_missing, shown
from mdplan.data.content import DataContent, as_json, value_matches
from mdplan.data.tree import REMOVED, Path, value_at
from mdplan.diagnostics import Diagnostic, Refused, or_problem
from mdplan.markdown.front_matter import Unreadable
from mdplan.markdown.front_matter_edits import data_content, unreadable
from mdplan.markdown.outline import Outline
from mdplan.reading.plain_text import has_keys
from mdplan.reports.stat import KeyEntry
from mdplan.requests.search import SearchRequest
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat, sha256_hex
from mdplan.words import say

# By default, list as many levels as have at most this many entries.
_FEW: Final = 40
_HASH: Final = 16


def key_entries(
    outline: Outline, under: str | Sequence[str] | None, depth: int | None
) -> list[KeyEntry] | Diagnostic:
    """Return the keys and items in the file of `outline`, or below the key `under`, `depth` levels deep.

    By default, as many levels as have few entries. Errors: as `unreadable` and finding keys.
    """
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return unreadable(outline, content) if isinstance(content, Unreadable) else []
    top: Path | Diagnostic = ()
    if under:
        top = _find(content, under if isinstance(under, str) else list(under))
    if isinstance(top, Diagnostic):
        return top
    start = len(top)
    below = [(path, span) for path, span in content.ranges if path[:start] == top != path]
    levels = depth or _levels([len(path) - start for path, _ in below])
    return [_entry(outline, content, path, span) for path, span in below if len(path) - start <= levels]


def key_span(outline: Outline, key: str | Sequence[Any]) -> Span | Diagnostic:
    """Return the span of `key` with its value, in a data file or front matter.

    Errors: INVALID_ARGUMENT, KEY_NOT_FOUND, FRONT_MATTER_NOT_FOUND, or as `unreadable`.
    """
    content = data_content(outline)
    if not isinstance(content, DataContent):
        if isinstance(content, Unreadable):
            return unreadable(outline, content)
        return Diagnostic.invalid(
            say("{key} needs a file of keys and values, or front matter"), "read the lines"
        )
    path = _find(content, key)
    if isinstance(path, Diagnostic):
        return path
    span = dict(content.ranges).get(path)
    start = outline.front_matter.content.start if outline.front_matter else 0
    if span is None:
        return Diagnostic.invalid(
            f"`{shown(path)}` has no lines that are its alone", "read the table that it is in"
        )
    return Span(span.start + start, span.end + start)


def key_at(outline: Outline, offset: int) -> str | None:
    """Return the innermost key or item around `offset`, if any."""
    content = data_content(outline) if has_keys(outline) or outline.format is DocumentFormat.INI else None
    if not isinstance(content, DataContent):
        return None
    ranges = content.ranges
    for path, span in reversed(ranges[: bisect_right(ranges, offset, key=lambda item: item[1].start)]):
        if offset < span.end:
            return shown(path, whole=True)
    return None


def _find(content: DataContent, key: str | Sequence[Any]) -> Path | Diagnostic:
    try:
        key_path = or_problem(find, content.values, key)
    except ValueError as error:
        return Diagnostic.invalid(str(error), 'write it like "nav[0].Home"')
    if isinstance(key_path, Diagnostic):
        return key_path
    return key_missing(content.values, key_path) if key_path.missing else key_path.path


def _levels(depths: Sequence[int]) -> int:
    """Return the number of levels with few entries in total, at least one."""
    levels = 1
    while levels < max(depths, default=1) and sum(depth <= levels + 1 for depth in depths) <= _FEW:
        levels += 1
    return levels


def _entry(outline: Outline, content: DataContent, path: Path, span: Span) -> KeyEntry:
    lines, value = outline.source.lines, value_at(content.values, path)
    return KeyEntry(
        key=shown(path, whole=True),
        start_line=lines.line_at(span.start),
        end_line=lines.line_at(max(span.end - 1, span.start)),
        items=len(value) if isinstance(value, list | dict) else None,
        sha256=sha256_hex(outline.text_of(span).encode("utf-8", "surrogateescape"))[:_HASH],
    )


# --- The search conditions `where`, `has` and `min`

_MOST_TEXT: Final = 200


def matching_values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """Return the values of the keys in the conditions of `request`, as JSON; None if any fails.

    Keys are addresses, such as `a.b` or `nav[0].Home`. `where`: a list matches if it contains the value, and
    a single value if it is in a given list. `has`: the key exists. `min`: the least number of items, counting
    a non-list as one.
    """
    values = _values(outline, request)
    if values is None or any(_count(values[key]) < least for key, least in request.min.items()):
        return None
    return {key: _short(as_json(value)) for key, value in values.items()}


def uncounted_keys(outline: Outline, request: SearchRequest) -> tuple[str, ...]:
    """Return keys with `min` above 1 whose value is not a list, provided that `where` matches."""
    values = _values(outline, request) or {}
    counted = request.min.items() if values else ()
    return tuple(key for key, least in counted if least > 1 and not isinstance(values[key], list | Mapping))


def other_values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """Return the values of keys in `where` that differ, as JSON; None if a key is missing."""
    content, values = _values_at(outline, request.where)
    if content is None:
        return None
    return {
        key: _short(as_json(value))
        for key, value in values.items()
        if not _has_value(content, value, request.where[key])
    }


def _values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """Return the values of the keys in the conditions; None if one is missing or differs from `where`."""
    content, values = _values_at(outline, [*request.where, *request.has, *request.min])
    if content is None:
        return None
    is_match = all(_has_value(content, values[key], expected) for key, expected in request.where.items())
    return values if is_match else None


def _values_at(outline: Outline, keys: Iterable[str]) -> tuple[DataContent | None, dict[str, Any]]:
    """Return the content and the values of `keys`, or None if one is missing."""
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return None, {}
    values = {key: _value_at(content.values, key) for key in keys}
    return (None, {}) if any(value is REMOVED for value in values.values()) else (content, values)


def _value_at(values: object, key: str) -> object:
    """Return the value at the address `key`, or `REMOVED` if it is missing or invalid."""
    plain = value_at(values, tuple(key.split(".")))
    if plain is not REMOVED:
        return plain
    try:
        place = find(values, key)
    except (ValueError, Refused):
        return REMOVED
    return REMOVED if place.missing else value_at(values, place.path)


def _has_value(content: DataContent, value: object, expected: object) -> bool:
    if isinstance(value, list) and not isinstance(expected, list):
        return any(value_matches(content.language, each, expected) for each in value)
    if isinstance(expected, list) and not isinstance(value, list):
        return any(value_matches(content.language, value, each) for each in expected)
    return value_matches(content.language, value, expected)


def _count(value: object) -> int:
    if value is None or value == "":
        return 0
    return len(value) if isinstance(value, list | Mapping) else 1


def _short(value: object) -> object:
    return f"{value[:_MOST_TEXT]}…" if isinstance(value, str) and len(value) > _MOST_TEXT else value
