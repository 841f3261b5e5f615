"""Conditions of a search on front matter or a data file: `where`, `has` and `min`."""

from collections.abc import Mapping
from typing import Any, Final

from mdplan.data.address import Found, find
from mdplan.data.content import DataContent, as_json, value_matches
from mdplan.data.tree import REMOVED, value_at
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.outline import Outline
from mdplan.requests.search import SearchRequest

_MOST_TEXT: Final = 200


def matching_values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """The values of the keys that `request` asks about, as JSON; None where one is not as it asks.

    Keys are addresses, such as `a.b` or `nav[0].Home`. `where` gives values, of which a list has one where
    it has such an item, and a single value is one of the list that is given; `has` keys that must be there;
    `min` the least number of items, 1 for a value that is no list.
    """
    found = _values(outline, request)
    if found is None or any(_count(found[key]) < least for key, least in request.min.items()):
        return None
    return {key: _short(as_json(value)) for key, value in found.items()}


def uncounted_keys(outline: Outline, request: SearchRequest) -> tuple[str, ...]:
    """Keys with `min` above 1 whose value is not a list; empty if `where` does not match."""
    found = _values(outline, request) or {}
    counted = request.min.items() if found else ()
    return tuple(key for key, least in counted if least > 1 and not isinstance(found[key], list | Mapping))


def other_values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """Values, as JSON, that keys of `where` have in place of those that it gives; None where a key lacks."""
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return None
    found = {key: _value_at(content.values, key) for key in request.where}
    if any(value is REMOVED for value in found.values()):
        return None
    return {
        key: _short(as_json(value))
        for key, value in found.items()
        if not _has_value(content, value, request.where[key])
    }


def _values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """The values of the keys that `request` asks about; None where one lacks, or is not as `where` says."""
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return None
    found: dict[str, Any] = {}
    for key in dict.fromkeys([*request.where, *request.has, *request.min]):
        value = _value_at(content.values, key)
        if value is REMOVED:
            return None
        found[key] = value
    is_match = all(_has_value(content, found[key], expected) for key, expected in request.where.items())
    return found if is_match else None


def _value_at(values: object, key: str) -> object:
    """The value of the address `key`; `REMOVED` for none, and for one that cannot be read."""
    plain = value_at(values, tuple(key.split(".")))
    if plain is not REMOVED:
        return plain
    try:
        place = find(values, key)
    except ValueError:
        return REMOVED
    return value_at(values, place.path) if isinstance(place, Found) and not place.missing else REMOVED


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
