"""Numbers, true and false of data in the fields of an edit that take text.

A placeholder that is alone is its value, so that a front matter key can get a number. A cell, a heading
or a payload has text only: there it is written as it would be inside a longer text.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from mdplan.bot.manifest.placeholders import text_of
from mdplan.field_names import EDIT_SYNONYMS, camel_case
from mdplan.requests.spellings import op_of, operation_named

_LISTS: Final = frozenset({tuple, list})
_MAPS: Final = frozenset({dict, Mapping})


def with_texts(filled: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The edit `filled`, made of `written` in a manifest, with text where values of data belong to text.

    What the manifest itself has in such a place is left to the request reader, which refuses it.
    """
    model = operation_named(op_of(filled))
    if model is None:
        return dict(filled)
    return {name: _fitted(value, written.get(name), _of_field(model, name)) for name, value in filled.items()}


def _fitted(value: Any, written: object, wanted: tuple[Any, ...]) -> Any:  # noqa: ANN401 (any JSON)
    """`value`, which came of `written`, where one of the types `wanted` is asked for."""
    # A text that became something else was a placeholder, and all below it is data.
    is_data = isinstance(written, str)
    match value:
        case bool() | int() | float():
            return text_of(value) if is_data and _takes_text(wanted) else value
        case Mapping():
            below = written if isinstance(written, Mapping) else {}
            return {
                name: _fitted(part, written if is_data else below.get(name), _below(wanted, name))
                for name, part in value.items()
            }
        case list():
            items = written if isinstance(written, Sequence) and not is_data else ()
            inner = _below(wanted, 0)
            return [
                _fitted(part, written if is_data else items[index] if index < len(items) else None, inner)
                for index, part in enumerate(value)
            ]
        case _:
            return value


def _takes_text(wanted: tuple[Any, ...]) -> bool:
    """Whether text is among `wanted` and no number; where a path of texts is, one text is one as well."""
    plain = {str if each == tuple[str, ...] else each for each in wanted}
    return str in plain and not plain & {int, float, bool, Any}


@cache
def _of_field(model: type[Any], name: str) -> tuple[Any, ...]:
    """The types that the field `name` of `model`, in any spelling of it, takes."""
    camel = camel_case(name)
    names = {camel, EDIT_SYNONYMS.get(camel, camel)}
    for own, declared in model.model_fields.items():
        if (declared.alias or own) in names:
            return _types(declared.annotation)
    return ()


def _below(wanted: tuple[Any, ...], part: str | int) -> tuple[Any, ...]:
    """The types of what is at `part`, a name or an index, in a value of one of `wanted`."""
    found: list[Any] = []
    for each in wanted:
        origin = get_origin(each)
        if isinstance(part, str) and hasattr(each, "model_fields"):
            found += _of_field(each, part)
        elif isinstance(part, str) and origin in _MAPS:
            found += _types(get_args(each)[1])
        elif isinstance(part, int) and origin in _LISTS:
            found += _types(get_args(each)[0])
    return tuple(found)


def _types(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 (any type)
    """The members of a union, without None and what is annotated to them."""
    if get_origin(annotation) in {Union, UnionType}:
        return tuple(each for member in get_args(annotation) for each in _types(member))
    if hasattr(annotation, "__metadata__"):
        return _types(annotation.__origin__)
    return () if annotation is NoneType else (annotation,)
