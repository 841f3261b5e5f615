"""What is wrong with keys and values, or with the front matter or file that has them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mdplan.data.tree import REMOVED, Change, DataError, KeyChange, value_at
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.front_matter.values import Unreadable
from mdplan.markdown.outline.outline import Outline
from mdplan.text.lines import Position
from mdplan.text.source import DocumentFormat, visible

OTHER_VALUE: Final = (
    "to change it, send that as `expectedValue`; in many files, "
    "send as `files` the names that search with where finds"
)
_EDIT_AS_TEXT: Final = "edit the lines themselves with replace_lines or replace_match"


def no_block(*, may_create: bool) -> Diagnostic:
    """FRONT_MATTER_NOT_FOUND, where the operation may create a block or not."""
    create = '; `"createIfMissing": true` would make it' if may_create else ""
    return Diagnostic(
        code=Code.FRONT_MATTER_NOT_FOUND,
        message="the file has no front matter",
        hint=f"front matter starts with `---` or `+++` on the very first line{create}",
    )


def unreadable(outline: Outline, why: Unreadable) -> Diagnostic:
    """FRONT_MATTER_INVALID, or DATA_INVALID, for what cannot be read, or not with safety."""
    place = position_of(outline, why.offset)
    at = f" at line {place.line}" if place else ""
    return _invalid(outline, f"cannot be edited by keys{at}: {why.reason}", place)


def cannot_change(outline: Outline, error: DataError) -> Diagnostic:
    """The problem of a change that cannot be made, or whose side effects cannot be ruled out."""
    return _invalid(outline, f"cannot be edited this way: {error.reason}", position_of(outline, error.offset))


def _invalid(outline: Outline, what: str, place: Position | None) -> Diagnostic:
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    return Diagnostic(
        code=Code.FRONT_MATTER_INVALID if is_markdown else Code.DATA_INVALID,
        message=f"the {'front matter' if is_markdown else 'file'} {what}",
        hint=_EDIT_AS_TEXT,
        place=place,
    )


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if value is REMOVED:
        return "missing"
    if value is None:
        return "empty"
    names = {
        dict: "a map",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "a date or time")


def position_of(outline: Outline, offset: int | None) -> Position | None:
    """Position of `offset`, which counts from the start of the front matter, or of a file of keys."""
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    if offset is None or (is_markdown and outline.front_matter is None):
        return None
    start = outline.front_matter.content.start if outline.front_matter else 0
    return outline.source.lines.position(start + offset)


_TYPES: Final[Mapping[type, str]] = {bool: "boolean", int: "number", float: "number", str: "string"}


def type_changes(values: object, changes: Iterable[Change]) -> Iterator[Diagnostic]:
    """FRONT_MATTER_TYPE for each scalar of `values` that gets one of another type."""
    for change in changes:
        if not isinstance(change, KeyChange):
            continue
        old = _TYPES.get(type(value_at(values, change.key)))
        new = _TYPES.get(type(change.value))
        if old is not None and new is not None and old != new:
            yield Diagnostic.warning(
                Code.FRONT_MATTER_TYPE,
                f"`{visible('.'.join(map(str, change.key)))}` was a {old} and is a {new} now",
                f'to keep text, put the value in quotes: `"{_as_text(change.value)}"`'
                if old == "string"
                else "send the value as the type that it should have: false and 3 without quotes",
            )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
