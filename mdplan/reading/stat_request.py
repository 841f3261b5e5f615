"""What a caller may ask of `stat`, read strictly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import fold_names, holds_surrogate, unknown_fields
from mdplan.text.document_format import DocumentFormat

Detail = Literal["auto", "brief", "full"]
DETAILS: Final = ("auto", "brief", "full")
INVENTORIES: Final = ("codeBlocks", "tables", "tasks", "anchors", "regions", "links")

_SYNONYMS: Final = {"path": "file", "filePath": "file"}
_LISTS: Final = ("under", "include")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatRequest:
    """The structure of one file, or one row for each file of a folder or glob.

    `detail` is ``auto`` (full up to 40 sections), ``brief`` or ``full``. `under` is a section with what is
    below it: an ID or one heading as a string, else a heading path. `depth` (from 1) says how many levels
    below that section, or below the document, are listed. `limit` (from 1; 200 in full detail and for
    folders, 1,000 in brief) is the most entries of a list, and `cursor` the `next_cursor` of the page before.
    `include` names the inventories to give; None is all in full detail and none in brief. With `links` the
    links that lead to nothing are listed, those to other files too, for one file as for many.
    """

    file: str
    detail: Detail = "auto"
    under: str | tuple[str, ...] | None = None
    depth: int | None = None
    limit: int | None = None
    cursor: str | None = None
    encoding: str | None = None
    format: str | None = None
    include: tuple[str, ...] | None = None
    links: bool = False


def read_stat_request(data: Mapping[str, Any]) -> StatRequest | Problems:
    """Request of decoded JSON `data`; a field that is null counts as absent.

    Errors: INVALID_ARGUMENT, UNKNOWN_FIELD; all of them.
    """
    given = {name: value for name, value in fold_names(data, _SYNONYMS).items() if value is not None}
    for name in filter(given.__contains__, _LISTS):
        given[name] = _strings_of(given[name])
    if isinstance(given.get("include"), str):
        given["include"] = (given["include"],)
    if any(holds_surrogate(item) for item in given.items()) or any(map(holds_surrogate, given.values())):
        return (
            Diagnostic.invalid(
                "the request holds a lone surrogate, which is no Unicode text", "send valid Unicode"
            ),
        )
    problems = list(unknown_fields(given, list(_RULES), "the request"))
    for name, (accepts, fault, hint) in _RULES.items():
        if name in given and not accepts(given[name]):
            problems.append(Diagnostic.invalid(f"`{name}` {fault}", hint))
    if "file" not in given:
        problems.append(Diagnostic.invalid("`file` is missing", "give the path of a file, folder or glob"))
    return tuple(problems) if problems else StatRequest(**given)


def _strings_of(value: object) -> object:
    """A list of strings as a tuple, also where it came as JSON text; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        import json

        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        # A heading may look like JSON: `[1.2.0]`.
        return tuple(decoded) if _are_strings(decoded) else value
    return tuple(value) if _are_strings(value) else value


def _are_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_one_of(*choices: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in choices


_TEXT: Final = (_is_text, "is not a string with text in it", "send a string")
_COUNT: Final = (_is_count, "is not a whole number from 1", "send a number, such as 2")
# For each field what it accepts, and what to say of other values.
_RULES: Final[Mapping[str, tuple[Callable[[object], bool], str, str]]] = {
    "file": _TEXT,
    "detail": (_is_one_of(*DETAILS), "is no level of detail", f"choose from {', '.join(DETAILS)}"),
    "under": (
        lambda value: isinstance(value, str | tuple),
        "is neither a string nor a list of strings",
        'send a sectionId, a heading, or a heading path such as ["Guide", "Install"]',
    ),
    "depth": _COUNT,
    "limit": _COUNT,
    "cursor": _TEXT,
    "encoding": _TEXT,
    "format": (_is_one_of(*DocumentFormat), "is no format", f"choose from {', '.join(DocumentFormat)}"),
    "links": (lambda value: isinstance(value, bool), "is not true or false", "send true or false"),
    "include": (
        lambda value: isinstance(value, tuple) and set(value) <= set(INVENTORIES),
        "is not a list of inventories",
        f"choose from {', '.join(INVENTORIES)}",
    ),
}
