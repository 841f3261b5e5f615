"""Files below a root: allow and deny globs, reading, and reasons to refuse."""

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Final, TypeGuard

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import FileSystem, of_error
from mdplan.storage.local import own_ids
from mdplan.storage.names import is_temporary_name
from mdplan.text.visible import composed, visible
from mdplan.values import Struct
from mdplan.words import Step, either, say

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_SPECIAL_BITS: Final = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX

# The mode of a file while a commit writes it. No replaceable file has this bit, so a half-written file of a
# killed commit is never taken for displaced content.
UNFINISHED_MODE: Final = 0o600 | stat.S_ISVTX if sys.platform == "linux" else 0o600
UNFINISHED: Final = "unfinished file"
_HASHED_AT_ONCE: Final = 1 << 20

# The maximum size of a file in a plan.
MAX_IMAGE_BYTES: Final = 1 << 30


class FileBytes(Struct):
    """The bytes of a file, and its status just before reading."""

    data: bytes
    status: os.stat_result


def stat_file(filesystem: FileSystem, folder: int, leaf: str, shown: str) -> os.stat_result | Diagnostic:
    """Return the status of the regular file `leaf` in `folder`; `shown` is its name in messages.

    Errors: FILE_NOT_FOUND, SYMLINK_REFUSED, NOT_A_TEXT_FILE, PERMISSION_DENIED, IO_ERROR.
    """
    try:
        status = filesystem.status_of(folder, leaf)
    except FileNotFoundError:
        return Code.FILE_NOT_FOUND.problem(f"there is no file `{shown}`", file=shown)
    except OSError as error:
        return of_error(error, shown, "looking at")
    return _kind_problem(status, shown) or status


def read_regular_file(
    filesystem: FileSystem, folder: int, leaf: str, shown: str, max_bytes: int
) -> FileBytes | Diagnostic:
    """Read the regular file `leaf` in `folder` once; `shown` is its name in messages.

    Errors: as `stat_file`, and FILE_TOO_LARGE, by status and by the bytes read.
    """
    # The first check avoids opening devices and FIFOs; the second, on the open file, is the one that counts.
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


def content_of(filesystem: FileSystem, folder: int, leaf: str, at_most: int) -> str | None:
    """Return the SHA-256 of the regular file `leaf` in `folder`; None if nothing exists.

    For anything else, or beyond `at_most` bytes, return a text that is not a digest; equal texts mean no
    visible difference. UNFINISHED is one of them. Raise `OSError`.
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
            return "link put there concurrently"
        raise
    try:
        status = filesystem.status(descriptor)
        is_file = stat.S_ISREG(status.st_mode)
        digest = _digest(filesystem, descriptor, status.st_size, at_most) if is_file else None
    finally:
        filesystem.release(descriptor)
    return digest or _unlike_a_file(filesystem, folder, leaf, status)


def is_digest(content: str | None) -> TypeGuard[str]:
    """Return True if `content` is the digest of a regular file."""
    return content is not None and " " not in content


def write_refusal(
    filesystem: FileSystem, folder: int, leaf: str, shown: str, status: os.stat_result
) -> Diagnostic | None:
    """Return why the file `leaf` in `folder` must not be replaced, or None.

    A replacement is a new file, so traits that it cannot be given are refused. Errors: HARDLINK_REFUSED,
    READ_ONLY, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    try:
        permitted = filesystem.may_write(folder, leaf)
        folder_permitted = filesystem.may_write(folder, ".")
        sticky = _is_kept_by_its_folder(filesystem, folder, status)
        links = status.st_nlink
        if links > 1:
            links -= _temporary_name_count(filesystem, folder, status)
    except OSError as error:
        return of_error(error, shown, "checking")
    user, group = own_ids()
    foreign = user != 0 and (status.st_uid != user or status.st_gid not in {group, *os.getgroups()})
    read_only = not status.st_mode & 0o222
    special = status.st_mode & _SPECIAL_BITS
    owner = "let its owner apply the plan"
    to_writable = "ask its owner to make it writable, if it should change"
    to_mode = "look at its mode, and at `lsattr`"
    reasons = (
        (links > 1, Code.HARDLINK_REFUSED, "has several hard links", "edit a copy of it"),
        (special, Code.READ_ONLY, "has a setuid, setgid or sticky bit", "remove the bit"),
        (sticky, Code.PERMISSION_DENIED, "is another user's in a sticky folder", owner),
        (not folder_permitted, Code.PERMISSION_DENIED, "is in a folder that you cannot write", ""),
        (foreign, Code.OWNER_CHANGE, "would get another owner or group", owner),
        (read_only, Code.READ_ONLY, "is write-protected", to_writable),
        (not permitted, Code.PERMISSION_DENIED, "may not be written by you", to_mode),
    )
    for holds, code, reason, hint in reasons:
        if holds:
            return code.problem(f"`{shown}` {reason}", hint, file=shown)
    return None


def _is_kept_by_its_folder(filesystem: FileSystem, folder: int, status: os.stat_result) -> bool:
    """Return True if the sticky bit of another user's folder protects another user's file."""
    user, _ = own_ids()
    if user in (0, status.st_uid):
        return False
    folder_status = filesystem.status(folder)
    return bool(folder_status.st_mode & stat.S_ISVTX) and user != folder_status.st_uid


def _temporary_name_count(filesystem: FileSystem, folder: int, status: os.stat_result) -> int:
    """Count the temporary names of the file in `folder`, left by a killed commit."""
    names = [entry.name for entry in filesystem.list(folder) if is_temporary_name(entry.name)]
    return sum(os.path.samestat(filesystem.status_of(folder, name), status) for name in names)


def _read_whole(filesystem: FileSystem, descriptor: int, expected: int, at_most: int) -> bytes:
    """Read up to `at_most` bytes of an open file, expecting `expected`.

    A larger request allocates a large buffer; one extra byte shows if the file has grown.
    """
    size = min(expected + 1, at_most)
    data = filesystem.read(descriptor, size)
    return data if len(data) < size else data + filesystem.read(descriptor, at_most - size)


def _digest(filesystem: FileSystem, descriptor: int, expected: int, at_most: int) -> str | None:
    """Return the SHA-256 of an open file, expecting `expected` bytes; None beyond `at_most`."""
    # Imported lazily: reading never needs it.
    import hashlib

    digest, size = hashlib.sha256(), 0
    while size <= at_most:
        # One extra byte shows if the file has grown; a larger buffer costs more.
        rest = expected - size + 1 if size <= expected else _HASHED_AT_ONCE
        asked_for = min(_HASHED_AT_ONCE, rest, at_most + 1 - size)
        part = filesystem.read(descriptor, asked_for)
        digest.update(part)
        size += len(part)
        if len(part) < asked_for:
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
        return Code.SYMLINK_REFUSED.problem(
            f"`{shown}` is a symbolic link", "name the file that it points to", file=shown
        )
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            hint = _in_folder(shown) if is_kind is stat.S_ISDIR else "name a text file"
            return Code.NOT_A_TEXT_FILE.problem(f"`{shown}` is {kind}", hint, file=shown)
    return None


def _in_folder(shown: str) -> str:

    return say("name a file in it; {} lists them", Step("stat", file=shown))


def _size_problem(size: int, shown: str, max_bytes: int) -> Diagnostic | None:
    if size <= max_bytes:
        return None
    return Code.FILE_TOO_LARGE.problem(
        f"`{shown}` is larger than {max_bytes} bytes",
        either("split the file", say("raise {--max-file-bytes}")),
        file=shown,
    )


class FileName(Struct, order=True):
    """A validated file name below a root; `str()` returns the caller's form.

    `root` is the root's name, empty in a workspace with one root. `path` is relative, uses `/`, has no `.` or
    `..` components, and is within the scope. `Root.locate` and root listings guarantee this, so it is not
    checked again.
    """

    root: str
    path: str

    def __str__(self) -> str:
        return f"{self.root}:{self.path}" if self.root else self.path


# --- The scope of a root: globs as in a `.gitignore`
_GLOBS_SHOWN: Final = 5


class Scope(Struct):
    """The globs of `--allow` and `--deny`: a file must match an allow glob, if any, and no deny glob.

    The last matching glob decides, so `!` makes exceptions. Accented letters match in any Unicode form: a
    repository from macOS may have `é` as two characters.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allowed: "GitIgnoreSpec | None" = None
    denied: "GitIgnoreSpec | None" = None

    @property
    def is_limited(self) -> bool:
        """True if there are any globs."""
        return bool(self.allow or self.deny)

    def refusal(self, path: str) -> str | None:
        """Return why the canonical `path` must not be touched, naming the glob, or None."""
        path = composed(path)
        if self.denied is not None:
            decided = self.denied.check_file(path)
            if decided.include and decided.index is not None:
                return f"is denied by `{visible(self.deny[decided.index])}`"
        if self.allowed is not None and not self.allowed.match_file(path):
            return (
                f"is not allowed by {', '.join(f'`{visible(glob)}`' for glob in self.allow[:_GLOBS_SHOWN])}"
            )
        return None

    def hides_folder(self, path: str) -> bool:
        """Return True if a glob such as `drafts/` denies a folder at the canonical `path`."""
        return self.denied is not None and self.denied.match_file(f"{composed(path)}/")
