"""One object of a repository, read while others repack it, and written as git writes it.

It is written under a name of its own first, then put in place. Several may write the same object at once, and
one that was killed blocks no other.
"""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from dulwich.file import adjust_shared_perm
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile

# Names that `git gc` clears away.
_TEMPORARY: Final = "tmp_obj_"
_MODE: Final = 0o444
_MOST_TRIES: Final = 20
# Each look past the first finds nothing only if the object is missing, or was repacked concurrently.
_MOST_ATTEMPTS: Final = 4


def read_object(store: DiskObjectStore, name: ObjectID) -> ShaFile:
    """The object of that name. Raises `OSError` (EIO) for one that the repository lacks.

    dulwich looks into the packs and then for a loose file. A `git repack` between the two puts the object
    into a pack that was not there before, and takes the file away; so the packs are asked again, as git does.
    """
    for _ in range(_MOST_ATTEMPTS):
        with suppress(KeyError):
            return store[name]
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def write_object(store: DiskObjectStore, made: ShaFile) -> ObjectID:
    """Write the object `made` and wait until it is on the disk; its ID. Raises `OSError`."""
    name = made.id.decode()
    target = Path(store.path, name[:2], name[2:])
    try:
        # To git an object that was just written is one that may soon be used.
        os.utime(target)
    except (FileNotFoundError, PermissionError):
        _create(target, made, store)
    return made.id


def _create(target: Path, made: ShaFile, store: DiskObjectStore) -> None:
    """Write it; where a `git gc` takes away the folder, which is empty until then, in a folder made anew."""
    for _ in range(_MOST_TRIES):
        try:
            return _write(target, made, store)
        except FileNotFoundError:
            continue
    return _write(target, made, store)


def _write(target: Path, made: ShaFile, store: DiskObjectStore) -> None:
    if not target.parent.exists():
        target.parent.mkdir(exist_ok=True)
        adjust_shared_perm(str(target.parent), store.shared_perm)
    descriptor, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(made.as_legacy_object(store.loose_compression_level))
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_MODE)
        adjust_shared_perm(name, store.shared_perm)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
