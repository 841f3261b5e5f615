"""Other spellings of operations in batches, and likely meanings of unknown names.

The spellings come from versions with separate operations for front matter, INI files and previews.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mdplan.field_names import EDIT_SYNONYMS, camel_case, meanings
from mdplan.operations import IMPLIED, OPERATIONS
from mdplan.values import Struct, field

# Names of operations are read by commands that load no model.
if TYPE_CHECKING:
    from mdplan.operations.base import Operation


Fields = Mapping[str, Any]


class Spelling(Struct):
    """The operation `op` that is meant, and a function that converts the caller's fields to its fields.

    `fixed` are fields, by wire name, whose values the spelling sets; callers cannot.
    """

    op: str
    translated: Callable[[Fields], dict[str, Any]] = dict
    fixed: Fields = field(default_factory=dict)


def _of_front_matter(fields: Fields) -> dict[str, Any]:
    """Return `fields` with keys in which only dots separate; drops nulls except the expected value."""
    made = _without_nulls(fields)
    if isinstance(key := made.get("key"), str):
        made["key"] = _escaped(key)
    if isinstance(values := made.get("values"), Mapping):
        made["values"] = {_escaped(str(name)): value for name, value in values.items()}
    for field_name in ("dates", "numbers"):
        if isinstance(names := made.get(field_name), list):
            made[field_name] = [_escaped(str(name)) for name in names]
    return made


def _escaped(key: str) -> str:
    return re.sub(r"\A/|[\[\\]", r"\\\g<0>", key)


def _of_ini(fields: Fields) -> dict[str, Any]:
    """Return `fields` with the section, by default the part above the first one. Drops nulls as above."""
    return {"section": "", **_without_nulls(fields)}


def _without_nulls(fields: Fields) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None or name == "expectedValue"}


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "set_front_matter": Spelling("set_value", _of_front_matter),
    "delete_front_matter": Spelling("delete_value", _of_front_matter),
    "add_to_front_matter_list": Spelling("add_to_list", _of_front_matter),
    "remove_from_front_matter_list": Spelling("remove_from_list", _of_front_matter),
    "set_ini_key": Spelling("set_value", _of_ini),
    "delete_ini_key": Spelling("delete_value", _of_ini),
    "replace_ini_section": Spelling("set_value", _of_ini),
    "preview_match": Spelling("replace_match", fixed={"replacement": "", "preview": True}),
}


def operation_named(op: object) -> "type[Operation] | None":
    """Return the operation that `op` is the name, or another spelling, of; None for neither."""
    if not isinstance(op, str):
        return None
    return OPERATIONS.get(SPELLINGS[op].op if op in SPELLINGS else op)


# --- Suggestions for unknown operation names: first a table of synonyms, then similarity.

_MOST: Final = 3

# A single name is suggested if it is nearer than the next one by this share.
_CLEARLY: Final = 0.05
_NEAR: Final = 0.85


def op_of(edit: Mapping[str, Any]) -> object:
    """Return the `op` of an edit as sent, or the operation that its other fields imply, or None."""
    if "op" in edit:
        return edit["op"]
    names = {EDIT_SYNONYMS.get(camel, camel) for camel in map(camel_case, edit)}
    return next((op for op, fields in IMPLIED.items() if fields <= names), None)


def meant_operations(name: str, operations: Sequence[str]) -> tuple[str, ...]:
    """Return the `operations` that `name` can mean, likeliest first; only one if it is clearly nearest."""
    folded = name.strip().lower().replace("-", "_").replace(" ", "_")
    if folded in operations:
        return (folded,)
    if folded in SPELLINGS:
        return (SPELLINGS[folded].op,)
    if folded in meanings()["operations"]:
        return tuple(meanings()["operations"][folded])
    near = difflib.get_close_matches(folded, operations, n=_MOST)
    ratios = [difflib.SequenceMatcher(None, folded, each).ratio() for each in near]
    is_clear = bool(near) and ratios[0] >= _NEAR and (len(near) == 1 or ratios[0] - ratios[1] >= _CLEARLY)
    return tuple(near[:1] if is_clear else near)
