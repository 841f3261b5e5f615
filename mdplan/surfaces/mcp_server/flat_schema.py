"""Published schemas: plain JSON Schema that every known client and model provider takes.

Each property has one type, each array typed items; there is no union, reference, constant or null. What is
optional is absent. The strict models behind it say what goes together, and refuse the rest by name.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import ValidationError

from mdplan.operation import Operation, SectionTargeted
from mdplan.operations import OPERATIONS
from mdplan.report import Report
from mdplan.schema import Schema, batch_schema, operation_schema, report_schema

_OF_INPUT: Final = frozenset({"type", "enum", "items", "properties", "required", "description"})
_OF_OUTPUT: Final = frozenset({"type", "items", "properties", "required"})
_SECTION_FIELDS: Final = frozenset(
    field.alias or name for name, field in SectionTargeted.model_fields.items() if name != "op"
)


def object_schema(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Schema of an object."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    names = list(required)
    return {**schema, "required": names} if names else schema


def batch_properties() -> dict[str, Schema]:
    """Schemas of the fields of a batch and of its one file, except for those that hold edits."""
    schema = batch_schema()
    return {
        name: _flat(field, schema["$defs"], _OF_INPUT)
        for name, field in schema["properties"].items()
        if name not in {"edits", "files"}
    }


def edit_schema() -> Schema:
    """One object for every operation: `op`, and the fields of all of them, each optional.

    Operations that share the name of a field share its type; where they describe it differently, the
    descriptions stand one after the other.
    """
    fields: dict[str, Schema] = {}
    for op in OPERATIONS:
        schema = operation_schema(op)
        for name in (name for name in schema["properties"] if name != "op"):
            field = _flat(schema["properties"][name], schema.get("$defs", {}), _OF_INPUT)
            known = fields.setdefault(name, field)
            described = known["description"]
            assert {**known, "description": ""} == {**field, "description": ""}, name
            if field["description"] not in described:
                fields[name] = {**known, "description": f"{described} {op}: {field['description']}"}
    return object_schema({"op": {"type": "string", "enum": list(OPERATIONS)}, **fields}, required=["op"])


def flat_report_schema(shape: type[Report]) -> Schema:
    """Schema of a report as `mdplan.report.to_wire` writes it, for success and refusal alike."""
    schema = report_schema(shape)
    return _flat(schema, schema["$defs"], _OF_OUTPUT)


def operation_table() -> str:
    """One line an operation: its fields, in brackets those that it can do without, and what it does.

    SECTION stands for the fields that name a section.
    """
    return "\n".join(f"- {name}: {_fields(model)}. {_summary(model)}" for name, model in OPERATIONS.items())


def _fields(model: type[Operation]) -> str:
    names = [field.alias or name for name, field in model.model_fields.items() if name != "op"]
    names = [name for name in names if name not in _SECTION_FIELDS]
    required = [name for name in names if _is_required(model, name)]
    optional = [name for name in names if name not in required]
    if issubclass(model, SectionTargeted):
        (required if model.target_is_required else optional).insert(0, "SECTION")
    return ", ".join([*required, *([f"[{', '.join(optional)}]"] if optional else [])])


def _is_required(model: type[Operation], name: str) -> bool:
    """Whether the model's own example is refused without the field `name`: some guards are required so."""
    if name not in model.example:
        return False
    try:
        model.model_validate({key: value for key, value in model.example.items() if key != name})
    except ValidationError:
        return True
    return False


def _summary(model: type[Operation]) -> str:
    return (model.__doc__ or "").partition("\n")[0]


def _flat(schema: Mapping[str, Any], definitions: Mapping[str, Any], kept: frozenset[str]) -> Schema:
    """`schema` with its references put in place, and only the keywords that are `kept`."""
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    flat = {keyword: value for keyword, value in schema.items() if keyword in kept}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], definitions, kept)
    if "properties" in flat:
        fields = flat["properties"].items()
        flat["properties"] = {name: _flat(field, definitions, kept) for name, field in fields}
    return flat
