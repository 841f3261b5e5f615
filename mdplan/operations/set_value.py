"""set_value: give keys of a YAML, JSON, TOML or INI file, or of front matter, a value."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from mdplan.data.address import Found, GivenKey, key_missing, steps_of
from mdplan.data.content import dated, dated_as_others, with_dates, written_in
from mdplan.data.tree import Change, KeyChange, NewEntry, Path, as_read, value_at, values_equal
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.front_matter_edits import type_changes
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import (
    CreatingOperation,
    PlacedOperation,
    Step,
    Target,
    null_in_toml,
    other_kind,
    readable_key,
)
from mdplan.operations.base.json_fields import checked
from mdplan.operations.base.operation import Resolution
from mdplan.text.source import DocumentFormat


class SetValue(PlacedOperation, CreatingOperation):
    """Set the value of a key or list item in a YAML, JSON, TOML or INI file, or in front matter.

    Only the bytes of the value change: comments, quotes, order, indentation and anchors stay. A map
    instead of a map, or a list instead of a list, changes only the entries that differ. A new key comes
    last in its map, or where `before`, `after` or `inOrder` say; one that is there stays in its place.
    `createIfMissing` makes the maps on its way, and front matter; in front matter that is there such maps
    are made without it. `values` sets many keys: `{"title": "Tea", "author.name": "Kim"}`. A string that
    reads as a date takes the place of a date as a date; for a new key, name the key in `dates`.

    JSON may have comments and be JSON5. A file of several YAML documents is a list of them: `[0].kind`.
    In INI a key counts in any case where none fits by the letter. `markdown` replaces all lines of `section`:
    it may begin with the header, and blank lines at its edges and a comment right above the next header stay.

    The result is read again, by another reader where there is one. What an alias repeats, a key that occurs
    twice, and what cannot be cut is refused.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "set_value",
        "key": "nav[0].Home",
        "value": "start.md",
        "expectedValue": "index.md",
    }

    op: Literal["set_value"]
    key: str | tuple[Step, ...] | None = Field(  # type: ignore[assignment]
        default=None, description=str(PlacedOperation.model_fields["key"].description)
    )
    value: Any = Field(
        default=None, description="New value: any JSON. An array or object as it is, not as a string."
    )
    values: dict[str, Any] | None = Field(
        default=None, min_length=1, description="New values by key; instead of key and value."
    )
    dates: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Keys whose strings are dates, to be written without quotes."
    )
    markdown: str | None = Field(
        default=None, description="New lines of the whole section; instead of key and value."
    )

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return checked(given)

    @field_validator("values")
    @classmethod
    def _check_values(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        keys = {steps_of(str(readable_key(name))): name for name in given or {}}
        inside = [key for key in keys for length in range(1, len(key)) if key[:length] in keys]
        if inside:
            msg = f"`{keys[inside[0]]}` lies in another of the keys"
            raise ValueError(msg)
        for each in (given or {}).values():
            checked(each if isinstance(each, dict | list | float) else None)
        return given

    @model_validator(mode="after")
    def _check_choice(self) -> "SetValue":
        is_one = "value" in self.model_fields_set
        ways = is_one + (self.values is not None) + (self.markdown is not None)
        if ways != 1 or (self.key is not None) != is_one:
            msg = "give key and value, or values"
            raise ValueError(msg)
        if self.markdown is not None and (self.section is None or self.expected_value is not None):
            msg = "markdown goes with section, and sectionSha256 guards it"
            raise ValueError(msg)
        if self.expected_value is not None and len(self._wanted) != 1:
            msg = "expectedValue requires one key"
            raise ValueError(msg)
        strange = [name for name in self.dates or () if name not in dict(self._wanted)]
        if strange:
            msg = f"dates names `{strange[0]}`, which is none of the keys"
            raise ValueError(msg)
        return self

    @property
    def _wanted(self) -> list[tuple[GivenKey, Any]]:
        """The new values by key."""
        return [(self.key, self.value)] if self.key is not None else list((self.values or {}).items())

    @property
    def guarded_key(self) -> GivenKey | None:
        """The one key, or the first of several."""
        return self.key if self.key is not None else next(iter(self.values or {}), None)

    @property
    def wire_form(self) -> dict[str, Any]:
        """The edit with its value, be it null."""
        is_null = self.value is None and "value" in self.model_fields_set and self._written is None
        return super().wire_form | ({"value": None} if is_null else {})

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Replacements and insertions.

        Errors: those of `read`, `find` and `place_in`; INVALID_ARGUMENT where a key on its way is not a map,
        for a null in TOML, and for what no line of an INI file can hold.
        """
        target = self.read(outline)
        if isinstance(target, Diagnostic):
            return (target,)
        if self.markdown is not None:
            return self._section(outline, target)
        problems: list[Diagnostic] = []
        changes: list[Change] = []
        parts: list[tuple[Path, str]] = []
        for key, value in self._wanted:
            outcome = self._change(outline, target, key, value)
            if isinstance(outcome, _Wanted):
                parts.append((outcome.part, ""))
                changes += [] if outcome.change is None else [outcome.change]
            else:
                problems += outcome
        if problems:
            return tuple(problems)
        resolution = self.resolution(outline, target, parts, changes)
        if not isinstance(resolution, Resolution):
            return resolution
        warnings = tuple(type_changes(target.content.values, changes))
        return replace(resolution, warnings=(*resolution.warnings, *warnings))

    def _section(self, outline: Outline, target: Target) -> Resolution | Problems:
        from mdplan.data.ini_edits import IniAddress
        from mdplan.operations.base.ini import replaced_section

        return replaced_section(
            outline,
            target.content,
            IniAddress(None, self.section, self.occurrence),
            self.markdown or "",
            sha256=self.section_sha256,
            may_create=self.create_if_missing,
        )

    def _change(self, outline: Outline, target: Target, key: GivenKey, value: object) -> "_Wanted | Problems":
        """What is to become of `key`, or all that is wrong with that."""
        found = self.find(outline, target, key, is_new=True)
        if isinstance(found, Diagnostic):
            return (found, *null_in_toml(target, value))
        language = target.content.language
        text = written_in(language, value)
        new: Any = with_dates(language, text) if key in (self.dates or ()) else text
        problems = (*null_in_toml(target, text), *self._value_problems(target, key, found, text, new))
        if problems:
            return problems
        if found.missing:
            change = self._new(outline, target, key, found, new)
            if isinstance(change, Diagnostic):
                return (change,)
            # Two keys of an INI file that differ in case are one for many programs.
            last = found.missing[-1].casefold() if target.is_ini else found.missing[-1]
            return _Wanted((*found.whole[:-1], last), change)
        old = value_at(target.content.values, found.path)
        new = dated(language, new, old)
        return _Wanted(found.path, None if values_equal(old, as_read(new)) else KeyChange(found.path, new))

    def _value_problems(
        self, target: Target, key: GivenKey, found: Found, text: object, new: object
    ) -> Iterator[Diagnostic]:
        """INVALID_ARGUMENT where what was `found` cannot have the value `text`, which is written as `new`."""
        if not found.whole:
            yield Diagnostic.invalid("set_value needs a key", "the whole file is written by create_file")
        elif target.is_ini:
            from mdplan.operations.base.ini import line_problems

            yield from line_problems(target.content, found, text)
        if key in (self.dates or ()) and text == new:
            what = f"`dates` names `{key}`, whose value is no date"
            yield Diagnostic.invalid(what, "send a date such as 2026-01-31")

    def _new(
        self,
        outline: Outline,
        target: Target,
        key: GivenKey,
        found: Found,
        value: Any,  # noqa: ANN401
    ) -> Change | Diagnostic:
        """The change that makes what is missing of what was `found`."""
        values = target.content.values
        parent = value_at(values, found.path)
        makes_maps = self.create_if_missing or outline.format is DocumentFormat.MARKDOWN
        if parent is None and makes_maps:
            return KeyChange(found.whole, value)
        if not isinstance(parent, dict):
            is_list = isinstance(parent, list)
            return (
                key_missing(values, found)
                if is_list
                else other_kind(outline, target, found.path, "a map of keys")
            )
        if len(found.missing) > 1 and not makes_maps:
            problem = self.find(outline, target, key)
            assert isinstance(problem, Diagnostic), "it is missing"
            return replace(problem, hint=f'`"createIfMissing": true` would make it; {problem.hint}')
        if target.is_ini and not isinstance(value, dict) and self._goes_astray(target, found):
            return Diagnostic.invalid(
                "a key of an INI file goes into a section, as in `section.key`",
                'send `"section": ""` for one before the first section',
            )
        if len(found.missing) == 1:
            value = dated_as_others(target.content.language, value, parent.values())
        return self._entry(values, found, value)

    def _entry(self, values: object, found: Found, value: object) -> Change | Diagnostic:
        """The change that adds `value` where it belongs in the map that was `found`."""
        place = self.place_in(values, found.path, found.missing[0])
        if isinstance(place, Diagnostic):
            return place
        if place is None:
            return KeyChange(found.whole, value)
        for name in reversed(found.missing[1:]):
            value = {name: value}
        return NewEntry(found.path, place, value, found.missing[0])

    def _goes_astray(self, target: Target, found: Found) -> bool:
        """Tell whether a new key would be the only one before the sections of an INI file, unasked."""
        first, *sections = target.content.ini.outline.sections
        is_before = not found.path and len(found.missing) == 1
        return is_before and self.section is None and bool(sections) and not first.keys


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to become of the key that the path `part` names; nothing where it has its value."""

    part: Path
    change: Change | None
