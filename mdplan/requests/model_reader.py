"""From decoded JSON to a value of a model, or to everything that is wrong with it.

A model is a class of pydantic, or a plain dataclass such as the requests of stat, read and search.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from mdplan.diagnostics import Diagnostic
from mdplan.field_names import camel_case, has_surrogate, unknown_fields

# Python writes no number of more than 4,300 digits.
MOST_BITS: Final = 10_000
_MOST_SHOWN: Final = 100

# A class; to mypy a class has no hash.
Model: TypeAlias = Any

# Forms of match options that are folded into flat ones; see `match_options`.
_RICH_FIELDS: Final = frozenset(
    {"expectedMatchCount", "matchSelection", "flags", "nodeExclusions", "scope"},
)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a model: the types that it may have, and what it is for."""

    types: tuple[Any, ...]
    description: str | None

    @property
    def model(self) -> Model:
        """The model of its values; None where they are no objects."""
        return next((each for each in self.types if is_model(each)), None)

    @property
    def is_structured(self) -> bool:
        """Whether it contains an array or object."""
        return self.model is not None or any(get_origin(each) in {tuple, dict} for each in self.types)

    @property
    def is_path(self) -> bool:
        """Whether it contains a heading path and no plain string."""
        is_one = self.types[0] == tuple[str, ...]
        return is_one or (tuple[str, ...] in self.types and str not in self.types)


def is_model(kind: object) -> bool:
    """Whether `kind` is a model of either kind."""
    return hasattr(kind, "model_fields") or (isinstance(kind, type) and is_dataclass(kind))


@cache
def _fields_of(model: Model) -> Mapping[str, _Field]:
    """The fields of `model` by their names in JSON."""
    if hasattr(model, "model_fields"):
        return {
            each.alias or name: _Field(_types_of(each.annotation), each.description)
            for name, each in model.model_fields.items()
        }
    hints = get_type_hints(model)
    return {
        camel_case(each.name): _Field(_types_of(hints[each.name]), each.metadata.get("description"))
        for each in fields(model)
    }


def _types_of(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 (any annotation)
    return (annotation, *get_args(annotation))


def with_decoded_fields(model: Model, given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` with arrays and objects in place of JSON text, and lists in place of one heading of a path."""
    known = _fields_of(model)
    decoded = dict(given)
    for name, value in given.items():
        field = known.get(name)
        if name in _RICH_FIELDS or (field is not None and field.is_structured):
            decoded[name] = decoded_json(value)
        if field is not None and field.is_path and isinstance(decoded[name], str):
            decoded[name] = [decoded[name]]
    return decoded


_SEE_SCHEMA: Final = "see `mdplan schema batch` for what is allowed"


def validated(model: Model, fields: Mapping[str, Any], where: str, hint: str = _SEE_SCHEMA) -> Any:  # noqa: ANN401
    """Instance of `model`, or its errors as diagnostics; `hint` is for fields that do not go together."""
    try:
        return _adapter(model).validate_python(fields)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # An entry that was refused leaves its list short; that the list is then empty is no news.
        inside = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
        found = [each for each in found if each["type"] != "too_short" or each["loc"] not in inside]
        return tuple(value_problem(each, model, where, hint) for each in found)


@cache
def _adapter(model: Model) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def value_problem(error: Mapping[str, Any], model: Model, where: str, hint: str) -> Diagnostic:
    """What pydantic says of a value in a `model`, in our words; `where` is put before its path."""
    name = f"`{where}{_path(error['loc'])}`"
    if error["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        *parents, unknown = error["loc"]
        inside = f"`{where}{_path(parents)}`"
        return next(unknown_fields({str(unknown): None}, wire_names(_model_at(model, parents)), inside))
    if error["type"] == "value_error":
        about = f"{name}: " if error["loc"] else ""
        return Diagnostic.invalid(about + str(error["msg"]).removeprefix("Value error, "), hint)
    if error["type"] == "missing":
        return Diagnostic.invalid(f"{name} is missing", f"give {name}{_meaning(model, error['loc'])}")
    is_what, advice = _in_words(str(error["type"]), error.get("ctx", {}), str(error["msg"]))
    return Diagnostic.invalid(
        f"{name} {is_what}", advice + _as_wanted(str(error["type"]), error.get("input"))
    )


def _meaning(model: Model, location: Sequence[str | int]) -> str:
    """What the field at `location` in a `model` is for, after a colon; nothing where nobody says."""
    *parents, name = location
    field = _fields_of(_model_at(model, parents)).get(str(name))
    text = field.description if field is not None else None
    if not text:
        return ""
    # A name in capitals keeps them.
    return f": {text if text[:2].isupper() else text[0].lower() + text[1:]}".rstrip(".")


def _as_wanted(kind: str, given: object) -> str:
    """The `given` value in the form that was wanted, after a colon, where that is plain to see."""
    if kind == "string_type" and isinstance(given, int | float) and not is_huge(given):
        return f": {json.dumps(json.dumps(given))}"
    if kind in _OBJECTS and isinstance(given, list) and [type(each) for each in given] == [int, int]:
        return f': {{"start": {given[0]}, "end": {given[1]}}}'
    if kind in _OBJECTS and type(given) is int:
        return f': {{"index": {given}}}'
    if kind == "tuple_type" and isinstance(given, str) and len(given) <= _MOST_SHOWN:
        return f": {json.dumps([given], ensure_ascii=False)}"
    return ""


def _in_words(kind: str, context: Mapping[str, Any], message: str) -> tuple[str, str]:
    """What is wrong with a value, as the end of a sentence about it, and what to do."""
    match kind:
        case "too_short":
            words = "is empty", "give at least one entry"
        case "string_too_short":
            words = "is empty", "give at least one character"
        case "greater_than_equal":
            words = f"is less than {context['ge']}", f"send {context['ge']} or more"
        case "less_than_equal":
            words = f"is more than {context['le']}", f"send {context['le']} or less"
        case "enum" | "literal_error":
            words = f"is not one of {context['expected']}", "use one of them"
        case "string_pattern_mismatch":
            words = f"does not match `{context['pattern']}`", "send it in that form"
        case _ if kind in _KINDS:
            words = f"is not {_KINDS[kind]}", f"send {_KINDS[kind]}"
        case _:
            words = f"is refused: {message}", _SEE_SCHEMA
    return words


_OBJECTS: Final = frozenset({"model_type", "model_attributes_type", "dataclass_type"})
_KINDS: Final = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
}


def _path(location: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def decoded_json(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """`value`, or what it contains as JSON text where that is an array or object that a batch may hold."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, list | dict) and not _is_unfit(decoded) else value
    return value


def _is_unfit(decoded: object) -> bool:
    """Whether what was JSON text brings what a batch is refused for: an escape can hide it."""
    return any(has_surrogate(item) if isinstance(item, str) else is_huge(item) for item in items_of(decoded))


def wire_names(model: Model) -> tuple[str, ...]:
    """Names of the fields of `model` in JSON."""
    return tuple(_fields_of(model))


def _model_at(model: Model, location: Sequence[str | int]) -> Model:
    """Model of the object at `location` in one of `model`."""
    for part in location:
        if isinstance(part, str):
            model = _fields_of(model)[part].model
    return model


def is_huge(item: object) -> bool:
    """Whether `item` is a number that is too long for a request."""
    return isinstance(item, int) and item.bit_length() > MOST_BITS


def items_of(value: object) -> list[Any]:
    """All values in decoded JSON, and keys, without recursion: depth is the caller's choice."""
    items = [value]
    # It grows while it is gone through.
    for item in items:
        if isinstance(item, dict):
            items += item.keys()
            items += item.values()
        elif isinstance(item, list):
            items += item
    return items
