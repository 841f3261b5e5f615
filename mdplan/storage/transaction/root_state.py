"""All that a transaction works with below a locked root."""

from collections.abc import Callable
from dataclasses import dataclass

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.exchange import Exchange
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import Root
from mdplan.storage.journal.blobs import BlobStore
from mdplan.storage.journal.journal import Journal
from mdplan.storage.journal.journal_record import JournalRecord
from mdplan.storage.journal.lock import RootLock
from mdplan.storage.journal.record_name import RecordName
from mdplan.storage.transaction.file_place import StagedPlace, place_of


@dataclass(frozen=True, slots=True)
class RootState:
    """The journal and images of `root`, its folders as far as they were needed, and how files are swapped.

    `clean` is that of the lock. `syncs` says whether what is done has to outlive a loss of power.
    """

    root: Root
    journal: Journal
    clean: dict[RecordName, frozenset[str]]
    images: BlobStore
    folders: Folders
    exchange: Exchange
    syncs: bool

    @staticmethod
    def open(lock: RootLock, *, syncs: bool) -> "RootState":
        """Open what `lock` guards. Raises `StorageRefused`."""
        root, opened = lock.root, lock.opened()
        return RootState(
            root=root,
            journal=opened.journal,
            clean=opened.clean,
            images=BlobStore(root.filesystem, opened.history, lasting=syncs),
            folders=Folders(root),
            exchange=Exchange(root.filesystem, lock.state_folder),
            syncs=syncs,
        )

    def close(self) -> None:
        """Close all that was opened; what belongs to the lock stays open with it."""
        self.folders.close()

    def place(self, record: JournalRecord, index: int) -> StagedPlace | Diagnostic:
        """The place of the `index`-th file of `record`. Errors: those of `place_of`."""
        return place_of(self.folders, self.exchange, record, index)

    def sync(self, sync: Callable[[], bool]) -> bool:
        """Call `sync` if anything is to be synced; whether what it is about is on the disk now."""
        return self.syncs and sync()
