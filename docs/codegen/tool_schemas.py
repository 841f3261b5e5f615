"""Published schemas of the tools: plain JSON Schema that every known client and model provider accepts.

Each property has one type, each array typed items; there are no unions, references, constants or nulls.
Optional fields may be absent. The strict models behind it check combinations, and refuse unknown fields by
name.

They are package files, because making them takes longer than the whole start of a server.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from mdplan.field_names import camel_case
from mdplan.mcp import editor_tools, file_tools, review_app, text_requests
from mdplan.mcp.answers import NULLABLE
from mdplan.mcp.md_tools import VERBOSITY, VERBOSITY_LEVELS, HistoryRequest
from mdplan.mcp.tool import EDITOR_PATCH
from mdplan.operations import IMPLIED, OPERATIONS
from mdplan.operations.base import Operation, SectionTargeted
from mdplan.operations.keys import DataOperation, PlacedOperation
from mdplan.reports.base import Report
from mdplan.requests.json_schemas import batch_schema, report_schema
from mdplan.requests.schemas import Schema, inlined, model_schema, operation_schema
from mdplan.requests.verbs import VERBS

_LONG_LIST: Final = 4
_OF_INPUT: Final = frozenset({"type", "enum", "items", "properties", "required", "description"})
_OF_OUTPUT: Final = frozenset({"type", "items", "properties", "required"})
_SECTION_FIELDS: Final = frozenset(
    field.alias or name for name, field in SectionTargeted.model_fields.items() if name != "op"
)


_KEY_FIELDS: Final = frozenset(
    {"section", "key", "expectedValue", "occurrence", "sectionSha256", "before", "after", "inOrder"}
)


def object_schema(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Schema of an object."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    names = list(required)
    return {**schema, "required": names} if names else schema


def batch_properties() -> dict[str, Schema]:
    """Return schemas of the fields of a batch and its single file, except fields with edits.

    Globs are for programs, which know what matches: an agent would edit files that it has not seen.
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
    """Return schemas of the fields of a query with their descriptions for agents; see `described`."""
    brief = {camel_case(field.name): field.metadata["brief"] for field in fields(query)}
    told = redescribed(
        request_properties(query), {name: text for name, text in brief.items() if isinstance(text, str)}
    )
    told |= {name: dict(schema) for name, schema in brief.items() if isinstance(schema, Mapping)}
    return {name: schema for name, schema in told.items() if schema}


def redescribed(fields: Mapping[str, Schema], described: Mapping[str, str]) -> dict[str, Schema]:
    """Return `fields` with only these descriptions."""
    bare = {name: {**field} for name, field in fields.items()}
    for name, schema in bare.items():
        schema.pop("description", None)
        if name in described:
            schema["description"] = described[name]
    return bare


def edit_schema() -> Schema:
    """Return one object for every operation: `op`, which others can imply, and all fields, each optional.

    Every request of a model pays for each word: the fields of each operation are listed once, at `op`, and a
    field is described only if its name is unclear; the guide describes all.
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


# Fields written as part of another one: "12:a3f", {min, max}; and fields that no model needs.
_PARTS: Final = frozenset(
    {
        *("lineHash", "minMatches", "maxMatches", "allowInsecureRange", "keep", "drop"),
        *("dates", "numbers", "frontMatterFormat", "wholeBlock", "preview"),
    }
)
_DESCRIBED: Final[Mapping[str, str]] = {
    "sectionId": "8 digits suffice.",
    "headingPath": 'The last ones suffice: ["Install"].',
    "occurrence": "1-based.",
    "levels": "fit: shift.",
    "extent": "auto: end of own body; a heading: last subsection.",
    "item": "Text without marker.",
    "toFile": "Made if new.",
    "key": "In tables a cell of keyColumn.",
    "row": "Cells by header; others stay. New rows last.",
    "navigation": "As mkdocs.yml.",
    "under": "Item; create_page: nested list.",
    "markdown": "insert_section: with heading; replace_code_block: no fences.",
    "toHeadingPath": "[] with lastChild: file end.",
    "createIfMissing": "Also front matter.",
    "section": "INI.",
}
# Fields of several forms, which are described in words: not every client takes a list of types.
_IN_WORDS: Final[Mapping[str, Schema]] = {
    "value": {"description": "Any JSON: 3."},
    "expectedValue": {},
    "lines": {"description": '{start, end}, inclusive; or "12:a3f-14:b07" (addresses).'},
    "line": {"description": 'Number or "12:a3f".'},
    "range": {"type": "object", "description": "{start, end}: {line, col}; end exclusive."},
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
    """Return one schema for a field that several operations have, with the choices of all."""
    merged = dict(known)
    if "enum" in known and "enum" in field:
        merged["enum"] = list(dict.fromkeys([*known["enum"], *field["enum"]]))
        field = {**field, "enum": merged["enum"]}
    if "items" in known and "items" in field:
        merged["items"] = _merged(known["items"], field["items"], op)
        field = {**field, "items": merged["items"]}
    assert {**merged, "description": ""} == {**field, "description": ""}, f"{op} has another kind of field"
    return merged


def flat_report_schema(shape: type[Report]) -> Schema:
    """Schema of a report as `mdplan.reports.base.to_wire` writes it, for success and refusal alike."""
    schema = report_schema(shape)
    return _flat(inlined(schema, schema["$defs"]), _OF_OUTPUT)


# Fields of all that finds an item in a list.
_ITEM: Final = "list itemOccurrence"
_LEGEND: Final = (
    "op: fields [optional]. SECTION, with subsections: sectionId, headingPath, heading or anchor. "
    "ITEM: " + _ITEM + ". BLOCK: block, text that it has, or ^id [kind]. Indexes "
    "count from 0, in a given section. KEY: key [expectedValue], like nav[0].a, "
    "jobs[name=x].b in YAML, JSON, TOML, INI, front matter. PLACE: before after inOrder. * needs no op."
)


def operation_table() -> str:
    """Return a line per operation with its fields, optional ones in brackets.

    Operations with a section follow a line that says so.
    """
    owners: dict[str, str] = {}
    rows: dict[str, list[str]] = {"": [_LEGEND], "SECTION": [], "[SECTION]": []}
    for op, model in OPERATIONS.items():
        required, optional = _fields(model)
        options = " ".join(optional)
        if len(optional) >= _LONG_LIST and owners.setdefault(options, op) != op:
            options = f"as {owners[options]}"
        options = options.replace(_ITEM, "ITEM")
        fields = " ".join([*required, f"[{options}]"] if options else required)
        name = f"{op}*" if op in IMPLIED else op
        rows[_target(model)].append(f"{name}: {fields}" if fields else name)
    parts = ([f"With {target}:"] * bool(target) + of_it for target, of_it in rows.items())
    return "\n".join(chain.from_iterable(parts))


def _target(model: type[Operation]) -> str:
    if issubclass(model, DataOperation) or not issubclass(model, SectionTargeted):
        return ""
    return "SECTION" if model.target_is_required else "[SECTION]"


def _fields(model: type[Operation]) -> tuple[list[str], list[str]]:
    """Return the names of the required and of the optional fields of `model`."""
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
    if "kind" in model.model_fields:
        required = ["BLOCK", *(name for name in required if name != "block")]
        optional = [name for name in optional if name != "kind"]
    return required, optional


def _is_required(model: type[Operation], name: str) -> bool:
    """Return True if the model's own example is refused without the field `name`, as with some guards."""
    if name not in model.example:
        return False
    try:
        model.model_validate({key: value for key, value in model.example.items() if key != name})
    except ValidationError:
        return True
    return False


def _flat(schema: Schema, kept: frozenset[str]) -> Schema:
    """Return `schema`, which has no references, with only the `kept` keywords."""
    flat = {keyword: value for keyword, value in schema.items() if keyword in kept}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], kept)
    if "properties" in flat:
        flat["properties"] = {name: _flat(field, kept) for name, field in flat["properties"].items()}
    if NULLABLE in schema:
        # Not every client takes a list of types, and each checks the null against a single one.
        flat.pop("type", None)
        return flat
    # Fields that accept any JSON, or a string or list, are usually strings; the strict models accept the
    # others.
    return {"type": "string", **flat}


# --- Published schemas: every model pays for each word of them with each request

# The choices are at the first tool.
_VERBOSITY: Final[Schema] = {"type": "string"}
_AS_IN_APPLY: Final[Schema] = {"type": "array", "items": {"type": "object"}}

_FILES: Final[Schema] = {
    "description": "[{file, edits}]; with edits: names or a glob, where as in md_search."
}

_BRIEF: Final[Mapping[str, str]] = {
    "expectedFiles": "Files of the glob that match.",
    "accept": "Only these edits, from 0.",
    "onStale": "rebase: by own evidence; merge: three-way.",
    "updateReferences": "Links to what moves.",
    "refuseOn": "Warnings: BROKEN_LINK.",
}

# For previews; the others are for md_apply, which previews with dryRun.
_OF_A_PREVIEW: Final = (
    "planIds",
    "file",
    "edits",
    "files",
    "title",
    "description",
    "revises",
    "sequential",
    "updateReferences",
    VERBOSITY,
)


def _query_schema(verb: str, verbosity: Schema = _VERBOSITY, required: Sequence[str] = ()) -> Schema:
    """Return the input fields of `verb` with their descriptions for agents."""
    requests = VERBS[verb].request_classes
    fields = {name: schema for each in requests for name, schema in brief_properties(each).items()}
    return object_schema({**fields, VERBOSITY: verbosity}, required)


_PLAN_IDS: Final[Schema] = {"type": "array", "items": {"type": "string"}}


def _batch_schema(edits: Schema) -> Schema:
    """Schema of one file with `edits`, or of several files."""
    batch = {name: {**schema} for name, schema in batch_properties().items()}
    for name, schema in batch.items():
        schema.pop("description", None)
        if name in _BRIEF:
            schema["description"] = _BRIEF[name]
    # The refusal of a name lists all.
    batch["keep"] = batch["drop"]
    ordered = {name: batch.pop(name) for name in ("file", "baseSha256")}
    return object_schema({**ordered, "edits": edits, "files": _FILES, **batch, VERBOSITY: _VERBOSITY})


def _validate_schema() -> Schema:
    """Return the fields of md_apply that make a preview, without repeating descriptions."""
    properties = _batch_schema(_AS_IN_APPLY)["properties"]
    properties |= {"planIds": _PLAN_IDS}
    brief = {name: {**properties[name]} for name in _OF_A_PREVIEW}
    for schema in brief.values():
        schema.pop("description", None)
        schema.pop("enum", None)
    return object_schema(brief)


def _apply_schema() -> Schema:
    batch = _batch_schema({"type": "array", "items": edit_schema()})
    plan = {"planId": {"type": "string"}, "planIds": _PLAN_IDS}
    return {**batch, "properties": {**plan, **batch["properties"]}}


def _history_schema(names: Sequence[str] = ()) -> Schema:
    """Return the fields of md_history, or only `names`, undescribed: the tool's description covers them."""
    fields = redescribed(request_properties(HistoryRequest), {})
    for name, schema in fields.items():
        # The other choices are at md_apply.
        if name != "action":
            schema.pop("enum", None)
    kept = {name: fields[name] for name in names or fields}
    return object_schema({**kept, VERBOSITY: _VERBOSITY})


# What scripts read, field by field. Other fields are published without what is in them, or not at all.
_FIELDS: Final = {
    "error": "code message hint file editIndex candidates",
    "warnings": "code message file editIndex",
    "candidates": "sectionId startLine endLine",
    "sections": "sectionId level startLine endLine title headingPath anchor sectionSha256",
    "frontMatter": "format startLine endLine keys",
    "codeBlocks": "startLine endLine index language sectionId",
    "tables": "index startLine endLine columns rows sectionId",
    "lists": "index startLine endLine items sectionId",
    "keys": "key startLine endLine items",
    "results": "file baseSha256 startLine endLine totalLines content sectionId headingPath sectionSha256 "
    "language truncated nextCursor problem",
    "files": "file newFile title sections frontMatter baseSha256 resultSha256 changed linesAdded linesRemoved matches "
    "groups",
    "groups": "sectionId headingPath hits",
    "hits": "line col text within before behind address",
    "editResults": "editIndex noOp newSectionId newSectionSha256 matchesFound matchesReplaced",
    "transactions": "transaction planId committedAt actor title files undoable undoneBy undoes",
}
_UNPUBLISHED: Final = frozenset(
    {
        *("client", "receipt", "recovered", "written", "kept", "durable", "undoable", "undone", "detail"),
        *("file", "baseSha256", "title", "description", "matches", "excludedMatches", "diagnostics", "bom"),
        *(
            "accepted",
            "rejected",
            "leftOut",
            "textSections",
            "commentBlocks",
            "blankLineGroups",
            "trailingDefinitions",
            "invalidBytes",
            "bytes",
        ),
    }
)
# Of an undo; the rest is as in md_apply.
_OF_HISTORY: Final = frozenset(
    {
        *("ok", "error", "applied", "planId", "transaction", "files", "transactions", "more", "reviews"),
        *("diff", "diffTruncated", "warnings"),
    }
)


def output_schema(verbs: Sequence[str], more: Iterable[str]) -> Schema:
    """Schema of answers of every verbosity: the fields of these reports that scripts read, and `more`."""
    properties: dict[str, Schema] = {}
    for verb in verbs:
        kept = {"file", "baseSha256"} if verb == "outline" else set[str]()
        fields = flat_report_schema(VERBS[verb].report_class)["properties"].items()
        properties |= {
            name: _shallow(name, schema)
            for name, schema in fields
            if name in kept or (name not in _UNPUBLISHED and ("history" not in verbs or name in _OF_HISTORY))
        }
    return object_schema(properties | {name: {"type": "string"} for name in more}, ["ok"])


def _shallow(name: str, schema: Schema) -> Schema:
    if schema["type"] == "array":
        return {"type": "array", "items": _shallow(name, schema["items"])}
    known = schema.get("properties", {})
    if name not in _FIELDS or not known:
        return {"type": schema["type"]}
    return object_schema(
        {each: _shallow(each, known[each]) for each in _FIELDS[name].split() if each in known}
    )


# --- Published schemas of the answers
#
# A refusal has `status`, `message` and `suggestions`; a success has the other fields. Headings hold headings
# as their `children`, which a schema without references cannot say to every depth.

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "integer"}
_FLAG: Final[Schema] = {"type": "boolean"}
_OBJECT: Final[Schema] = {"type": "object"}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _record(**fields: Schema) -> Schema:
    return object_schema(fields)


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_LINE: Final = _record(number=_NUMBER, text=_TEXT)
_HEADING: Final = _record(level=_NUMBER, text=_TEXT, line=_NUMBER)
_BLOCK: Final = {"startLine": _NUMBER, "endLine": _NUMBER}

_ESCAPES: Final[dict[str, Schema]] = {
    "contentExact": _described(_FLAG, "false: bytes that are not UTF-8 are shown as \\xNN."),
    "note": _TEXT,
}

_FILE_HASH: Final = _described(_TEXT, "First 16 hex digits of the SHA-256 of the file's bytes.")

_REFUSAL: Final[dict[str, Schema]] = {
    "status": {"type": "string", "enum": ["success", "error"]},
    "message": _TEXT,
    "suggestions": _list(_TEXT),
}

_FILE_SCHEMA: Final[dict[str, Schema]] = {
    "filePath": _TEXT,
    "fileHash": _FILE_HASH,
    "truncated": _FLAG,
    "suggestion": _TEXT,
}

_STRUCTURE: Final = _record(
    frontmatter=_record(**_BLOCK, keys=_list(_TEXT)),
    headings=_list(
        object_schema({**_HEADING["properties"], "children": _described(_list(_OBJECT), "Headings again.")})
    ),
    codeBlocks=_list(_record(language=_TEXT, **_BLOCK)),
    anchors=_list(_record(id=_TEXT, line=_NUMBER)),
    sections=_list(_record(marker=_TEXT, line=_NUMBER)),
    blankLineGroups=_list(_NUMBER),
    commentBlocks=_list(_record(**_BLOCK, prefix=_TEXT)),
)

_MATCH: Final = _record(
    line=_NUMBER,
    column=_NUMBER,
    text=_TEXT,
    context=_record(before=_list(_TEXT), after=_list(_TEXT)),
    nearestHeading=_HEADING,
)

_EDIT: Final[dict[str, Schema]] = {
    **_REFUSAL,
    "filePath": _TEXT,
    "affectedLines": _described(
        _record(start=_NUMBER, end=_NUMBER),
        "Lines that were replaced or deleted, by their old numbers; of an insertion the new lines.",
    ),
    "linesChanged": _described(_NUMBER, "How many lines were replaced or deleted."),
    "linesDelta": _described(_NUMBER, "How many lines more the file has now."),
    "preview": _record(before=_TEXT, after=_TEXT),
    "context": _described(
        _record(beforeLines=_list(_LINE), afterLines=_list(_LINE)), "The lines around the change now."
    ),
    "fileHash": _FILE_HASH,
    "note": _TEXT,
    "warnings": _list(_TEXT),
}

_OF_TEXT: Final[Mapping[str, Schema]] = {
    "TextInspect": object_schema(
        {
            **_REFUSAL,
            **_FILE_SCHEMA,
            "totalLines": _NUMBER,
            "fileSize": _TEXT,
            "format": {"type": "string", "enum": ["markdown", "text"]},
            "structure": _STRUCTURE,
            "query": _TEXT,
            "matches": _list(_MATCH),
            "totalMatches": _NUMBER,
            "lines": _list(_LINE),
            **_ESCAPES,
        }
    ),
    "TextRead": object_schema(
        {
            **_REFUSAL,
            **_FILE_SCHEMA,
            "target": _OBJECT,
            "range": _record(**_BLOCK),
            "content": _TEXT,
            "totalLines": _described(_NUMBER, "Lines of the place, where its text is cut."),
            **_ESCAPES,
        }
    ),
    "TextPatch": object_schema({**_EDIT, "operation": _TEXT, "target": _OBJECT}),
    "TextReplace": object_schema({**_EDIT, "occurrencesFound": _NUMBER, "occurrencesReplaced": _NUMBER}),
}

_OUTCOME: Final = object_schema(
    {
        "result": {"type": "string", "enum": ["ok", "error"]},
        **dict.fromkeys(("reason", "suggestion", "hint"), _TEXT),
    },
    ["result"],
)
# In a call about several files the fields are paths, which no schema can know in advance; any name may be
# one of them, so none has a type here.
_RANGES: Final = (
    "By file path: {ranges: [{content, start, end, total_lines, content_size, hint}]}, or why not: "
)
_OUTCOMES: Final = "By file path: "
_OF_A_FILE: Final = "{result: ok or error, reason, suggestion, hint}."

_PROBLEM: Final = object_schema(dict.fromkeys(("code", "message", "hint"), _TEXT))
_PART: Final = object_schema(
    {
        **dict.fromkeys(("file", "content", "nextCursor"), _TEXT),
        **dict.fromkeys(("startLine", "endLine", "totalLines"), _NUMBER),
        "truncated": _FLAG,
        "problem": _PROBLEM,
    }
)
_HIT: Final = object_schema(
    {
        **dict.fromkeys(("file", "text", "sectionPattern"), _TEXT),
        **dict.fromkeys(("line", "sectionEndHint"), _NUMBER),
        **dict.fromkeys(("before", "behind"), _list(_TEXT)),
    }
)


def _files_report(**fields: Schema) -> Schema:
    refused = {"error": _PROBLEM, "diagnostics": _list(_PROBLEM)}
    return object_schema({"ok": _FLAG, **refused, **fields}, ["ok"])


# --- All tools: functions for the schemas of arguments and answers


_RARE: Final = frozenset({"encoding", "require_exact_match"})


def _of_request(model: type[BaseModel]) -> Schema:
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return _rare_last(object_schema(request_properties(model), required))


def _rare_last(schema: Schema) -> Schema:
    """Return `schema` with rarely used fields last."""
    if "items" in schema:
        return {**schema, "items": _rare_last(schema["items"])}
    if "properties" not in schema:
        return schema
    ordered = sorted(schema["properties"].items(), key=lambda item: item[0] in _RARE)
    return {**schema, "properties": {name: _rare_last(field) for name, field in ordered}}


# With the verbs whose reports an answer can be, and texts that compact answers have in place of lists.
_OF_MD: Final[Mapping[str, tuple[Callable[[], Schema], tuple[str, ...], tuple[str, ...]]]] = {
    "md_stat": (
        lambda: _query_schema("outline", {**_VERBOSITY, "enum": list(VERBOSITY_LEVELS)}, ["file"]),
        ("outline",),
        ("outline", "inventory"),
    ),
    "md_read": (lambda: _query_schema("read"), ("read",), ()),
    "md_search": (lambda: _query_schema("search"), ("search",), ()),
    "md_validate": (_validate_schema, ("validate",), ("diffResource",)),
    "md_apply": (_apply_schema, ("apply",), ("transaction", "diffResource")),
    "md_history": (_history_schema, ("undo", "history"), ("transaction", "diffResource")),
    "md_history-read-only": (
        lambda: _history_schema(("transaction", "planId", "file", "limit")),
        ("history",),
        ("diffResource",),
    ),
}
_OF_APP: Final = object_schema({"ok": _FLAG}, ["ok"])
_OF_REQUESTS: Final[Mapping[str, tuple[type[BaseModel], Schema]]] = {
    "get_text_file_contents": (editor_tools.GetRequest, {**_OBJECT, "description": _RANGES + _OF_A_FILE}),
    EDITOR_PATCH: (editor_tools.PatchRequest, {**_OBJECT, "description": _OUTCOMES + _OF_A_FILE}),
    "create_text_file": (editor_tools.CreateRequest, _OUTCOME),
    "append_text_file_contents": (editor_tools.AppendRequest, _OUTCOME),
    "insert_text_file_contents": (editor_tools.InsertRequest, _OUTCOME),
    "delete_text_file_contents": (editor_tools.DeleteRequest, _OUTCOME),
    "TextInspect": (text_requests.InspectRequest, _OF_TEXT["TextInspect"]),
    "TextRead": (text_requests.TextReadRequest, _OF_TEXT["TextRead"]),
    "TextPatch": (text_requests.TextPatchRequest, _OF_TEXT["TextPatch"]),
    "TextReplace": (text_requests.ReplaceRequest, _OF_TEXT["TextReplace"]),
    "read_files": (file_tools.ReadFilesRequest, _files_report(results=_list(_PART))),
    "grep_content": (
        file_tools.GrepContentRequest,
        _files_report(hits=_list(_HIT), totalMatches=_NUMBER, warnings=_list(_PROBLEM)),
    ),
    "md_review": (review_app.ShowRequest, _OF_APP),
    "md_decide": (review_app.DecideRequest, _OF_APP),
}


def tool_schemas() -> dict[str, dict[str, Schema]]:
    """Return the schemas of all tools, by file name."""
    md = {name: (make(), output_schema(verbs, more)) for name, (make, verbs, more) in _OF_MD.items()}
    others = {name: (_of_request(model), output) for name, (model, output) in _OF_REQUESTS.items()}
    return {
        name: {"inputSchema": arguments, "outputSchema": answer}
        for name, (arguments, answer) in {**md, **others}.items()
    }
