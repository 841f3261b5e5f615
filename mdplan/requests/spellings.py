"""Other spellings of operations in batches, and likely meanings of unknown names.

The spellings come from versions with separate operations for front matter, INI files and previews.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mdplan.field_names import EDIT_SYNONYMS, camel_case
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

# Candidate operations, likeliest first.
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("append_to_section", "insert_section", "add_list_item"),
    "add_column": ("add_table_column",),
    "add_row": ("upsert_table_row",),
    "add_section": ("insert_section",),
    "add_table_row": ("upsert_table_row",),
    "append": ("append_to_section", "append_to_file"),
    "append_section": ("append_to_section",),
    "check": ("set_task",),
    "check_task": ("set_task",),
    "complete_task": ("set_task",),
    "create": ("create_file",),
    "delete": ("delete_section", "delete_block", "delete_file"),
    "delete_column": ("delete_table_column",),
    "delete_paragraph": ("delete_block",),
    "delete_row": ("delete_table_row",),
    "edit": ("replace_match", "replace_section"),
    "edit_section": ("replace_section",),
    "find_replace": ("replace_match",),
    "format": ("format_section",),
    "insert": ("insert_block", "append_to_section", "insert_section"),
    "insert_paragraph": ("insert_block",),
    "insert_text": ("append_to_section", "insert_lines"),
    "move": ("move_section", "move_block", "rename_file"),
    "move_column": ("set_table_column",),
    "move_file": ("rename_file",),
    "move_table_column": ("set_table_column",),
    "patch": ("apply_diff",),
    "prepend": ("prepend_to_section",),
    "remove": ("delete_section", "delete_block"),
    "remove_section": ("delete_section",),
    "rename": ("rename_heading", "rename_file"),
    "rename_column": ("set_table_column",),
    "rename_section": ("rename_heading",),
    "rename_table_column": ("set_table_column",),
    "replace": ("replace_match", "replace_section", "replace_lines"),
    "replace_all": ("replace_match",),
    "replace_body": ("replace_section",),
    "replace_paragraph": ("replace_block",),
    "replace_string": ("replace_match",),
    "replace_text": ("replace_match",),
    "replace_word": ("replace_match",),
    "search_replace": ("replace_match",),
    "set": ("set_value",),
    "set_frontmatter": ("set_value",),
    "set_key": ("set_value",),
    "sort": ("sort_list",),
    "str_replace": ("replace_match",),
    "substitute": ("replace_match",),
    "tick": ("set_task",),
    "toggle_task": ("set_task",),
    "update": ("replace_section", "replace_match"),
    "update_frontmatter": ("set_value",),
    "update_row": ("upsert_table_row",),
    "update_section": ("replace_section",),
    "write": ("create_file",),
    "write_file": ("create_file",),
}

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
    if folded in _SYNONYMS:
        return _SYNONYMS[folded]
    near = difflib.get_close_matches(folded, operations, n=_MOST)
    ratios = [difflib.SequenceMatcher(None, folded, each).ratio() for each in near]
    is_clear = bool(near) and ratios[0] >= _NEAR and (len(near) == 1 or ratios[0] - ratios[1] >= _CLEARLY)
    return tuple(near[:1] if is_clear else near)
