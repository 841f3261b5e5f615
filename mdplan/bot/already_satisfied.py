"""Edits that hold already: nothing is left to do where what they take away, or make, is not there or is.

So a manifest can be applied twice: it says what should be true, and an edit that finds that to be true is
done. An edit that says how many matches it expects is taken at its word.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline.heading_path import find_by_path
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section
from mdplan.operations.base.operation import Operation

_GONE: Final[Mapping[str, frozenset[Code]]] = {
    "delete_section": frozenset({Code.SECTION_NOT_FOUND, Code.ANCHOR_NOT_FOUND}),
    "delete_table_row": frozenset({Code.KEY_NOT_FOUND}),
    "delete_front_matter": frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND}),
    "remove_from_front_matter_list": frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND}),
    "delete_ini_key": frozenset({Code.KEY_NOT_FOUND, Code.SECTION_NOT_FOUND}),
}
_MATCHED: Final = frozenset({"replace_match", "remove_list_item"})
_COUNTS: Final = ("expected_match_count", "min_matches", "max_matches")


def is_settled(operation: Operation, problem: Diagnostic, outline: Outline) -> bool:
    """Whether `problem`, which `operation` met in `outline`, says that there is nothing left to do."""
    if problem.code in _GONE.get(operation.op, ()):
        return True
    if operation.op in _MATCHED and problem.code is Code.MATCH_COUNT_MISMATCH:
        # Where there is a match, too many of them, the problem has its place.
        expects = any(getattr(operation, name, None) is not None for name in _COUNTS)
        return problem.place is None and not expects
    return operation.op == "rename_heading" and _is_renamed(operation, problem, outline)


def is_settled_file(
    edit: Mapping[str, Any], held: bytes | None, encoding: str | None, is_there: Callable[[str], bool]
) -> bool:
    """Whether a file is as `edit`, an operation on the file as a whole, asks.

    `held` are the bytes of the file, None for no file; `is_there` says whether another path is one.
    """
    match edit.get("op"):
        case "create_file":
            return held is not None and held == _encoded(edit.get("markdown"), encoding)
        case "delete_file":
            return held is None
        case "rename_file":
            new = edit.get("newFile")
            return held is None and isinstance(new, str) and is_there(new)
        case _:
            return False


def _encoded(text: object, encoding: str | None) -> bytes | None:
    try:
        return text.encode(encoding or "utf-8") if isinstance(text, str) else None
    except (LookupError, UnicodeEncodeError):
        return None


def _is_renamed(operation: Operation, problem: Diagnostic, outline: Outline) -> bool:
    """Whether the heading has its new title already: the same path, with that at its end."""
    path = getattr(operation, "heading_path", None) or ()
    title = getattr(operation, "new_title", None)
    if problem.code is not Code.SECTION_NOT_FOUND or not isinstance(title, str):
        return False
    if not path:
        path = (getattr(operation, "heading", None) or "",)
    return isinstance(find_by_path(outline, [*path[:-1], title]), Section)
