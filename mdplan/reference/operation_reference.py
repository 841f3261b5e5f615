"""The reference of an operation, made from its model: for its page, and for `mdplan help`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation
from mdplan.reference.operation_schema import Schema, operation_schema, prose


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReference:
    """One field of an operation. `kind` is its type in words; `default` is JSON, None where there is none."""

    name: str
    kind: str
    is_required: bool
    default: object
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationReference:
    """One operation: a sentence, the paragraphs after it, its fields (required ones first), an edit.

    `file` is the name of a file of the kind that the edit is for.
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
        file=_file(model),
    )


def _file(model: type[Operation]) -> str:
    if model.example_file is not None:
        return model.example_file
    if model.file_effect == "create":
        return "changelog.md"
    return "mkdocs.yml" if model.needs_keys else "guide.md"


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
