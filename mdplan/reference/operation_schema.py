"""JSON Schemas of edits and requests, made from their models."""

from collections.abc import Mapping
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


def prose(docstring: str | None) -> str:
    """A docstring as Markdown in which each paragraph is one line, without its examples in Python."""
    paragraphs = cleandoc(docstring or "").replace("``", "`").split("\n\n")
    kept = (paragraph for paragraph in paragraphs if not paragraph.startswith(">>> "))
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in kept)


def tidied(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """A schema of pydantic without titles, which repeat the names, and without null for what is absent."""
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
