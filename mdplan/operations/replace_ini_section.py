"""replace_ini_section: replace the lines of a section of an INI file."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.ini import IniOperation, fault_problem, ini_of
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.plaintext.ini_edits import add_section, replace_body
from mdplan.plaintext.ini_names import section_fault
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_payload import IniPayload, read_ini_payload
from mdplan.plaintext.ini_section import IniSection


class ReplaceIniSection(IniOperation):
    """Replace the text between the header of an INI section and the next one.

    The payload may begin with the header; it stays as it is. Blank lines at the edges of the section stay,
    and so does a comment directly above the next header, which belongs to that section. With
    `createIfMissing` a missing section is added at the end of the file.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_ini_section",
        "section": "database",
        "markdown": "host = db.example.org\nport = 5432\n",
    }

    op: Literal["replace_ini_section"]
    markdown: str = Field(description="New lines: keys and comments.")
    create_if_missing: bool = Field(default=False, description="Create the section if it is missing.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Replacement of the lines that differ.

        Errors: those of the address and the guard; EMPTY_CONTENT; INVALID_ARGUMENT for a payload with other
        sections; OUTLINE_CHANGED for one whose last key would take the next header.
        """
        ini, payload = ini_of(outline), read_ini_payload(self.markdown)
        place = self.section_or_name(ini, may_create=self.create_if_missing)
        problems = (*self._payload_problems(ini, payload), *self._problems(ini, place, payload))
        if isinstance(place, Diagnostic) or problems:
            return problems
        if isinstance(place, str):
            edit, _ = add_section(ini, place, payload.lines)
            return Resolution(
                claims=(Claim(span=edit.span, owner=0, part=(place,)),), edits=(edit,), comes_last=True
            )
        return Resolution(
            claims=(Claim(span=place.body, owner=0, part=(place.index,)),),
            edits=replace_body(ini, place, payload.lines),
            is_evidence=self.section_sha256 is not None,
        )

    def _payload_problems(self, ini: IniOutline, payload: IniPayload) -> Iterator[Diagnostic]:
        if not payload.lines:
            yield Diagnostic(
                code=Code.EMPTY_CONTENT,
                message="markdown is empty",
                hint="use delete_ini_key for its keys, or delete_lines for all of it",
            )
        if payload.other_sections:
            yield Diagnostic.invalid(
                f"the payload has {payload.other_sections} more section headers",
                "replace one section with each edit",
            )
        elif payload.header is not None and payload.header != self.section_name(ini):
            yield Diagnostic.invalid(
                "the payload begins with the header of another section",
                "leave the header out; rename a section with replace_match",
            )

    def _problems(
        self, ini: IniOutline, place: IniSection | str | Diagnostic, payload: IniPayload
    ) -> Iterator[Diagnostic]:
        match place:
            case IniSection():
                yield from self.changed_problem(ini, place)
                yield from _if_swallows(ini, place, payload)
            case str():
                yield from fault_problem("section", section_fault(place))
            case Diagnostic():
                yield place


def _if_swallows(ini: IniOutline, section: IniSection, payload: IniPayload) -> Iterator[Diagnostic]:
    """OUTLINE_CHANGED where the next header would continue the last value of `payload`."""
    following = ini.sections[section.index + 1 : section.index + 2]
    if following and payload.last_indent is not None and following[0].indent > payload.last_indent:
        yield Diagnostic(
            code=Code.OUTLINE_CHANGED,
            message=f"the header at line {following[0].first_line} is indented deeper than the last key of "
            "the payload, and would continue its value",
            hint="indent the keys of the payload as the file does",
        )
