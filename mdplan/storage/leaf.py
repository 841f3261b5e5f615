"""One regular file in an open directory: read, or refused with the reason."""

import errno
import hashlib
import os
import stat
import sys
from typing import Final, TypeGuard

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.file_name import TEMPORARY_NAME
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.refusal import of_error
from mdplan.text.value import field, value

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SPECIAL_BITS: Final = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
# The mode of a file that is being written for a commit. No file that a commit replaces has that bit, so what
# a killed commit left half written is told from what it displaced.
UNFINISHED_MODE: Final = 0o600 | stat.S_ISVTX if sys.platform == "linux" else 0o600
UNFINISHED: Final = "unfinished file"
_HASHED_AT_ONCE: Final = 1 << 20
# No file of a plan is larger than this.
MAX_IMAGE_BYTES: Final = 1 << 30


@value(frozen=True, slots=True)
class FileBytes:
    """What one reading of a file found: its bytes, and its status just before them."""

    data: bytes = field(repr=False)
    status: os.stat_result

    @property
    def identity(self) -> tuple[int, int]:
        """The device and inode, equal for two names of one file."""
        return self.status.st_dev, self.status.st_ino


def look_at(filesystem: FileSystem, folder: int, leaf: str, shown: str) -> os.stat_result | Diagnostic:
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


def read_leaf(
    filesystem: FileSystem, folder: int, leaf: str, shown: str, max_bytes: int
) -> FileBytes | Diagnostic:
    """Read the regular file `leaf` in `folder`, once; `shown` is its name in messages.

    Errors: those of `look_at`, and FILE_TOO_LARGE, by its status and by the bytes that were there to read.
    """
    # Looking first keeps devices and FIFOs from being opened at all; what counts is the second look, at what
    # was opened.
    seen = look_at(filesystem, folder, leaf, shown)
    if isinstance(seen, Diagnostic):
        return seen
    try:
        descriptor = filesystem.open_file(folder, leaf)
        try:
            status = filesystem.status(descriptor)
            problem = _kind_problem(status, shown) or _size_problem(status.st_size, shown, max_bytes)
            if problem is not None:
                return problem
            data = filesystem.read(descriptor, max_bytes + 1)
        finally:
            filesystem.release(descriptor)
    except OSError as error:
        return of_error(error, shown, "reading")
    return _size_problem(len(data), shown, max_bytes) or FileBytes(data, status)


def content_of(filesystem: FileSystem, folder: int, leaf: str, at_most: int) -> str | None:
    """What is at `leaf` in `folder`: the SHA-256 of a regular file, or None for nothing. Raises `OSError`.

    For what is no regular file, or larger than `at_most` bytes, it is a text that no digest is equal to; two
    such texts are equal when nothing tells that there is something else. UNFINISHED is one of them.
    """
    try:
        status = filesystem.status_of(folder, leaf)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & stat.S_ISVTX:
            return _unlike_a_file(filesystem, folder, leaf, status)
        descriptor = filesystem.open_file(folder, leaf)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        if error.errno == errno.ELOOP:
            return "link put there meanwhile"
        raise
    try:
        status = filesystem.status(descriptor)
        digest = _digest(filesystem, descriptor, at_most) if stat.S_ISREG(status.st_mode) else None
    finally:
        filesystem.release(descriptor)
    return digest or _unlike_a_file(filesystem, folder, leaf, status)


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
        folder_status = filesystem.status(folder)
        links = status.st_nlink - (_left_behind(filesystem, folder, status) if status.st_nlink > 1 else 0)
    except OSError as error:
        return of_error(error, shown, "checking")
    user = os.geteuid()
    sticky = folder_status.st_mode & stat.S_ISVTX and user not in (0, status.st_uid, folder_status.st_uid)
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
        (read_only, Code.READ_ONLY, "is write-protected", "make it writable first, if it should change"),
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


def _left_behind(filesystem: FileSystem, folder: int, status: os.stat_result) -> int:
    """How many names of the file in `folder` are those that a killed commit gave it."""
    names = [entry.name for entry in filesystem.list(folder) if TEMPORARY_NAME.fullmatch(entry.name)]
    return sum(os.path.samestat(filesystem.status_of(folder, name), status) for name in names)


def _digest(filesystem: FileSystem, descriptor: int, at_most: int) -> str | None:
    """The SHA-256 of an open file; None when it is larger than `at_most` bytes."""
    digest, size = hashlib.sha256(), 0
    while True:
        part = filesystem.read(descriptor, min(_HASHED_AT_ONCE, at_most + 1 - size))
        digest.update(part)
        size += len(part)
        if size > at_most:
            return None
        if len(part) < _HASHED_AT_ONCE:
            return digest.hexdigest()


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
            return Diagnostic(code=Code.NOT_A_TEXT_FILE, message=f"`{shown}` is {kind}", file=shown)
    return None


def _size_problem(size: int, shown: str, max_bytes: int) -> Diagnostic | None:
    if size <= max_bytes:
        return None
    return Diagnostic(
        code=Code.FILE_TOO_LARGE,
        message=f"`{shown}` is larger than {max_bytes} bytes",
        hint="split the file, or raise `--max-file-bytes`",
        file=shown,
    )
