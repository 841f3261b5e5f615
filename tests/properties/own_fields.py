"""Fields that an operation adds to its base class, drawn by their types."""

from typing import Annotated, Any

from annotated_types import BaseMetadata
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import Strict
from pydantic.fields import FieldInfo

from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation
from tests.properties.markdown_documents import payloads


def own_fields(op: str, base: type[Operation]) -> SearchStrategy[dict[str, Any]]:
    """Draw values for the fields of `op` that `base` lacks; fields with a default are optional."""
    own = {
        field.alias or name: field
        for name, field in OPERATIONS[op].model_fields.items()
        if name not in base.model_fields
    }
    required = {name: _values(field) for name, field in own.items() if field.is_required()}
    optional = {name: _values(field) for name, field in own.items() if not field.is_required()}
    return st.fixed_dictionaries(required, optional=optional)


def _values(field: FieldInfo) -> SearchStrategy[Any]:
    kind: Any = field.annotation
    if kind in {str, str | None}:
        return payloads
    # Hypothesis knows bounds such as `ge`, but not pydantic's own ones.
    bounds = [
        each for each in field.metadata if isinstance(each, BaseMetadata) and not isinstance(each, Strict)
    ]
    bounded: Any = Annotated[(kind, *bounds)] if bounds else kind
    return st.from_type(bounded)
