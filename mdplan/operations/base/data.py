"""Shared parts of operations on data files: addresses, guards and positions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from mdplan.data.address import Found, GivenKey, find, key_missing, shown, steps_of
from mdplan.data.content import DataContent, as_json, other_value, value_matches
from mdplan.data.tree import REMOVED, Change, DataError, Element, Language, Opaque, Path, Splice, value_at
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.format_detection import FrontMatterFormat
from mdplan.markdown.front_matter import Unreadable, empty_content
from mdplan.markdown.front_matter_edits import (
    OTHER_VALUE,
    cannot_change,
    data_content,
    data_splices,
    kind_of,
    no_block,
    position_of,
    unreadable,
)
from mdplan.markdown.outline import Outline
from mdplan.operations.base.fields import Ordinal, SectionHash
from mdplan.operations.base.json_fields import checked, scalars_of
from mdplan.operations.base.operation import KEYS, Claim, DataChanges, Operation, Resolution
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat

# A name, a number, or a key and its value. Not a plain `tuple[str, ...]`, which the request reader takes
# for a heading path: a string would become one element.
Step = Annotated[str | int | dict[str, Any], Field(union_mode="left_to_right")]


@dataclass(frozen=True, slots=True)
class Target:
    """The parsed values of a file, or of its front matter, which it `creates` first."""

    content: DataContent
    creates: FrontMatterFormat | None = None

    @property
    def is_ini(self) -> bool:
        """Tell whether it is an INI file."""
        return self.content.language is Language.INI


class DataOperation(Operation):
    """An operation on a key or item of a YAML, JSON, TOML or INI file, or of front matter."""

    needs_markdown: ClassVar = False
    needs_keys: ClassVar = True

    section: str | None = Field(
        default=None,
        description="INI section, in which `key` is one name; empty for what is before the first one.",
    )
    key: str | tuple[Step, ...] = Field(
        description='Key: "nav[0].Home", "/nav/0/Home" or ["nav", 0, "Home"]; [name=Build] is an item by a '
        "key in it, [=text] one by its value.",
    )
    expected_value: Any = Field(
        default=None, description="Value that the key has now: JSON, a date as it is written."
    )

    occurrence: Ordinal | None = Field(
        default=None, description="Which of several equal keys or sections of an INI file; 1-based."
    )
    section_sha256: SectionHash | None = Field(
        default=None,
        description="sectionSha256 from md_stat: refuse if the section of the INI file has changed.",
    )

    @field_validator("key", mode="before")
    @classmethod
    def _check_key(cls, given: object, info: ValidationInfo) -> object:
        return given if info.data.get("section") is not None else readable_key(given)

    @field_validator("expected_value")
    @classmethod
    def _check_expected_value(cls, given: object) -> object:
        return checked(given)

    @model_validator(mode="after")
    def _check_section(self) -> "DataOperation":
        if self.section is not None and not isinstance(self.key, str | None):
            msg = "with section, key is one name"
            raise ValueError(msg)
        return self

    @property
    def needs_ini(self) -> bool:
        """Whether a field is given that is of INI files alone."""
        return any(each is not None for each in (self.section, self.occurrence, self.section_sha256))

    @property
    def guarded_key(self) -> GivenKey | None:
        """The key that `expected_value` is of; None where it is a section."""
        return self.key

    def read(self, outline: Outline) -> Target | Diagnostic:
        """What the file says. Errors: INVALID_ARGUMENT, FRONT_MATTER_NOT_FOUND, and those of `unreadable`."""
        content = data_content(outline)
        if isinstance(content, Unreadable):
            return unreadable(outline, content)
        creates = self._created_format() if content is None else None
        if content is not None:
            return Target(content)
        if outline.format is DocumentFormat.TEXT:
            return Diagnostic.invalid(
                f"{self.op} needs YAML, JSON, TOML, INI or front matter, and this file counts as plain text",
                'send `"format": "yaml"` next to `file` if it is YAML',
            )
        if creates is not None and self.expected_value is None:
            return Target(empty_content(creates).data, creates)
        return no_block(may_create=creates is None and "create_if_missing" in type(self).model_fields)

    def _created_format(self) -> FrontMatterFormat | None:
        """The format of front matter that may be created; None where none may."""
        return None

    def find(
        self, outline: Outline, target: Target, key: GivenKey, *, is_new: bool = False
    ) -> Found | Diagnostic:
        """What `key` names, after the guards on it; it may be missing where it can be one that `is_new`.

        Errors: INVALID_ARGUMENT, KEY_NOT_FOUND, SECTION_NOT_FOUND, AMBIGUOUS_HEADING, TEXT_MISMATCH,
        SECTION_CHANGED.
        """
        values = target.content.values
        is_new = is_new and self.expected_value is None
        if target.is_ini:
            from mdplan.data.ini_edits import IniAddress, find_in_ini

            address = IniAddress(key, self.section, self.occurrence)
            found = find_in_ini(target.content.ini, address, is_new=is_new)
        else:
            found = find(values, key, is_new=is_new)
        if isinstance(found, Diagnostic):
            return found
        value = value_at(values, found.path)
        if found.missing and not isinstance(value, dict | list | None):
            return other_kind(outline, target, found.path, "a map of keys")
        if found.missing and not is_new:
            return key_missing(values, found)
        return self._guard_problem(outline, target, found) or found

    def _guard_problem(self, outline: Outline, target: Target, found: Found) -> Diagnostic | None:
        """TEXT_MISMATCH or SECTION_CHANGED where what was `found` is not what the caller expects."""
        value = value_at(target.content.values, found.path)
        if target.is_ini:
            # A key without a sign after it has no value.
            value = "" if value is None else value
        if self.expected_value is not None and not value_matches(
            target.content.language, value, self.expected_value
        ):
            return Diagnostic(
                code=Code.TEXT_MISMATCH,
                message=other_value(f"`{shown(found.path)}`", value, self.expected_value),
                hint=OTHER_VALUE
                if outline.format is DocumentFormat.MARKDOWN
                else "to change it, send that as `expectedValue`",
                place=place_of(outline, target, found.path),
            )
        if self.section_sha256 is None:
            return None
        from mdplan.operations.base.ini import section_changed

        return section_changed(outline, target.content, found, self.section_sha256)

    def find_there(self, outline: Outline, target: Target) -> Path | Diagnostic:
        """The path that `key` names, which must be there. Errors: those of `find`."""
        found = self.find(outline, target, self.key)
        return found.path if isinstance(found, Found) else found

    def resolution(
        self, outline: Outline, target: Target, parts: Sequence[tuple[Path, str]], changes: Sequence[Change]
    ) -> Resolution | Problems:
        """`changes` of `target`, claiming `parts`: paths, each with what of it is new, or nothing.

        Errors: DATA_INVALID, FRONT_MATTER_INVALID.
        """
        try:
            splices = data_splices(outline, changes, target.creates)
        except DataError as error:
            return (cannot_change(outline, error),)
        edits = tuple(splice.edit for splice in splices)
        # The value of a key says nothing of a comment that goes with it.
        takes_comment = any(
            sign in outline.text_of(edit.span) for edit in edits for sign in ("#", "//", "/*", ";")
        )
        is_guarded = self.expected_value is not None and self.occurrence is None and not takes_comment
        return Resolution(
            claims=tuple(_claims(outline, target, parts, splices)),
            edits=edits,
            is_evidence=is_guarded or self.section_sha256 is not None,
            data=DataChanges(changes=tuple(changes), creates=target.creates),
        )

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """`expected_value` as the value that the key has in `current`, and the hash of its section there."""
        content = data_content(base)
        guards: dict[str, Any] = {}
        if not isinstance(content, DataContent):
            return guards
        before, now = self._value_in(base), self._value_in(current)
        if self.expected_value is not None and REMOVED not in (before, now):
            holds = value_matches(content.language, before, self.expected_value)
            guards["expected_value"] = as_json(now) if holds else self.expected_value
        if self.section_sha256 is not None and base.format is DocumentFormat.INI:
            from mdplan.data.ini_edits import IniAddress
            from mdplan.operations.base.ini import later_sha256

            address = IniAddress(self.guarded_key, self.section, self.occurrence)
            later = later_sha256(base, current, address, self.section_sha256)
            guards |= {} if later is None else {"section_sha256": later}
        return guards

    def _value_in(self, outline: Outline) -> object:
        content = data_content(outline)
        if not isinstance(content, DataContent) or self.guarded_key is None:
            return REMOVED
        target = Target(content)
        unguarded = self.model_copy(update={"expected_value": None, "section_sha256": None})
        found = unguarded.find(outline, target, self.guarded_key)
        if isinstance(found, Diagnostic):
            return REMOVED
        value = value_at(content.values, found.path)
        return "" if value is None and target.is_ini else value


class CreatingOperation(DataOperation):
    """An operation that may create the key that it names, and front matter."""

    create_if_missing: bool = Field(
        default=False, description="Create what is missing on the way to the key, and front matter."
    )
    front_matter_format: Literal["yaml", "toml"] | None = Field(
        default=None, description="Of front matter that is created; yaml when absent."
    )

    @model_validator(mode="after")
    def _check_format(self) -> "CreatingOperation":
        if self.front_matter_format is not None and not self.create_if_missing:
            msg = "frontMatterFormat requires createIfMissing"
            raise ValueError(msg)
        return self

    def _created_format(self) -> FrontMatterFormat | None:
        return FrontMatterFormat(self.front_matter_format or "yaml") if self.create_if_missing else None


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


def null_in_toml(target: Target, value: object) -> Iterator[Diagnostic]:
    """INVALID_ARGUMENT where `value` is null, or holds one, and the text is TOML."""
    if target.content.language is Language.TOML and None in scalars_of(value):
        yield Diagnostic.invalid(
            "TOML has no null", "delete the key with delete_value, or give another value"
        )


def other_kind(outline: Outline, target: Target, path: Path, wanted: str) -> Diagnostic:
    """INVALID_ARGUMENT for the value at `path`, which is not what is `wanted`."""
    value = value_at(target.content.values, path)
    what = "an alias or a value with a tag" if isinstance(value, Opaque) else kind_of(value)
    where = f"`{shown(path)}`" if path else "the outermost value"
    return Diagnostic.invalid(
        f"{where} is {what}, not {wanted}",
        "name another key, or give this one a new value with set_value",
        place=place_of(outline, target, path),
    )


def place_of(outline: Outline, target: Target, path: Path) -> Position | None:
    """Where the key or item at `path` is; None where that is not known."""
    span = _span_of(target, path)
    return None if span is None else position_of(outline, span.start)


def _span_of(target: Target, path: Path) -> Span | None:
    """Return the text of the key and value, or the item, at `path`."""
    content = target.content
    if path in content.places or content.root is None or not path:
        return content.places.get(path)
    entry = content.root.at(path)
    return None if entry is None else Span(entry.start, entry.end)


def _claims(
    outline: Outline, target: Target, parts: Sequence[tuple[Path, str]], splices: Sequence[Splice]
) -> Iterator[Claim]:
    """Claims of each part: the text of its key and value, or the place where it will be inserted."""
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    start = outline.front_matter.content.start if outline.front_matter else 0
    first = min((splice.edit.span.start for splice in splices), default=start)
    for path, new in parts:
        found = None if new else _span_of(target, path)
        span = Span(found.start + start, found.end + start) if found else Span(first, first)
        names = (each if isinstance(each, int) else str(each) for each in path)
        part = (KEYS, *names, *([f"+ {new}"] if new else []))
        yield Claim(span=span, owner=None if is_markdown else 0, part=part)
