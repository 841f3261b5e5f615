"""delete_ini_key: delete a key of an INI file."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.ini import IniKeyOperation, ini_of
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.plaintext.ini_edits import delete_key


class DeleteIniKey(IniKeyOperation):
    """Delete a key of an INI file, with all lines of its value.

    A comment after the value goes with it; comments and blank lines around and between its lines stay. So
    does a section that is then empty. The name of a key counts in any case where none fits by the letter.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "delete_ini_key",
        "section": "database",
        "key": "timeout",
    }
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.SECTION_NOT_FOUND})
    is_listed: ClassVar = False  # delete_value does the same.

    op: Literal["delete_ini_key"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletion of its lines. Errors: those of the address and the guards."""
        ini = ini_of(outline)
        key = self.find_key(ini)
        if isinstance(key, Diagnostic):
            return (key,)
        problems = tuple(self.other_value_problem(ini, key))
        if problems:
            return problems
        span = ini.source.lines.span(key.first_line, key.last_line)
        return Resolution(
            claims=(Claim(span=span, owner=0, part=(key.section, key.index)),),
            edits=delete_key(ini, key),
            is_evidence=self.has_precondition(ini, key, takes_lines=True),
        )
