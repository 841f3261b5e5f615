"""set_ini_key: give a key of an INI file a value."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.ini import IniKeyOperation, fault_problem, ini_of
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.plaintext.ini_edits import add_key, add_section, new_key_line, set_value
from mdplan.plaintext.ini_names import key_fault, section_fault, value_fault
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection


class SetIniKey(IniKeyOperation):
    """Set a key of an INI file; a missing one is added to its section.

    Comments, order and spacing stay. A new key is after the last one of its section and is written as
    those before it are; with `createIfMissing` a missing section is added at the end of the file, once for
    all of its keys in a batch. The name of a key counts in any case where none fits by the letter. A comment
    begins at `;` or `#` after white space: one after the old value stays, and a new value that would be
    read as one is refused.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "set_ini_key",
        "section": "database",
        "key": "host",
        "value": "db.example.org",
    }
    is_listed: ClassVar = False  # set_value does the same.

    op: Literal["set_ini_key"]
    value: str = Field(description="New value, one line.")
    create_if_missing: bool = Field(default=False, description="Create the section if it is missing.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement or insertion.

        Errors: those of the address and the guards; INVALID_ARGUMENT for names and values that an INI file
        does not give back as they are.
        """
        ini = ini_of(outline)
        place = self._place(ini)
        problems = (*fault_problem("value", value_fault(self.value)), *self._problems(ini, place))
        if isinstance(place, Diagnostic) or problems:
            return problems
        return self._resolution(ini, place)

    def _place(self, ini: IniOutline) -> IniKey | IniSection | str | Diagnostic:
        """The key, or the section that it is added to, or the name of the section that is made for it."""
        if ini.keys_named(self.section_name(ini), self.key) or self.expected_value is not None:
            return self.find_key(ini)
        return self.section_or_name(ini, may_create=self.create_if_missing)

    def _problems(
        self, ini: IniOutline, place: IniKey | IniSection | str | Diagnostic
    ) -> Iterator[Diagnostic]:
        match place:
            case IniKey():
                yield from self.other_value_problem(ini, place)
                yield from fault_problem("key", key_fault(place.name) if place.name[0] == "[" else None)
                yield from _if_unclear(ini, place, self.value)
            case IniSection():
                yield from fault_problem("key", key_fault(self.key))
                yield from self.changed_problem(ini, place)
            case str():
                yield from fault_problem("key", key_fault(self.key))
                yield from fault_problem("section", section_fault(place))
            case Diagnostic():
                yield place

    def _resolution(self, ini: IniOutline, place: IniKey | IniSection | str) -> Resolution:
        match place:
            case IniKey():
                span = ini.source.lines.span(place.first_line, place.last_line)
                return Resolution(
                    claims=(Claim(span=span, owner=0, part=(place.section, place.index)),),
                    edits=() if place.value == self.value else set_value(ini, place, self.value),
                    is_evidence=self.has_precondition(ini, place, takes_lines=len(place.lines) > 1),
                )
            case IniSection():
                edit = add_key(ini, place, self.key, self.value)
                part: tuple[int | str, ...] = (place.index, self.key.casefold())
                return Resolution(
                    claims=(Claim(span=edit.span, owner=0, part=part),),
                    edits=(edit,),
                    is_evidence=self.section_sha256 is not None,
                )
            case str():
                edit, header = add_section(ini, place, [new_key_line(ini, self.key, self.value)])
                return Resolution(
                    claims=(Claim(span=edit.span, owner=0, part=(place, self.key.casefold())),),
                    edits=(edit,),
                    comes_last=True,
                    shared_start=header,
                )


def _if_unclear(ini: IniOutline, key: IniKey, value: str) -> Iterator[Diagnostic]:
    """INVALID_ARGUMENT where it is not clear that the comment after a value is one.

    Only the sign is, or would be, before it, as in ``colour = #fff``, or the value opens a
    quote that it does not close. Programs without inline comments take all of it for the value.
    """
    if key.comment is None or key.assignment.separator is None:
        return
    old = ini.text_of(key.assignment.value)
    if not value or not old or (old[0] in "\"'" and old.count(old[0]) == 1):
        yield Diagnostic.invalid(
            f"at line {key.first_line} nothing shows where the value ends and a comment begins",
            "write the whole line with replace_lines",
        )
