"""Evaluate the search conditions `where`, `has` and `min` on front matter or a data file."""

from collections.abc import Mapping
from typing import Any, Final

from mdplan.data.address import find
from mdplan.data.content import DataContent, as_json, value_matches
from mdplan.data.tree import REMOVED, value_at
from mdplan.diagnostics import Refused
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.outline import Outline
from mdplan.requests.search import SearchRequest

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
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return None
    values = {key: _value_at(content.values, key) for key in request.where}
    if any(value is REMOVED for value in values.values()):
        return None
    return {
        key: _short(as_json(value))
        for key, value in values.items()
        if not _has_value(content, value, request.where[key])
    }


def _values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """Return the values of the keys in the conditions; None if one is missing or differs from `where`."""
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return None
    keys = dict.fromkeys([*request.where, *request.has, *request.min])
    values = {key: _value_at(content.values, key) for key in keys}
    if any(value is REMOVED for value in values.values()):
        return None
    is_match = all(_has_value(content, values[key], expected) for key, expected in request.where.items())
    return values if is_match else None


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
