"""Published schemas of what the tools of the toolset `text` answer: the shapes of requirements 01 and 02.

A refusal has `status`, `message` and `suggestions`; a success has the other fields. Headings hold headings as
their `children`, which a schema without references cannot say to every depth.
"""

from collections.abc import Mapping
from typing import Final

from mdplan.mcp.flat_schema import object_schema
from mdplan.requests.schemas import Schema

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
_FILE: Final[dict[str, Schema]] = {
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


OUTPUTS: Final[Mapping[str, Schema]] = {
    "TextInspect": object_schema(
        {
            **_REFUSAL,
            **_FILE,
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
            **_FILE,
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
