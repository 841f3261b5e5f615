"""delete_file: remove a file."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.file_state import FileState
from mdplan.operations.base.operation import Claim, FileEffect, Operation, Resolution
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


class DeleteFile(Operation):
    """Remove the file.

    Its content stays in the history, so that `undo` can bring it back. `baseSha256` of the file, or a plan
    ID, proves that it is the file you saw. No other edit of the same file goes with it.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_file"}
    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "delete"

    op: Literal["delete_file"]

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Whether there is no such file."""
        del edit
        return file.data is None

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """The deletion of all text."""
        whole = Span(0, len(outline.source.text))
        edits = (TextEdit(whole, ""),) if len(whole) else ()
        return Resolution(claims=(Claim(span=whole, owner=outline.sections[0].index),), edits=edits)
