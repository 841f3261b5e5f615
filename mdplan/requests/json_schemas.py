"""JSON Schemas of input and output, generated from the models and Structs.

They describe the plain wire form. The request reader also accepts synonyms, snake_case and null for absent
fields, but clients should not send them.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.alias_generators import to_camel

from mdplan.operations import OPERATIONS
from mdplan.plan import EditResult
from mdplan.reports.base import Report
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.stat import StatReport
from mdplan.requests.batch import Batch, FileEdits
from mdplan.requests.schemas import DIALECT, Schema, prose, tidied
from mdplan.requests.spellings import SPELLINGS
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct

_SCALARS: Final[Mapping[object, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SHA256_OR_NULL: Final[Schema] = {**_SHA256, "type": ["string", "null"]}

_GLOB: Final[Schema] = {
    "type": "string",
    "description": 'Instead of file: all files that match, such as "docs/**/*.md", get the same edits.',
}

_OTHER_SPELLING: Final[Schema] = {
    "type": "object",
    "description": "An operation by a name of earlier versions, with the fields that it had.",
    "properties": {"op": {"enum": sorted(SPELLINGS)}},
    "required": ["op"],
}

_BACKTICKED: Final = lazy_pattern(r"`(\w+)`")
_PLAN_ID: Final[Schema] = {"type": "string", "pattern": "^sha256-[0-9a-f]{64}$"}


def batch_schema() -> Schema:
    """Schema of a batch: ``{file, edits}`` for one file, or ``{files: [{file, edits}]}`` for one or many."""
    schema = tidied(_full_batch_model().model_json_schema(by_alias=True))
    definitions = schema["$defs"]
    for model in OPERATIONS.values():
        definitions[model.__name__]["examples"] = [dict(model.example)]
    of_files = definitions["FileEdits"]
    definitions["OtherSpelling"] = _OTHER_SPELLING
    of_files["properties"]["edits"]["items"]["oneOf"].append({"$ref": "#/$defs/OtherSpelling"})
    one_file = of_files["properties"] = {**of_files["properties"], "glob": _GLOB}
    required = [name for name in of_files["required"] if name != "file"]
    of_files |= {"required": required, "oneOf": [{"required": ["file"]}, {"required": ["glob"]}]}
    return {
        "$schema": DIALECT,
        "title": "Batch",
        "description": "Edits of one file, or of several, applied whole or not at all.",
        "type": "object",
        "properties": {**one_file, **schema["properties"]},
        "oneOf": [
            {"required": ["files"], "not": {"anyOf": [{"required": [name]} for name in one_file]}},
            {
                "required": ["file", *required],
                "not": {"anyOf": [{"required": ["files"]}, {"required": ["glob"]}]},
            },
            {
                "required": ["glob", *required],
                "not": {"anyOf": [{"required": ["files"]}, {"required": ["file"]}]},
            },
        ],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _full_batch_model() -> type[BaseModel]:
    """Return the model of a batch with the models of all operations in place of their base class."""
    any_operation = Annotated[Union[tuple(OPERATIONS.values())], Field(discriminator="op")]  # type: ignore[valid-type]  # noqa: UP007
    of_file = _with_items(FileEdits, "edits", any_operation)
    return _with_items(Batch, "files", of_file)


def _with_items(model: type[BaseModel], name: str, item: object) -> type[BaseModel]:
    """Return `model` with a tuple of `item` as the field `name`."""
    field: Any = (GenericAlias(tuple, (item, ...)), model.model_fields[name])
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **{name: field})


def plan_schema() -> Schema:
    """Schema of a plan document, as `mdplan plan --output` writes it."""
    definitions: dict[str, Schema] = {}
    results = _of_type(tuple[EditResult, ...], definitions)
    hashes = {"type": "object", "additionalProperties": {"type": "string"}}
    count = {"type": "integer", "minimum": 0}
    text_edit = {"type": "array", "prefixItems": [count, count, {"type": "string"}]}
    file = {
        "path": {"type": "string"},
        "newPath": {"type": ["string", "null"], "description": "The path that a renaming gives the file."},
        "encoding": {"type": ["string", "null"]},
        "format": {"type": ["string", "null"]},
        "baseSha256": {**_SHA256_OR_NULL, "description": "Null for a file that is created."},
        "resultSha256": {**_SHA256_OR_NULL, "description": "Null for a file that is deleted."},
        "linesAdded": count,
        "linesRemoved": count,
        "referencesUpdated": {**count, "description": "Links that were rewritten."},
        "baseSections": {**hashes, "description": "Own hashes of the base's sections, by section ID."},
        "requested": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Edits as asked for; new values with unsorted keys are their JSON text.",
        },
        "textEdits": {
            "type": "array",
            "items": text_edit,
            "description": "[start, end, new text]: half-open, in code points of the base without its BOM.",
        },
    }
    return {
        "$schema": DIALECT,
        "title": "Plan",
        "description": "A plan as a file. It proves itself: its ID is hashed again from its content.",
        **_object(
            {
                "mdplanPlan": {"const": 2},
                "planId": _PLAN_ID,
                "engine": {"type": "string", "description": "Version of mdplan that made the plan."},
                "files": {"type": "array", "items": _object(file, list(file)), "minItems": 1},
                "options": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "effects": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
                    "description": "For each edit, text by text: section ID, hashes of old, new, around.",
                },
                "editResults": results,
                "warnings": {"type": "array", "items": {"$ref": "#/$defs/Diagnostic"}},
            },
            ["mdplanPlan", "planId", "engine", "files", "options", "effects", "editResults", "warnings"],
        ),
        "$defs": dict(sorted(definitions.items())),
    }


def report_schema(shape: type[Report]) -> Schema:
    """Schema of a report as `to_wire` writes it."""
    definitions: dict[str, Schema] = {}
    _of_type(shape, definitions)
    own = definitions.pop(shape.__name__)
    return {"$schema": DIALECT, "title": shape.__name__, **own, "$defs": dict(sorted(definitions.items()))}


def _of_type(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401 (a type, or what annotates as one)
    """Schema of values of a type that reports are made of; Structs and enums go into `definitions`."""
    kind = getattr(kind, "__supertype__", kind)
    if kind is Any:
        return {}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if isinstance(kind, type) and issubclass(kind, Struct | Enum):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = (
                {"description": prose(kind.__doc__), "type": "string", "enum": [each.value for each in kind]}
                if issubclass(kind, Enum)
                else _of_struct(kind, definitions)
            )
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        # Absent fields are omitted; a stored Struct comes back as a mapping.
        return _of_type(next(argument for argument in arguments if argument is not NoneType), definitions)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return {"type": "array", "items": _of_type(arguments[0], definitions)}
    assert isinstance(origin, type), f"reports contain no {kind}"
    assert issubclass(origin, Mapping), f"reports contain no {kind}"
    return {"type": "object", "additionalProperties": _of_type(arguments[1], definitions)}


def _of_struct(kind: type[Struct], definitions: dict[str, Schema]) -> Schema:
    hints = get_type_hints(kind)
    off_wire = getattr(kind, "_off_wire", ())
    names = {name: to_camel(name) for name in kind.__struct_fields__ if name not in off_wire}
    properties = {wire: _of_type(hints[name], definitions) for name, wire in names.items()}
    may_be_absent = {name for name in names if NoneType in get_args(hints[name])} | {"hint"}
    required = [wire for name, wire in names.items() if name not in may_be_absent]
    description = _BACKTICKED.sub(lambda match: f"`{names.get(match[1], match[1])}`", prose(kind.__doc__))
    return {"description": description, **_object(properties, required)}


def _object(properties: Schema, required: Sequence[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


# All schemas by the name of their file in `schemas/`.
SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = {
    "apply-report": lambda: report_schema(ApplyReport),
    "batch": batch_schema,
    "plan": plan_schema,
    "plan-report": lambda: report_schema(PlanReport),
    "stat-report": lambda: report_schema(StatReport),
}
