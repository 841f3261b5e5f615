"""Storage commits as values, shared by tests."""

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from mdplan.storage.commit import CommitResult, StagedFile, publish, stage
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import Durability, FileSystem
from mdplan.storage.lock import locked
from mdplan.storage.neighbours import temporary_names, write_note
from mdplan.storage.recovery import Keep, RecoveryResult, recover
from mdplan.storage.root import Root
from mdplan.storage.store import State, Store

LIMIT = 1 << 20


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def change(path: str, base: bytes, result: bytes) -> StagedFile:
    """Return the replacement of `base` by `result`."""
    return StagedFile(FileName("", path), sha256(base), result, sha256(result))


def creation(path: str, result: bytes, like: str | None = None) -> StagedFile:
    """Return the creation of a file, optionally like another file of the commit."""
    return StagedFile(
        FileName("", path), None, result, sha256(result), like=None if like is None else FileName("", like)
    )


def deletion(path: str, base: bytes) -> StagedFile:
    """Return the deletion of a file."""
    return StagedFile(FileName("", path), sha256(base), None, None)


def new_id() -> str:
    """Return a globally unique transaction ID."""
    return secrets.token_hex(8)


def commit(
    folder: Path,
    *files: StagedFile,
    disk: FileSystem | None = None,
    durability: Durability = Durability.FULL,
    between: Callable[[], None] = lambda: None,
    transaction: str | None = None,
    removed_folders: tuple[str, ...] = (),
) -> CommitResult:
    """Commit `files` below `folder` as the engine does; `between` runs after staging."""
    root = Root.open(folder, filesystem=disk)
    try:
        with locked(root) as lock:
            recover(lock)
            staged = stage(
                lock,
                files,
                transaction=transaction or new_id(),
                note=b'{"of":"a test"}',
                now=0.0,
                max_bytes=LIMIT,
                durability=durability,
                removed_folders=removed_folders,
            )
            between()
            return publish(staged)
    finally:
        root.close()


def recovered(
    folder: Path,
    disk: FileSystem | None = None,
    *,
    settles: bool = True,
    adopts: bool = False,
    keep: Keep | None = None,
) -> RecoveryResult:
    """Recover `folder` as `mdplan recover`, or with `settles=False` as a committing verb."""
    root = Root.open(folder, filesystem=disk)
    try:
        with locked(root) as lock:
            return recover(lock, settles=settles, adopts=adopts, keep=keep)
    finally:
        root.close()


def states_of(folder: Path) -> list[str]:
    """Return the states of all transactions of `folder`, oldest first."""
    with Store(str(folder)).read() as database:
        query = "SELECT state FROM transactions ORDER BY sequence"
        return [row[0] for row in database.execute(query)] if database is not None else []


def change_store(folder: Path, statement: str, *values: object) -> None:
    """Change the store of `folder` directly by SQL."""
    with Store(os.path.realpath(folder)).write() as database:
        database.execute(statement, values)


def leave_interrupted(folder: Path) -> str:
    """Turn the last commit below `folder` into one killed after its last exchange; return its ID."""
    store = Store(os.path.realpath(folder))
    record = next(store.transactions()).record
    for index, entry in enumerate(record.entries):
        if entry.base is not None:
            displaced, _ = temporary_names(record.transaction, index)
            (folder / entry.path).with_name(displaced).write_bytes(store.content(entry.base) or b"")
    store.settle(record.transaction, State.PENDING, syncs=False)
    root = Root.open(folder)
    write_note(root, record)
    root.close()
    return record.transaction
