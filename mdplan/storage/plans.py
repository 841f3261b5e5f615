"""What mdplan keeps in the user's state directory: plans, links between plans, decisions, the review address.

What is stored are bytes that the engine wrote; it checks them again when they are loaded. Nothing here stops
a command: where nothing can be stored, that is what the answer says.
"""

import base64
import errno
import hashlib
import heapq
import hmac
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlencode

from mdplan.client import Client
from mdplan.diagnostics import Code, Diagnostic
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
        lines.append(_CLIENT + json.dumps([client.name, client.version]).encode("ascii") + b"\n")
    return _BASES + b"".join(lines) if lines else b""


def _client_in(stored: bytes) -> Client | None:
    """The client in a stored file."""
    line = stored.rpartition(b"\n" + _CLIENT)[2]
    if len(line) == len(stored):
        return None
    try:
        name, version = json.loads(line)
    except (ValueError, TypeError):
        return None
    return Client(str(name), str(version))


_LINK: Final = lazy_pattern(r"([0-9a-f]{64})-from-([0-9a-f]{64})")


# A plan is derived from another one by mdplan: what people decided about that counts for both. It revises
# another one if its author made it in place of that: a decision on one says nothing of the other.
LinkKind = Literal["derived", "revises"]
_LINK_FOLDERS: Final[Mapping[LinkKind, str]] = {"derived": "origins", "revises": "revisions"}


class PlanLinks:
    """The links of one kind between plans of the root whose real path is `root_path`."""

    def __init__(
        self,
        root_path: str,
        kind: LinkKind,
        directory: str | None = None,
        filesystem: FileSystem | None = None,
    ) -> None:
        self._place = PrivateFolder(root_path, _LINK_FOLDERS[kind], directory, filesystem)

    def add(self, plan_id: str, origin: str) -> bool:
        """Record that the plan `plan_id` was made from `origin`; False where nothing is stored."""
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
        """Return the plans that `plan_id` was made from, at any distance."""
        return self._connected(plan_id, self._links())

    def derived_from(self, plan_id: str) -> frozenset[str]:
        """Return the plans that were made from `plan_id`, at any distance."""
        return self._connected(plan_id, [(parent, child) for child, parent in self._links()])

    def _links(self) -> list[tuple[str, str]]:
        """Return each plan with one that it was made from."""
        try:
            with self._place.open() as folder:
                links = [_LINK.fullmatch(entry.name) for entry in self._place.filesystem.list(folder)]
        except OSError:
            return []
        return [(f"sha256-{link[1]}", f"sha256-{link[2]}") for link in links if link is not None]

    def _connected(self, plan_id: str, links: list[tuple[str, str]]) -> frozenset[str]:
        connected: set[str] = set()
        waiting = [plan_id]
        while waiting:
            start = waiting.pop()
            new = {end for first, end in links if first == start} - connected
            connected |= new
            waiting += new
        return frozenset(connected - {plan_id})

    def last_of(self, plan_id: str) -> str | None:
        """Return the plan that `plan_id` was made from according to the newest link."""
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
_REVIEW_FOLDER: Final = "review"
_FILE: Final = "address.json"
_MOST_ADDRESS_BYTES: Final = 1 << 16
_OPEN_TO_OTHERS: Final = 0o077


def view_token(view_key: str, plan_id: str) -> str:
    """The token of the link that shows one plan, for the server with that key."""
    return hmac.new(view_key.encode(), plan_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def announce(root_path: str, address: str, view_key: str) -> bool:
    """Record that this process serves the review of the root; False where that cannot be stored.

    `root_path` is the root's real path, `address` the URL that takes the query `plan` and `token`.
    """
    place = PrivateFolder(root_path, _REVIEW_FOLDER)
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
    place = PrivateFolder(root_path, _REVIEW_FOLDER)
    with suppress(OSError), place.open() as folder:
        found = _announced(place, folder)
        if found is not None and found.process == os.getpid():
            place.filesystem.unlink(folder, _FILE)


def address_of(root_path: str, plan_id: str) -> str | None:
    """The URL that shows the plan of the root, and cannot decide; None where no process serves one."""
    place = PrivateFolder(root_path, _REVIEW_FOLDER)
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
    found = read_regular_file(place.filesystem, folder, _FILE, _FILE, _MOST_ADDRESS_BYTES)
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


# --- Decisions of people about plans: an append-only log for each plan.
#
# Each event is a file of its own, named by the plan and a number. Only one event can get a number, so of two
# decisions that saw the same version one is refused. An event names the hash of the one before it, and the
# first one a hash of the root and the plan.
#
# Decisions are in the user's state directory, outside every root, in files and folders that only the user can
# write. A program that runs as the same user can write them too: against that program, approval is a guard
# rail and a record, not a boundary.

# Longer than any comment that an agent should have to read.
MOST_COMMENT_CHARACTERS: Final = 2000
MOST_LINE_COMMENTS: Final = 500

# The version of a plan about which no one has decided.
UNDECIDED: Final = "undecided"
_DECISIONS_FOLDER: Final = "decisions"
_EVENT: Final = lazy_pattern(r"([0-9a-f]{64})\.([1-9][0-9]{0,5})\.json")
_MOST_EVENT_BYTES: Final = 16 << 20


class Verdict(StrEnum):
    """The kind of decision."""

    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes requested"


class Channel(StrEnum):
    """The way in which a person decided.

    `APP` is a program that uses the library. What comes from a chat is what its host says that the person
    said: a form that the host showed, or a view in the conversation.
    """

    PAGE = "page"
    TERMINAL = "terminal"
    COMMAND_LINE = "command line"
    CHAT_FORM = "chat form"
    CHAT_APP = "chat app"
    APP = "app"


class Side(StrEnum):
    """Which text of a file lines are counted in: before the plan, or after it."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineComment:
    """A comment on the lines `start` to `end` (1-based, inclusive) of the file `file` of a plan.

    `file` is its path before the plan. `quote` is the text of the lines, perhaps cut, and `edit_index` the
    edit that made them what they are; both are empty where the text of the file was no longer known.
    """

    file: str
    side: Side
    start: int
    end: int
    text: str
    quote: str = ""
    edit_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision on the plan `plan_id`. `decided_at` is in seconds since the epoch.

    Of a plan that was approved in part, `rejected` are the indexes of the other edits, and
    `approved_plan_id` is the plan of the accepted ones; of one that was approved whole it is `plan_id`, of
    one that was rejected None. `part_of` is, in the decision on such a part, the plan that was reviewed.
    `comment` is on the whole, `edit_comments` on edits, by index, and `line_comments` on lines. `overrides`
    says that it was made in spite of a rejection, or of a request for changes.
    """

    plan_id: str
    verdict: Verdict
    decided_by: str
    decided_at: float
    approved_plan_id: str | None
    channel: Channel = Channel.APP
    comment: str = ""
    rejected: tuple[int, ...] = ()
    edit_comments: Mapping[int, str] = field(default_factory=dict)
    part_of: str | None = None
    overrides: bool = False
    line_comments: tuple[LineComment, ...] = ()

    @property
    def approves(self) -> bool:
        """Whether it allows its plan to be committed as it is."""
        return self.verdict is Verdict.APPROVED and self.approved_plan_id == self.plan_id

    @property
    def is_rejection(self) -> bool:
        """Whether it lets no edit of its plan be committed: a rejection, or a request for changes."""
        return self.verdict is not Verdict.APPROVED

    @property
    def requests_changes(self) -> bool:
        """Whether it asks for another plan in place of its own."""
        return self.verdict is Verdict.CHANGES_REQUESTED


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanUsed:
    """An approval was used by the transaction `transaction`, at `at` seconds since the epoch."""

    transaction: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRevoked:
    """An approval was revoked by `by`, because of a decision on the plan `because_of`."""

    by: str
    at: float
    because_of: str


Event: TypeAlias = Decision | PlanUsed | DecisionRevoked

_KINDS: Final[Mapping[type[Event], str]] = {
    Decision: "decision",
    PlanUsed: "used",
    DecisionRevoked: "revoked",
}


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The events of a plan, the oldest first, and the `version` that a new decision has to name.

    With `is_damaged` a later event cannot be trusted: then no approval counts.
    """

    events: tuple[Event, ...] = ()
    version: str = UNDECIDED
    is_damaged: bool = False

    @property
    def decision(self) -> Decision | None:
        """The latest decision."""
        return next((event for event in reversed(self.events) if isinstance(event, Decision)), None)

    @property
    def is_approved(self) -> bool:
        """Whether the plan may be committed once: it was approved, and that was neither used nor revoked."""
        last = self.events[-1] if self.events else None
        return isinstance(last, Decision) and last.approves and not self.is_damaged

    @property
    def is_rejected(self) -> bool:
        """Whether the latest decision rejects the plan as a whole, or requests changes to it."""
        return self.decision is not None and self.decision.is_rejection

    @property
    def used_by(self) -> str | None:
        """The transaction that used the latest approval; None where it was not used."""
        last = self.events[-1] if self.events else None
        return last.transaction if isinstance(last, PlanUsed) else None


class AddOutcome(StrEnum):
    """The outcome of adding an event."""

    ADDED = "added"
    STALE = "stale"
    FAILED = "failed"


class DecisionStore:
    """The decisions on plans of the root whose real path is `root_path`."""

    def __init__(
        self, root_path: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        self._root_path = root_path
        self._place = PrivateFolder(root_path, _DECISIONS_FOLDER, directory, filesystem)

    def add(self, plan_id: str, event: Event, version: str) -> AddOutcome:
        """Add `event` to the log of a plan whose version is `version`.

        STALE where another event came first; FAILED where nothing can be stored that others cannot change.
        """
        named = _PLAN_ID.fullmatch(plan_id)
        if named is None:
            return AddOutcome.FAILED
        try:
            with self._place.open(makes=True) as folder:
                standing = self._standing(folder, named[1])
                if standing.version != version:
                    return AddOutcome.STALE
                number = len(standing.events) + 1
                after = version if standing.events else self._first_version(plan_id)
                data = _encoded(plan_id, number, after, event)
                self._place.write_new(folder, f"{named[1]}.{number}.json", data)
        except FileExistsError:
            return AddOutcome.STALE
        except OSError:
            return AddOutcome.FAILED
        return AddOutcome.ADDED

    def history(self, plan_id: str) -> DecisionHistory:
        """The events on the plan of that full ID that can be trusted."""
        named = _PLAN_ID.fullmatch(plan_id)
        if named is None:
            return DecisionHistory()
        try:
            with self._place.open() as folder:
                return self._standing(folder, named[1])
        except OSError:
            return DecisionHistory()

    def of(self, plan_id: str) -> Decision | None:
        """The latest decision on the plan of that full ID."""
        return self.history(plan_id).decision

    def all(self, most: int | None = None) -> tuple[Decision, ...]:
        """The latest decision on each plan, the newest first.

        With `most` those on so many plans, the last stored.
        """
        try:
            with self._place.open() as folder:
                plans = self._plans(folder)
                chosen = list(plans)
                if most is not None and most < len(plans):
                    stored_at = {each: self._stored_at(folder, each, plans) for each in plans}
                    chosen = heapq.nlargest(most, stored_at, key=stored_at.__getitem__)
                found = [self._standing(folder, digits).decision for digits in chosen]
        except OSError:
            return ()
        decisions = (decision for decision in found if decision is not None)
        return tuple(sorted(decisions, key=lambda decision: (-decision.decided_at, decision.plan_id)))

    def _stored_at(self, folder: int, digits: str, plans: Mapping[str, list[int]]) -> int:
        name = f"{digits}.{max(plans[digits])}.json"
        return self._place.filesystem.status_of(folder, name).st_mtime_ns

    def changed_at(self) -> int | None:
        """When an event was last added or forgotten, in nanoseconds since the epoch; None for never."""
        try:
            with self._place.open() as folder:
                return self._place.filesystem.status(folder).st_mtime_ns
        except OSError:
            return None

    def forget_older(self, oldest: float) -> None:
        """Remove the logs whose last event was stored before `oldest`, in seconds since the epoch.

        Rejections stay, also those of a part: the same plan can be made again at any time.
        """
        try:
            with self._place.open() as folder:
                for digits, numbers in self._plans(folder).items():
                    decision = self._standing(folder, digits).decision
                    if decision is not None and not decision.approves:
                        continue
                    names = [f"{digits}.{number}.json" for number in sorted(numbers)]
                    status = self._place.filesystem.status_of(folder, names[-1])
                    if status.st_mtime < oldest:
                        # The approval goes before the event that says it was used.
                        for name in names:
                            self._place.filesystem.unlink(folder, name)
        except OSError:
            return

    def _plans(self, folder: int) -> dict[str, list[int]]:
        """The numbers of events, by the digits of their plan."""
        plans: dict[str, list[int]] = {}
        for entry in self._place.filesystem.list(folder):
            found = _EVENT.fullmatch(entry.name)
            if found is not None:
                plans.setdefault(found[1], []).append(int(found[2]))
        return plans

    def _standing(self, folder: int, digits: str) -> DecisionHistory:
        events = list(self._read(folder, digits))
        whole = [event for event in events if event is not None]
        version = whole[-1][1] if whole else UNDECIDED
        return DecisionHistory(tuple(event for event, _ in whole), version, len(whole) < len(events))

    def _read(self, folder: int, digits: str) -> Iterator[tuple[Event, str] | None]:
        """The events with their hashes, each after the one before; None for the first that is damaged."""
        plan_id = f"sha256-{digits}"
        number, version = 1, self._first_version(plan_id)
        while True:
            name = f"{digits}.{number}.json"
            leaf = read_regular_file(self._place.filesystem, folder, name, name, _MOST_EVENT_BYTES)
            if isinstance(leaf, Diagnostic) and leaf.code is Code.FILE_NOT_FOUND:
                return
            is_private = not isinstance(leaf, Diagnostic) and not leaf.status.st_mode & _OPEN_TO_OTHERS
            data = leaf.data if not isinstance(leaf, Diagnostic) and is_private else b""
            event = _read_event(data, (plan_id, number, version))
            yield event
            if event is None:
                return
            number, version = number + 1, event[1]

    def _first_version(self, plan_id: str) -> str:
        """Return what the first event names in place of an event before it.

        It differs by root, so that the copied log of another root is damaged from its first event on.
        """
        return hashlib.sha256(b"\0".join((os.fsencode(self._root_path), plan_id.encode()))).hexdigest()


def _read_event(data: bytes, expected: tuple[str, int, str]) -> tuple[Event, str] | None:
    """Read the event in `data` and hash it; None unless it is the one of the plan, number and version."""
    try:
        fields = json.loads(data)
        if (fields["planId"], fields["number"], fields["after"]) != expected:
            return None
        return _event_of(fields["kind"], fields["facts"]), hashlib.sha256(data).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _encoded(plan_id: str, number: int, version: str, event: Event) -> bytes:
    """Return the content of the file of an event."""
    fields = {"planId": plan_id, "number": number, "after": version, "kind": _KINDS[type(event)]}
    return json.dumps(fields | {"facts": asdict(event)}, sort_keys=True, separators=(",", ":")).encode(
        "ascii"
    )


def _event_of(kind: str, facts: Mapping[str, Any]) -> Event:
    if kind == "used":
        return PlanUsed(transaction=str(facts["transaction"]), at=float(facts["at"]))
    if kind == "revoked":
        return DecisionRevoked(
            by=str(facts["by"]), at=float(facts["at"]), because_of=str(facts["because_of"])
        )
    return Decision(
        plan_id=str(facts["plan_id"]),
        verdict=Verdict(facts["verdict"]),
        decided_by=str(facts["decided_by"]),
        decided_at=float(facts["decided_at"]),
        approved_plan_id=facts["approved_plan_id"],
        channel=Channel(facts["channel"]),
        comment=str(facts["comment"]),
        rejected=tuple(map(int, facts["rejected"])),
        edit_comments={int(index): str(comment) for index, comment in facts["edit_comments"].items()},
        part_of=facts["part_of"],
        overrides=bool(facts["overrides"]),
        line_comments=tuple(map(_line_comment_of, facts.get("line_comments", ()))),
    )


def _line_comment_of(facts: Mapping[str, Any]) -> LineComment:
    index = facts["edit_index"]
    return LineComment(
        file=str(facts["file"]),
        side=Side(facts["side"]),
        start=int(facts["start"]),
        end=int(facts["end"]),
        text=str(facts["text"]),
        quote=str(facts["quote"]),
        edit_index=None if index is None else int(index),
    )
