"""The edit operations, one file each, loaded on first use.

To add one, write a module that is named after the operation, and add its name here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from mdplan.operations.base.operation import Operation

_NAMES: Final = (
    "add_list_item",
    "add_to_front_matter_list",
    "add_to_list",
    "append_to_file",
    "append_to_section",
    "apply_diff",
    "create_file",
    "create_page",
    "delete_file",
    "delete_front_matter",
    "delete_ini_key",
    "delete_lines",
    "delete_section",
    "delete_table_row",
    "delete_value",
    "format_section",
    "insert_lines",
    "insert_section",
    "move_item",
    "move_section",
    "order_sections",
    "prepend_to_section",
    "preview_match",
    "remove_from_front_matter_list",
    "remove_from_list",
    "remove_list_item",
    "rename_file",
    "rename_heading",
    "rename_key",
    "replace_code_block",
    "replace_ini_section",
    "replace_lines",
    "replace_match",
    "replace_range",
    "replace_region",
    "replace_section",
    "set_front_matter",
    "set_heading_level",
    "set_ini_key",
    "set_task",
    "set_value",
    "sort_list",
    "update_toc",
    "upsert_section",
    "upsert_table_row",
)


class _Registry(Mapping[str, type[Operation]]):
    """The models by name. Each is imported when it is looked up: a batch needs few of them."""

    def __getitem__(self, op: str) -> type[Operation]:
        if op not in _NAMES:
            raise KeyError(op)
        return _load(op)

    def __contains__(self, op: object) -> bool:
        return op in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@cache
def _load(op: str) -> type[Operation]:
    model: type[Operation] = getattr(import_module(f"{__name__}.{op}"), class_name(op))
    return model


def class_name(op: str) -> str:
    """The name of the class of the operation `op`: `RenameHeading` for ``rename_heading``."""
    return "".join(word.capitalize() for word in op.split("_"))


OPERATIONS: Final[Mapping[str, type[Operation]]] = _Registry()
