"""Traces of a running commit in the tree: temporary files next to targets, and a note at the root.

The user's store knows what a commit changes. The note, `.mdplan-commit.json`, tells everybody else: another
user, a container without the store, a CI job with another home. It exists while a commit runs, and after a
killed one until recovery.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import MAX_IMAGE_BYTES, content_of, read_regular_file
from mdplan.storage.filesystem import storage_errors
from mdplan.storage.folders import Folders, can_exchange, folder_of
from mdplan.storage.names import NOTE, canonical_path, is_temporary_name
from mdplan.storage.root import Root
from mdplan.storage.store import TRANSACTION, FileEntry, Record, State, Store
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct
from mdplan.words import Run, say

_MAX_NOTE_BYTES: Final = 1 << 25
_FORMAT: Final = 1
_SHA256: Final = lazy_pattern(r"[0-9a-f]{64}")
_MAX_SIZE: Final = 1 << 50
_NAMES_SHOWN: Final = 5
_NO_NOTE: Final = frozenset({Code.SYMLINK_REFUSED, Code.NOT_A_TEXT_FILE, Code.FILE_TOO_LARGE})


class FoundContents(NamedTuple):
    """The content under the three names of a place, as returned by `files.content_of`."""

    target: str | None
    temporary: str | None
    aside: str | None


class StagedPlace(Struct, kw_only=True):
    """A file of a transaction in its open folder.

    `leaf` is its name, `shown` its path in messages. `temporary` holds the result until it is in place, and
    after an exchange the old content; without exchange, and for a deleted file, `aside` holds the old
    content. `trial` names two scratch files to test exchanges. `known` and `noted` are the transaction's.
    """

    entry: FileEntry
    folders: Folders
    folder: int
    leaf: str
    shown: str
    temporary: str
    aside: str
    trial: tuple[str, str]
    known: bool
    noted: bool

    @property
    def exchanges(self) -> bool:
        """True if files in its folder can be exchanged. May raise `OSError`."""
        disk = self.folders.root.filesystem
        return not self.moves_aside and can_exchange(disk, self.folder, self.trial)

    @property
    def moves_aside(self) -> bool:
        """True if a replaced file moves aside, in a step of its own."""
        return self.folders.root.filesystem.moves_aside

    def content(self, name: str) -> str | None:
        """Return the content under `name`. Raise `OSError`."""
        return content_of(self.folders.root.filesystem, self.folder, name, self.entry.at_most)

    def whole_content(self, name: str) -> str | None:
        """Return the content under `name`, hashing it whatever its size. Raise `OSError`."""
        return content_of(self.folders.root.filesystem, self.folder, name, MAX_IMAGE_BYTES)

    def found(self) -> FoundContents:
        """Return the content under all three names. Raise `OSError`."""
        return FoundContents(self.content(self.leaf), self.content(self.temporary), self.content(self.aside))


def temporary_names(transaction: str, index: int) -> tuple[str, str]:
    """Return the names for result and old content of the `index`-th file of a transaction."""
    return f".mdplan-{transaction}-{2 * index}.tmp", f".mdplan-{transaction}-{2 * index + 1}.tmp"


def place_of(folders: Folders, record: Record, index: int) -> StagedPlace | Diagnostic:
    """Locate the `index`-th file of `record`; its folder stays open.

    The path is validated like a caller's. Errors: as `Root.locate` and `Root.open_folder`.
    """
    entry, root = record.entries[index], folders.root
    name = root.locate(entry.path)
    if isinstance(name, Diagnostic):
        return name
    folder = folders.open(folder_of(name.path))
    if isinstance(folder, Diagnostic):
        return folder
    temporary, aside = temporary_names(record.transaction, index)
    return StagedPlace(
        entry=entry,
        folders=folders,
        folder=folder,
        leaf=name.path.rpartition("/")[2],
        shown=root.show(name.path),
        temporary=temporary,
        aside=aside,
        trial=temporary_names(record.transaction, len(record.entries)),
        known=record.known,
        noted=record.noted,
    )


def places_of(folders: Folders, record: Record) -> tuple[list[StagedPlace], list[Diagnostic]]:
    """Return the places whose folder still exists, and why others could not be opened."""
    places = [place_of(folders, record, index) for index in range(len(record.entries))]
    problems = [place for place in places if isinstance(place, Diagnostic)]
    return (
        [place for place in places if isinstance(place, StagedPlace)],
        [problem for problem in problems if problem.code is not Code.FILE_NOT_FOUND],
    )


def touched_paths(record: Record) -> Iterable[str]:
    """Yield the paths of all files and folders that `record` changes."""
    yield from (entry.path for entry in record.entries)
    yield from record.made_folders
    yield from record.removed_folders


# --- The note at the root


def write_note(root: Root, record: Record) -> None:
    """Write the note of a running commit. Raise `StorageRefused`.

    It is not synced: what must survive a power loss is in the store.
    """
    lines = json.dumps(
        {
            "mdplan": _FORMAT,
            "about": "a commit of mdplan runs, or was interrupted; see `mdplan recover`",
            "transaction": record.transaction,
            "files": [
                [entry.path, entry.base, entry.base_bytes, entry.result, entry.result_bytes]
                for entry in record.entries
            ],
            "madeFolders": record.made_folders,
            "removedFolders": record.removed_folders,
        },
        separators=(",", ":"),
    )
    disk = root.filesystem
    with storage_errors(root.show(NOTE), "writing"):
        descriptor = disk.create(root.descriptor, NOTE, 0o644)
        try:
            disk.write(descriptor, lines.encode("ascii"))
        finally:
            disk.close(descriptor)


def remove_note(root: Root) -> None:
    """Remove the note. Raise `OSError`."""
    with suppress(FileNotFoundError):
        root.filesystem.unlink(root.descriptor, NOTE)


def read_note(root: Root) -> Record | Diagnostic | None:
    """Return the record in the note at `root`, or None without note.

    The note is untrusted: its paths are validated, and nothing acts on it unasked. Errors: RECOVERY_REQUIRED
    for an invalid note, or a read error.
    """
    return _read_note(root, root.descriptor, root.show(NOTE))


def _read_note(root: Root, folder: int, shown: str) -> Record | Diagnostic | None:
    content = read_regular_file(root.filesystem, folder, NOTE, shown, _MAX_NOTE_BYTES)
    if isinstance(content, Diagnostic):
        if content.code is Code.FILE_NOT_FOUND:
            return None
        return _unreadable(shown) if content.code in _NO_NOTE else content
    try:
        fields = json.loads(content.data)
        entries = tuple(_entry(*values) for values in fields["files"])
        made, removed = tuple(fields["madeFolders"]), tuple(fields["removedFolders"])
        transaction = fields["transaction"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return _unreadable(shown)
    is_text = all(isinstance(text, str) for text in (transaction, *made, *removed))
    if fields.get("mdplan") != _FORMAT or not is_text or not TRANSACTION.fullmatch(transaction):
        return _unreadable(shown)
    record = Record(
        transaction=transaction, entries=entries, made_folders=made, removed_folders=removed, known=False
    )
    is_plain = all(canonical_path(path) == path for path in touched_paths(record))
    return record if is_plain else _unreadable(shown)


def _unreadable(shown: str) -> Diagnostic:
    return Code.RECOVERY_REQUIRED.problem(
        f"`{shown}` is no note of a commit that this mdplan can read",
        "if no mdplan is running here, look at it and remove it",
        file=shown,
    )


def _entry(path: object, base: object, base_bytes: object, result: object, result_bytes: object) -> FileEntry:
    """Parse an entry of a note. Raise `ValueError`."""
    sizes = [size for size in (base_bytes, result_bytes) if type(size) is int and 0 <= size <= _MAX_SIZE]
    if not isinstance(path, str) or len(sizes) < 2 or base == result:
        raise ValueError(path)
    return FileEntry(path, _digest(base), sizes[0], _digest(result), sizes[1])


def _digest(value: object) -> str | None:
    if value is None or (isinstance(value, str) and _SHA256.fullmatch(value)):
        return value
    raise ValueError(value)


# --- Commits that are not in this user's store


def foreign_commits(folders: Folders, store: Store, paths: Collection[str]) -> Iterator[Diagnostic]:
    """Yield why the files `paths` cannot be edited: an unfinished commit of another identity touches them.

    Check the notes of the root, of folders between it and the files, and above it, and temporary files next
    to the files. Remove leftovers of this user's settled commits. Errors: RECOVERY_REQUIRED. Raise
    `StorageRefused`.
    """
    root = folders.root
    absolute = {os.path.join(root.path, path) for path in paths}
    noted: set[str] = set()
    for above in sorted(_folders_above(absolute) | {root.path}):
        note = read_note(root) if above == root.path else _note_in(root, above)
        if isinstance(note, Record):
            noted.add(note.transaction)
        if above == root.path:
            if note is not None and is_foreign(note, store):
                yield interrupted_elsewhere(root, note)
        elif isinstance(note, Record) and any(
            os.path.join(above, entry.path) in absolute for entry in note.entries
        ):
            yield interrupted_in(above)
    for path in sorted({folder_of(path) for path in paths}):
        folder = folders.open(path)
        if isinstance(folder, Diagnostic):
            continue
        with storage_errors(root.show(path) or ".", "looking at the folder"):
            names = [entry.name for entry in root.filesystem.list(folder) if entry.is_file]
            yield from _strangers(root, store, folder, path, names, noted)


def _strangers(
    root: Root, store: Store, folder: int, path: str, names: Iterable[str], noted: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a problem if the folder `path` has temporary files without note.

    The transactions in `noted` have one.
    """
    left: list[str] = []
    for name in sorted(names):
        if name != NOTE and is_temporary_name(name):
            transaction = name.split("-")[1]
            state = store.state_of(transaction)
            if state in (State.COMMITTED, State.UNDONE):
                root.filesystem.unlink(folder, name)
            elif state is None and transaction not in noted:
                left.append(root.show(f"{path}/{name}" if path else name))
    if left:
        yield Code.RECOVERY_REQUIRED.problem(
            f"a commit of another user or state directory was interrupted here: {_listed(left)}",
            say("{run recover} where it began; or, if none is running here, look at them and remove them"),
            file=left[0],
        )


def _listed(names: Sequence[str], count: int = 0) -> str:
    """Return the first of `names`; `count` is their number if the list is incomplete."""
    more = max(count, len(names)) - _NAMES_SHOWN
    shown = ", ".join(f"`{name}`" for name in names[:_NAMES_SHOWN]) or "`…`"
    return f"{shown} and {more} more" if more > 0 else shown


def _note_in(root: Root, folder_path: str) -> Record | Diagnostic | None:
    """Return the note of another root at the absolute path."""
    disk = root.filesystem
    with storage_errors(visible(folder_path), "looking at"):
        if not disk.is_there(os.path.join(folder_path, NOTE)):
            return None
        folder = disk.open_root(folder_path)
    try:
        return _read_note(root, folder, visible(os.path.join(folder_path, NOTE)))
    finally:
        disk.release(folder)


def _folders_above(paths: Iterable[str]) -> set[str]:
    """Return all ancestor folders of `paths`."""
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return folders


def interrupted_in(path: str) -> Diagnostic:
    """Return the problem for an interrupted commit in an overlapping root at `path`."""
    shown = visible(path)
    return Code.RECOVERY_REQUIRED.problem(
        f"a commit in the root `{shown}`, which has files in common with this one, was interrupted",
        say("{}", Run("recover", "--root", shown)),
    )


def is_foreign(note: Record | Diagnostic, store: Store) -> bool:
    """Return True if `note` does not belong to a commit in this user's `store`."""
    return isinstance(note, Diagnostic) or store.state_of(note.transaction) is None


def interrupted_elsewhere(root: Root, note: Record | Diagnostic) -> Diagnostic:
    """Return the problem for an interrupted commit in `root` that is not in this user's store."""
    if isinstance(note, Diagnostic):
        return note
    names = [root.show(entry.path) for entry in note.entries if root.scope.refusal(entry.path) is None]
    return Code.RECOVERY_REQUIRED.problem(
        f"a commit of another user or state directory was interrupted: {_listed(names, len(note.entries))}",
        say("{run recover --adopt} to put the old text back, or {mdplan recover} where it began"),
        file=root.show(NOTE),
    )
