"""Checks the files of a commit before anything is written, and reports all problems at once."""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import StorageRefused, of_error
from mdplan.storage.fs.folders import Folders, folder_of
from mdplan.storage.fs.regular_file import read_regular_file, write_refusal
from mdplan.storage.journal.journal_record import JournalEntry
from mdplan.storage.transaction.staged import StagedFile, StagedTarget


@dataclass(frozen=True, slots=True)
class FilePrecondition:
    """A checked file of a commit: its journal entry, and its status if there is a base.

    `missing` are folders that a created file needs. `problem` is why the commit cannot use the file; it is
    None in `Preconditions`.
    """

    file: StagedFile
    entry: JournalEntry
    status: os.stat_result | None = None
    missing: tuple[str, ...] = ()
    problem: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class Preconditions:
    """All files of a commit, in the order of the batch, and the folders to be made, the outer ones first."""

    files: tuple[FilePrecondition, ...]
    made_folders: tuple[str, ...]


def find_bases(folders: Folders, files: Sequence[StagedFile], max_bytes: int) -> Preconditions:
    """Read every base once, and check that it is unchanged since the plan and may be replaced.

    Raises `StorageRefused` with the problems of all files: STALE_BASE, FILE_EXISTS, ALIAS_CONFLICT (two names
    of one file), what `Root.read` and `Root.write_refusal` give.
    """
    found = [_find(folders, file, max_bytes) for file in files]
    names = Counter(
        identity for base in found if isinstance(base, FilePrecondition) for identity in _identities(base)
    )
    problems: list[Diagnostic] = []
    bases: list[FilePrecondition] = []
    missing: set[str] = set()
    for each in found:
        base = each
        if isinstance(base, FilePrecondition):
            missing.update(base.missing)
            base = _alias_problem(folders, base, names) or base.problem or base
        if isinstance(base, Diagnostic):
            problems.append(base)
        else:
            bases.append(base)
    if problems:
        raise StorageRefused(tuple(problems))
    return Preconditions(tuple(bases), tuple(sorted(missing)))


def check_again(targets: Sequence[StagedTarget]) -> None:
    """Check again, right before anything is replaced. Raises `StorageRefused`: STALE_BASE, FILE_EXISTS, …."""
    problems = [problem for target in targets if (problem := _changed_since(target)) is not None]
    if problems:
        raise StorageRefused(tuple(problems))


def _find(folders: Folders, file: StagedFile, max_bytes: int) -> FilePrecondition | Diagnostic:
    path = file.name.path
    folder = folders.open(folder_of(path))
    if file.base_sha256 is None:
        return _find_created(folders, file, path, folder)
    if isinstance(folder, Diagnostic):
        return replace(folder, file=folders.root.show(path))
    return _find_based(folders, file, path, folder, max_bytes)


def _find_created(
    folders: Folders, file: StagedFile, path: str, folder: int | Diagnostic
) -> FilePrecondition | Diagnostic:
    """A file that must not be there; neither must its folder."""
    shown = folders.root.show(path)
    if isinstance(folder, Diagnostic):
        missing = folders.missing(folder_of(path))
        if isinstance(missing, Diagnostic):
            return replace(missing, file=shown)
        return FilePrecondition(file, _entry(file, path), missing=missing)
    try:
        folders.root.filesystem.status_of(folder, path.rpartition("/")[2])
    except FileNotFoundError:
        return FilePrecondition(file, _entry(file, path))
    except OSError as error:
        return of_error(error, shown, "looking at")
    return Diagnostic.file_exists(shown)


def _find_based(
    folders: Folders, file: StagedFile, path: str, folder: int, max_bytes: int
) -> FilePrecondition | Diagnostic:
    """A file that must be as the plan saw it."""
    root, leaf = folders.root, path.rpartition("/")[2]
    shown = root.show(path)
    read = read_regular_file(root.filesystem, folder, leaf, shown, max_bytes)
    if isinstance(read, Diagnostic):
        return root.explained(read, folder, path)
    stale = None
    if file.base is None or read.data != file.base:
        stale = _stale_problem(shown, hashlib.sha256(read.data).hexdigest(), file.base_sha256)
    problem = stale or write_refusal(root.filesystem, folder, leaf, shown, read.status)
    return FilePrecondition(file, _entry(file, path, len(read.data)), read.status, problem=problem)


def _entry(file: StagedFile, path: str, base_bytes: int = 0) -> JournalEntry:
    return JournalEntry(
        path=path,
        base=file.base_sha256,
        base_bytes=base_bytes,
        result=file.result_sha256,
        result_bytes=file.size,
    )


def _identities(base: FilePrecondition) -> list[object]:
    """What no two files of a commit may share: a path, or the device and inode of a base."""
    if base.status is None:
        return [base.entry.path]
    return [base.entry.path, (base.status.st_dev, base.status.st_ino)]


def _alias_problem(folders: Folders, base: FilePrecondition, names: Counter[object]) -> Diagnostic | None:
    count = max(names[identity] for identity in _identities(base))
    if count == 1:
        return None
    shown = folders.root.show(base.entry.path)
    return Diagnostic(
        code=Code.ALIAS_CONFLICT,
        message=f"`{shown}` is one of {count} names of one file in this batch",
        hint="put all edits of the file under one name",
        file=shown,
    )


def _changed_since(target: StagedTarget) -> Diagnostic | None:
    place, disk = target.place, target.place.folders.root.filesystem
    try:
        status = disk.status_of(place.folder, place.leaf)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and target.status is None:
            return None
        return of_error(error, place.shown, "looking at")
    if target.status is None:
        return Diagnostic.file_exists(place.shown)
    if _traits(status) == _traits(target.status):
        return None
    read = read_regular_file(disk, place.folder, place.leaf, place.shown, place.entry.at_most)
    if isinstance(read, Diagnostic):
        return read if read.code is not Code.FILE_TOO_LARGE else _changed_meanwhile(place.shown, "")
    return _stale_problem(place.shown, hashlib.sha256(read.data).hexdigest(), target.file.base_sha256)


def _traits(status: os.stat_result) -> tuple[int, ...]:
    """Fields that change when another program writes a file, within the resolution of the clock."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mode,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _stale_problem(shown: str, found_sha256: str, base_sha256: str | None) -> Diagnostic | None:
    if found_sha256 == base_sha256:
        return None
    return _changed_meanwhile(shown, f"; its content now has the SHA-256 {found_sha256}")


def _changed_meanwhile(shown: str, now: str) -> Diagnostic:
    return Diagnostic(
        code=Code.STALE_BASE,
        message=f"`{shown}` is not as the plan saw it",
        hint=f"plan again{now}",
        file=shown,
    )
