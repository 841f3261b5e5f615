"""Published schemas: plain JSON Schema that every known client and model provider takes.

Each property has one type, each array typed items; there is no union, reference, constant or null. What is
optional is absent. The strict models behind it say what goes together, and refuse the rest by name.

The large ones are made once in a process: they take longer than all else that a server does at its start.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from mdplan.field_names import camel_case
from mdplan.operations import IMPLIED, OPERATIONS
from mdplan.operations.base import Operation, SectionTargeted
from mdplan.operations.keys import DataOperation, PlacedOperation
from mdplan.reports.base import Report
from mdplan.requests.json_schemas import batch_schema, report_schema
from mdplan.requests.schemas import Schema, inlined, model_schema, operation_schema

# Mark of a field that callers may give as null because the document that names it does so.
NULLABLE: Final = "x-nullable"
_LONG_LIST: Final = 4
_OF_INPUT: Final = frozenset({"type", "enum", "items", "properties", "required", "description"})
_OF_OUTPUT: Final = frozenset({"type", "items", "properties", "required"})
_SECTION_FIELDS: Final = frozenset(
    field.alias or name for name, field in SectionTargeted.model_fields.items() if name != "op"
)


# Cache of report schemas. mypy does not take a class for a key of `cache`.
_REPORT_SCHEMAS: Final[dict[type[Report], Schema]] = {}
_KEY_FIELDS: Final = frozenset(
    {"section", "key", "expectedValue", "occurrence", "sectionSha256", "before", "after", "inOrder"}
)


def object_schema(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Schema of an object."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    names = list(required)
    return {**schema, "required": names} if names else schema


@cache
def batch_properties() -> dict[str, Schema]:
    """Schemas of the fields of a batch and of its one file, except for those that hold edits.

    A glob is for programs, which know what matches: an agent would edit files that it has not seen.
    """
    schema = batch_schema()
    return {
        name: _flat(inlined(field, schema["$defs"]), _OF_INPUT)
        for name, field in schema["properties"].items()
        if name not in {"edits", "files", "glob"}
    }


def request_properties(model: type[Any]) -> dict[str, Schema]:
    """Schemas of the fields of a request, with their descriptions."""
    schema = model_schema(model)
    properties = inlined(schema["properties"], schema.get("$defs", {}))
    return {name: _flat(field, _OF_INPUT) for name, field in properties.items()}


def brief_properties(query: type[Any]) -> dict[str, Schema]:
    """Schemas of the fields of a query with what each says to agents; see `described`."""
    brief = {camel_case(field.name): field.metadata["brief"] for field in fields(query)}
    told = redescribed(
        request_properties(query), {name: text for name, text in brief.items() if isinstance(text, str)}
    )
    told |= {name: dict(schema) for name, schema in brief.items() if isinstance(schema, Mapping)}
    return {name: schema for name, schema in told.items() if schema}


def redescribed(fields: Mapping[str, Schema], described: Mapping[str, str]) -> dict[str, Schema]:
    """`fields` with these descriptions and no others."""
    bare = {name: {**field} for name, field in fields.items()}
    for name, schema in bare.items():
        schema.pop("description", None)
        if name in described:
            schema["description"] = described[name]
    return bare


@cache
def edit_schema() -> Schema:
    """One object for every operation: `op`, which others can imply, and all fields, each optional.

    Every model pays for each word of it with each request: what each operation takes is once, at `op`,
    and a field is described only where its name leaves a doubt; the guide describes all.
    """
    properties: dict[str, Schema] = {}
    for op in OPERATIONS:
        schema = operation_schema(op)
        for name in (name for name in schema["properties"] if name not in {"op", *_PARTS}):
            field = _flat(inlined(schema["properties"][name], schema.get("$defs", {})), _OF_INPUT)
            properties[name] = _merged(properties[name], field, op) if name in properties else field
    which = {"type": "string", "description": operation_table()}
    described = {**redescribed(properties, _DESCRIBED), **_IN_WORDS}
    return object_schema({"op": which, **described})


# Fields that are written as a part of another one: "12:a3f", {min, max}; and those that no model needs.
_PARTS: Final = frozenset(
    {
        *("lineHash", "minMatches", "maxMatches", "allowInsecureRange"),
        *("dates", "numbers", "frontMatterFormat", "wholeBlock", "preview"),
    }
)
_DESCRIBED: Final[Mapping[str, str]] = {
    "sectionId": "8 digits suffice.",
    "headingPath": 'The last ones suffice: ["Install"].',
    "occurrence": "1-based.",
    "levels": "fit: shift headings.",
    "extent": "auto: end of own body; a heading: last subsection.",
    "item": "Text without marker.",
    "toFile": "Made if missing.",
    "key": "In tables a cell of keyColumn.",
    "row": "Cells by header; others stay. New rows go last, or by a key in before, after.",
    "navigation": "Such as mkdocs.yml.",
    "under": "Item; create_page: nested list.",
    "markdown": "insert_section: with heading; replace_code_block: no fences.",
    "toHeadingPath": "[] with lastChild: file end.",
    "createIfMissing": "Also front matter.",
    "section": "INI.",
}
# Fields of several forms, which are described in words: not every client takes a list of types.
_IN_WORDS: Final[Mapping[str, Schema]] = {
    "value": {"description": "Any JSON: false, 3."},
    "expectedValue": {},
    "lines": {"description": '{start, end}, inclusive; or "12:a3f-14:b07" (addresses).'},
    "line": {"description": 'Number or "12:a3f".'},
    "range": {"type": "object", "description": "{start, end}: {line, col}; end is exclusive."},
    "matchSelection": {"description": '"all", "3", "2-4".'},
    "expectedMatchCount": {"description": "Number or {min, max}."},
    "codeBlock": {"type": "object", "description": "{language}, {index} or both."},
    "table": {"type": "object", "description": "{index}, or {header}: a cell or list; else by keyColumn."},
    "list": {"type": "object", "description": "{index}"},
    "include": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Also codeBlocks, inlineCode, linkDestinations, images, frontMatter, html.",
    },
    "exclude": {
        "type": "array",
        "items": {"type": "string"},
        "description": "As include, or headings, tables, templates, math, mdx.",
    },
    "bullet": {"type": "string"},
}


def _merged(known: Schema, field: Schema, op: str) -> Schema:
    """One schema for a field that several operations have, with the choices of all."""
    merged = dict(known)
    if "enum" in known and "enum" in field:
        merged["enum"] = list(dict.fromkeys([*known["enum"], *field["enum"]]))
        field = {**field, "enum": merged["enum"]}
    assert {**merged, "description": ""} == {**field, "description": ""}, f"{op} has another kind of field"
    return merged


def flat_report_schema(shape: type[Report]) -> Schema:
    """Schema of a report as `mdplan.reports.base.to_wire` writes it, for success and refusal alike."""
    if shape not in _REPORT_SCHEMAS:
        schema = report_schema(shape)
        _REPORT_SCHEMAS[shape] = _flat(inlined(schema, schema["$defs"]), _OF_OUTPUT)
    return _REPORT_SCHEMAS[shape]


# Fields of all that finds an item in a list.
_ITEM: Final = "SECTION list itemOccurrence"
_LEGEND: Final = (
    "op: fields [optional]. SECTION, with subsections: sectionId, headingPath, heading or anchor. "
    "ITEM: " + _ITEM + ". Indexes "
    "count from 0, in the section if one is given. KEY: key [expectedValue], like nav[0].a, "
    "jobs[name=x].b in YAML, JSON, TOML, INI, front matter. PLACE: before after inOrder. * needs no op."
)


def operation_table() -> str:
    """One line an operation: its fields, in brackets those that it can do without."""
    owners: dict[str, str] = {}
    rows = [_LEGEND]
    for op, model in OPERATIONS.items():
        required, optional = _fields(model)
        options = " ".join(optional)
        if len(optional) >= _LONG_LIST and owners.setdefault(options, op) != op:
            options = f"as {owners[options]}"
        options = options.replace(_ITEM, "ITEM")
        fields = " ".join([*required, f"[{options}]"] if options else required)
        name = f"{op}*" if op in IMPLIED else op
        rows.append(f"{name}: {fields}" if fields else name)
    return "\n".join(rows)


def _fields(model: type[Operation]) -> tuple[list[str], list[str]]:
    """Names of the required and of the optional fields of `model`."""
    names = [field.alias or name for name, field in model.model_fields.items() if name != "op"]
    names = [name for name in names if name not in _SECTION_FIELDS | _PARTS]
    required = [name for name in names if _is_required(model, name)]
    optional = [name for name in names if name not in required]
    if issubclass(model, DataOperation):
        required, optional = (
            [name for name in names if name not in _KEY_FIELDS] for names in (required, optional)
        )
        required.insert(0, "KEY")
        if issubclass(model, PlacedOperation):
            (optional if model.may_stay_last else required).append("PLACE")
    if issubclass(model, SectionTargeted):
        (required if model.target_is_required else optional).insert(0, "SECTION")
    return required, optional


def _is_required(model: type[Operation], name: str) -> bool:
    """Whether the model's own example is refused without the field `name`: some guards are required so."""
    if name not in model.example:
        return False
    try:
        model.model_validate({key: value for key, value in model.example.items() if key != name})
    except ValidationError:
        return True
    return False


def _flat(schema: Schema, kept: frozenset[str]) -> Schema:
    """`schema`, which has no references, with only the keywords that are `kept`."""
    flat = {keyword: value for keyword, value in schema.items() if keyword in kept}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], kept)
    if "properties" in flat:
        flat["properties"] = {name: _flat(field, kept) for name, field in flat["properties"].items()}
    if NULLABLE in schema:
        # Not every client takes a list of types, and each checks the null against a single one.
        flat.pop("type", None)
        return flat
    # What may be any JSON, or a string or a list, is mostly a string, and the strict models take the rest.
    return {"type": "string", **flat}
