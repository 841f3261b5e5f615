"""rename_file: give a file another name or folder."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.file_state import FileState
from mdplan.operations.base.operation import FileEffect, Operation, Resolution


class RenameFile(Operation):
    """Give the file another name, or put it into another folder; missing folders are made.

    Other edits of the file may go with it: they name it by its old path. Links to the file, and relative
    links in it, follow with `updateReferences`. Nothing is overwritten: a file of the new name must not
    exist. Mode, owner and attributes of the file stay.
    """

    example: ClassVar[dict[str, object]] = {"op": "rename_file", "newFile": "docs/kettle.md"}
    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "rename"

    op: Literal["rename_file"]
    new_file: str = Field(min_length=1, description="New path, inside the same root.")

    @property
    def new_path(self) -> str:
        """The path that the file gets."""
        return self.new_file

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Whether the file has its new name."""
        new = edit.get("newFile")
        return file.data is None and isinstance(new, str) and file.exists(new)

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """No text edit: the planner takes the new path from here."""
        del outline  # Whatever the file contains, it stays.
        return Resolution(claims=())
