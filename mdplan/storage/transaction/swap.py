"""Put the results in place, and examine what each of them displaced.

Where two files can change places, that is one step, and what another program wrote at the last moment comes
out of it unharmed. Elsewhere the old content gets a second name first, and a write in the moment between the
last look and the renaming could be lost: the guard against other writers is weak there.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.durability import Durability
from mdplan.storage.fs.errors import StorageRefused, storage_errors
from mdplan.storage.fs.filesystem import NO_LINK, FileSystem
from mdplan.storage.fs.folders import folder_of
from mdplan.storage.fs.regular_file import is_digest
from mdplan.storage.transaction.file_place import StagedPlace
from mdplan.storage.transaction.restore import exchange_back
from mdplan.storage.transaction.root_state import RootState
from mdplan.storage.transaction.staged import StagedTarget

Guard = Literal["strong", "weak"]


def swap_all(state: RootState, targets: Sequence[StagedTarget], durability: Durability) -> Guard:
    """Put the results of all targets in place: what is new or changed first, what is deleted last.

    So a renamed file is never missing. Raises `StorageRefused` at the first problem; what was done until then
    is found by `restore`.
    """
    disk = state.root.filesystem
    linked = [target for target in targets if _needs_second_name(target)]
    for target in linked:
        _keep_aside(disk, target, durability)
    if linked:
        # Else a loss of power could keep the renaming, and take the second name away.
        state.sync(lambda: state.folders.sync({folder_of(target.place.entry.path) for target in linked}))
    for target in targets:
        with storage_errors(target.place.shown, "replacing"):
            if target.file.base_sha256 is None:
                _create(disk, target)
            elif target in linked:
                _rename_over(disk, target)
            elif target.file.result is not None:
                _exchange(state, target)
    for target in targets:
        if target.file.result is None:
            with storage_errors(target.place.shown, "deleting"):
                _delete(disk, target)
    return "weak" if linked else "strong"


def _needs_second_name(target: StagedTarget) -> bool:
    replaced = target.status is not None and target.file.result is not None
    return replaced and not target.place.exchanges


def _exchange(state: RootState, target: StagedTarget) -> None:
    place = target.place
    state.root.filesystem.exchange(place.folder, place.temporary, place.leaf)
    if place.content(place.temporary) != target.file.base_sha256:
        # At once, and not only with all the others: the other program's file is out of place until then.
        if exchange_back(place, place.temporary):
            _keep_superseded(state, place)
        raise _late_write(target)


def _keep_superseded(state: RootState, place: StagedPlace) -> None:
    """Where the other program wrote on, an older version of its file came out: into the history with it."""
    content = place.whole_content(place.temporary)
    if content != place.entry.result and is_digest(content):
        state.images.take(place.folder, place.temporary, content)


def _create(disk: FileSystem, target: StagedTarget) -> None:
    place = target.place
    try:
        disk.rename_new(place.folder, place.temporary, place.folder, place.leaf)
    except FileExistsError as error:
        raise StorageRefused((Diagnostic.file_exists(place.shown),)) from error


def _delete(disk: FileSystem, target: StagedTarget) -> None:
    place = target.place
    disk.rename(place.folder, place.leaf, place.aside)
    if place.content(place.aside) != target.file.base_sha256:
        # Where someone made a new file concurrently, both are kept: the way back finds a conflict.
        with suppress(FileExistsError):
            disk.rename_new(place.folder, place.aside, place.folder, place.leaf)
        raise _late_write(target)


def _keep_aside(disk: FileSystem, target: StagedTarget, durability: Durability) -> None:
    """Give the base a second name, or copy it where it can have none."""
    place = target.place
    with storage_errors(place.shown, "keeping the old content of"):
        try:
            disk.link(place.folder, place.leaf, place.aside)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            _copy_aside(disk, target, durability)
        if place.content(place.aside) != target.file.base_sha256:
            raise _late_write(target)


def _copy_aside(disk: FileSystem, target: StagedTarget, durability: Durability) -> None:
    """Copy the base; a file system without second names has no owners and attributes to copy."""
    place = target.place
    source = disk.open_file(place.folder, place.leaf)
    try:
        data = disk.read(source, place.entry.base_bytes + 1)
    finally:
        disk.release(source)
    descriptor = disk.create(place.folder, place.aside)
    try:
        disk.write(descriptor, data)
        disk.set_mode(descriptor, target.status.st_mode if target.status else 0o600)
        if durability is Durability.FULL:
            disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def _rename_over(disk: FileSystem, target: StagedTarget) -> None:
    place = target.place
    if place.content(place.leaf) != target.file.base_sha256:
        raise _late_write(target)
    disk.rename(place.folder, place.temporary, place.leaf)
    if place.content(place.aside) != target.file.base_sha256:
        raise _late_write(target)


def _late_write(target: StagedTarget) -> StorageRefused:
    return StorageRefused.of(
        Code.CONFLICT_LATE_WRITE,
        f"another program wrote `{target.place.shown}` during the commit",
        "plan again on its new content",
        file=target.place.shown,
    )
