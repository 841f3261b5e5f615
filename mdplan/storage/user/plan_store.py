"""Plans in the user's state directory, so that they outlive the process that made them.

What is stored are bytes that the engine wrote; it checks them again when they are loaded. Nothing here stops
a command: where nothing can be stored, that is what the answer says.
"""

import base64
import errno
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import read_regular_file, stat_file
from mdplan.storage.user.private_folder import PrivateFolder

DEFAULT_KEPT_SECONDS: Final = 30 * 24 * 3600.0
MAX_DOCUMENT_BYTES: Final = 1 << 30
_PLAN_ID: Final = re.compile(r"sha256-([0-9a-f]{64})")
_PREFIX: Final = re.compile(r"(?:sha256-)?([0-9a-f]{12,64})", re.IGNORECASE)
_STORED: Final = re.compile(r"([0-9a-f]{64})\.json")
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
