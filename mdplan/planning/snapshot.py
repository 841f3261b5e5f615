"""The files of one batch as the planner saw them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mdplan.edit_numbers import EditNumbers
from mdplan.markdown.outline import Outline
from mdplan.requests.batch import FileEdits


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """One file: what the caller asked of it, and its base.

    `path` is as callers write it, `relative` without the name of the root. `first_edit` is the index of its
    first edit, counted through the whole batch. Of a file that is to be created `exists` is false and
    `outline` is that of no text; `new_path` and `new_relative` are the names that a renaming gives it.
    `other_paths` are, by the index of an edit that writes into another file too, the path of that file.
    `numbers` name the edits of the whole batch.
    """

    path: str
    relative: str
    requested: FileEdits
    outline: Outline
    first_edit: int
    exists: bool = True
    new_path: str | None = None
    new_relative: str | None = None
    other_paths: Mapping[int, str] = field(default_factory=dict)
    numbers: EditNumbers = field(default_factory=EditNumbers)

    @property
    def result_path(self) -> str:
        """The path of the result, without the name of the root."""
        return self.new_relative or self.relative

    @property
    def is_deleted(self) -> bool:
        """Whether the batch deletes the file."""
        return self.requested.file_effect == "delete"
