"""All that a transaction works with below a locked root, opened together and closed together."""

from collections.abc import Callable
from dataclasses import dataclass

from mdplan.diagnostics import Diagnostic
from mdplan.storage.exchange import Exchange
from mdplan.storage.folders import Folders
from mdplan.storage.images import Images
from mdplan.storage.journal import Journal
from mdplan.storage.journal_record import Record
from mdplan.storage.lock import RootLock
from mdplan.storage.place import Place, place_of
from mdplan.storage.root import Root
from mdplan.storage.state_folder import open_folders


@dataclass(frozen=True, slots=True)
class RootState:
    """The journal and images of `root`, its folders as far as they were needed, and how files are swapped.

    `syncs` says whether what is done has to outlive a loss of power.
    """

    root: Root
    journal: Journal
    images: Images
    folders: Folders
    exchange: Exchange
    syncs: bool

    @staticmethod
    def open(lock: RootLock, *, syncs: bool) -> "RootState":
        """Open what `lock` guards. Raises `StorageRefused`."""
        root = lock.root
        opened = open_folders(root, lock.state_folder)
        return RootState(
            root=root,
            journal=Journal(root, opened.journal),
            images=Images(root.filesystem, opened.history, lasting=syncs),
            folders=Folders(root),
            exchange=Exchange(root.filesystem, lock.state_folder),
            syncs=syncs,
        )

    def close(self) -> None:
        """Close all that was opened."""
        self.folders.close()
        self.root.filesystem.release(self.images.folder)
        self.root.filesystem.release(self.journal.folder)

    def place(self, record: Record, index: int) -> Place | Diagnostic:
        """The place of the `index`-th file of `record`. Errors: those of `place_of`."""
        return place_of(self.folders, self.exchange, record, index)

    def sync(self, sync: Callable[[], bool]) -> bool:
        """Call `sync` if anything is to be synced; whether what it is about is on the disk now."""
        return self.syncs and sync()
