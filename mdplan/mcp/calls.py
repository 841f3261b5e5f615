"""The call that a thread runs: which client sent it, what that was shown, and plans that need an approval.

The server loads this before it says who it is, so the rest is loaded when a call needs it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from mdplan.settings import ProgressCallback, no_progress

if TYPE_CHECKING:
    from mdplan.client import Client
    from mdplan.engine.history import CallerIdentity
    from mdplan.plan import Plan
    from mdplan.storage.root import Root


_UNKNOWN_CLIENT: Final = "unknown"


@dataclass(frozen=True, slots=True)
class PendingPlan:
    """A plan that a person has to approve. `version` is that of its decisions when the call asked.

    `address` is a page that shows the plan, and cannot decide; None where no page is served.
    """

    plan_id: str
    root_path: str
    version: str
    address: str | None

    @property
    def is_decided(self) -> bool:
        """Whether somebody decided by now."""
        from mdplan.storage.decisions import DecisionStore

        return DecisionStore(self.root_path).history(self.plan_id).version != self.version


@dataclass(slots=True)
class CurrentCall:
    """The `client` that sent a call, the plans that it waits for, and the URIs of what it `changed`.

    `version` is that of the client, as far as it says.
    `shown` is what the client was shown in its session; None where there is no session.
    """

    client: str
    version: str = ""
    shown: "ShownFiles | None" = None
    pending: list[PendingPlan] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


_CALL: Final[ContextVar[CurrentCall | None]] = ContextVar("call", default=None)


def mcp_caller() -> "CallerIdentity":
    """The current MCP call, as an engine sees it."""
    from mdplan.engine.history import CallerIdentity

    return CallerIdentity(actor=_actor, client=_client, on_pending=_note_pending)


def _actor() -> str:
    from mdplan.engine.history import client_actor

    call = _CALL.get()
    return client_actor(call.client if call is not None else _UNKNOWN_CLIENT)


def _client() -> "Client":
    from mdplan.engine.history import mcp_client

    call = _CALL.get()
    return mcp_client(call.client, call.version) if call is not None else mcp_client(_UNKNOWN_CLIENT, "")


def _note_pending(plan: "Plan", root: "Root") -> None:
    from mdplan.storage.decisions import DecisionStore
    from mdplan.storage.plans import address_of

    call = _CALL.get()
    if call is not None:
        version = DecisionStore(root.path).history(plan.plan_id).version
        address = address_of(root.path, plan.plan_id)
        call.pending.append(PendingPlan(plan.plan_id, root.path, version, address))


def shown_files() -> "ShownFiles | None":
    """What the client of the current call was shown; None without a session."""
    call = _CALL.get()
    return call.shown if call is not None else None


def note_changed(uris: Iterable[str]) -> None:
    """Note that the current call has changed what is at `uris`: the server tells who listens to them."""
    call = _CALL.get()
    if call is not None:
        call.changed += uris


@contextmanager
def current_call(
    client: str | None, shown: "ShownFiles | None" = None, version: str = ""
) -> Iterator[CurrentCall]:
    """Within the block, this thread runs a call of `client`, which was `shown` files before."""
    call = CurrentCall(client or _UNKNOWN_CLIENT, version, shown)
    token = _CALL.set(call)
    try:
        yield call
    finally:
        _CALL.reset(token)


# --- How far the call is that this thread answers: tools say it here, and the adapter listens.

_LISTENER: Final[ContextVar[ProgressCallback]] = ContextVar("listener", default=no_progress)


def report_progress(done: int, total: int | None) -> None:
    """Say that `done` of `total` parts are done; None where it is not known how many there are."""
    _LISTENER.get()(done, total)


@contextmanager
def progress_listener(listener: ProgressCallback) -> Iterator[None]:
    """Within the block, what this thread says is told to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


# --- Which version of each file one client was shown last: what it writes is guarded by that.

_MOST_FILES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version of a file: its SHA-256, and the hashes of its sections by their IDs, where they are known."""

    sha256: str
    sections: Mapping[str, str] = field(default_factory=dict)


class ShownFiles:
    """The memory of one session. Calls of one client may run at once."""

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._versions: OrderedDict[str, ShownVersion] = OrderedDict()
        self._lock = Lock()

    def version(self, file: str) -> ShownVersion | None:
        """The version of `file`, a path as reports write it, that was shown last."""
        with self._lock:
            return self._versions.get(file)

    def note(self, file: str, version: ShownVersion) -> None:
        """Remember that this `version` of `file` was shown; of very many files the oldest is forgotten."""
        with self._lock:
            self._versions[file] = version
            self._versions.move_to_end(file)
            if len(self._versions) > _MOST_FILES:
                self._versions.popitem(last=False)

    def follow(self, file: str, old_sha256: str | None, version: ShownVersion | None, new_file: str) -> None:
        """Remember what a commit of this client made of `file`, if it was made of the version that was shown.

        A file that it created, for which `old_sha256` is None, was shown whole. None as `version` is for one
        that is gone.
        """
        with self._lock:
            known = self._versions.get(file)
            if old_sha256 is not None and (known is None or known.sha256 != old_sha256):
                return
            self._versions.pop(file, None)
            if version is not None:
                self._versions[new_file] = version
