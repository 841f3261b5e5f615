"""How much the history of a root keeps, and how many records in it are foreign."""

from contextlib import ExitStack
from dataclasses import dataclass

from mdplan.storage.fs.root import Root
from mdplan.storage.journal.blobs import BlobStore
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.state_folder import HISTORY_FOLDER, JOURNAL_FOLDER, open_existing


@dataclass(frozen=True, slots=True)
class HistorySize:
    """The number of this user's records, the bytes of those and of all old content; the foreign records."""

    transactions: int
    bytes: int
    foreign: int


def history_size(root: Root) -> HistorySize:
    """The size of the history of `root`, without the lock. Raises `StorageRefused`, and `OSError`."""
    with ExitStack() as opened:
        folders = [open_existing(root, name) for name in (JOURNAL_FOLDER, HISTORY_FOLDER)]
        for folder in folders:
            if folder is not None:
                opened.callback(root.filesystem.release, folder)
        journal_folder, images_folder = folders
        if journal_folder is None:
            return HistorySize(0, 0, 0)
        journal = Journal(root, journal_folder)
        names = journal.names()
        size = sum(root.filesystem.status_of(journal_folder, str(name)).st_size for name in names)
        if images_folder is not None:
            size += sum(BlobStore(root.filesystem, images_folder, lasting=False).sizes().values())
        return HistorySize(len(names), size, len(journal.foreign()))
