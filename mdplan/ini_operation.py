"""What operations on INI files share: how they name a section or a key, and their guards."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.operation import Operation, Ordinal, SectionHash
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
        description="Name of an INI section; left out: what stands before the first one.",
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
        if may_create and self.section_sha256 is None:
            return name
        if may_create:
            return found
        return replace(found, hint=f'{found.hint}; `"createIfMissing": true` would make it')

    def if_changed(self, ini: IniOutline, section: IniSection) -> Iterator[Diagnostic]:
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
        default=None, description="Value that the key has now, without a comment behind it."
    )

    def find_key(self, ini: IniOutline) -> IniKey | Diagnostic:
        """The key. Errors: KEY_NOT_FOUND, SECTION_NOT_FOUND, AMBIGUOUS_HEADING; guards are not looked at."""
        return find_key(ini, self.section_name(ini), self.key, self.occurrence)

    def if_other(self, ini: IniOutline, key: IniKey) -> Iterator[Diagnostic]:
        """What is wrong with the guards on `key`. Errors: TEXT_MISMATCH, SECTION_CHANGED."""
        if self.expected_value is not None and self.expected_value != (key.value or ""):
            yield Diagnostic(
                code=Code.TEXT_MISMATCH,
                message=f"the value of the key at line {key.first_line} is not expectedValue",
                hint="read the line again; a comment behind the value is not part of it",
                place=ini.source.lines.position(key.assignment.name.start),
            )
        yield from self.if_changed(ini, ini.sections[key.section])

    @property
    def is_guarded(self) -> bool:
        """Whether a guard fixes the value that the key has."""
        return self.expected_value is not None or self.section_sha256 is not None


def ini_of(outline: Outline) -> IniOutline:
    """The INI structure of the source of `outline`, read once."""
    return outline.derived(IniOutline)


def if_fault(field: str, fault: str | None) -> Iterator[Diagnostic]:
    """INVALID_ARGUMENT where `fault` says why an INI file cannot hold what stands in `field`."""
    if fault is not None:
        yield Diagnostic(
            code=Code.INVALID_ARGUMENT,
            message=f"`{field}` {fault}, so that it would not be read back as it is",
            hint="use replace_lines or replace_match for lines that only your program reads so",
        )
