"""Shared parts of operations that create a file."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.file_state import FileState
from mdplan.operations.base.operation import Claim, FileEffect, Operation, Resolution
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


class NewFileOperation(Operation):
    """An operation that makes a new file with the text of `markdown`."""

    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "create"

    markdown: str = Field(description="The whole text of the file.")

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Whether the file has these bytes."""
        text = edit.get("markdown")
        if file.data is None or not isinstance(text, str):
            return False
        try:
            return file.data == text.encode(file.encoding or "utf-8")
        except (LookupError, UnicodeEncodeError):
            return False

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion into the empty text."""
        edits = (TextEdit.insert(0, self.markdown),) if self.markdown else ()
        claim = Claim(span=Span(0, 0), owner=outline.sections[0].index)
        return Resolution(claims=(claim,), edits=edits, is_evidence=True)
