"""One regular file in an open directory: read, or refused with the reason."""

import errno
import os
import stat
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import FileSystem, of_error
from mdplan.storage.names import is_temporary_name

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_SPECIAL_BITS: Final = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX

# The mode of a file that is being written for a commit. No file that a commit replaces has that bit, so what
# a killed commit left half written is distinguished from what it displaced.
UNFINISHED_MODE: Final = 0o600 | stat.S_ISVTX if sys.platform == "linux" else 0o600

UNFINISHED: Final = "unfinished file"

_HASHED_AT_ONCE: Final = 1 << 20

# No file of a plan is larger than this.
MAX_IMAGE_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The bytes of a file, and its status just before they were read."""

    data: bytes = field(repr=False)
    status: os.stat_result

    @property
    def identity(self) -> tuple[int, int]:
        """The device and inode, equal for two names of one file."""
        return self.status.st_dev, self.status.st_ino


def stat_file(filesystem: FileSystem, folder: int, leaf: str, shown: str) -> os.stat_result | Diagnostic:
    """The status of the regular file `leaf` in `folder`; `shown` is its name in messages.

    Errors: FILE_NOT_FOUND, SYMLINK_REFUSED, NOT_A_TEXT_FILE, PERMISSION_DENIED, IO_ERROR.
    """
    try:
        status = filesystem.status_of(folder, leaf)
    except FileNotFoundError:
        return Diagnostic(code=Code.FILE_NOT_FOUND, message=f"there is no file `{shown}`", file=shown)
    except OSError as error:
        return of_error(error, shown, "looking at")
    return _kind_problem(status, shown) or status


def read_regular_file(
    filesystem: FileSystem, folder: int, leaf: str, shown: str, max_bytes: int
) -> FileBytes | Diagnostic:
    """Read the regular file `leaf` in `folder`, once; `shown` is its name in messages.

    Errors: those of `stat_file`, and FILE_TOO_LARGE, by its status and by the bytes that were there to read.
    """
    # Looking first keeps devices and FIFOs from being opened at all; what counts is the second look, at what
    # was opened.
    seen = stat_file(filesystem, folder, leaf, shown)
    if isinstance(seen, Diagnostic):
        return seen
    try:
        descriptor = filesystem.open_file(folder, leaf)
        try:
            status = filesystem.status(descriptor)
            problem = _kind_problem(status, shown) or _size_problem(status.st_size, shown, max_bytes)
            if problem is not None:
                return problem
            data = _read_whole(filesystem, descriptor, status.st_size, max_bytes + 1)
        finally:
            filesystem.release(descriptor)
    except OSError as error:
        return of_error(error, shown, "reading")
    return _size_problem(len(data), shown, max_bytes) or FileBytes(data, status)


@dataclass(frozen=True, slots=True)
class KnownContent:
    """Bytes that are held, and their SHA-256: to compare a file with them costs less than to hash it."""

    data: bytes = field(repr=False)
    sha256: str


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """The content at a name, as `content_of` returns it, and its status, if something is there."""

    content: str | None
    status: os.stat_result | None = None


def content_of(
    filesystem: FileSystem, folder: int, leaf: str, at_most: int, known: KnownContent | None = None
) -> str | None:
    """What is at `leaf` in `folder`: the SHA-256 of a regular file, or None for nothing. Raises `OSError`.

    For what is no regular file, or larger than `at_most` bytes, it is a text that no digest is equal to; two
    such texts are equal when nothing shows that there is something else. UNFINISHED is one of them. It may be
    `known` what the file should hold.
    """
    return take_snapshot(filesystem, folder, leaf, at_most, known).content


def take_snapshot(
    filesystem: FileSystem, folder: int, leaf: str, at_most: int, known: KnownContent | None = None
) -> FileSnapshot:
    """What `content_of` returns, with the status of the file. Raises `OSError`."""
    try:
        status = filesystem.status_of(folder, leaf)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & stat.S_ISVTX:
            return FileSnapshot(_unlike_a_file(filesystem, folder, leaf, status), status)
        descriptor = filesystem.open_file(folder, leaf)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return FileSnapshot(None)
        if error.errno == errno.ELOOP:
            return FileSnapshot("link put there concurrently")
        raise
    try:
        status = filesystem.status(descriptor)
        is_file = stat.S_ISREG(status.st_mode)
        digest = _digest(filesystem, descriptor, status.st_size, at_most, known) if is_file else None
    finally:
        filesystem.release(descriptor)
    return FileSnapshot(digest or _unlike_a_file(filesystem, folder, leaf, status), status)


def is_digest(content: str | None) -> TypeGuard[str]:
    """Whether what `content_of` gave is the digest of a regular file."""
    return content is not None and " " not in content


def write_refusal(
    filesystem: FileSystem, folder: int, leaf: str, shown: str, status: os.stat_result
) -> Diagnostic | None:
    """Why the file `leaf` in `folder`, of that `status`, must not be replaced; None when it can be.

    Replacing makes a new file of the same name, so what cannot be given to the new file is refused.
    Errors: HARDLINK_REFUSED, READ_ONLY, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    try:
        permitted = filesystem.may_write(folder, leaf)
        folder_permitted = filesystem.may_write(folder, ".")
        sticky = _is_kept_by_its_folder(filesystem, folder, status)
        links = status.st_nlink - (
            _owner_or_mode_problem(filesystem, folder, status) if status.st_nlink > 1 else 0
        )
    except OSError as error:
        return of_error(error, shown, "checking")
    user = os.geteuid()
    foreign = user != 0 and (status.st_uid != user or status.st_gid not in {os.getegid(), *os.getgroups()})
    read_only = not status.st_mode & 0o222
    special = status.st_mode & _SPECIAL_BITS
    owner = "let its owner apply the plan"
    reasons = (
        (links > 1, Code.HARDLINK_REFUSED, "has several hard links", "edit a copy of it"),
        (special, Code.READ_ONLY, "has a setuid, setgid or sticky bit", "remove the bit"),
        (sticky, Code.PERMISSION_DENIED, "is another user's in a sticky folder", owner),
        (not folder_permitted, Code.PERMISSION_DENIED, "is in a folder that you cannot write", ""),
        (foreign, Code.OWNER_CHANGE, "would get another owner or group", owner),
        (
            read_only,
            Code.READ_ONLY,
            "is write-protected",
            "ask its owner to make it writable, if it should change",
        ),
        (
            not permitted,
            Code.PERMISSION_DENIED,
            "may not be written by you",
            "look at its mode, and at `lsattr`",
        ),
    )
    for holds, code, reason, hint in reasons:
        if holds:
            return Diagnostic(code=code, message=f"`{shown}` {reason}", hint=hint, file=shown)
    return None


def _is_kept_by_its_folder(filesystem: FileSystem, folder: int, status: os.stat_result) -> bool:
    """Whether the file is another user's in a sticky folder of another user."""
    user = os.geteuid()
    if user in (0, status.st_uid):
        return False
    folder_status = filesystem.status(folder)
    return bool(folder_status.st_mode & stat.S_ISVTX) and user != folder_status.st_uid


def _owner_or_mode_problem(filesystem: FileSystem, folder: int, status: os.stat_result) -> int:
    """How many names of the file in `folder` are those that a killed commit gave it."""
    names = [entry.name for entry in filesystem.list(folder) if is_temporary_name(entry.name)]
    return sum(os.path.samestat(filesystem.status_of(folder, name), status) for name in names)


def _read_whole(filesystem: FileSystem, descriptor: int, expected: int, at_most: int) -> bytes:
    """Up to `at_most` bytes of an open file that is said to have `expected` ones.

    To ask for more costs a large buffer; to ask for one more shows whether it has grown.
    """
    wanted = min(expected + 1, at_most)
    data = filesystem.read(descriptor, wanted)
    return data if len(data) < wanted else data + filesystem.read(descriptor, at_most - wanted)


def _digest(
    filesystem: FileSystem, descriptor: int, expected: int, at_most: int, known: KnownContent | None
) -> str | None:
    """The SHA-256 of an open file that is said to have `expected` bytes; None for more than `at_most`."""
    # Imported lazily: reading never needs it.
    import hashlib

    digest, size = hashlib.sha256(), 0
    # The known content, as long as what was read equals it.
    unchanged = known.data if known is not None and len(known.data) == expected else None
    while size <= at_most:
        # One byte more than is expected shows whether it has grown; a larger buffer costs more than that.
        rest = expected - size + 1 if size <= expected else _HASHED_AT_ONCE
        wanted = min(_HASHED_AT_ONCE, rest, at_most + 1 - size)
        part = filesystem.read(descriptor, wanted)
        if unchanged is not None and not unchanged.startswith(part, size):
            digest.update(unchanged[:size])
            unchanged = None
        if unchanged is None:
            digest.update(part)
        size += len(part)
        if len(part) == wanted:
            continue
        if unchanged is not None and known is not None and size == expected:
            return known.sha256
        digest.update(unchanged[:size] if unchanged is not None else b"")
        return digest.hexdigest()
    return None


def _unlike_a_file(filesystem: FileSystem, folder: int, leaf: str, status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return UNFINISHED
    if stat.S_ISLNK(status.st_mode):
        return f"link to {filesystem.read_link(folder, leaf)}"
    return f"mode {status.st_mode:o} size {status.st_size} time {status.st_mtime_ns} inode {status.st_ino}"


def _kind_problem(status: os.stat_result, shown: str) -> Diagnostic | None:
    if stat.S_ISLNK(status.st_mode):
        return Diagnostic(
            code=Code.SYMLINK_REFUSED,
            message=f"`{shown}` is a symbolic link",
            hint="name the file that it points to",
            file=shown,
        )
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            hint = _in_folder(shown) if is_kind is stat.S_ISDIR else "name a text file"
            return Diagnostic(
                code=Code.NOT_A_TEXT_FILE, message=f"`{shown}` is {kind}", hint=hint, file=shown
            )
    return None


def _in_folder(shown: str) -> str:
    import json

    return f'name a file in it; md_stat {{"file": {json.dumps(shown, ensure_ascii=False)}}} lists them'


def _size_problem(size: int, shown: str, max_bytes: int) -> Diagnostic | None:
    if size <= max_bytes:
        return None
    return Diagnostic(
        code=Code.FILE_TOO_LARGE,
        message=f"`{shown}` is larger than {max_bytes} bytes",
        hint="split the file, or raise `--max-file-bytes`",
        file=shown,
    )


# --- Stamps of files, which show without reading that their content has not changed.

# Disks keep times in steps of up to two seconds.
_RACY_NS: Final = 2_000_000_000


def file_stamps(roots: Mapping[str, str], paths: Collection[str]) -> dict[str, str]:
    """Identity, size and times of the files `paths`, as callers write them, in `roots` by their names.

    A stamp is empty where a later change of the file may have the same times. Files that are missing, or
    reached through a link, have none.
    """
    latest = time.time_ns() - _RACY_NS
    is_real: dict[str, bool] = {}
    found: dict[str, str] = {}
    for path in paths:
        name, _, below = ("", "", path) if "" in roots else path.partition(":")
        full = f"{roots.get(name, '')}/{below}"
        folder = os.path.dirname(full)
        if folder not in is_real:
            is_real[folder] = os.path.realpath(folder) == os.path.normpath(folder)
        with suppress(OSError, ValueError):
            status = os.lstat(full)
            if is_real[folder] and stat.S_ISREG(status.st_mode):
                times = (status.st_mtime_ns, status.st_ctime_ns)
                facts = (status.st_dev, status.st_ino, status.st_size, *times)
                found[path] = ".".join(map(str, facts)) if max(times) < latest else ""
    return found
