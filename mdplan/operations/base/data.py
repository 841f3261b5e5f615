"""Shared parts of operations on data files: addresses, guards and positions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, field_validator, model_validator

from mdplan.data.address import Found, find, key_missing, shown, steps_of
from mdplan.data.change import REMOVED, Change, KeyChange, NewEntry, Splice, value_at
from mdplan.data.content import DataContent
from mdplan.data.json_values import as_json, other_value, value_matches
from mdplan.data.node import DataError, Element, Opaque, Path
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.edits.data_splices import data_splices
from mdplan.markdown.edits.front_matter_problems import (
    OTHER_VALUE,
    cannot_change,
    kind_of,
    no_block,
    unreadable,
)
from mdplan.markdown.front_matter.location import FrontMatterFormat
from mdplan.markdown.front_matter.values import Unreadable, empty_content
from mdplan.markdown.outline.data_content import data_content
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter import PART, checked
from mdplan.operations.base.operation import Claim, DataChanges, Operation, Resolution
from mdplan.text.document_format import DocumentFormat
from mdplan.text.span import Span

# A name, a number, or a key and its value. Not a plain `tuple[str, ...]`, which the request reader takes
# for a heading path: a string would become one element.
Step = Annotated[str | int | dict[str, Any], Field(union_mode="left_to_right")]
_FILE: Final = "keys"


@dataclass(frozen=True, slots=True)
class Target:
    """The parsed values of a file; `is_new` if its front matter has to be created first."""

    content: DataContent
    is_new: bool = False


class DataOperation(Operation):
    """An operation on a key or item of a YAML, JSON, TOML or INI file, or of front matter."""

    needs_markdown: ClassVar = False
    needs_keys: ClassVar = True

    key: str | tuple[Step, ...] = Field(
        description='Key: "nav[0].Home", "/nav/0/Home" or ["nav", 0, "Home"]; [name=Build] is an item by a '
        "key in it, [=text] one by its value.",
    )
    expected_value: Any = Field(
        default=None, description="Value that the key has now: JSON, a date as it is written."
    )

    @field_validator("key", mode="before")
    @classmethod
    def _check_key(cls, given: object) -> object:
        return readable_key(given)

    @field_validator("expected_value")
    @classmethod
    def _check_expected_value(cls, given: object) -> object:
        return checked(given)

    def read(self, outline: Outline, *, may_create: bool = False) -> Target | Diagnostic:
        """What the file says. Errors: INVALID_ARGUMENT, FRONT_MATTER_NOT_FOUND, and those of `unreadable`."""
        content = data_content(outline)
        if isinstance(content, Unreadable):
            return unreadable(outline, content)
        if content is not None:
            return Target(content)
        if outline.format is DocumentFormat.TEXT:
            return Diagnostic.invalid(
                f"{self.op} needs YAML, JSON, TOML, INI or front matter, and this file counts as plain text",
                'send `"format": "yaml"` next to `file` if it is YAML',
            )
        if may_create and self.expected_value is None:
            return Target(empty_content(FrontMatterFormat.YAML).data, is_new=True)
        return no_block(may_create=not may_create and "create_if_missing" in type(self).model_fields)

    def find(self, outline: Outline, target: Target) -> Found | Diagnostic:
        """What `key` names, after the guard on it.

        Errors: INVALID_ARGUMENT, KEY_NOT_FOUND, TEXT_MISMATCH.
        """
        found = find(target.content.values, self.key)
        if isinstance(found, Diagnostic) or self.expected_value is None:
            return found
        if found.missing:
            return key_missing(target.content.values, found)
        value = value_at(target.content.values, found.path)
        if value_matches(target.content.language, value, self.expected_value):
            return found
        return Diagnostic(
            code=Code.TEXT_MISMATCH,
            message=other_value(f"`{shown(found.path)}`", value, self.expected_value),
            hint=OTHER_VALUE
            if outline.format is DocumentFormat.MARKDOWN
            else "to change it, send that as `expectedValue`",
            place=place_of(outline, target, found.path),
        )

    def find_there(self, outline: Outline, target: Target) -> Path | Diagnostic:
        """The path that `key` names, which must be there. Errors: those of `find`."""
        found = self.find(outline, target)
        if isinstance(found, Found) and found.missing:
            return key_missing(target.content.values, found)
        return found.path if isinstance(found, Found) else found

    def resolution(
        self, outline: Outline, target: Target, parts: Sequence[tuple[Path, str]], changes: Sequence[Change]
    ) -> Resolution | Problems:
        """`changes` of `target`, claiming `parts`: paths, each with what of it is new, or nothing.

        Errors: DATA_INVALID, FRONT_MATTER_INVALID.
        """
        creates = FrontMatterFormat.YAML if target.is_new else None
        try:
            splices = data_splices(outline, changes, creates)
        except DataError as error:
            return (cannot_change(outline, error),)
        edits = tuple(splice.edit for splice in splices)
        # The value of a key says nothing of a comment that goes with it.
        takes_comment = any(
            sign in outline.text_of(edit.span) for edit in edits for sign in ("#", "//", "/*", ";")
        )
        return Resolution(
            claims=tuple(_claims(outline, target, parts, splices)),
            edits=edits,
            is_evidence=self.expected_value is not None and not takes_comment,
            data=DataChanges(changes=tuple(changes), creates=creates),
        )

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """`expected_value` as the value that the key has in `current`."""
        before, now = self._value_in(base), self._value_in(current)
        content = data_content(base)
        if self.expected_value is None or not isinstance(content, DataContent) or REMOVED in (before, now):
            return {}
        holds = value_matches(content.language, before, self.expected_value)
        return {"expected_value": as_json(now) if holds else self.expected_value}

    def _value_in(self, outline: Outline) -> object:
        content = data_content(outline)
        found = find(content.values, self.key) if isinstance(content, DataContent) else None
        if not isinstance(content, DataContent) or not isinstance(found, Found) or found.missing:
            return REMOVED
        return value_at(content.values, found.path)


class PlacedOperation(DataOperation):
    """An operation that gives an entry a place among others, or the last one if it `may_stay_last`."""

    may_stay_last: ClassVar[bool] = True

    before: str | int | dict[str, Any] | None = Field(
        default=None, description="Key, or item by text, number or a key in it, that the entry goes before."
    )
    after: str | int | dict[str, Any] | None = Field(default=None, description="The same, to go after it.")
    in_order: bool = Field(default=False, description="Put the entry where it belongs among sorted ones.")

    @model_validator(mode="after")
    def _check_place(self) -> "PlacedOperation":
        given = (self.before is not None) + (self.after is not None) + self.in_order
        if given > 1 or (not given and not self.may_stay_last):
            msg = "give one of before, after and inOrder"
            raise ValueError(msg)
        return self

    def place_in(
        self,
        values: Any,  # noqa: ANN401 (any value)
        path: Path,
        entry: object,
        moved: Element | None = None,
    ) -> int | Diagnostic | None:
        """Number of the entry of the list or map at `path` that `entry` goes before; None for the end.

        `entry` is the name of a key, or an item, and `moved` names it where it is there already.
        Errors: KEY_NOT_FOUND, INVALID_ARGUMENT.
        """
        collection = value_at(values, path)
        names: list[Any] = list(collection)
        if self.in_order:
            own = names.index(moved) if isinstance(collection, dict) and moved in names else moved
            text = order_text(entry)
            return next((at for at, each in enumerate(names) if at != own and order_text(each) > text), None)
        neighbour = self.after if self.before is None else self.before
        if neighbour is None:
            return None
        if isinstance(collection, dict):
            if neighbour not in names:
                return key_missing(values, Found(path, (str(neighbour),)))
            at = names.index(neighbour)
        else:
            found = find(collection, [neighbour])
            if isinstance(found, Found) and found.missing and isinstance(neighbour, str):
                found = find(collection, f"[={neighbour}]") if neighbour in collection else found
            if isinstance(found, Diagnostic):
                return found
            if found.missing or not found.path or not isinstance(found.path[0], int):
                return key_missing(values, Found(path, (str(neighbour),)))
            at = found.path[0]
        return at + (self.before is None) if at + (self.before is None) < len(names) else None


def order_text(entry: object) -> str:
    """What an entry is sorted by: its text, or the first key of a map."""
    while isinstance(entry, dict) and entry:
        entry = next(iter(entry))
    return str(entry).casefold()


def readable_key(given: object) -> object:
    """`given`, which an address can be read from. Raises `ValueError`."""
    if isinstance(given, str):
        steps_of(given)
        return given
    is_array = isinstance(given, list | tuple) and all(
        (isinstance(each, str | int) and not isinstance(each, bool))
        or (isinstance(each, Mapping) and len(each) == 1)
        for each in given
    )
    if not is_array:
        msg = 'send a dotted key such as "nav[0].Home", a JSON Pointer, or an array of names and numbers'
        raise ValueError(msg)
    return given


def place_of(outline: Outline, target: Target, path: Path) -> Any:  # noqa: ANN401 (a position, or None)
    """Where the key or item at `path` is; None where that is not known."""
    span = target.content.places.get(path)
    if span is None:
        return None
    start = outline.front_matter.content.start if outline.front_matter else 0
    return outline.source.lines.position(start + span.start)


def collection_at(values: Any, path: Path, kind: type) -> Any:  # noqa: ANN401 (any value)
    """The list or map at `path`. Errors: INVALID_ARGUMENT for another value."""
    found = value_at(values, path)
    if isinstance(found, kind):
        return found
    wanted = "a list" if kind is list else "a map of keys"
    is_own = isinstance(found, Opaque)
    what = "an alias or a value with a tag" if is_own else kind_of(found)
    where = f"`{shown(path)}`" if path else "the outermost value"
    return Diagnostic.invalid(f"{where} is {what}, not {wanted}", "name another key, or edit its lines")


def new_entry(path: Path, place: int | None, name: str, value: object) -> Change:
    """The change that adds the key `name` to the map at `path`."""
    return KeyChange((*path, name), value) if place is None else NewEntry(path, place, value, name)


def _claims(
    outline: Outline, target: Target, parts: Sequence[tuple[Path, str]], splices: Sequence[Splice]
) -> Iterator[Claim]:
    """Claims of each part: the text of its key and value, or the place where it will be inserted."""
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    start = outline.front_matter.content.start if outline.front_matter else 0
    first = min((splice.edit.span.start for splice in splices), default=start)
    for path, new in parts:
        found = None if new else target.content.places.get(path)
        span = Span(found.start + start, found.end + start) if found else Span(first, first)
        part = (PART if is_markdown else _FILE, *path, *([f"+ {new}"] if new else []))
        yield Claim(span=span, owner=None if is_markdown else 0, part=part)
