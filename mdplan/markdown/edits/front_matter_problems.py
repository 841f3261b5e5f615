"""Which key of front matter a caller means, and what is wrong with it or with the front matter.

A caller may write a path with dots. Dots are between maps, but some names have dots themselves, such as
`ms.date`: what is there decides.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from mdplan.data.change import REMOVED, Change, KeyChange, value_at
from mdplan.data.content import keys_of
from mdplan.data.json_values import other_value as not_expected
from mdplan.data.node import DataError, Names
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.front_matter.location import FrontMatterFormat
from mdplan.markdown.front_matter.values import FrontMatterContent, Unreadable
from mdplan.markdown.outline.outline import Outline
from mdplan.text.document_format import DocumentFormat
from mdplan.text.search.similar_names import nearest_names
from mdplan.text.source import visible
from mdplan.text.span import Position

_LISTED: Final = 8
_LONGEST: Final = 60
OTHER_VALUE: Final = (
    "to change it, send that as `expectedValue`; in many files, "
    "send as `files` the names that search with where finds"
)
_EDIT_AS_TEXT: Final = "edit the lines themselves with replace_lines or replace_match"


def no_block(*, may_create: bool) -> Diagnostic:
    """FRONT_MATTER_NOT_FOUND, where the operation may create a block or not."""
    create = '; `"createIfMissing": true` would make it' if may_create else ""
    return Diagnostic(
        code=Code.FRONT_MATTER_NOT_FOUND,
        message="the file has no front matter",
        hint=f"front matter starts with `---` or `+++` on the very first line{create}",
    )


def unreadable(outline: Outline, why: Unreadable) -> Diagnostic:
    """FRONT_MATTER_INVALID, or DATA_INVALID, for what cannot be read, or not with safety."""
    place = position_of(outline, why.offset)
    at = f" at line {place.line}" if place else ""
    return _invalid(outline, f"cannot be edited by keys{at}: {why.reason}", place)


def cannot_change(outline: Outline, error: DataError) -> Diagnostic:
    """The problem of a change that cannot be made, or whose side effects cannot be ruled out."""
    return _invalid(outline, f"cannot be edited this way: {error.reason}", position_of(outline, error.offset))


def _invalid(outline: Outline, what: str, place: Position | None) -> Diagnostic:
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    return Diagnostic(
        code=Code.FRONT_MATTER_INVALID if is_markdown else Code.DATA_INVALID,
        message=f"the {'front matter' if is_markdown else 'file'} {what}",
        hint=_EDIT_AS_TEXT,
        place=place,
    )


def key_not_found(content: FrontMatterContent, key: Names) -> Diagnostic:
    """KEY_NOT_FOUND with the nearest keys, else the first ones."""
    names_of_keys = (".".join(map(str, each)) for each in keys_of(content.values))
    near = nearest_names(".".join(key), names_of_keys)
    if near:
        advice = f"did you mean {' or '.join(f'`{visible(name)}`' for name in near)}?"
    elif content.values:
        names = [f"`{visible(shortened(name))}`" for name in content.values]
        advice = f"its keys are {', '.join(names[:_LISTED])}{', …' if len(names) > _LISTED else ''}"
    else:
        advice = "it has no keys"
    return Diagnostic(
        code=Code.KEY_NOT_FOUND, message=f"the front matter has no key {shown(key)}", hint=advice
    )


def ambiguous_key(keys: Sequence[Names]) -> Diagnostic:
    """INVALID_ARGUMENT for a dotted key that could mean any of `keys`."""
    spelled = (f'`"key": {json.dumps(list(key), ensure_ascii=False)}`' for key in keys)
    return Diagnostic.invalid(
        "the dots of this key could be part of a name, as in others here, or separate maps",
        f"send an array: {' or '.join(spelled)}",
    )


def null_in_toml(content: FrontMatterContent, value: object) -> Iterator[Diagnostic]:
    """INVALID_ARGUMENT where `value` is null, or holds one, and the block is TOML."""
    if content.format is FrontMatterFormat.TOML and _contains_null(value):
        yield Diagnostic.invalid(
            "TOML has no null", "delete the key with delete_front_matter, or give another value"
        )


def not_of_kind(outline: Outline, content: FrontMatterContent, key: Names, wanted: str) -> Diagnostic:
    """INVALID_ARGUMENT for the value of `key`, which is not `wanted`."""
    place = place_of(outline, content, key)
    at = f" at line {place.line}" if place else ""
    return Diagnostic.invalid(
        f"{shown(key)}{at} is {kind_of(value_at(content.values, key))}, not {wanted}",
        "name another key, or give this one a new value with set_front_matter",
        place=place,
    )


def other_value(outline: Outline, content: FrontMatterContent, key: Names, expected: object) -> Diagnostic:
    """TEXT_MISMATCH for the value of `key`, which is not `expectedValue`."""
    place = place_of(outline, content, key)
    at = f" at line {place.line}" if place else ""
    return Diagnostic(
        code=Code.TEXT_MISMATCH,
        message=not_expected(f"{shown(key)}{at}", value_at(content.values, key), expected),
        hint=OTHER_VALUE,
        place=place,
    )


def _contains_null(value: object) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each is None:
            return True
        waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return False


def shown(key: Names) -> str:
    """`key` as a caller writes it: dotted, or an array where one of its parts has a dot."""
    has_dot = any("." in element for element in key)
    text = json.dumps(list(key), ensure_ascii=False) if has_dot else ".".join(key)
    return f"`{visible(shortened(text))}`"


def shortened(text: str) -> str:
    """`text`, or the beginning of a long one."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if value is REMOVED:
        return "missing"
    if value is None:
        return "empty"
    names = {
        dict: "a map",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "a date or time")


def place_of(outline: Outline, content: FrontMatterContent, key: Names) -> Position | None:
    """Where `key`, or the nearest map around it, is; None where that is not known."""
    lengths = range(len(key), 0, -1)
    found = next((content.places[key[:n]] for n in lengths if key[:n] in content.places), None)
    return position_of(outline, found.start if found else None)


def position_of(outline: Outline, offset: int | None) -> Position | None:
    """Position of `offset`, which counts from the start of the front matter, or of a file of keys."""
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    if offset is None or (is_markdown and outline.front_matter is None):
        return None
    start = outline.front_matter.content.start if outline.front_matter else 0
    return outline.source.lines.position(start + offset)


def elements_of(given: str | Sequence[str]) -> Names:
    """The path that `given` is: a string is split at dots. Raises `ValueError` where a part is empty."""
    key = tuple(given.split(".")) if isinstance(given, str) else tuple(given)
    if not all(key):
        msg = "a key between the dots is empty; a key that has such dots itself goes into an array"
        raise ValueError(msg)
    return key


def find_key(content: FrontMatterContent, given: str | Sequence[str]) -> Names | Diagnostic:
    """The path that `given` means in `content`, whether it is there or not.

    An array is taken as it is. A string with dots means the one key that is there and can be read so; where
    none is, dots are between maps. Errors: INVALID_ARGUMENT where that cannot be told: several keys are
    there, or others next to the missing one have dots in their names.
    """
    key = elements_of(given)
    if not isinstance(given, str) or len(key) == 1:
        return key
    found = list(_readings(content.values, key))
    if len(found) > 1:
        return ambiguous_key(found)
    if found:
        return found[0]
    return _missing(content, key)


def _readings(values: Mapping[str, object], key: Names) -> Iterator[Names]:
    """All paths in `values` whose elements are those of `key`, some of them joined by dots."""
    for length in range(1, len(key) + 1):
        name = ".".join(key[:length])
        inner = values.get(name)
        if name in values and length == len(key):
            yield (name,)
        elif isinstance(inner, dict):
            yield from ((name, *rest) for rest in _readings(inner, key[length:]))


def _missing(content: FrontMatterContent, key: Names) -> Names | Diagnostic:
    values: Mapping[str, object] = content.values
    for depth, element in enumerate(key):
        inner = values.get(element)
        if element not in values and any(name.startswith(f"{element}.") for name in values):
            literal = (*key[:depth], ".".join(key[depth:]))
            return ambiguous_key([literal, key]) if depth < len(key) - 1 else key
        if not isinstance(inner, dict):
            return key
        values = inner
    return key


_TYPES: Final[Mapping[type, str]] = {bool: "boolean", int: "number", float: "number", str: "string"}


def type_changes(values: object, changes: Iterable[Change]) -> Iterator[Diagnostic]:
    """FRONT_MATTER_TYPE for each scalar of `values` that gets one of another type."""
    for change in changes:
        if not isinstance(change, KeyChange):
            continue
        old = _TYPES.get(type(value_at(values, change.key)))
        new = _TYPES.get(type(change.value))
        if old is not None and new is not None and old != new:
            yield Diagnostic.warning(
                Code.FRONT_MATTER_TYPE,
                f"`{visible('.'.join(map(str, change.key)))}` was a {old} and is a {new} now",
                f'to keep text, put the value in quotes: `"{_as_text(change.value)}"`'
                if old == "string"
                else "send the value as the type that it should have: false and 3 without quotes",
            )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
