"""What a caller may ask of `search`, read strictly."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import fold_names, unknown_fields
from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.operations.base.operation import Wire
from mdplan.reading.search_query import DEFAULT_LIMIT, MOST_CONTEXT, MOST_MATCHES, SearchRequest
from mdplan.requests.reader import validated, wire_names, with_decoded_fields
from mdplan.text.search.pattern import MatchType

__all__ = ["SearchFields", "SearchRequest", "read_search_request"]

_SYNONYMS: Final = {"path": "file", "filePath": "file", "query": "pattern"}


class SearchFields(Wire):
    """A pattern and where to look for it."""

    pattern: str = Field(min_length=1, description="Text or regular expression to find.")
    file: str = Field(default=".", min_length=1, description="File, folder or glob; else the whole root.")
    match_type: MatchType = Field(default=MatchType.LITERAL, description="literal or regex.")
    case_sensitive: bool = Field(default=True, description="Whether case matters.")
    multiline: bool = Field(default=True, description="Regex: ^ and $ match at line ends.")
    dot_all: bool = Field(default=False, description="Regex: . matches line ends.")
    exclude: tuple[NodeKind, ...] = Field(default=(), description="Kinds of nodes to leave out.")
    context: Annotated[int, Field(strict=True, ge=0, le=MOST_CONTEXT)] = Field(
        default=0, description="Lines to show on both sides of a match."
    )
    limit: Annotated[int, Field(strict=True, ge=1, le=MOST_MATCHES)] = Field(
        default=DEFAULT_LIMIT, description="Most matches to list; the totals are exact all the same."
    )
    respect_gitignore: bool = Field(default=False, description="Leave out what .gitignore names.")
    section_patterns: tuple[str, ...] = Field(
        default=(),
        max_length=20,
        description="Regexes of lines that begin a section: each match tells where the next one is.",
    )
    cursor: str | None = Field(default=None, description="nextCursor of the answer before.")
    encoding: str | None = Field(default=None, description="Where files are not UTF-8 and have no BOM.")
    format: str | None = Field(
        default=None,
        pattern=r"^(markdown|ini|text)$",
        description="markdown, text or ini; found by name when absent.",
    )


def read_search_request(data: Mapping[str, Any]) -> SearchRequest | Problems:
    """Request of decoded JSON `data`; null counts as absent. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD; all."""
    folded = {name: value for name, value in fold_names(data, _SYNONYMS).items() if value is not None}
    fields = with_decoded_fields(SearchFields, folded)
    problems: tuple[Diagnostic, ...] = tuple(unknown_fields(fields, wire_names(SearchFields), "the request"))
    if problems:
        return problems
    request: SearchFields | Problems = validated(SearchFields, fields, "")
    if not isinstance(request, SearchFields):
        return request
    return SearchRequest(**{name: getattr(request, name) for name in SearchFields.model_fields})
