"""Requests of the toolsets whose names and shapes are those of a document: models, read strictly."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import unknown_fields
from mdplan.mcp.arguments import not_unicode
from mdplan.mcp.flat_schema import object_schema, request_properties
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.requests.batch import validated, wire_names, with_decoded_fields
from mdplan.requests.schemas import Schema

# Longer than any path that a file system takes.
MOST_PATH: Final = 4096
_OTHER_TOOLS: Final = re.compile(r"\bmd_[a-z]+\b")
# Names of the field that names a file, as models mix them up; without underscores, in lower case.
_PATHS: Final = frozenset({"file", "path", "filepath", "searchpath"})


class Request(BaseModel):
    """Strict, frozen model of a request, or of a part of one.

    At every depth null counts as absent, JSON text is decoded where an object or array belongs, and a name
    may be written in another case (`filePath`, `file_path`) or be another name for the path of a file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _read_fields(cls, data: object) -> object:
        return _folded(cls, data) if isinstance(data, Mapping) else data


AnyRequest = TypeVar("AnyRequest", bound=BaseModel)


def read_arguments(model: type[AnyRequest], arguments: Mapping[str, Any]) -> AnyRequest | Problems:
    """`arguments` of a call as a `model`. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    problem = not_unicode(arguments)
    if problem is not None:
        return (problem,)
    fields = _folded(model, arguments)
    problems = tuple(unknown_fields(fields, wire_names(model), "the call"))
    if problems:
        return problems
    request: AnyRequest | Problems = validated(model, fields, "", "see the description of the tool")
    return request


def request_schema(model: type[Request]) -> Schema:
    """Published schema of a request."""
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return object_schema(request_properties(model), required)


def hint_of(problem: Diagnostic) -> str:
    """The hint of `problem`, unless it sends to what only the toolset `md` has."""
    hint = in_words_of(Caller.AGENT, problem.hint)
    return "" if _OTHER_TOOLS.search(hint) else hint


def _folded(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    known = {_plain(name): name for name in wire_names(model)}
    path = next((name for plain, name in known.items() if plain in _PATHS), None)
    fields: dict[str, Any] = {}
    for name, value in data.items():
        meant = known.get(_plain(name), path if _plain(name) in _PATHS else None)
        is_free = meant is not None and meant not in data and meant not in fields
        if value is not None:
            fields[meant if meant is not None and is_free else name] = value
    return with_decoded_fields(model, fields)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
