"""Whether the front matter of a document says what a search asks for, and what it says there."""

from collections.abc import Mapping
from typing import Any, Final

from mdplan.markdown.front_matter.change import REMOVED, value_at
from mdplan.markdown.front_matter.values import FrontMatterContent, as_json, value_matches
from mdplan.markdown.outline.outline import Outline
from mdplan.requests.search import SearchRequest

_MOST_TEXT: Final = 200


def asked_values(outline: Outline, request: SearchRequest) -> dict[str, Any] | None:
    """The values of the keys that `request` asks about, as JSON; None where one is not as it asks.

    Keys are dotted paths. `where` gives values, of which a list has one where it has such an item; `has` keys
    that must be there; `min` the least number of items, 1 for a value that is no list.
    """
    content = outline.front_matter_content
    if not isinstance(content, FrontMatterContent):
        return None
    found: dict[str, Any] = {}
    for key in dict.fromkeys([*request.where, *request.has, *request.min]):
        value = value_at(content.values, tuple(key.split(".")))
        if value is REMOVED:
            return None
        found[key] = value
    is_so = all(_says(content, found[key], expected) for key, expected in request.where.items()) and all(
        _count(found[key]) >= least for key, least in request.min.items()
    )
    return {key: _short(as_json(value)) for key, value in found.items()} if is_so else None


def _says(content: FrontMatterContent, value: object, expected: object) -> bool:
    if isinstance(value, list) and not isinstance(expected, list):
        return any(value_matches(content.format, each, expected) for each in value)
    return value_matches(content.format, value, expected)


def _count(value: object) -> int:
    if value is None or value == "":
        return 0
    return len(value) if isinstance(value, list | Mapping) else 1


def _short(value: object) -> object:
    return f"{value[:_MOST_TEXT]}…" if isinstance(value, str) and len(value) > _MOST_TEXT else value
