"""The edit operations, one module for each subject, loaded on first use.

To add one, write its class into the module of its subject, and its name into `_MODULES` here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

# Names of operations are read by commands that load no model.
if TYPE_CHECKING:
    from mdplan.operations.base import Operation

# The module of each operation.
_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "sections": (
        "append_to_section", "prepend_to_section", "insert_section", "replace_section", "upsert_section",
        "format_section",
    ),
    "headings": ("delete_section", "move_section", "order_sections", "rename_heading", "set_heading_level"),
    "lists": ("add_list_item", "remove_list_item", "set_task", "sort_list"),
    "tables": (
        "upsert_table_row", "delete_table_row", "add_table_column", "set_table_column", "delete_table_column",
    ),
    "blocks": ("insert_block", "replace_block", "delete_block", "move_block", "replace_code_block"),
    "regions": ("replace_region", "delete_region", "update_toc"),
    "keys": ("set_value", "delete_value", "rename_key", "add_to_list", "remove_from_list", "move_item"),
    "matches": ("replace_match",),
    "lines": ("replace_range", "insert_lines", "replace_lines", "delete_lines"),
    "diffs": ("apply_diff",),
    "rewrites": ("save_file",),
    "files": ("create_file", "create_page", "append_to_file", "rename_file", "delete_file"),
}  # fmt: skip
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}
# Names of all operations by subject, as help lists them.
TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "Sections": (*_MODULES["sections"], *_MODULES["headings"]),
    "Blocks": (*_MODULES["blocks"], *_MODULES["lists"], *_MODULES["tables"], *_MODULES["regions"]),
    "Keys": (*_MODULES["keys"],),
    "Text": (*_MODULES["matches"], *_MODULES["lines"], *_MODULES["diffs"], *_MODULES["rewrites"]),
    "Files": _MODULES["files"],
}
# Fields that only this operation has together, so that an edit with them needs no name. No deletions.
IMPLIED: Final[Mapping[str, frozenset[str]]] = {
    "replace_match": frozenset({"pattern", "replacement"}),
    "replace_lines": frozenset({"lines", "markdown"}),
    "insert_lines": frozenset({"line", "markdown"}),
    "apply_diff": frozenset({"diff"}),
}
_NAMES: Final = tuple(sorted(_MODULE_OF))


class _Registry(Mapping[str, "type[Operation]"]):
    """The models by name, each imported on first access, because a batch needs few of them."""

    def __getitem__(self, op: str) -> "type[Operation]":
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
def _load(op: str) -> "type[Operation]":
    model: type[Operation] = getattr(import_module(f"{__name__}.{_MODULE_OF[op]}"), class_name(op))
    return model


def class_name(op: str) -> str:
    """Return the name of the class of the operation `op`: `RenameHeading` for ``rename_heading``."""
    return "".join(word.capitalize() for word in op.split("_"))


def moves_text(op: str) -> bool:
    """Return True if edits of `op` move text; False if it is not an operation, such as an undo."""
    return op in _NAMES and _load(op).moves_text


OPERATIONS: "Final[Mapping[str, type[Operation]]]" = _Registry()
