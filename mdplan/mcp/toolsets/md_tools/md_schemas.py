"""Published schemas of the tools: what they take, and what they answer, in few words.

Every model pays for each word of them with each request.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from mdplan.mcp.flat_schema import (
    batch_properties,
    edit_schema,
    object_schema,
    request_properties,
)
from mdplan.mcp.toolsets.md_tools.verbosity import VERBOSITY, VERBOSITY_SCHEMA
from mdplan.requests.queries import INVENTORIES, StatRequest
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.requests.schemas import Schema
from mdplan.requests.search import SearchRequest

_STAT_FIELDS: Final = {
    "file": "File, folder or glob.",
    "under": "sectionId or heading.",
    "links": "List links to nothing.",
}
_READ_FIELDS: Final = {
    "occurrence": "1-based.",
    "subsections": "false: own body only.",
    "until": "Regex of the line after.",
}
_READ_IN_WORDS: Final[Mapping[str, Schema]] = {
    "lines": {"description": "{start, end}, inclusive."},
    "codeBlock": {"type": "object", "description": "{language}, {index} or both, from 0."},
    "table": {"type": "object", "description": "{index}, or {header}: a cell or list."},
    "list": {"type": "object", "description": "{index}."},
    "targets": {"type": "array", "items": {"type": "object"}},
}
# The choices are at the first tool.
_VERBOSITY: Final[Schema] = {"type": "string"}
_KINDS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
_SEARCH_FIELDS: Final = {
    "file": "File, folder or glob; else all.",
    "where": 'Front matter: {"status": "A"}, ["A", "B"].',
    "has": "Its keys.",
    "min": 'Least list items: {"aliases": 2}.',
}
_AS_IN_APPLY: Final[Schema] = {"type": "array", "items": {"type": "object"}}
_FILES: Final[Schema] = {
    "description": "[{file, edits}]; with edits: a glob or names, as from md_search where."
}
_BRIEF: Final[Mapping[str, str]] = {
    "expectedFiles": "Files of the glob; replace_match: with a match.",
    "accept": "Only these edits, from 0.",
    "onStale": "rebase: by the edits' own evidence; merge: three-way.",
    "updateReferences": "Links to what is renamed or moved; default none.",
}
# Of a preview; the others are for md_apply, which previews with dryRun.
_OF_A_PREVIEW: Final = (
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


def _stat_schema() -> Schema:
    properties = request_properties(StatRequest, _STAT_FIELDS)
    properties["include"] = {**_KINDS, "description": "|".join(INVENTORIES)}
    return object_schema({**properties, VERBOSITY: VERBOSITY_SCHEMA}, required=["file"])


def _read_schema() -> Schema:
    """Fields of one target, and `targets` for several, without saying everything twice."""
    places = request_properties(ReadTarget, _READ_FIELDS)
    options = request_properties(ReadRequest, {"addresses": "Lines begin with 12:a3f."})
    return object_schema({**places, **options, **_READ_IN_WORDS, VERBOSITY: _VERBOSITY})


def _search_schema() -> Schema:
    properties = request_properties(SearchRequest, _SEARCH_FIELDS)
    properties["exclude"] = _KINDS
    del properties["sectionPatterns"]  # Here sections say where they end; logs are for the toolset `files`.
    return object_schema({**properties, VERBOSITY: _VERBOSITY})


def _batch_schema(edits: Schema) -> Schema:
    """Schema of one file with `edits`, or of several files."""
    batch = {name: {**schema} for name, schema in batch_properties().items()}
    for name, schema in batch.items():
        schema.pop("description", None)
        if name in _BRIEF:
            schema["description"] = _BRIEF[name]
    ordered = {name: batch.pop(name) for name in ("file", "baseSha256")}
    return object_schema(
        {
            **ordered,
            "edits": edits,
            "files": _FILES,
            **batch,
            VERBOSITY: _VERBOSITY,
        }
    )


def _validate_schema() -> Schema:
    """The fields of md_apply that make a preview, without saying everything twice."""
    properties = _batch_schema(_AS_IN_APPLY)["properties"]
    brief = {name: {**properties[name]} for name in _OF_A_PREVIEW}
    for schema in brief.values():
        schema.pop("description", None)
        schema.pop("enum", None)
    return object_schema(brief)


def _apply_schema() -> Schema:
    batch = _batch_schema({"type": "array", "items": edit_schema()})
    plan = {"planId": {"type": "string", "description": "A preview to apply."}}
    return {**batch, "properties": {**plan, **batch["properties"]}}


_INPUTS: Final[Mapping[str, Callable[[], Schema]]] = {
    "md_stat": _stat_schema,
    "md_read": _read_schema,
    "md_search": _search_schema,
    "md_validate": _validate_schema,
    "md_apply": _apply_schema,
}


@cache
def input_schema(tool: str) -> Schema:
    """What `tool` takes, a tool that looks, previews or applies."""
    return _INPUTS[tool]()
