"""Where a file of a transaction lies, under which names its contents wait, and what is there now."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.exchange import Exchange
from mdplan.storage.fs.folders import Folders, folder_of
from mdplan.storage.fs.regular_file import (
    MAX_IMAGE_BYTES,
    FileSnapshot,
    KnownContent,
    content_of,
    take_snapshot,
)
from mdplan.storage.journal.journal_record import JournalEntry, JournalRecord


@dataclass(frozen=True, slots=True)
class FoundContents:
    """What is there under each of the three names of a place, as `leaf.content_of` tells it."""

    target: str | None
    temporary: str | None
    aside: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPlace:
    """A file of a transaction, in its open folder.

    `leaf` is its name and `shown` its path for messages. Besides it, `temporary` holds the result until that
    is in place, and the old content after an exchange; `aside` holds the old content where there is no
    exchange, and that of a deleted file. `exchanges` shows whether two names there can change places, and
    `known` whether it is this user's own record that names the file. `base` is its content, if it is held.
    """

    entry: JournalEntry
    folders: Folders
    folder: int
    leaf: str
    shown: str
    temporary: str
    aside: str
    exchanges: bool
    known: bool
    base: KnownContent | None = None

    def content(self, name: str) -> str | None:
        """What is there under the name `name` of this place. Raises `OSError`."""
        return content_of(self.folders.root.filesystem, self.folder, name, self.entry.at_most, self.base)

    def whole_content(self, name: str) -> str | None:
        """What is there under `name`, hashed also if it is larger than base and result. Raises `OSError`."""
        return self.seen(name).content

    def seen(self, name: str) -> FileSnapshot:
        """What is there under `name`, with its status. Raises `OSError`."""
        return take_snapshot(self.folders.root.filesystem, self.folder, name, MAX_IMAGE_BYTES, self.base)

    @property
    def displaced(self) -> str:
        """The name under which a commit that went through leaves the old content, if there was one."""
        return self.temporary if self.exchanges and self.entry.result is not None else self.aside

    def found(self) -> FoundContents:
        """What is there under all three names. Raises `OSError`."""
        return FoundContents(self.content(self.leaf), self.content(self.temporary), self.content(self.aside))

    def is_clean(self) -> bool:
        """Whether nothing lies next to the target. Raises `OSError`."""
        disk = self.folders.root.filesystem
        for name in (self.temporary, self.aside):
            with suppress(FileNotFoundError):
                disk.status_of(self.folder, name)
                return False
        return True


def temporary_names(transaction: str, index: int) -> tuple[str, str]:
    """The names next to the `index`-th file of a transaction: for its result, and for its old content.

    They follow from the record's own name and cannot be chosen by what is written in it.
    """
    return f".mdplan-{transaction}-{2 * index}.tmp", f".mdplan-{transaction}-{2 * index + 1}.tmp"


def place_of(
    folders: Folders, exchange: Exchange | None, record: JournalRecord, index: int
) -> StagedPlace | Diagnostic:
    """The place of the `index`-th file of `record`; its folder stays open.

    Without `exchange` the place is only to be examined. The path is checked like a caller's. Errors: those
    of `Root.locate` and `Root.open_folder`.
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
        known=record.known,
        exchanges=exchange is not None
        and exchange.works_in(folder, temporary_names(record.transaction, len(record.entries))),
    )


def places_of(
    folders: Folders, exchange: Exchange | None, record: JournalRecord
) -> tuple[list[StagedPlace], list[Diagnostic]]:
    """The places of all files whose folder is still there, and why others could not be opened."""
    found = [place_of(folders, exchange, record, index) for index in range(len(record.entries))]
    problems = [each for each in found if isinstance(each, Diagnostic)]
    return (
        [each for each in found if isinstance(each, StagedPlace)],
        [problem for problem in problems if problem.code is not Code.FILE_NOT_FOUND],
    )


def touched_folders(record: JournalRecord) -> set[str]:
    """The folders whose names `record` changes, by path."""
    return {folder_of(path) for path in touched_paths(record)}


def touched_paths(record: JournalRecord) -> Iterable[str]:
    """The paths of all files and folders that `record` changes."""
    yield from (entry.path for entry in record.entries)
    yield from record.made_folders
    yield from record.removed_folders
