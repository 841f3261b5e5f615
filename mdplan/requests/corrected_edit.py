"""Translates an edit in the fields of another tool into those of mdplan, for hints only."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mdplan.field_names import EDIT_SYNONYMS, camel_case, meant_fields
from mdplan.operations import IMPLIED, OPERATIONS
from mdplan.operations.base import Operation
from mdplan.requests.model_reader import validated, wire_names
from mdplan.requests.operation_names import meant_operations

# Fields in which other tools name the operation.
_OP_NAMES: Final = ("op", "operation", "type", "action")
_LONGEST: Final = 400


def corrected_edit(op: object, edit: Mapping[str, Any]) -> str:
    """`edit` as JSON with a known operation and its fields; empty where that is not certain.

    The operation is `op`, what is in a field such as ``operation``, or what the other fields imply.
    """
    named = next((name for name in _OP_NAMES if isinstance(edit.get(name), str)), None)
    word = op if isinstance(op, str) else edit[named] if named else None
    fields = {name: value for name, value in edit.items() if name not in ("op", named)}
    for operation in meant_operations(word, tuple(OPERATIONS)) if word else IMPLIED:
        renamed = _renamed(fields, wire_names(OPERATIONS[operation]))
        if renamed is None or (not word and not IMPLIED[operation] <= renamed.keys()):
            continue
        found = {"op": operation, **renamed}
        if isinstance(validated(OPERATIONS[operation], found, ""), Operation):
            written = json.dumps(found, ensure_ascii=False)
            return written if len(written) <= _LONGEST else ""
    return ""


def _renamed(fields: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any] | None:
    """`fields` under the names of `known` that they mean; None where one means none, or two mean one."""
    renamed: dict[str, Any] = {}
    for name, value in fields.items():
        camel = camel_case(name)
        names = (camel, EDIT_SYNONYMS.get(camel, camel), *meant_fields(name))
        found = next((each for each in names if each in known), None)
        if found is None or found in renamed:
            return None
        renamed[found] = value
    return renamed
