"""JSON Schema of a manifest, for editors: named in `$schema`, or in a comment that they read."""

from typing import Any, Final

from mdplan.bot.manifest.expansion import AT, ONLY_IF_CHANGED
from mdplan.bot.manifest.model import Manifest
from mdplan.bot.manifest.places import PagePlace
from mdplan.requests.json_schemas import batch_schema
from mdplan.requests.schemas import Schema, model_schema

_TEXT: Final[Schema] = {"type": "string"}
_PLACEHOLDER: Final[Schema] = {
    "description": "A value that is filled in: {{vars.version}}, {{path}}, {{frontMatter.title}}, ….",
    "type": "string",
    "pattern": r"\{\{",
}
_LIST: Final[Schema] = {**_TEXT, "description": "Name of a list, as in a placeholder: data.rows."}
_ENTRY: Final[Schema] = {**_TEXT, "description": "What an entry is called inside; `item` when absent."}
_EDIT: Final[Schema] = {"$ref": "#/$defs/Edit"}


def manifest_schema() -> Schema:
    """Schema of a manifest: its own fields, and the edits of a batch with placeholders and loops in them."""
    schema = model_schema(Manifest)
    batch = batch_schema()["$defs"]
    edits = batch.pop("FileEdits")["properties"]["edits"]["items"]
    definitions = {name: _open(definition) for name, definition in batch.items()}
    definitions |= schema["$defs"]
    definitions["Rule"]["properties"]["edits"]["items"] = _EDIT
    definitions["Rule"]["oneOf"] = [{"required": ["file"]}, {"required": ["glob"]}]
    definitions["Edit"] = {"anyOf": [*edits["oneOf"], {"$ref": "#/$defs/EditLoop"}]}
    definitions["EditLoop"] = _loop(
        "Its edits, once for each entry of a list.",
        {"edits": {"type": "array", "items": _EDIT, "minItems": 1}},
        ["forEach", "edits"],
    )
    definitions["TextLoop"] = _loop(
        "A text that is made of one text for each entry of a list, such as rows or items.",
        {
            "text": {**_TEXT, "description": "Text of one entry."},
            "between": {**_TEXT, "description": "Text between two entries."},
            "before": {**_TEXT, "description": "Text before the first entry, if there is one."},
            "after": {**_TEXT, "description": "Text after the last entry, if there is one."},
        },
        ["forEach", "text"],
    )
    definitions["Placeholder"] = _PLACEHOLDER
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Manifest",
        **{name: value for name, value in schema.items() if name != "$defs"},
        "$defs": dict(sorted(definitions.items())),
    }


def _open(definition: Schema) -> Schema:
    """A part of an edit, in which anything but its `op` may be filled in."""
    properties = definition.get("properties")
    if properties is None:
        return definition
    opened: dict[str, Any] = {
        name: value if name == "op" else _fillable(value) for name, value in properties.items()
    }
    if "op" in properties:
        opened["comment"] = {"description": "For people."}
        if "headingPath" in properties:
            opened[AT] = {
                "type": "string",
                "enum": list(PagePlace),
                "description": "The section, by what it is on each page.",
            }
        opened[ONLY_IF_CHANGED] = {
            "type": "boolean",
            "description": "Apply this edit only where another edit of the manifest changes the file.",
        }
    return {**definition, "properties": opened}


def _fillable(value: Schema) -> Schema:
    choices = [{"$ref": "#/$defs/TextLoop"}]
    if value.get("type") != "string" or "pattern" in value or "enum" in value or "const" in value:
        choices.append({"$ref": "#/$defs/Placeholder"})
    about: Schema = {name: value[name] for name in ("description", "default") if name in value}
    kept: Schema = {name: each for name, each in value.items() if name not in about}
    return {**about, "anyOf": [kept, *choices]}


def _loop(description: str, properties: Schema, required: list[str]) -> Schema:
    return {
        "description": description,
        "type": "object",
        "properties": {
            "forEach": _LIST,
            "as": _ENTRY,
            **properties,
            "comment": {"description": "For people."},
        },
        "required": required,
        "additionalProperties": False,
    }
