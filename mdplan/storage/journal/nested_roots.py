"""Roots in roots: other state folders that rule over the same files.

Only state folders of this user count. One of another user could not be locked, and must not stop this user.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.errors import storage_errors
from mdplan.storage.fs.folders import Folders
from mdplan.storage.fs.root import STATE_FOLDER, Root

# Folders above a root that this user cannot look into have no state folder of this user's.
_OUT_OF_REACH: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT})


def roots_above(root: Root) -> Iterator[Root]:
    """The roots in which `root` lies, the outermost first, opened; the caller closes them.

    Raises `StorageRefused`.
    """
    components = root.path.strip("/").split("/")
    for depth in range(len(components)):
        path = "/" + "/".join(components[:depth])
        if path == root.path:
            return
        above = _opened(root, path)
        if above is not None:
            yield above


def roots_between(folders: Folders, paths: Iterable[str]) -> Iterator[Root]:
    """The roots between the root of `folders` and the files `paths` below it, the outer and first ones first.

    Their folders are those of `folders`, which closes them. Raises `StorageRefused`.
    """
    root = folders.root
    above = {
        "/".join(components[:depth])
        for components in (path.split("/") for path in paths)
        for depth in range(1, len(components))
    }
    for path in sorted(above):
        folder = folders.open(path)
        if not isinstance(folder, Diagnostic) and _has_own_state(root, folder, path):
            full = os.path.join(root.path, path)
            yield Root(root.show(path), full, full, folder, root.scope, root.filesystem)


def _opened(root: Root, path: str) -> Root | None:
    """The folder `path` above `root` as a root, if it has a state folder of this user's."""
    filesystem = root.filesystem
    with storage_errors(path, "looking for other roots in"):
        # Most folders have none, which one look shows.
        if not filesystem.is_there(os.path.join(path, STATE_FOLDER)):
            return None
        try:
            descriptor = filesystem.open_root(path)
        except OSError as error:
            if error.errno in _OUT_OF_REACH:
                return None
            raise
        found = False
        try:
            found = _has_own_state(root, descriptor, path)
        finally:
            if not found:
                filesystem.release(descriptor)
    return Root("", path, path, descriptor, root.scope, filesystem) if found else None


def _has_own_state(root: Root, folder: int, shown: str) -> bool:
    with storage_errors(shown, "looking for other roots in"), suppress(FileNotFoundError):
        status = root.filesystem.status_of(folder, STATE_FOLDER)
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return False
