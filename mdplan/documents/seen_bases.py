"""Versions of files that a client was shown, as guards of what it writes."""

from collections.abc import Callable, Collection

from mdplan.operations.base import Operation
from mdplan.requests.batch import Batch, FileEdits
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.workspace import Workspace

# The SHA-256 of the version of a file, by its path as reports write it, that the caller saw last.
Seen = Callable[[str], str | None]


def with_seen_bases(
    batch: Batch, workspace: Workspace, seen: Seen, unguarded: Collection[str | None] = ()
) -> Batch:
    """`batch`, in which each file without a base hash has that of the version that was `seen`, if one was.

    Files at the paths `unguarded`, as reports write them, stay without one.
    """

    def base_of(path: str) -> str | None:
        name = workspace.locate(path)
        return seen(str(name)) if isinstance(name, FileName) and str(name) not in unguarded else None

    def guarded_edit(edit: Operation) -> Operation:
        if edit.other_file is None or edit.other_base_sha256 is not None:
            return edit
        base = base_of(edit.other_file)
        return edit if base is None else edit.model_copy(update={"to_base_sha256": base})

    def guarded(file: FileEdits) -> FileEdits:
        edits = tuple(map(guarded_edit, file.edits))
        is_free = file.base_sha256 is None and file.file_effect != "create"
        base = base_of(file.file) if is_free else file.base_sha256
        return file.model_copy(update={"base_sha256": base, "edits": edits})

    return batch.model_copy(update={"files": tuple(map(guarded, batch.files))})
