"""Other spellings of operations: an edit by one of these names is read as one by the operation that it means.

They are of versions in which front matter and INI files had operations of their own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdplan.operations import OPERATIONS

# Names of operations are read by commands that load no model.
if TYPE_CHECKING:
    from mdplan.operations.base import Operation

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Spelling:
    """The operation `op` that is meant, and what makes its fields of those that the caller sent."""

    op: str
    translated: Callable[[Fields], dict[str, Any]]


def _of_front_matter(fields: Fields) -> dict[str, Any]:
    """Return `fields` with keys in which only dots count; a null is absent."""
    made = {name: value for name, value in fields.items() if value is not None}
    if isinstance(key := made.get("key"), str):
        made["key"] = _escaped(key)
    if isinstance(values := made.get("values"), Mapping):
        made["values"] = {_escaped(str(name)): value for name, value in values.items()}
    if isinstance(dates := made.get("dates"), list):
        made["dates"] = [_escaped(str(name)) for name in dates]
    return made


def _escaped(key: str) -> str:
    return re.sub(r"\A/|[\[\\]", r"\\\g<0>", key)


def _of_ini(fields: Fields) -> dict[str, Any]:
    """Return `fields` with the section, where none is what is before the first one; a null is absent."""
    return {"section": "", **{name: value for name, value in fields.items() if value is not None}}


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "set_front_matter": Spelling("set_value", _of_front_matter),
    "delete_front_matter": Spelling("delete_value", _of_front_matter),
    "add_to_front_matter_list": Spelling("add_to_list", _of_front_matter),
    "remove_from_front_matter_list": Spelling("remove_from_list", _of_front_matter),
    "set_ini_key": Spelling("set_value", _of_ini),
    "delete_ini_key": Spelling("delete_value", _of_ini),
    "replace_ini_section": Spelling("set_value", _of_ini),
}


def operation_named(op: object) -> "type[Operation] | None":
    """Return the operation that `op` is the name, or another spelling, of; None for neither."""
    if not isinstance(op, str):
        return None
    return OPERATIONS.get(SPELLINGS[op].op if op in SPELLINGS else op)
