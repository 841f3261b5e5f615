"""Arguments of tools, made from their published schemas and from our models: mostly sound, often not."""

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st

from mdplan.operations import OPERATIONS
from mdplan.requests.batch import wire_names
from mdplan.requests.schemas import Schema
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


FILES: Final = CASE_TABLES.value("FILES")
_PATHS: Final = st.sampled_from(
    [*FILES, "new.md", "*.md", ".", "sub/new.md", "../x", "/etc/hosts", "a\0b", ""]
)
# Text of the files, similar text, and malicious text.
_TEXTS: Final = st.one_of(
    st.sampled_from(
        [
            "old",
            "Install",
            "Guide",
            "A",
            "# Guide",
            "## Install",
            "title",
            "tags",
            "box",
            "one",
            "a",
            "1",
            "sh",
        ]
    ),
    st.sampled_from(
        ["# New\n\nx\n", "- three", "---\n", "```\n", "(a+)+$", "[", r"\g<0>", "1-2", "install", "server"]
    ),
    st.sampled_from(["sha256-0123456789abcdef", "0" * 64, "first", "utf-8", "markdown", "text", "all", "2"]),
    st.text(max_size=20),
    st.sampled_from(["\ud800", "x" * 5_000, "\u202eevil", "\x1b[31m", "\r", "\u2028"]),
)
_NUMBERS: Final = st.one_of(
    st.integers(1, 3), st.integers(0, 30), st.sampled_from([-1, 2**31, 10**30, 10**400])
)
# Hypothesis draws the first of several more often than the others.
_SELDOM: Final = st.sampled_from((False,) * 19 + (True,))
_STRAY: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    _NUMBERS,
    _TEXTS,
    st.lists(st.integers(), max_size=2),
    st.recursive(
        st.integers() | _TEXTS, lambda inner: st.dictionaries(st.text(max_size=5), inner), max_leaves=5
    ),
)
# Without these a call gets nowhere, though no schema can say so.
_WANTED: Final = frozenset({"file", "edits", "heading"})
# Fields that most texts are no value of.
_NAMED: Final = {
    "format": ["markdown", "text", "ini", "docx"],
    "encoding": ["utf-8", "latin-1", "klingon"],
    "occurrence": ["first", "all", "2", "none"],
    "expectedHash": ["0" * 16, "0"],
    "baseSha256": ["0" * 64, "0"],
    "sectionSha256": ["0" * 16, "0"],
    "matchSelection": ["all", "1", "2-3", "x"],
    "query": ["old", "1-3", "2,5-6", "("],
    "line": ["6:a3f", "12:b07", "6", "x"],
    "lines": ["6:a3f", "6:a3f-8:b07", "6-8", "x"],
}
_NUMBER: Final[Schema] = {"type": "integer"}
_TEXT: Final[Schema] = {"type": "string"}
_NULL: Final[Schema] = {"type": "null"}
_LIST_OF_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
# Fields that take values of several forms are published without a type.
_FORMS: Final[dict[str, list[Schema]]] = {
    "line": [_NUMBER, _TEXT],
    "lines": [{"type": "object", "properties": {"start": _NUMBER, "end": _NUMBER}}, _TEXT],
    "matchSelection": [_TEXT, _NUMBER],
    "expectedMatchCount": [_NUMBER, {"type": "object", "properties": {"min": _NUMBER, "max": _NUMBER}}],
    "expectedHash": [_TEXT, _NULL],
    "end": [_NUMBER, _NULL],
    "head": [_NUMBER, _NULL],
    "tail": [_NUMBER, _NULL],
    "start_line": [_NUMBER, _NULL],
    "end_line": [_NUMBER, _NULL],
    "read_to_next_pattern": [_TEXT, _NULL],
}
# Exactly one of these fields is valid in an object.
_TARGETS: Final = frozenset({"heading", "headingPath", "sectionId", "anchor", "lines", "range"})
_OF_PATHS: Final = ("file", "files", "path", "newfile", "tofile", "searchpath", "filepath")


def arguments_of(schema: Schema, edits: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for a tool with this input schema; `edits` is the full schema of a list of edits."""
    properties = dict(schema["properties"])
    if "edits" in properties:
        properties["edits"] = edits
    if "type" not in properties.get("files", _TEXT):
        batch = {"type": "object", "properties": {"file": _TEXT, "edits": edits}}
        properties["files"] = {"anyOf": [{"type": "array", "items": batch}, _TEXT, _LIST_OF_TEXTS]}
    return _object(properties, frozenset(schema.get("required", ())))


def _object(properties: Mapping[str, Schema], required: frozenset[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with their required fields, some others, and now and then one too few or too many."""

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        wanted = (_WANTED | required) & set(properties)
        if wanted & _TARGETS:
            wanted = (wanted - _TARGETS) | {draw(st.sampled_from(sorted(_TARGETS & set(properties))))}
        optional = sorted(set(properties) - wanted - (frozenset() if draw(_SELDOM) else _TARGETS))
        names = sorted(wanted) + draw(st.lists(st.sampled_from(optional or [""]), max_size=2, unique=True))
        found = {name: draw(_value(name, properties[name])) for name in names if name}
        if draw(_SELDOM):
            found[draw(st.sampled_from([*properties, "colour", "__proto__"]))] = draw(_STRAY)
        if found and draw(_SELDOM):
            del found[draw(st.sampled_from(sorted(found)))]
        return found

    return drawn()


def _value(name: str, schema: Schema) -> st.SearchStrategy[Any]:
    if name == "edits":
        return st.lists(_edit(schema), min_size=1, max_size=3)
    if schema.get("type") == "null":
        return st.none()
    if "type" not in schema:
        return _value_of_several_forms(name, schema)
    return _typed_value(name, schema)


def _value_of_several_forms(name: str, schema: Schema) -> st.SearchStrategy[Any]:
    forms = schema.get("anyOf") or _FORMS.get(name, [])
    return st.one_of(*(_value(name, form) for form in forms)) if forms else _STRAY


def _typed_value(name: str, schema: Schema) -> st.SearchStrategy[Any]:
    made: st.SearchStrategy[Any] = _TEXTS
    if name == "target":
        made = st.sampled_from(sorted(schema["properties"])).flatmap(
            lambda field: st.fixed_dictionaries({field: _value(field, schema["properties"][field])})
        )
    elif schema["type"] == "object":
        made = _object(schema.get("properties", {}), frozenset(schema.get("required", ())))
    elif schema["type"] == "array":
        made = st.lists(_value(name, schema["items"]), min_size=1, max_size=2)
        items = made
        made = _SELDOM.flatmap(lambda is_empty: st.just([]) if is_empty else items)
    elif schema["type"] == "integer":
        made = _NUMBERS
    elif schema["type"] == "boolean":
        made = st.booleans()
    elif "enum" in schema:
        made = st.sampled_from(schema["enum"])
    elif name in _NAMED:
        made = st.sampled_from(_NAMED[name])
    elif name.replace("_", "").lower() in _OF_PATHS:
        made = _PATHS
    return made


def _edit(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Edits with the fields of one operation, as the schema of edits has them."""
    fields = schema["items"].get("properties", {})

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        op = draw(st.sampled_from(sorted(OPERATIONS)))
        model = OPERATIONS[op]
        names = [name for name in sorted(wire_names(model)) if name in fields and name != "op"]
        needed = {
            field.alias or name for name, field in model.model_fields.items() if field.is_required()
        } & set(names)
        known = {name: fields[name] for name in names}
        return {"op": op, **draw(_object(known, frozenset(needed)))}

    return drawn()
