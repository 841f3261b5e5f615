"""JSON Schemas of what goes in and what comes out, made from the models and dataclasses themselves.

They describe the wire in its plain form: what the request reader folds (synonyms, snake_case, null for
absent) is accepted, but no one should send it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import cleandoc
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic.alias_generators import to_camel

from mdplan.operations import OPERATIONS
from mdplan.plan import EditResult
from mdplan.reports.base import Report
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.stat import StatReport
from mdplan.requests.batch import Batch, FileEdits

Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: Final[Mapping[object, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SHA256_OR_NULL: Final[Schema] = {**_SHA256, "type": ["string", "null"]}
_GLOB: Final[Schema] = {
    "type": "string",
    "description": 'In place of file: all files that match, such as "docs/**/*.md", get the same edits.',
}
_BACKTICKED: Final = re.compile(r"`(\w+)`")
_PLAN_ID: Final[Schema] = {"type": "string", "pattern": "^sha256-[0-9a-f]{64}$"}


def operation_schema(op: str) -> Schema:
    """Schema of one edit with the operation `op`, a key of `OPERATIONS`."""
    model = OPERATIONS[op]
    schema = _tidied(model.model_json_schema(by_alias=True))
    return {"$schema": _DIALECT, **schema, "examples": [dict(model.example)]}


def model_schema(model: type[Any]) -> Schema:
    """Schema of a request: a class of pydantic, or a dataclass."""
    schema: Schema = _tidied(TypeAdapter(model).json_schema(by_alias=True))
    return schema


def batch_schema() -> Schema:
    """Schema of a batch: ``{file, edits}`` for one file, or ``{files: [{file, edits}]}`` for one or many."""
    schema = _tidied(_full_batch_model().model_json_schema(by_alias=True))
    definitions = schema["$defs"]
    for model in OPERATIONS.values():
        definitions[model.__name__]["examples"] = [dict(model.example)]
    of_files = definitions["FileEdits"]
    one_file = of_files["properties"] = {**of_files["properties"], "glob": _GLOB}
    required = [name for name in of_files["required"] if name != "file"]
    of_files |= {"required": required, "oneOf": [{"required": ["file"]}, {"required": ["glob"]}]}
    return {
        "$schema": _DIALECT,
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
    """The model of a batch, with the models of all operations in place of their base class."""
    any_operation = Annotated[Union[tuple(OPERATIONS.values())], Field(discriminator="op")]  # type: ignore[valid-type]  # noqa: UP007
    of_file = _with_items(FileEdits, "edits", any_operation)
    return _with_items(Batch, "files", of_file)


def _with_items(model: type[BaseModel], name: str, item: object) -> type[BaseModel]:
    """`model` whose field `name` contains a tuple of `item`."""
    field: Any = (GenericAlias(tuple, (item, ...)), model.model_fields[name])
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **{name: field})


def inlined(schema: Any, definitions: Mapping[str, Schema]) -> Any:  # noqa: ANN401 (any JSON)
    """`schema` with `definitions` in place of its references.

    What a definition says of itself is for readers of the code: a field has its own description.
    """
    if isinstance(schema, list):
        return [inlined(item, definitions) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], "description": "", **schema}
    return {
        name: inlined(item, definitions)
        for name, item in schema.items()
        if name not in {"$ref", "$defs"} and not (name == "description" and item == "")
    }


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
        "requested": {"type": "array", "items": {"type": "object"}, "description": "Edits as asked for."},
        "textEdits": {
            "type": "array",
            "items": text_edit,
            "description": "[start, end, new text]: half-open, in code points of the base without its BOM.",
        },
    }
    return {
        "$schema": _DIALECT,
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
    return {"$schema": _DIALECT, "title": shape.__name__, **own, "$defs": dict(sorted(definitions.items()))}


# All schemas by the name of their file in `schemas/`.
SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = {
    "apply-report": lambda: report_schema(ApplyReport),
    "batch": batch_schema,
    "plan": plan_schema,
    "plan-report": lambda: report_schema(PlanReport),
    "stat-report": lambda: report_schema(StatReport),
}


def prose(docstring: str | None) -> str:
    """A docstring as Markdown in which each paragraph is one line, without its examples in Python."""
    paragraphs = cleandoc(docstring or "").replace("``", "`").split("\n\n")
    kept = (paragraph for paragraph in paragraphs if not paragraph.startswith(">>> "))
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in kept)


def _of_type(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401 (a type, or what annotates as one)
    """Schema of values of a type that reports are made of; dataclasses and enums go into `definitions`."""
    kind = getattr(kind, "__supertype__", kind)
    if kind is Any:
        return {}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum)):
        if kind.__name__ not in definitions:
            made = _of_enum(kind) if issubclass(kind, Enum) else _of_dataclass(kind, definitions)
            definitions[kind.__name__] = made
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        # What is absent is omitted; what was stored of a dataclass comes back as a mapping like it.
        return _of_type(next(argument for argument in arguments if argument is not NoneType), definitions)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return {"type": "array", "items": _of_type(arguments[0], definitions)}
    assert isinstance(origin, type), f"reports hold no {kind}"
    assert issubclass(origin, Mapping), f"reports hold no {kind}"
    return {"type": "object", "additionalProperties": _of_type(arguments[1], definitions)}


def _of_dataclass(kind: type[Any], definitions: dict[str, Schema]) -> Schema:
    hints = get_type_hints(kind)
    names = {field.name: to_camel(field.name) for field in fields(kind)}
    properties = {wire: _of_type(hints[name], definitions) for name, wire in names.items()}
    may_be_absent = {name for name in names if NoneType in get_args(hints[name])} | {"hint"}
    required = [wire for name, wire in names.items() if name not in may_be_absent]
    description = _BACKTICKED.sub(lambda match: f"`{names.get(match[1], match[1])}`", prose(kind.__doc__))
    return {"description": description, **_object(properties, required)}


def _of_enum(kind: type[Enum]) -> Schema:
    return {"description": prose(kind.__doc__), "type": "string", "enum": [each.value for each in kind]}


def _object(properties: Schema, required: Sequence[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _tidied(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """A schema of pydantic without titles, which repeat the names, and without null for what is absent."""
    if isinstance(value, list):
        return [_tidied(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("description"), str):
        value = {**value, "description": prose(value["description"])}
    kept = {
        name: _tidied(item)
        for name, item in value.items()
        if not (name == "title" and isinstance(item, str)) and not (name == "default" and item is None)
    }
    present = [option for option in kept.get("anyOf", ()) if option != {"type": "null"}]
    if len(present) > 1:
        return {**kept, "anyOf": present}
    if not present:
        return kept
    del kept["anyOf"]
    return {**present[0], **kept}
