"""The seam: every disk operation of this package goes through one `FileSystem`.

It adds three things to the system's calls: names are followed from an open directory and never through
links, failpoints can kill the process before any operation, and tests can be in for the disk.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, cast

from mdplan.diagnostics import Code, Diagnostic, Problems, Refused

FAILPOINT_VARIABLE: Final = "MDPLAN_FAILPOINT"

# All are there on Linux and macOS. Where one is missing a root is refused, since names could not be followed
# safely; importing this module still works there.
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_LEAF: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_FOLLOW
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW

_READ_AT_ONCE: Final = 1 << 20

# What a file system says on which a file can have no second name, or no further one.
NO_LINK: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_HAS_ATTRIBUTES: Final = sys.platform == "linux"


class Step(StrEnum):
    """The disk operations, as failpoints name them."""

    OPEN_ROOT = "open-root"
    OPEN_DIRECTORY = "open-directory"
    OPEN_FILE = "open-file"
    STATUS = "status"
    READ = "read"
    READ_LINK = "read-link"
    LIST = "list"
    MAY_WRITE = "may-write"
    MAKE_DIRECTORY = "make-directory"
    CREATE = "create"
    WRITE = "write"
    READ_ATTRIBUTES = "read-attributes"
    SET_ATTRIBUTES = "set-attributes"
    SET_OWNER = "set-owner"
    SET_MODE = "set-mode"
    SYNC = "sync"
    SYNC_DIRECTORY = "sync-directory"
    LINK = "link"
    RENAME = "rename"
    RENAME_NEW = "rename-new"
    EXCHANGE = "exchange"
    UNLINK = "unlink"
    REMOVE_DIRECTORY = "remove-directory"
    CLOSE = "close"
    LOCK = "lock"
    STORE_READ = "store-read"
    STORE_BEGIN = "store-begin"
    STORE_COMMIT = "store-commit"
    STORE_DONE = "store-done"


class DirectoryEntry(NamedTuple):
    """A name in a directory; what is neither a directory nor a regular file is `other`, links included."""

    name: str
    is_directory: bool
    is_file: bool


class FileSystem:
    """The disk. `directory` is an open directory's descriptor, `name` one component in it.

    Every method raises `OSError` as the system does. `MDPLAN_FAILPOINT=<step>[:n]`, read when an instance is
    made, kills the process before its n-th (from 1) operation of that kind. Roots that no one released are
    closed when the instance goes. Listing all below a folder ends with an error at `most_listed`.
    """

    most_listed = sys.maxsize

    def __init__(self) -> None:
        self._roots: set[int] = set()
        # Whether two files can change places, by device: found out by `folders.can_exchange`.
        self.exchanges_by_device: dict[int, bool] = {}
        self._failpoint: Step | None = None
        self._countdown = 0
        failpoint = os.environ.get(FAILPOINT_VARIABLE)
        if failpoint:
            name, _, count = failpoint.partition(":")
            self._failpoint, self._countdown = Step(name), int(count or 1)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """An engine may be forgotten without a word, and the planner of a thread ends with that thread."""
        # At the end of a process all names of this module may be gone, and so `close` is bound here.
        for descriptor in self._roots:
            try:
                close(descriptor)
            except OSError:
                continue

    def before(self, step: Step) -> None:
        """Called before every operation; a test overrides it to fail there."""
        if step is self._failpoint:
            self._countdown -= 1
            if self._countdown == 0:
                import signal

                os.kill(os.getpid(), signal.SIGKILL)

    def open_root(self, path: str) -> int:
        """Open the directory `path`, whose links are followed: the user chose it."""
        self.before(Step.OPEN_ROOT)
        if os.open not in os.supports_dir_fd or os.rename not in os.supports_dir_fd:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        root = os.open(path, _DIRECTORY)
        self._roots.add(root)
        return root

    def status_at(self, path: str) -> os.stat_result:
        """The status of what the absolute `path` leads to, whose links are followed."""
        self.before(Step.STATUS)
        return os.stat(path)

    def is_there(self, path: str) -> bool:
        """Whether the absolute `path`, whose links are followed, leads to anything that can be seen."""
        self.before(Step.STATUS)
        return os.access(path, os.F_OK)

    def open_directory(self, directory: int, name: str) -> int:
        """Open the directory `name`; a link in its place is ENOTDIR or ELOOP."""
        self.before(Step.OPEN_DIRECTORY)
        return os.open(name, _DIRECTORY | _NO_FOLLOW, dir_fd=directory)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading without waiting for a FIFO's writer; a link in its place is ELOOP."""
        self.before(Step.OPEN_FILE)
        return os.open(name, _LEAF, dir_fd=directory)

    def status(self, descriptor: int) -> os.stat_result:
        """The status of an open file or directory."""
        self.before(Step.STATUS)
        return os.fstat(descriptor)

    def identity(self, descriptor: int) -> tuple[int, int]:
        """The device and inode of an open file or directory. No failpoint: this cannot fail."""
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """The status of `name`, of the link itself where it is one."""
        self.before(Step.STATUS)
        return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def has(self, directory: int, name: str) -> bool:
        """Whether there is anything called `name` that can be seen."""
        with suppress(OSError):
            self.status_of(directory, name)
            return True
        return False

    def read(self, descriptor: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file."""
        self.before(Step.READ)
        parts: list[bytes] = []
        while size > 0 and (part := os.read(descriptor, min(size, _READ_AT_ONCE))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read_link(self, directory: int, name: str) -> str:
        """Where the link `name` points to, as it is written in it."""
        self.before(Step.READ_LINK)
        return os.readlink(name, dir_fd=directory)

    def list(self, directory: int) -> list[DirectoryEntry]:
        """What the directory holds, without `.` and `..`, in no order."""
        self.before(Step.LIST)
        with os.scandir(directory) as entries:
            return [
                DirectoryEntry(
                    entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)
                )
                for entry in entries
            ]

    def may_write(self, directory: int, name: str) -> bool:
        """Whether permissions allow this process to write `name` (`.` is the directory itself)."""
        self.before(Step.MAY_WRITE)
        return os.access(name, os.W_OK, dir_fd=directory, effective_ids=True, follow_symlinks=False)

    def make_directory(self, directory: int, name: str, mode: int = 0o700) -> None:
        """Make the directory `name`, for its owner alone or with what the user's mask leaves of `mode`."""
        self.before(Step.MAKE_DIRECTORY)
        os.mkdir(name, mode, dir_fd=directory)

    def make_directories(self, path: str) -> None:
        """Make the directory `path` for its owner alone, and those above it that are missing."""
        self.before(Step.MAKE_DIRECTORY)
        os.makedirs(path, 0o700, exist_ok=True)

    def create(self, directory: int, name: str, mode: int = 0o600) -> int:
        """Create `name`, which must not exist, and open it for writing.

        It is for its owner alone, or has what the user's mask leaves of `mode`.
        """
        self.before(Step.CREATE)
        return os.open(name, _NEW, mode, dir_fd=directory)

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`."""
        rest = memoryview(data)
        while rest:
            self.before(Step.WRITE)
            rest = rest[os.write(descriptor, rest) :]

    def attributes(self, descriptor: int) -> dict[str, bytes]:
        """The extended attributes, ACLs among them; none where the system has none."""
        self.before(Step.READ_ATTRIBUTES)
        if not _HAS_ATTRIBUTES:
            return {}
        try:
            return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return {}
            raise

    def set_attributes(self, descriptor: int, attributes: Mapping[str, bytes]) -> None:
        """Make `attributes` the file's extended attributes, removing what it inherited beyond them."""
        self.before(Step.SET_ATTRIBUTES)
        present = self.attributes(descriptor)
        for name, content in attributes.items():
            if present.get(name) != content:
                os.setxattr(descriptor, name, content)
        for name in present.keys() - attributes.keys():
            os.removexattr(descriptor, name)

    def set_owner(self, descriptor: int, user: int, group: int) -> None:
        """Give the open file to `user` and `group`."""
        self.before(Step.SET_OWNER)
        os.fchown(descriptor, user, group)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Set the permission bits; last of all, since a new owner or ACL changes them."""
        self.before(Step.SET_MODE)
        os.fchmod(descriptor, stat.S_IMODE(mode))

    def start_writing(self, descriptor: int) -> None:
        """Let the disk begin with what was written, so that a later `sync` waits less; it may do nothing."""
        if sys.platform == "linux":
            with suppress(OSError):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, descriptor: int) -> None:
        """Wait until the file's content is on the disk.

        Never tried again after a failure: the system has then forgotten what was not written, and a second
        call would report a success that did not happen.
        """
        self.before(Step.SYNC)
        os.fsync(descriptor)

    def sync_directory(self, directory: int) -> bool:
        """Wait until the directory's names are on the disk; False where the file system cannot do that."""
        self.before(Step.SYNC_DIRECTORY)
        try:
            os.fsync(directory)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTSUP):
                return False
            raise
        return True

    def link(self, directory: int, name: str, other: str) -> None:
        """Give the file `name` the second name `other`, which must not exist, in the same directory."""
        self.before(Step.LINK)
        os.link(name, other, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)

    def rename(self, directory: int, name: str, target: str) -> None:
        """Rename `name` to `target` in the same directory, replacing what is there."""
        self.before(Step.RENAME)
        os.rename(name, target, src_dir_fd=directory, dst_dir_fd=directory)

    def rename_new(self, directory: int, name: str, target_directory: int, target: str) -> None:
        """Rename `name` to `target` in `target_directory`, both open; EEXIST when there is something.

        Where the system or the file system cannot do that at once, the file has both names for a moment;
        where a file can have one name only, another program's file of that moment could be replaced.
        """
        self.before(Step.RENAME_NEW)
        try:
            rename_with(NO_REPLACE, directory, name, target_directory, target)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL):
                raise
            self._link_and_unlink(directory, name, target_directory, target)

    def _link_and_unlink(self, directory: int, name: str, target_directory: int, target: str) -> None:
        try:
            os.link(name, target, src_dir_fd=directory, dst_dir_fd=target_directory, follow_symlinks=False)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            with suppress(FileNotFoundError):
                os.stat(target, dir_fd=target_directory, follow_symlinks=False)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
            os.rename(name, target, src_dir_fd=directory, dst_dir_fd=target_directory)
        else:
            # Until the new name is on the disk, the old one must be: a loss of power could take both.
            self.sync_directory(target_directory)
            os.unlink(name, dir_fd=directory)

    def exchange(self, directory: int, name: str, other: str) -> None:
        """Let `name` and `other`, both in the directory, change places at once.

        ENOSYS where the system cannot (all but Linux), EINVAL where the file system cannot.
        """
        self.before(Step.EXCHANGE)
        rename_with(EXCHANGE, directory, name, directory, other)

    def unlink(self, directory: int, name: str) -> None:
        """Remove the name of a file."""
        self.before(Step.UNLINK)
        os.unlink(name, dir_fd=directory)

    def remove_directory(self, directory: int, name: str) -> None:
        """Remove the directory `name`; ENOTEMPTY when it contains something."""
        self.before(Step.REMOVE_DIRECTORY)
        os.rmdir(name, dir_fd=directory)

    def close(self, descriptor: int) -> None:
        """Close a file that was written; it is closed even when this fails, which says that data is lost."""
        try:
            self.before(Step.CLOSE)
        finally:
            os.close(descriptor)

    def release(self, descriptor: int) -> None:
        """Close a directory or a file that was only read, of which a failure says nothing."""
        # Before it is closed: from then on another thread may be given the same number.
        self._roots.discard(descriptor)
        with suppress(OSError):
            os.close(descriptor)


# --- System errors as diagnostics, and the exception that carries diagnostics out of a commit.

_CODES: Final = {
    errno.ENOSPC: (Code.NO_SPACE, "free some space and try again"),
    errno.EDQUOT: (Code.NO_SPACE, "your disk quota is used up; free some space and try again"),
    errno.EFBIG: (Code.NO_SPACE, "the limit on file size (`ulimit -f`) or of the file system is reached"),
    errno.EACCES: (Code.PERMISSION_DENIED, "check the permissions of the file and of its folder"),
    errno.EPERM: (Code.PERMISSION_DENIED, "check owner, permissions and the immutable flag (`lsattr`)"),
    errno.EROFS: (Code.READ_ONLY, "the file system is mounted read-only"),
    errno.EBUSY: (Code.TARGET_BUSY, "the file is a mount point or in use; edit it where it is not"),
    errno.EXDEV: (Code.TARGET_BUSY, "the file is a mount point; edit it where it is not"),
    errno.ETXTBSY: (Code.TARGET_BUSY, "the file is being executed"),
    errno.ENOENT: (Code.FILE_NOT_FOUND, "check that the folder exists"),
    errno.ELOOP: (Code.SYMLINK_REFUSED, "name the file that the link points to"),
    errno.ENAMETOOLONG: (Code.PATH_INVALID, "use a shorter name"),
    errno.EMFILE: (Code.IO_ERROR, "raise the limit of open files (`ulimit -n`), or send a smaller batch"),
    errno.ENFILE: (Code.IO_ERROR, "the system has too many open files; try again"),
}


class StorageRefused(Refused):
    """A commit or the opening of a root was refused; `problems` says why, errors before warnings.

    The constructor `of` is for mdplan itself.

    >>> try:
    ...     Engine.open(["missing"])
    ... except StorageRefused as refused:
    ...     print(refused.problems[0].code.value)
    FILE_NOT_FOUND
    """

    def __init__(self, problems: Problems) -> None:
        super().__init__(*problems)
        self.problems = problems

    @classmethod
    def of(cls, code: Code, message: str, hint: str, *, file: str | None = None) -> "StorageRefused":
        """The exception with one problem."""
        return cls((code.problem(message, hint, file=file),))


AnyAnswer = TypeVar("AnyAnswer")


def granted(answer: AnyAnswer | Diagnostic | Problems) -> AnyAnswer:
    """Return `answer`. Raises `StorageRefused` if it is a problem, or several."""
    problems = (answer,) if isinstance(answer, Diagnostic) else answer
    if isinstance(problems, tuple) and problems and isinstance(problems[0], Diagnostic):
        raise StorageRefused(problems)
    return cast("AnyAnswer", answer)


def of_error(error: OSError, shown: str, doing: str) -> Diagnostic:
    """The diagnostic for `error`, met while `doing` something (an -ing word) to the file `shown`."""
    code, hint = _CODES.get(error.errno or 0, (Code.IO_ERROR, "check the disk and try again"))
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return code.problem(f"{doing} `{shown}` failed: {reason}", hint, file=shown)


@contextmanager
def storage_errors(shown: str, doing: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageRefused` about the file `shown`."""
    try:
        yield
    except OSError as error:
        raise StorageRefused((of_error(error, shown, doing),)) from error


# --- The system call `renameat2`, which Python does not have: rename with flags.

NO_REPLACE: Final = 1
EXCHANGE: Final = 2

# For C libraries without the function. A 32-bit process on a 64-bit system has other numbers; the name of the
# machine does not distinguish it, so it goes without.
CALL_NUMBERS: Final = {
    "x86_64": 316,
    "aarch64": 276,
    "riscv64": 276,
    "loongarch64": 276,
    "ppc64le": 357,
    "ppc64": 357,
    "s390x": 347,
}

Call = Callable[[int, bytes, int, bytes, int], int]


def rename_with(flags: int, directory: int, name: str, target_directory: int, target: str) -> None:
    """Rename `name` in `directory` to `target` in `target_directory` with `flags`.

    Raises `OSError`, with ENOSYS where the system has no such call and EINVAL where the file system does not.
    """
    call = system_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    if call(directory, os.fsencode(name), target_directory, os.fsencode(target), flags) != 0:
        import ctypes

        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


@cache
def system_call() -> Call | None:
    """The function of the C library, else the system call by its number, else nothing."""
    if sys.platform != "linux":
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    arguments: list[Any] = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function = getattr(library, "renameat2", None)
    if function is not None:
        function.argtypes = arguments
        return lambda *given: int(function(*given))
    number = CALL_NUMBERS.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
    if number is None:
        return None
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = [ctypes.c_long, *arguments]
    return lambda *given: int(library.syscall(number, *given))


# --- How much a commit survives.


class Durability(StrEnum):
    """What a commit survives: the loss of power, or only the death of the process (nothing is synced).

    >>> Settings(durability=Durability.PROCESS).durability.value
    'process'
    """

    FULL = "full"
    PROCESS = "process"
