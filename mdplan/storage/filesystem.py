"""All disk operations of this package, in one class `FileSystem`.

It resolves names from an open directory without following links, can kill the process at failpoints, and can
be replaced in tests.
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
from mdplan.storage.names import LINUX, MACOS, SYSTEM

FAILPOINT_VARIABLE: Final = "MDPLAN_FAILPOINT"
# `signal.SIGKILL`, which Windows lacks; `os.kill` ends a process there in the same way.
_KILL: Final = 9

# Available on Linux and macOS. Elsewhere roots are refused, because names could not be resolved safely; the
# module can still be imported.
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_LEAF: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_FOLLOW
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW

_READ_AT_ONCE: Final = 1 << 20

# Errors of file systems where a file cannot have another name.
NO_LINK: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_HAS_ATTRIBUTES: Final = sys.platform == "linux"


class Step(StrEnum):
    """Disk operations, as named by failpoints."""

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
    """A name in a directory; `other` is anything but a directory or regular file, including links."""

    name: str
    is_directory: bool
    is_file: bool


class FileSystem:
    """The disk. `directory` is the descriptor of an open directory, `name` a component in it.

    All methods raise `OSError`. `MDPLAN_FAILPOINT=<step>[:n]`, read on creation, kills the process before the
    n-th (1-based) operation of that kind. Unreleased roots are closed with the instance. A recursive listing
    fails beyond `most_listed`.
    """

    most_listed = sys.maxsize
    # Whether a replaced file moves aside in a step of its own (`replace`), because files cannot be exchanged.
    moves_aside = False
    # Whether folders can be locked, at least on some disks.
    locks_folders = True

    def __init__(self) -> None:
        self._roots: set[int] = set()
        # Whether files can be exchanged, by device; filled by `folders.can_exchange`.
        self.exchanges_by_device: dict[int, bool] = {}
        self._failpoint: Step | None = None
        self._countdown = 0
        failpoint = os.environ.get(FAILPOINT_VARIABLE)
        if failpoint:
            name, _, count = failpoint.partition(":")
            self._failpoint, self._countdown = Step(name), int(count or 1)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """Close roots of a forgotten engine, or of a planner whose thread has ended."""
        # At interpreter exit module names may be gone, so `close` is bound here.
        for descriptor in self._roots:
            try:
                close(descriptor)
            except OSError:
                continue

    def before(self, step: Step) -> None:
        """Run before every operation; tests override it to inject failures."""
        if step is self._failpoint:
            self._countdown -= 1
            if self._countdown == 0:
                os.kill(os.getpid(), _KILL)

    def open_root(self, path: str) -> int:
        """Open the directory `path`, following links, since the user chose it."""
        self.before(Step.OPEN_ROOT)
        if os.open not in os.supports_dir_fd or os.rename not in os.supports_dir_fd:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        root = os.open(path, _DIRECTORY)
        self._roots.add(root)
        return root

    def status_at(self, path: str) -> os.stat_result:
        """Return the status of the absolute `path`, following links."""
        self.before(Step.STATUS)
        return os.stat(path)

    def is_there(self, path: str) -> bool:
        """Return True if the absolute `path`, following links, exists and is visible."""
        self.before(Step.STATUS)
        return os.access(path, os.F_OK)

    def open_directory(self, directory: int, name: str) -> int:
        """Open the directory `name`; a link fails with ENOTDIR or ELOOP."""
        self.before(Step.OPEN_DIRECTORY)
        return os.open(name, _DIRECTORY | _NO_FOLLOW, dir_fd=directory)

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading, without blocking on FIFOs; a link fails with ELOOP."""
        self.before(Step.OPEN_FILE)
        return os.open(name, _LEAF, dir_fd=directory)

    def status(self, descriptor: int) -> os.stat_result:
        """Return the status of an open file or directory."""
        self.before(Step.STATUS)
        return os.fstat(descriptor)

    def identity(self, descriptor: int) -> tuple[int, int]:
        """Return device and inode of an open file or directory. Cannot fail, so it has no failpoint."""
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """Return the status of `name` without following links."""
        self.before(Step.STATUS)
        return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def has(self, directory: int, name: str) -> bool:
        """Return True if `name` exists and is visible."""
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
        """Return the target of the link `name`, verbatim."""
        self.before(Step.READ_LINK)
        return os.readlink(name, dir_fd=directory)

    def list(self, directory: int) -> list[DirectoryEntry]:
        """Return the entries of the directory, unsorted, without `.` and `..`."""
        self.before(Step.LIST)
        with os.scandir(directory) as entries:
            return [
                DirectoryEntry(
                    entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)
                )
                for entry in entries
            ]

    def may_write(self, directory: int, name: str) -> bool:
        """Return True if permissions allow writing `name` (`.` is the directory itself)."""
        self.before(Step.MAY_WRITE)
        return os.access(name, os.W_OK, dir_fd=directory, effective_ids=True, follow_symlinks=False)

    def make_directory(self, directory: int, name: str, mode: int = 0o700) -> None:
        """Make the directory `name`, private or with `mode` minus the umask."""
        self.before(Step.MAKE_DIRECTORY)
        os.mkdir(name, mode, dir_fd=directory)

    def make_directories(self, path: str) -> None:
        """Make the private directory `path` and its missing parents."""
        self.before(Step.MAKE_DIRECTORY)
        os.makedirs(path, 0o700, exist_ok=True)

    def create(self, directory: int, name: str, mode: int = 0o600) -> int:
        """Create `name`, which must not exist, and open it for writing.

        It is private, or has `mode` minus the umask.
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
        """Return the extended attributes, including ACLs."""
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
        """Set the file's extended attributes to exactly `attributes`."""
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
        """Set the permission bits; do this last, since a new owner or ACL changes them."""
        self.before(Step.SET_MODE)
        os.fchmod(descriptor, stat.S_IMODE(mode))

    def start_writing(self, descriptor: int) -> None:
        """Hint the system to start writing, so that a later `sync` is faster."""
        if sys.platform == "linux":
            with suppress(OSError):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, descriptor: int) -> None:
        """Wait until the file's content is on disk.

        Never retried after a failure: the system drops unwritten data, and a second call would falsely
        succeed.
        """
        self.before(Step.SYNC)
        os.fsync(descriptor)

    def sync_directory(self, directory: int) -> bool:
        """Wait until the directory's names are on disk; False if the file system cannot do that."""
        self.before(Step.SYNC_DIRECTORY)
        try:
            os.fsync(directory)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTSUP):
                return False
            raise
        return True

    def link(self, directory: int, name: str, other: str) -> None:
        """Give the file `name` a second name `other`, which must not exist, in the same directory."""
        self.before(Step.LINK)
        os.link(name, other, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)

    def rename(self, directory: int, name: str, target: str) -> None:
        """Rename `name` to `target` in the same directory, replacing any existing file."""
        self.before(Step.RENAME)
        os.rename(name, target, src_dir_fd=directory, dst_dir_fd=directory)

    def rename_new(self, directory: int, name: str, target_directory: int, target: str) -> None:
        """Rename `name` to `target` in the open `target_directory`; EEXIST if it exists.

        Without system support, the file briefly has both names; on file systems without links, a file that
        another program creates at that moment could be replaced.
        """
        self.before(Step.RENAME_NEW)
        try:
            rename_with(NO_REPLACE, directory, name, target_directory, target)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
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
            # Sync the new name before removing the old one: a power loss could take both.
            self.sync_directory(target_directory)
            os.unlink(name, dir_fd=directory)

    def exchange(self, directory: int, name: str, other: str) -> None:
        """Exchange `name` and `other` in the directory atomically.

        Fails with ENOSYS outside Linux, with EINVAL if the file system cannot.
        """
        self.before(Step.EXCHANGE)
        rename_with(EXCHANGE, directory, name, directory, other)

    def replace(self, directory: int, name: str, target: str, aside: str) -> None:
        """Put `name` in place of `target`, whose file becomes `aside`.

        Used if `moves_aside`. A kill or an error can leave `target` missing, with its file under `aside`.
        """
        self.rename(directory, target, aside)
        self.rename(directory, name, target)

    def unlink(self, directory: int, name: str) -> None:
        """Remove the name of a file."""
        self.before(Step.UNLINK)
        os.unlink(name, dir_fd=directory)

    def remove_directory(self, directory: int, name: str) -> None:
        """Remove the directory `name`; ENOTEMPTY if it is not empty."""
        self.before(Step.REMOVE_DIRECTORY)
        os.rmdir(name, dir_fd=directory)

    def close(self, descriptor: int) -> None:
        """Close a written file; a failure means that data is lost."""
        try:
            self.before(Step.CLOSE)
        finally:
            os.close(descriptor)

    def try_lock(self, descriptor: int, *, shared: bool) -> bool:
        """Lock an open folder or file unless somebody else has; the lock ends with its descriptor."""
        import fcntl

        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, descriptor: int) -> None:
        """Release the lock of an open folder or file."""
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def release(self, descriptor: int) -> None:
        """Close a directory or a file opened for reading, ignoring failures."""
        # Before closing: another thread may then get the same descriptor.
        self._roots.discard(descriptor)
        with suppress(OSError):
            os.close(descriptor)


# --- System errors as diagnostics, and the exception that carries diagnostics out of a commit

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
    """A commit or the opening of a root was refused; `problems` has errors before warnings.

    The constructor `of` is internal.

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
        """Return the exception with a single problem."""
        return cls((code.problem(message, hint, file=file),))


AnyAnswer = TypeVar("AnyAnswer")


def granted(answer: AnyAnswer | Diagnostic | Problems) -> AnyAnswer:
    """Return `answer`. Raise `StorageRefused` if it is one or several problems."""
    problems = (answer,) if isinstance(answer, Diagnostic) else answer
    if isinstance(problems, tuple) and problems and isinstance(problems[0], Diagnostic):
        raise StorageRefused(problems)
    return cast("AnyAnswer", answer)


class HeldOpenError(OSError):
    """Another program holds a file open, so that it cannot be replaced."""


def of_error(error: OSError, shown: str, doing: str) -> Diagnostic:
    """Return the diagnostic for `error`, raised while `doing` something to the file `shown`."""
    if isinstance(error, HeldOpenError):
        message = f"{doing} `{shown}` failed: another program has it open"
        return Code.TARGET_BUSY.problem(message, "close it there, then try again", file=shown)
    code, hint = _CODES.get(error.errno or 0, (Code.IO_ERROR, "check the disk and try again"))
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return code.problem(f"{doing} `{shown}` failed: {reason}", hint, file=shown)


@contextmanager
def storage_errors(shown: str, doing: str) -> Iterator[None]:
    """Convert `OSError` in the block to `StorageRefused` for the file `shown`."""
    try:
        yield
    except OSError as error:
        raise StorageRefused((of_error(error, shown, doing),)) from error


# --- The system calls `renameat2` of Linux and `renameatx_np` of macOS (rename with flags), missing in Python

NO_REPLACE: Final = 1
EXCHANGE: Final = 2
# The same on macOS.
MAC_FLAGS: Final = {NO_REPLACE: 4, EXCHANGE: 2}

# For C libraries without the function. A 32-bit process on a 64-bit system has other numbers, but the machine
# name does not show it, so it goes without.
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

    Raise `OSError`: ENOSYS without system support, EINVAL without file system support.
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
    """Return the C library function, or the system call by number, or None."""
    is_mac = SYSTEM == MACOS
    if SYSTEM != LINUX and not is_mac:
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    arguments: list[Any] = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function = getattr(library, "renameatx_np" if is_mac else "renameat2", None)
    if function is not None:
        function.argtypes = arguments
        numbers = MAC_FLAGS if is_mac else {}
        return lambda *given: int(function(*given[:4], numbers.get(given[4], given[4])))
    if is_mac:
        return None
    number = CALL_NUMBERS.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
    if number is None:
        return None
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = [ctypes.c_long, *arguments]
    return lambda *given: int(library.syscall(number, *given))


# --- Durability


class Durability(StrEnum):
    """What a commit survives: power loss (`full`), or only the death of the process (nothing is synced).

    >>> Settings(durability=Durability.PROCESS).durability.value
    'process'
    """

    FULL = "full"
    PROCESS = "process"
