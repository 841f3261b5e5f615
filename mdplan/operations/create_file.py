"""create_file: make a new file."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.file_state import FileState
from mdplan.operations.base.operation import Claim, FileEffect, Operation, Resolution
from mdplan.text.edit import TextEdit
from mdplan.text.span import Span


class CreateFile(Operation):
    """Make a new file that holds `markdown`, to the byte; missing folders are made too.

    A file of that name must not exist; nothing else needs to pin the edit. The text may be empty, and of any
    kind, not only Markdown. `encoding` beside the file says how it is written; UTF-8 without it. No other
    edit of the same file goes with it.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "create_file",
        "markdown": "# Changelog\n\nNothing yet.\n",
    }
    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "create"

    op: Literal["create_file"]
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
