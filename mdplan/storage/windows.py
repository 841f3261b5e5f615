r"""The file system of Windows, through `kernel32`: Python cannot say how files are shared and replaced.

What differs from `FileSystem`, its base:

- A folder is held by a handle that lets no program rename or delete it, so that its path stays true; a root
  is held like that only during a commit. Components are opened one by one, and reparse points (links,
  junctions) are refused like links.
- A name must be spelled as the folder lists it: no other case, no short name.
- `ReplaceFileW` replaces a file: the new one takes over attributes, ACL, named streams and creation time, and
  the old one, with whatever is still written into it, moves aside.
- A file that another program holds open is tried again for a moment, then refused with `HeldOpenError`.
"""

import ctypes
import errno
import msvcrt
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from ctypes import byref, wintypes
from typing import Final, cast

from mdplan.storage.filesystem import DirectoryEntry, FileSystem, HeldOpenError, Step

assert sys.platform == "win32"

_READ: Final = 0x80000000
_WRITE: Final = 0x40000000
_DELETE: Final = 0x00010000
_LIST_FOLDER: Final = 0x00000001
_SHARE: Final = 1 | 2
_SHARE_ALL: Final = _SHARE | 4
_CREATE_NEW: Final = 1
_OPEN_EXISTING: Final = 3
# Folders need the first; the second opens a link or junction itself.
_FOLDER: Final = 0x02000000
_NO_FOLLOW: Final = 0x00200000
_INVALID: Final = ctypes.c_void_p(-1).value

_REPLACE_EXISTING: Final = 1
_WRITE_THROUGH: Final = 8
_LOCK_AT_ONCE: Final = 1
_LOCK_ALONE: Final = 2
_DACL: Final = 4
_OWNER: Final = 1
# Hidden, system, archive, not indexed: people set these.
_ATTRIBUTES: Final = 0x2 | 0x4 | 0x20 | 0x2000

_DENIED: Final = 5
# Sharing and lock violation, and two of `ReplaceFileW` that change nothing. After the third, 1177, the file
# is under its second name, and recovery puts it back.
_HELD: Final = frozenset({32, 33, 1175, 1176})
_HALF_WAY: Final = 1177
_ERRNOS: Final = {1: errno.ENOSYS, 50: errno.ENOTSUP, 123: errno.ENOENT, 206: errno.ENAMETOOLONG}
_PATIENCE: Final = 1.0
_PAUSE: Final = 0.02

_kernel: Final = ctypes.WinDLL("kernel32", use_last_error=True)
_security: Final = ctypes.WinDLL("advapi32", use_last_error=True)


def _function(library: object, name: str, result: object, *arguments: object) -> Callable[..., int]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return cast("Callable[..., int]", function)


_TEXT, _DWORD, _HANDLE, _BOOL = wintypes.LPCWSTR, wintypes.DWORD, wintypes.HANDLE, wintypes.BOOL
_POINTER: Final = ctypes.c_void_p
_create_file: Final = _function(
    _kernel, "CreateFileW", _HANDLE, _TEXT, _DWORD, _DWORD, _POINTER, _DWORD, _DWORD, _HANDLE
)
_close_handle: Final = _function(_kernel, "CloseHandle", _BOOL, _HANDLE)
_flush: Final = _function(_kernel, "FlushFileBuffers", _BOOL, _HANDLE)
_find_first: Final = _function(_kernel, "FindFirstFileW", _HANDLE, _TEXT, _POINTER)
_find_close: Final = _function(_kernel, "FindClose", _BOOL, _HANDLE)
_find_stream: Final = _function(_kernel, "FindFirstStreamW", _HANDLE, _TEXT, ctypes.c_int, _POINTER, _DWORD)
_next_stream: Final = _function(_kernel, "FindNextStreamW", _BOOL, _HANDLE, _POINTER)
_move: Final = _function(_kernel, "MoveFileExW", _BOOL, _TEXT, _TEXT, _DWORD)
_replace: Final = _function(_kernel, "ReplaceFileW", _BOOL, _TEXT, _TEXT, _TEXT, _DWORD, _POINTER, _POINTER)
_link: Final = _function(_kernel, "CreateHardLinkW", _BOOL, _TEXT, _TEXT, _POINTER)
_delete: Final = _function(_kernel, "DeleteFileW", _BOOL, _TEXT)
_get_attributes: Final = _function(_kernel, "GetFileAttributesW", _DWORD, _TEXT)
_set_attributes: Final = _function(_kernel, "SetFileAttributesW", _BOOL, _TEXT, _DWORD)
_lock: Final = _function(_kernel, "LockFileEx", _BOOL, _HANDLE, _DWORD, _DWORD, _DWORD, _DWORD, _POINTER)
_unlock: Final = _function(_kernel, "UnlockFileEx", _BOOL, _HANDLE, _DWORD, _DWORD, _DWORD, _POINTER)
_get_security: Final = _function(
    _security, "GetFileSecurityW", _BOOL, _TEXT, _DWORD, _POINTER, _DWORD, _POINTER
)
_set_security: Final = _function(_security, "SetFileSecurityW", _BOOL, _TEXT, _DWORD, _POINTER)
_get_owner: Final = _function(_security, "GetSecurityDescriptorOwner", _BOOL, _POINTER, _POINTER, _POINTER)
_equal_sids: Final = _function(_security, "EqualSid", _BOOL, _POINTER, _POINTER)
_open_process: Final = _function(_kernel, "OpenProcess", _HANDLE, _DWORD, _BOOL, _DWORD)
_wait: Final = _function(_kernel, "WaitForSingleObject", _DWORD, _HANDLE, _DWORD)
_this_process: Final = _function(_kernel, "GetCurrentProcess", _HANDLE)
_open_token: Final = _function(_security, "OpenProcessToken", _BOOL, _HANDLE, _DWORD, _POINTER)
_token_facts: Final = _function(
    _security, "GetTokenInformation", _BOOL, _HANDLE, ctypes.c_int, _POINTER, _DWORD, _POINTER
)


class _Stream(ctypes.Structure):
    _fields_ = [("size", ctypes.c_longlong), ("name", ctypes.c_wchar * 296)]


class _Overlapped(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_void_p * 2), ("offset", ctypes.c_longlong), ("event", ctypes.c_void_p)]


class WindowsFileSystem(FileSystem):
    """The disk on Windows. Folders are descriptors of the C library too, whose paths this class knows."""

    moves_aside = True
    locks_folders = False

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[int, str] = {}

    def open_root(self, path: str) -> int:
        """Open the directory `path`, following links; it may be renamed while it is open."""
        self.before(Step.OPEN_ROOT)
        root = self._opened(native(path), _LIST_FOLDER, _SHARE_ALL, _FOLDER)
        self._roots.add(root)
        return root

    def status_at(self, path: str) -> os.stat_result:
        """Return the status of the absolute `path`, following links."""
        return super().status_at(native(path))

    def is_there(self, path: str) -> bool:
        """Return True if the absolute `path`, following links, exists and is visible."""
        return super().is_there(native(path))

    def open_directory(self, directory: int, name: str) -> int:
        """Open the directory `name` so that it stays where it is; a link fails with ELOOP."""
        self.before(Step.OPEN_DIRECTORY)
        path = self._path(directory, name)
        if not self._find(directory, name) & stat.FILE_ATTRIBUTE_DIRECTORY:
            raise _failure(errno.ENOTDIR, name)
        opened = self._opened(path, _LIST_FOLDER, _SHARE, _FOLDER | _NO_FOLLOW)
        if name == "." and self.identity(opened) != self.identity(directory):
            self.release(opened)
            raise _failure(errno.ENOENT, path)
        return opened

    def open_file(self, directory: int, name: str) -> int:
        """Open `name` for reading; a link fails with ELOOP."""
        self.before(Step.OPEN_FILE)
        self._find(directory, name)
        return self._opened(self._path(directory, name), _READ, _SHARE_ALL, _NO_FOLLOW)

    def status_of(self, directory: int, name: str) -> os.stat_result:
        """Return the status of `name` without following links; every reparse point is a link."""
        self.before(Step.STATUS)
        try:
            self._find(directory, name)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return os.stat_result((stat.S_IFLNK | 0o777, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        return os.lstat(self._path(directory, name))

    def read_link(self, directory: int, name: str) -> str:
        """Return the target of the link `name`, verbatim."""
        self.before(Step.READ_LINK)
        return os.readlink(self._path(directory, name))

    def list(self, directory: int) -> list[DirectoryEntry]:
        """Return the entries of the directory, unsorted, without `.` and `..`."""
        self.before(Step.LIST)
        listed: list[DirectoryEntry] = []
        with os.scandir(self._paths[directory]) as entries:
            for entry in entries:
                attributes = entry.stat(follow_symlinks=False).st_file_attributes
                is_link = bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)
                is_folder = bool(attributes & stat.FILE_ATTRIBUTE_DIRECTORY)
                listed.append(
                    DirectoryEntry(entry.name, is_folder and not is_link, not (is_folder or is_link))
                )
        return listed

    def may_write(self, directory: int, name: str) -> bool:
        """Return True if `name` can be opened for writing and deleting; always True for a folder."""
        self.before(Step.MAY_WRITE)
        if name != ".":
            try:
                _close_handle(_handle(self._path(directory, name), _WRITE | _DELETE, _SHARE_ALL, _NO_FOLLOW))
            except PermissionError:
                return False
        return True

    def make_directory(self, directory: int, name: str, mode: int = 0o700) -> None:
        """Make the directory `name`, private or with inherited permissions."""
        self.before(Step.MAKE_DIRECTORY)
        os.mkdir(self._path(directory, name), mode)

    def create(self, directory: int, name: str, mode: int = 0o600) -> int:
        """Create `name`, which must not exist, and open it for writing."""
        del mode
        self.before(Step.CREATE)
        return self._opened(self._path(directory, name), _READ | _WRITE, _SHARE_ALL, _NO_FOLLOW, _CREATE_NEW)

    def attributes(self, descriptor: int) -> dict[str, bytes]:
        """Return attributes, ACL and named streams, for a copy of the file."""
        self.before(Step.READ_ATTRIBUTES)
        path = self._paths[descriptor]
        bits = int(_get_attributes(path)) & _ATTRIBUTES
        found = {"attributes": bits.to_bytes(4, "little"), "acl": _security_of(path, _DACL)}
        for name in _streams(path):
            with open(path + name, "rb") as stream:
                found[name] = stream.read()
        return found

    def set_attributes(self, descriptor: int, attributes: Mapping[str, bytes]) -> None:
        """Give the file exactly `attributes`."""
        self.before(Step.SET_ATTRIBUTES)
        path, present = self._paths[descriptor], self.attributes(descriptor)
        for name, content in attributes.items():
            if name.startswith(":") and present.get(name) != content:
                with open(path + name, "wb") as stream:
                    stream.write(content)
        acl = attributes.get("acl")
        if acl and acl != present["acl"] and not _set_security(path, _DACL, acl):
            raise _error(path)
        bits = attributes.get("attributes", present["attributes"])
        if bits != present["attributes"] and not _set_attributes(path, int.from_bytes(bits, "little")):
            raise _error(path)

    def set_owner(self, descriptor: int, user: int, group: int) -> None:
        """Do nothing: a new file is its user's."""

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Do nothing: permissions are in the ACL."""

    def sync(self, descriptor: int) -> None:
        """Wait until the file's content is on disk."""
        self.before(Step.SYNC)
        # Syncing needs a handle for writing.
        handle = _handle(self._paths[descriptor], _WRITE, _SHARE_ALL, _NO_FOLLOW)
        _flushed(handle, self._paths[descriptor])

    def sync_directory(self, directory: int) -> bool:
        """Wait until the directory's names are on disk; False if the file system cannot do that."""
        self.before(Step.SYNC_DIRECTORY)
        try:
            handle = _handle(self._paths[directory], _WRITE, _SHARE_ALL, _FOLDER)
            _flushed(handle, self._paths[directory])
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
                return False
            raise
        return True

    def link(self, directory: int, name: str, other: str) -> None:
        """Give the file `name` a second name `other`, which must not exist, in the same directory."""
        self.before(Step.LINK)
        _patiently(_link, self._path(directory, other), self._path(directory, name), None)

    def rename(self, directory: int, name: str, target: str) -> None:
        """Rename `name` to `target` in the same directory, replacing any existing file."""
        self.before(Step.RENAME)
        how = _REPLACE_EXISTING | _WRITE_THROUGH
        _patiently(_move, self._path(directory, name), self._path(directory, target), how)

    def rename_new(self, directory: int, name: str, target_directory: int, target: str) -> None:
        """Rename `name` to `target` in the open `target_directory`; EEXIST if it exists."""
        self.before(Step.RENAME_NEW)
        _patiently(_move, self._path(directory, name), self._path(target_directory, target), _WRITE_THROUGH)

    def exchange(self, directory: int, name: str, other: str) -> None:
        """Fail with ENOSYS: Windows has no exchange."""
        del directory, other
        self.before(Step.EXCHANGE)
        raise _failure(errno.ENOSYS, name)

    def replace(self, directory: int, name: str, target: str, aside: str) -> None:
        """Put `name` in place of `target`, whose file becomes `aside`; a kill can leave `target` missing."""
        self.before(Step.RENAME)
        names = [self._path(directory, each) for each in (target, name, aside)]
        _patiently(_replace, *names, 0, None, None)

    def unlink(self, directory: int, name: str) -> None:
        """Remove the name of a file."""
        self.before(Step.UNLINK)
        _patiently(_delete, self._path(directory, name))

    def remove_directory(self, directory: int, name: str) -> None:
        """Remove the directory `name`; ENOTEMPTY if it is not empty."""
        self.before(Step.REMOVE_DIRECTORY)
        os.rmdir(self._path(directory, name))

    def try_lock(self, descriptor: int, *, shared: bool) -> bool:
        """Lock an open file; ENOLCK for folders, which Windows cannot lock."""
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise _failure(errno.ENOLCK, self._paths[descriptor])
        how = _LOCK_AT_ONCE if shared else _LOCK_AT_ONCE | _LOCK_ALONE
        return bool(_lock(msvcrt.get_osfhandle(descriptor), how, 0, 1, 0, byref(_Overlapped())))

    def unlock(self, descriptor: int) -> None:
        """Unlock an open file."""
        if not _unlock(msvcrt.get_osfhandle(descriptor), 0, 1, 0, byref(_Overlapped())):
            raise _error("lock")

    def close(self, descriptor: int) -> None:
        """Close a written file."""
        self._paths.pop(descriptor, None)
        super().close(descriptor)

    def release(self, descriptor: int) -> None:
        """Close a directory or a file opened for reading, ignoring failures."""
        self._paths.pop(descriptor, None)
        super().release(descriptor)

    def _path(self, directory: int, name: str) -> str:
        folder = self._paths.get(directory)
        if folder is None:
            raise _failure(errno.EBADF, name)
        return folder if name == "." else f"{folder}\\{name}"

    def _find(self, directory: int, name: str) -> int:
        """Return the attributes of `name` as listed; ENOENT for another spelling, ELOOP for a link."""
        path = self._path(directory, name)
        if name == ".":
            return stat.FILE_ATTRIBUTE_DIRECTORY
        data = wintypes.WIN32_FIND_DATAW()
        search = _find_first(path, byref(data))
        if search == _INVALID:
            raise _error(path)
        _find_close(search)
        if data.cFileName != name:
            raise _failure(errno.ENOENT, path)
        if data.dwFileAttributes & stat.FILE_ATTRIBUTE_REPARSE_POINT:
            raise _failure(errno.ELOOP, path)
        return int(data.dwFileAttributes)

    def _opened(self, path: str, access: int, share: int, flags: int, how: int = _OPEN_EXISTING) -> int:
        """Open `path` as a descriptor; with `_NO_FOLLOW`, ELOOP if a link took its place meanwhile."""
        handle = _handle(path, access, share, flags, how)
        try:
            mode = os.O_BINARY | os.O_NOINHERIT | (os.O_RDWR if access & _WRITE else os.O_RDONLY)
            descriptor = msvcrt.open_osfhandle(handle, mode)
        except OSError:
            _close_handle(handle)
            raise
        self._paths[descriptor] = path
        try:
            status = os.fstat(descriptor)
            if flags & _NO_FOLLOW and status.st_file_attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT:
                raise _failure(errno.ELOOP, path)
            if flags & _FOLDER and not stat.S_ISDIR(status.st_mode):
                raise _failure(errno.ENOTDIR, path)
        except OSError:
            self.release(descriptor)
            raise
        return descriptor


def native(path: str) -> str:
    r"""Return the absolute `path` in the form `\\?\C:\a\b`: any length, and no name has a second meaning."""
    path = path.replace("/", "\\")
    if path.startswith("\\\\?\\"):
        return path
    return f"\\\\?\\UNC{path[1:]}" if path.startswith("\\\\") else f"\\\\?\\{path}"


def is_own(path: str) -> bool:
    """Return True if this user owns `path`, or the group that owns this process's new files."""
    descriptor = _security_of(native(os.path.abspath(path)), _OWNER)
    owner, defaulted, token = ctypes.c_void_p(), _BOOL(), _HANDLE()
    if not descriptor or not _get_owner(descriptor, byref(owner), byref(defaulted)):
        raise _error(path)
    query, user, default_owner = 8, 1, 4
    if not _open_token(_this_process(), query, byref(token)):
        raise _error(path)
    try:
        for kind in (user, default_owner):
            # Both structures begin with a pointer to the ID, which follows them.
            facts = (ctypes.c_void_p * 64)()
            if not _token_facts(token, kind, facts, ctypes.sizeof(facts), byref(_DWORD())):
                raise _error(path)
            if _equal_sids(owner, facts[0]):
                return True
    finally:
        _close_handle(token)
    return False


def is_running(process: int) -> bool:
    """Return True if a process with that ID runs, or may not be looked at."""
    synchronize, is_unfinished, no_such_process = 0x00100000, 0x102, 87
    handle = _open_process(synchronize, _BOOL(), process)
    if not handle:
        return ctypes.get_last_error() != no_such_process
    try:
        return _wait(handle, 0) == is_unfinished
    finally:
        _close_handle(handle)


def _handle(path: str, access: int, share: int, flags: int, how: int = _OPEN_EXISTING) -> int:
    opened = 0

    def attempt() -> bool:
        nonlocal opened
        opened = _create_file(path, access, share, None, how, flags, None)
        return opened != _INVALID

    _patiently(attempt, path=path, held=_HELD)
    return opened


def _flushed(handle: int, path: str) -> None:
    try:
        if not _flush(handle):
            raise _error(path)
    finally:
        _close_handle(handle)


def _patiently(
    call: Callable[..., int], *arguments: object, path: str = "", held: frozenset[int] = _HELD | {_DENIED}
) -> None:
    """Call until it succeeds, for a moment longer while another program holds a file. Raise `OSError`."""
    deadline = time.monotonic() + _PATIENCE
    while not call(*arguments):
        if ctypes.get_last_error() not in held or time.monotonic() >= deadline:
            raise _error(path or str(arguments[0]))
        time.sleep(_PAUSE)


def _error(path: str) -> OSError:
    """Return the last error of a system call as an exception with an `errno`."""
    code = ctypes.get_last_error()
    if code in _HELD or code == _HALF_WAY:
        return HeldOpenError(errno.EBUSY, os.strerror(errno.EBUSY), path)
    return _failure(_ERRNOS[code], path) if code in _ERRNOS else OSError(0, "", path, code)


def _failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _security_of(path: str, which: int) -> bytes:
    size = _DWORD()
    _get_security(path, which, None, 0, byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    if not size.value or not _get_security(path, which, buffer, size, byref(size)):
        return b""
    return buffer.raw


def _streams(path: str) -> list[str]:
    """Return the named streams of a file as `:name`; none where the file system has no streams."""
    data, names = _Stream(), list[str]()
    search = _find_stream(path, 0, byref(data), 0)
    if search == _INVALID:
        return names
    try:
        while True:
            name = data.name.removesuffix(":$DATA")
            if name != ":":
                names.append(name)
            if not _next_stream(search, byref(data)):
                return names
    finally:
        with suppress(OSError):
            _find_close(search)
