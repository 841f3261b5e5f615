"""set_value: give a key of a YAML, JSON, TOML or INI file, or of front matter, a value."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from mdplan.data.address import Found, key_missing, shown
from mdplan.data.change import Change, KeyChange, as_read, value_at, values_equal
from mdplan.data.json_values import dated, dated_as_others, written_in
from mdplan.data.node import Opaque, Path
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.edits.front_matter_problems import kind_of, type_changes
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.data import PlacedOperation, Target, new_entry
from mdplan.operations.base.front_matter import checked
from mdplan.operations.base.operation import Resolution


class SetValue(PlacedOperation):
    """Set the value of a key or list item in a YAML, JSON, TOML or INI file, or in front matter.

    Only the bytes of the value change: comments, quotes, order, indentation and anchors stay. A map
    instead of a map, or a list instead of a list, changes only the entries that differ. A new key comes
    last in its map, or where `before`, `after` or `inOrder` say; one that is there stays in its place.
    `createIfMissing` makes the maps on its way, and front matter. JSON may have comments and be JSON5. A
    file of several YAML documents is a list of them: `[0].kind`.

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
    value: Any = Field(description="New value: any JSON. An array or object as it is, not as a string.")
    create_if_missing: bool = Field(
        default=False, description="Make the maps on the way to the key, and front matter."
    )

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return checked(given)

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement or insertion.

        Errors: those of `read`, `find` and `place_in`; INVALID_ARGUMENT where a key on its way is not a map.
        """
        target = self.read(outline, may_create=self.create_if_missing)
        found = target if isinstance(target, Diagnostic) else self.find(outline, target)
        if isinstance(target, Diagnostic) or isinstance(found, Diagnostic):
            return tuple(each for each in (found,) if isinstance(each, Diagnostic))
        if not found.whole:
            return (Diagnostic.invalid("set_value needs a key", "the whole file is written by create_file"),)
        change = self._new(target, found) if found.missing else self._other(target, found.path)
        if isinstance(change, Diagnostic):
            return (change,)
        changes = [] if change is None else [change]
        resolution = self.resolution(outline, target, [(found.whole, "")], changes)
        if not isinstance(resolution, Resolution):
            return resolution
        warnings = tuple(type_changes(target.content.values, changes))
        return replace(resolution, warnings=(*resolution.warnings, *warnings))

    def _other(self, target: Target, path: Path) -> Change | None:
        """Another value of what is there, in its place; None where it has that value."""
        old = value_at(target.content.values, path)
        value = dated(target.content.language, self._value(target), old)
        return None if values_equal(old, as_read(value)) else KeyChange(path, value)

    def _value(self, target: Target) -> object:
        return written_in(target.content.language, self.value)

    def _new(self, target: Target, found: Found) -> Change | Diagnostic:
        values = target.content.values
        parent = value_at(values, found.path)
        if parent is None and self.create_if_missing:
            return KeyChange(found.whole, self._value(target))
        if not isinstance(parent, dict):
            if isinstance(parent, list):
                return key_missing(values, found)
            what = "an alias or a value with a tag" if isinstance(parent, Opaque) else kind_of(parent)
            where = f"`{shown(found.path)}`" if found.path else "the outermost value"
            return Diagnostic.invalid(f"{where} is {what}, not a map of keys", "name another key")
        if len(found.missing) > 1 and not self.create_if_missing:
            problem = key_missing(values, found)
            hint = f'`"createIfMissing": true` would make it; {problem.hint}'
            return Diagnostic(code=problem.code, message=problem.message, hint=hint)
        value: Any = self._value(target)
        if len(found.missing) == 1:
            value = dated_as_others(target.content.language, value, parent.values())
        for name in reversed(found.missing[1:]):
            value = {name: value}
        place = self.place_in(values, found.path, found.missing[0])
        return (
            place if isinstance(place, Diagnostic) else new_entry(found.path, place, found.missing[0], value)
        )
