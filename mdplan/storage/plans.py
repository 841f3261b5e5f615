"""Plans in the user's state directory, so that they outlive the process that made them.

What is stored are bytes that the engine wrote; it checks them again when they are loaded. Nothing here stops
a command: where nothing can be stored, that is what the answer says.
"""

import base64
import errno
import hashlib
import hmac
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final
from urllib.parse import urlencode

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.storage.files import read_regular_file, stat_file
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.user_state import user_state_directory
from mdplan.text.lazy_pattern import lazy_pattern

DEFAULT_KEPT_SECONDS: Final = 30 * 24 * 3600.0

MAX_DOCUMENT_BYTES: Final = 1 << 30

_PLAN_ID: Final = lazy_pattern(r"sha256-([0-9a-f]{64})")

_PREFIX: Final = lazy_pattern(r"(?:sha256-)?([0-9a-f]{12,64})", re.IGNORECASE)

_STORED: Final = lazy_pattern(r"([0-9a-f]{64})\.json")

_DIGITS: Final = 64

_COLLECT_SECONDS: Final = 3600.0

_PLANS: Final = "plans"

_PROBE: Final = "probe"

_BASES: Final = b"\n#bases\n"

# Begins a line after the contents: which program made the plan.
_CLIENT: Final = b"#client "

# Contents are stored with a plan up to this size together.
_MOST_BASES: Final = 4 << 20

_READ_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan in the store and when it was last saved, in seconds since the epoch."""

    plan_id: str
    saved_at: float


class PlanStore:
    """The plans of one root.

    `root_path` is the root's real path; `directory` is the state directory of all roots, from
    `MDPLAN_STATE_DIR` or the user's own when not given. It is made at the first save.
    """

    def __init__(
        self,
        root_path: str,
        directory: str | None = None,
        kept_seconds: float = DEFAULT_KEPT_SECONDS,
        filesystem: FileSystem | None = None,
    ) -> None:
        self._place = PrivateFolder(root_path, _PLANS, directory, filesystem)
        self._filesystem = self._place.filesystem
        self._kept_seconds = kept_seconds
        self._collected_at: float | None = None

    def save_plan(
        self,
        plan_id: str,
        document: Iterable[bytes],
        now: float,
        bases: Iterable[bytes] = (),
        client: Client | None = None,
    ) -> bool:
        """Store a plan under its full ID; False when it cannot be stored.

        The parts of `document` are one line; after it are `bases`, the contents that a merge needs, up to
        some size, and the `client` that made the plan: the first one that did. Plans that were saved longer
        than `kept_seconds` before `now` are removed.
        """
        named = _PLAN_ID.fullmatch(plan_id)
        if named is None:
            return False
        try:
            with self._place.open(makes=True) as folder:
                name = f"{named[1]}.json"
                client = _client_in(self._read_end(folder, name)) or client
                self._place.write_parts(folder, name, chain(_limited(document), [_packed(bases, client)]))
                self._collect(folder, now)
        except OSError:
            return False
        return True

    def load_plan(self, plan_id: str) -> bytes | None:
        """The document of a plan, by its ID or a prefix of 12 or more hex digits that only it has."""
        found = self._load(plan_id)
        return None if found is None else found.partition(_BASES)[0]

    def load_bases(self, plan_id: str) -> tuple[bytes, ...]:
        """The contents that were stored with a plan."""
        packed = (self._load(plan_id) or b"").partition(_BASES)[2]
        try:
            return tuple(
                zlib.decompress(base64.b64decode(line))
                for line in packed.splitlines()
                if not line.startswith(_CLIENT)
            )
        except (ValueError, zlib.error):
            return ()

    def load_client(self, plan_id: str) -> Client | None:
        """The program that made a plan, as far as it is known."""
        return _client_in(self._load(plan_id) or b"")

    def _load(self, plan_id: str) -> bytes | None:
        wanted = _PREFIX.fullmatch(plan_id)
        if wanted is None:
            return None
        digits = wanted[1].lower()
        try:
            with self._place.open() as folder:
                if len(digits) == _DIGITS:
                    names = [f"{digits}.json"]
                else:
                    stored = (entry.name for entry in self._filesystem.list(folder))
                    names = [name for name in stored if name.startswith(digits) and _STORED.fullmatch(name)]
                if len(names) != 1:
                    return None
                return self._read(folder, names[0])
        except OSError:
            return None

    def _read(self, folder: int, name: str) -> bytes | None:
        found = read_regular_file(self._filesystem, folder, name, name, MAX_DOCUMENT_BYTES)
        return None if isinstance(found, Diagnostic) else found.data

    def _read_end(self, folder: int, name: str) -> bytes:
        """The last bytes of a stored file, with the line of its client; none where there is no file."""
        if isinstance(stat_file(self._filesystem, folder, name, name), Diagnostic):
            return b""
        descriptor = self._filesystem.open_file(folder, name)
        try:
            end = b""
            while part := self._filesystem.read(descriptor, _READ_AT_ONCE):
                end = (end + part)[-_READ_AT_ONCE:]
            return end
        finally:
            self._filesystem.release(descriptor)

    def list_plans(self) -> tuple[StoredPlan, ...]:
        """All plans in the store, the newest first."""
        try:
            with self._place.open() as folder:
                plans = [
                    StoredPlan(f"sha256-{stored[1]}", self._filesystem.status_of(folder, entry.name).st_mtime)
                    for entry in self._filesystem.list(folder)
                    if (stored := _STORED.fullmatch(entry.name))
                ]
        except OSError:
            return ()
        return tuple(sorted(plans, key=lambda plan: (-plan.saved_at, plan.plan_id)))

    def is_writable(self) -> bool:
        """Whether plans can be stored: tried with a file of a moment."""
        try:
            with self._place.open(makes=True) as folder:
                self._place.write(folder, _PROBE, b"")
                self._filesystem.unlink(folder, _PROBE)
        except OSError:
            return False
        return True

    def _collect(self, folder: int, now: float) -> None:
        """Remove what is too old; looked for once an hour, since there may be many."""
        if self._collected_at is None or now - self._collected_at >= _COLLECT_SECONDS:
            self._collected_at = now
            self._place.remove_older(folder, now - self._kept_seconds)


def _limited(document: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of `document`. Raises `OSError` when they are too long to be stored."""
    room = MAX_DOCUMENT_BYTES
    for part in document:
        room -= len(part)
        if room < 0:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        yield part


def _packed(bases: Iterable[bytes], client: Client | None) -> bytes:
    """`bases` and `client` as what follows a document; no bases where they are too large."""
    lines: list[bytes] = []
    room = _MOST_BASES
    for base in bases:
        room -= len(base)
        if room < 0:
            lines = []
            break
        lines.append(base64.b64encode(zlib.compress(base, 1)) + b"\n")
    if client is not None:
        # Reading a file loads this module, and needs no JSON.
        import json

        lines.append(_CLIENT + json.dumps([client.name, client.version]).encode("ascii") + b"\n")
    return _BASES + b"".join(lines) if lines else b""


def _client_in(stored: bytes) -> Client | None:
    """The client in a stored file."""
    line = stored.rpartition(b"\n" + _CLIENT)[2]
    if len(line) == len(stored):
        return None
    import json

    try:
        name, version = json.loads(line)
    except (ValueError, TypeError):
        return None
    return Client(str(name), str(version))


_LINK: Final = lazy_pattern(r"([0-9a-f]{64})-from-([0-9a-f]{64})")


class Origins:
    """The links between plans of the root whose real path is `root_path`."""

    folder: ClassVar[str] = "origins"

    def __init__(
        self, root_path: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        self._place = PrivateFolder(root_path, self.folder, directory, filesystem)

    def add(self, plan_id: str, origin: str) -> bool:
        """Record that the plan `plan_id` was derived from `origin`; False where nothing is stored."""
        child, parent = _PLAN_ID.fullmatch(plan_id), _PLAN_ID.fullmatch(origin)
        if child is None or parent is None:
            return False
        if plan_id == origin:
            return True
        try:
            with self._place.open(makes=True) as folder:
                self._place.write(folder, f"{child[1]}-from-{parent[1]}", b"")
        except OSError:
            return False
        return True

    def of(self, plan_id: str) -> frozenset[str]:
        """The plans that `plan_id` was derived from, at any distance."""
        return self._reached(plan_id, [(child, parent) for child, parent in self._links()])

    def derived_from(self, plan_id: str) -> frozenset[str]:
        """The plans that were derived from `plan_id`, at any distance."""
        return self._reached(plan_id, [(parent, child) for child, parent in self._links()])

    def _links(self) -> list[tuple[str, str]]:
        """Each derived plan with one that it was derived from."""
        try:
            with self._place.open() as folder:
                found = [_LINK.fullmatch(entry.name) for entry in self._place.filesystem.list(folder)]
        except OSError:
            return []
        return [(f"sha256-{link[1]}", f"sha256-{link[2]}") for link in found if link is not None]

    def _reached(self, plan_id: str, steps: list[tuple[str, str]]) -> frozenset[str]:
        reached: set[str] = set()
        waiting = [plan_id]
        while waiting:
            at = waiting.pop()
            new = {end for start, end in steps if start == at} - reached
            reached |= new
            waiting += new
        return frozenset(reached - {plan_id})


class Revisions(Origins):
    """Which plan its author made in place of which: a decision on one says nothing of the other."""

    folder: ClassVar[str] = "revisions"

    def last_of(self, plan_id: str) -> str | None:
        """The plan in whose place `plan_id` was made, as it was said last."""
        digits = plan_id.partition("-")[2]
        try:
            with self._place.open() as folder:
                links = [
                    (self._place.filesystem.status_of(folder, entry.name).st_mtime_ns, link[2])
                    for entry in self._place.filesystem.list(folder)
                    if (link := _LINK.fullmatch(entry.name)) and link[1] == digits
                ]
        except OSError:
            return None
        return f"sha256-{max(links)[1]}" if links else None


# --- A folder of one root in the user's state directory, which no one else can write into.
#
# A root is known there by the hash of its path, so that its folder has a name whatever the path contains.


class PrivateFolder:
    """The folder `name` of the root whose real path is `root_path`; it is made when it is first needed.

    `directory` is the state directory of all roots, from `MDPLAN_STATE_DIR` or the user's own when not given.
    Its methods raise `OSError`.
    """

    def __init__(
        self, root_path: str, name: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        key = hashlib.sha256(os.fsencode(root_path)).hexdigest()[:32]
        self._names = (key, name)
        self._directory = directory
        self.filesystem = filesystem or FileSystem()

    @contextmanager
    def open(self, *, makes: bool = False) -> Iterator[int]:
        """The open folder, which with `makes` is made where it is missing, and what it lies in.

        Raises `OSError` when it is not there or not this user's alone.
        """
        base, filesystem = self._base(), self.filesystem
        if makes:
            filesystem.make_directories(base)
        opened = [filesystem.open_root(base)]
        try:
            for name in self._names:
                if makes:
                    with suppress(FileExistsError):
                        filesystem.make_directory(opened[-1], name)
                opened.append(filesystem.open_directory(opened[-1], name))
                status = filesystem.status(opened[-1])
                if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            yield opened[-1]
        finally:
            for descriptor in opened:
                filesystem.release(descriptor)

    def write(self, folder: int, name: str, data: bytes) -> None:
        """Write a file so that it is never seen in parts, not even after a loss of power."""
        self.write_parts(folder, name, (data,))

    def write_parts(self, folder: int, name: str, parts: Iterable[bytes]) -> None:
        """The same with the content in `parts`."""
        self._write(folder, parts, lambda temporary: self.filesystem.rename(folder, temporary, name))

    def write_new(self, folder: int, name: str, data: bytes) -> None:
        """Write a new file atomically; it is on the disk afterwards. Raises `FileExistsError`."""
        self._write(
            folder, (data,), lambda temporary: self.filesystem.rename_new(folder, temporary, folder, name)
        )
        self.filesystem.sync_directory(folder)

    def _write(self, folder: int, parts: Iterable[bytes], put_in_place: Callable[[str], None]) -> None:
        temporary = f".mdplan-{os.urandom(8).hex()}-1.tmp"
        try:
            descriptor = self.filesystem.create(folder, temporary)
            try:
                for part in parts:
                    self.filesystem.write(descriptor, part)
                self.filesystem.sync(descriptor)
            finally:
                self.filesystem.close(descriptor)
            put_in_place(temporary)
        except BaseException:
            with suppress(OSError):
                self.filesystem.unlink(folder, temporary)
            raise

    def remove_older(self, folder: int, oldest: float) -> None:
        """Remove the files that were written before `oldest`, in seconds since the epoch."""
        for entry in self.filesystem.list(folder):
            # Another process may be removing as well.
            with suppress(OSError):
                if self.filesystem.status_of(folder, entry.name).st_mtime < oldest:
                    self.filesystem.unlink(folder, entry.name)

    @property
    def path(self) -> str:
        """Its absolute path."""
        return os.path.join(self._base(), *self._names)

    def _base(self) -> str:
        return os.path.abspath(self._directory) if self._directory else user_state_directory()


# --- Where the review page of a root is served, so that a server of agents can show a plan to people.
#
# The address is for viewing: clients receive it, and it opens a page that shows one plan and cannot
# decide.

_FOLDER: Final = "review"

_FILE: Final = "address.json"

_MOST_BYTES: Final = 1 << 16

_OPEN_TO_OTHERS: Final = 0o077


def view_token(view_key: str, plan_id: str) -> str:
    """The token of the link that shows one plan, for the server with that key."""
    return hmac.new(view_key.encode(), plan_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def announce(root_path: str, address: str, view_key: str) -> bool:
    """Record that this process serves the review of the root; False where that cannot be stored.

    `root_path` is the root's real path, `address` the URL that takes the query `plan` and `token`.
    """
    place = PrivateFolder(root_path, _FOLDER)
    facts = {"address": address, "viewKey": view_key, "process": os.getpid()}
    data = json.dumps(facts).encode("ascii")
    try:
        with place.open(makes=True) as folder:
            place.write(folder, _FILE, data)
    except OSError:
        return False
    return True


def withdraw(root_path: str) -> None:
    """Remove the record of this process; the record of another process stays."""
    place = PrivateFolder(root_path, _FOLDER)
    with suppress(OSError), place.open() as folder:
        found = _announced(place, folder)
        if found is not None and found.process == os.getpid():
            place.filesystem.unlink(folder, _FILE)


def address_of(root_path: str, plan_id: str) -> str | None:
    """The URL that shows the plan of the root, and cannot decide; None where no process serves one."""
    place = PrivateFolder(root_path, _FOLDER)
    try:
        with place.open() as folder:
            found = _announced(place, folder)
    except OSError:
        return None
    if found is None or not _is_running(found.process):
        return None
    return f"{found.address}?{urlencode({'plan': plan_id, 'token': view_token(found.view_key, plan_id)})}"


@dataclass(frozen=True, slots=True)
class _Announced:
    """What the process of that ID announced."""

    address: str
    view_key: str
    process: int


def _announced(place: PrivateFolder, folder: int) -> _Announced | None:
    found = read_regular_file(place.filesystem, folder, _FILE, _FILE, _MOST_BYTES)
    if isinstance(found, Diagnostic) or found.status.st_mode & _OPEN_TO_OTHERS:
        return None
    try:
        stored = json.loads(found.data)
        return _Announced(str(stored["address"]), str(stored["viewKey"]), int(stored["process"]))
    except (ValueError, KeyError, TypeError):
        return None


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
