"""Requests of the toolsets whose names and shapes are those of a document: models, read strictly."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from mdplan.diagnostics import Problems
from mdplan.schema import Schema
from mdplan.surfaces.mcp_server.flat_schema import object_schema, request_properties
from mdplan.wire import unknown_fields, validated, wire_names, with_decoded_fields


class Request(BaseModel):
    """Strict, frozen model of a request; its fields are called on the wire as they are here."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


AnyRequest = TypeVar("AnyRequest", bound=BaseModel)


def read_arguments(model: type[AnyRequest], arguments: Mapping[str, Any]) -> AnyRequest | Problems:
    """`arguments` of a call as a `model`; null counts as absent. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    given = {name: value for name, value in arguments.items() if value is not None}
    fields = with_decoded_fields(model, given)
    problems = tuple(unknown_fields(fields, wire_names(model), "the call"))
    if problems:
        return problems
    request: AnyRequest | Problems = validated(model, fields, "", "see the description of the tool")
    return request


def request_schema(model: type[Request]) -> Schema:
    """Published schema of a request."""
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return object_schema(request_properties(model), required)
