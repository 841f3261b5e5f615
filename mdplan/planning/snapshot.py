"""The files of one batch as the planner saw them."""

from dataclasses import dataclass

from mdplan.batch import FileEdits
from mdplan.markdown.outline import Outline


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """One file: what the caller asked of it, and its base.

    `path` is as callers write it, `relative` without the name of the root. `first_edit` is the index of its
    first edit, counted through the whole batch.
    """

    path: str
    relative: str
    requested: FileEdits
    outline: Outline
    first_edit: int
