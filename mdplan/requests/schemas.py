"""JSON Schemas of edits and requests, made from their models."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Final

from pydantic import TypeAdapter

from mdplan.operations import OPERATIONS

Schema = dict[str, Any]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def operation_schema(op: str) -> Schema:
    """Schema of one edit with the operation `op`, a key of `OPERATIONS`."""
    model = OPERATIONS[op]
    schema = tidied(model.model_json_schema(by_alias=True))
    return {"$schema": DIALECT, **schema, "examples": [dict(model.example)]}


def model_schema(model: type[Any]) -> Schema:
    """Schema of a request: a class of pydantic, or a dataclass."""
    schema: Schema = tidied(TypeAdapter(model).json_schema(by_alias=True))
    return schema


def inlined(schema: Any, definitions: Mapping[str, Schema]) -> Any:  # noqa: ANN401 (any JSON)
    """Return `schema` with `definitions` in place of references.

    Descriptions of definitions are dropped: they address readers of the code, and fields have their own.
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


def prose(docstring: str | None) -> str:
    """Return a docstring as Markdown: one line per paragraph, without Python examples."""
    paragraphs = cleandoc(docstring or "").replace("``", "`").split("\n\n")
    kept = (paragraph for paragraph in paragraphs if not paragraph.startswith(">>> "))
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in kept)


def tidied(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return a pydantic schema without titles, which repeat the names, and without null for absent fields."""
    if isinstance(value, list):
        return [tidied(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("description"), str):
        value = {**value, "description": prose(value["description"])}
    kept = {
        name: tidied(item)
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


# --- The reference of an operation, made from its model: for its page, and for `mdplan help`.


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReference:
    """A field of an operation. `kind` describes its type; `default` is JSON, or None for a required field."""

    name: str
    kind: str
    is_required: bool
    default: object
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationReference:
    """An operation: its summary, further paragraphs, fields (required ones first) and an example edit.

    `file` is the name of a suitable file.
    """

    op: str
    summary: str
    details: str
    fields: tuple[FieldReference, ...]
    example: Mapping[str, object]
    file: str


def operation_reference(op: str) -> OperationReference:
    """Reference of the operation `op`, a key of `OPERATIONS`."""
    model, schema = OPERATIONS[op], operation_schema(op)
    summary, _, details = prose(model.__doc__).partition("\n\n")
    found = [_field(name, field, schema) for name, field in schema["properties"].items() if name != "op"]
    return OperationReference(
        op=op,
        summary=summary,
        details=details,
        fields=tuple(sorted(found, key=lambda field: not field.is_required)),
        example=model.example,
        file=model.example_file,
    )


def _field(name: str, field: Schema, schema: Schema) -> FieldReference:
    return FieldReference(
        name=name,
        kind=_kind(field, schema.get("$defs", {})),
        is_required=name in schema["required"],
        default=field.get("default") if field.get("default") != [] else None,
        description=field["description"],
    )


def _kind(field: Schema, definitions: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return _kind(definitions[field["$ref"].rpartition("/")[2]], definitions)
    choices = field.get("enum") or [_kind(choice, definitions) for choice in field.get("anyOf", ())]
    if choices:
        return " | ".join(choices)
    match field.get("type"):
        case None:
            kind = "any JSON"
        case "array":
            kind = f"list of {_kind(field['items'], definitions)}"
        case "object" if "properties" not in field:
            value = field["additionalProperties"]
            kind = f"{{name: {_kind({} if value is True else value, definitions)}}}"
        case "object":
            parts = (f"{name}: {_kind(inner, definitions)}" for name, inner in field["properties"].items())
            kind = f"{{{', '.join(parts)}}}"
        case other:
            kind = {"integer": "number", "boolean": "true | false"}.get(other, str(other))
    return kind
