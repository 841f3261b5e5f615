"""Shared parts of operations on INI files: sections, keys and guards."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.outline.outline import Outline, of_source
from mdplan.operations.base.fields import Ordinal, SectionHash
from mdplan.operations.base.operation import Operation
from mdplan.plaintext.ini_address import find_key, find_section, section_name
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection


class IniOperation(Operation):
    """An operation on a section of an INI file."""

    needs_markdown: ClassVar = False
    needs_ini: ClassVar = True

    section: str | None = Field(
        default=None,
        min_length=1,
        description="Name of an INI section; omit it for the keys before the first one.",
    )
    occurrence: Ordinal | None = Field(
        default=None, description="Which of several keys or sections of that name; 1-based."
    )
    section_sha256: SectionHash | None = Field(
        default=None, description="sectionSha256 from md_stat: refuse if the section has changed."
    )

    def section_name(self, ini: IniOutline) -> str | None:
        """Name of the section; it may have been given in brackets."""
        return section_name(ini, self.section)

    def find_section(self, ini: IniOutline) -> IniSection | Diagnostic:
        """The section. Errors: SECTION_NOT_FOUND, AMBIGUOUS_HEADING; its guard is not looked at."""
        return find_section(ini, self.section_name(ini), self.occurrence)

    def section_or_name(self, ini: IniOutline, *, may_create: bool) -> IniSection | str | Diagnostic:
        """The section, or the name of one to be made where it is missing and no guard says that it is there.

        Errors: those of `find_section`.
        """
        found, name = self.find_section(ini), self.section_name(ini)
        if isinstance(found, IniSection) or name is None or ini.sections_named(name):
            return found
        if may_create:
            is_new = self.section_sha256 is None and self.occurrence in {None, 1}
            return name if is_new else found
        return replace(found, hint=f'{found.hint}; `"createIfMissing": true` would make it')

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """The hash of the section, and of a key its expected value."""
        return self._guards_in(ini_of(base), ini_of(current))

    def _guards_in(self, base: IniOutline, now: IniOutline) -> dict[str, object]:
        """Guards true of `base`, by the names of their fields, as they read on the later text `now`."""
        before, after = self._guarded_section(base), self._guarded_section(now)
        if self.section_sha256 is None or isinstance(before, Diagnostic) or isinstance(after, Diagnostic):
            return {}
        holds = base.has_sha256(before, self.section_sha256)
        return {"section_sha256": now.section_sha256(after)} if holds else {}

    def _guarded_section(self, ini: IniOutline) -> IniSection | Diagnostic:
        """The section that `sectionSha256` is of."""
        return self.find_section(ini)

    def changed_problem(self, ini: IniOutline, section: IniSection) -> Iterator[Diagnostic]:
        """SECTION_CHANGED where `section` has not the hash that the caller expects."""
        if self.section_sha256 is not None and not ini.has_sha256(section, self.section_sha256):
            yield Diagnostic(
                code=Code.SECTION_CHANGED,
                message=f"the section at lines {section.first_line}-{section.last_line} has changed",
                hint=f"read it again; its sectionSha256 is now {ini.section_sha256(section)}",
            )


class IniKeyOperation(IniOperation):
    """An operation on one key of an INI file."""

    key: str = Field(description="Name of the key.")
    expected_value: str | None = Field(
        default=None, description="Value that the key has now, without a comment after it."
    )

    def find_key(self, ini: IniOutline) -> IniKey | Diagnostic:
        """The key. Errors: KEY_NOT_FOUND, SECTION_NOT_FOUND, AMBIGUOUS_HEADING; guards are not looked at."""
        return find_key(ini, self.section_name(ini), self.key, self.occurrence)

    def _guards_in(self, base: IniOutline, now: IniOutline) -> dict[str, object]:
        """Those of the section, and the value that the key has instead of the expected one."""
        guards = super()._guards_in(base, now)
        before, after = self.find_key(base), self.find_key(now)
        if (
            isinstance(before, IniKey)
            and isinstance(after, IniKey)
            and not any(self._other_value(base, before))
        ):
            guards["expected_value"] = None if self.expected_value is None else after.value or ""
        return guards

    def _guarded_section(self, ini: IniOutline) -> IniSection | Diagnostic:
        key = self.find_key(ini)
        return ini.sections[key.section] if isinstance(key, IniKey) else self.find_section(ini)

    def other_value_problem(self, ini: IniOutline, key: IniKey) -> Iterator[Diagnostic]:
        """What is wrong with the guards on `key`. Errors: TEXT_MISMATCH, SECTION_CHANGED."""
        yield from self._other_value(ini, key)
        yield from self.changed_problem(ini, ini.sections[key.section])

    def _other_value(self, ini: IniOutline, key: IniKey) -> Iterator[Diagnostic]:
        if self.expected_value is not None and self.expected_value != (key.value or ""):
            yield Diagnostic(
                code=Code.TEXT_MISMATCH,
                message=f"the key at line {key.first_line} is `{short_name(key.value or '')}`, "
                f"not `{short_name(self.expected_value)}`",
                hint="to change it, send that as `expectedValue`, without a comment after it",
                place=ini.source.lines.position(key.assignment.name.start),
            )

    def has_precondition(self, ini: IniOutline, key: IniKey, *, takes_lines: bool) -> bool:
        """Whether guards fix what of `key` goes: its value alone, or with `takes_lines` whole lines too.

        A value says nothing of a comment that goes with it, nor which of several keys it is.
        """
        if self.section_sha256 is not None:
            return True
        is_only = len(ini.keys_named(self.section_name(ini), self.key)) == 1
        return self.expected_value is not None and is_only and not (takes_lines and key.has_comment)


def ini_of(outline: Outline) -> IniOutline:
    """The INI structure of the source of `outline`, read once."""
    return outline.derived(of_source, IniOutline)


def fault_problem(field: str, fault: str | None) -> Iterator[Diagnostic]:
    """INVALID_ARGUMENT where `fault` says why an INI file cannot contain what is in `field`."""
    if fault is not None:
        yield Diagnostic.invalid(
            f"`{field}` {fault}, so that it would not be read back as it is",
            "use replace_lines or replace_match for lines that only your program reads so",
        )
