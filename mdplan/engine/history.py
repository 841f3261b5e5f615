"""The history of a workspace: past transactions, their records, and who made them.

The record of a transaction is durable with its commit, so it is the one truth about what was committed:
receipts, repeated batches and undo are read from it, and nothing else has to be written.
"""

import heapq
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from msgspec import Meta

from mdplan import __version__
from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.plan import PREFIX, FileChange, Plan, canonical_json, one_line
from mdplan.planning.plan_document import document_parts, of_json, read_document
from mdplan.reports.base import to_wire
from mdplan.reports.plan import Approved, FileReport, Receipt, UndoneTransaction
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.root import Root
from mdplan.text.visible import escaped
from mdplan.values import Struct, replace

if TYPE_CHECKING:
    from mdplan.storage.store import Transaction


_LEAST_DIGITS: Final = 4
_LEAST_PLAN_DIGITS: Final = 12
# In the year 9999, where calendars end.
_LATEST: Final = 253_000_000_000


class CommitNote(Struct, kw_only=True):
    """What the record of a transaction says about its commit, in JSON, next to its plan.

    `committed_at` is in seconds since the epoch, and `client` the program that made the plan. `undoes` is the
    transaction that it took back, of which `undoes_part` are only some files, and `approved` the approval
    that it used. `root_name` is the name that the root had then.
    """

    plan_id: str | None = None
    committed_at: Annotated[float, Meta(ge=0, lt=_LATEST)] | None = None
    durability: str | None = None
    actor: str | None = None
    client: Client | None = None
    root_name: str | None = None
    undoes: str | None = None
    undoes_part: bool | None = None
    approved: Approved | None = None

    def document(self, plan: Plan) -> bytes:
        """Return the note of the commit of `plan`, as it is stored."""
        head = canonical_json(to_wire(self)).removesuffix(b"}")
        return b"".join((head, b',"plan":', *document_parts(plan), b"}"))


class PastTransaction(Struct):
    """One transaction of `root`, `stored` in its history. Of a note that cannot be read nothing is known."""

    root: Root
    stored: "Transaction"
    note: CommitNote

    @classmethod
    def of(cls, root: Root, stored: "Transaction") -> "PastTransaction":
        """Return the transaction with its note read."""
        said = {name: value for name, value in stored.note.items() if name != "plan"}
        try:
            return cls(root, stored, of_json(CommitNote, said))
        except ValueError:
            return cls(root, stored, CommitNote())

    @property
    def id(self) -> str:
        """Its ID."""
        return self.stored.id

    @property
    def shown_paths(self) -> frozenset[str]:
        """Its files that `--allow` and `--deny` leave, relative to the root."""
        scope = self.root.scope
        return frozenset(
            file.path
            for file in self.stored.record.entries
            if not scope.is_limited or scope.refusal(file.path) is None
        )

    @property
    def hides_files(self) -> bool:
        """True if `--allow` or `--deny` excludes one of its files, so that no text of it may be shown."""
        return len(self.shown_paths) < len({file.path for file in self.stored.record.entries})

    @property
    def is_committed(self) -> bool:
        """True if it was committed, even if it was undone later; False if recovery rolled it back."""
        return self.stored.state == "committed"

    @property
    def undoes_whole(self) -> str | None:
        """The transaction that it took back with all its files."""
        return None if self.note.undoes_part else self.note.undoes

    def plan(self) -> Plan | None:
        """Return the plan that it committed, with the paths of that time, or None without a valid plan."""
        document = self.stored.note.get("plan")
        plan = read_document(document) if isinstance(document, Mapping) else None
        return plan if isinstance(plan, Plan) and plan.plan_id == self.note.plan_id else None

    def plan_now(self) -> Plan | None:
        """Return the committed plan with the current paths of its files, or None if they are unknown.

        The root may have had another name, or no name because it was the only root.
        """
        plan, then = self.plan(), self.note.root_name
        if plan is None or then is None:
            return None
        prefix = f"{then}:" if then else ""
        if not all(path.startswith(prefix) for change in plan.files for path in changed_paths(change)):
            return None
        files = tuple(
            replace(
                change,
                path=self._named(change.path.removeprefix(prefix)),
                new_path=change.new_path and self._named(change.new_path.removeprefix(prefix)),
            )
            for change in plan.files
        )
        return replace(plan, files=files)

    def relative(self, path: str) -> str:
        """Return a path without the name of the root."""
        return path.removeprefix(f"{self.root.name}:" if self.root.name else "")

    def named(self) -> UndoneTransaction:
        """Return what an undo reports about the transaction that it takes back."""
        note = self.note
        return UndoneTransaction(transaction=self.id, actor=note.actor, committed_at=note.committed_at)

    def receipt(self) -> Receipt:
        """Its receipt."""
        plan = self.plan_now()
        return Receipt(
            transaction=self.id,
            plan_id=self.note.plan_id or "",
            files=tuple(FileReport.of(change) for change in plan.files) if plan else (),
            committed_at=self.note.committed_at or 0.0,
            durability=self.note.durability or "",
        )

    def _named(self, path: str) -> str:
        return str(FileName(self.root.name, path))


class History:
    """The past transactions of the roots of `workspace`. Records that cannot be read are diagnostics."""

    def __init__(self, workspace: Workspace) -> None:
        """Look into the histories of `workspace` whenever asked."""
        self._workspace = workspace

    def newest_first(self, beginning: str = "") -> Iterator[PastTransaction | Diagnostic]:
        """Yield the transactions of all roots whose ID starts with `beginning`, newest first.

        Reads each one on demand. Skips transactions that only changed hidden files.
        """
        streams = [list_root(root, beginning) for root in self._workspace.roots]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_age)

    def last(self, actor: str | None = None) -> PastTransaction | Diagnostic | None:
        """Return the newest committed transaction, optionally by `actor` only.

        Returns the problem instead if a newer record cannot be read.
        """
        for past in self.newest_first():
            if isinstance(past, Diagnostic):
                return past
            if past.is_committed and (actor is None or past.note.actor == actor):
                return past
        return None

    def find(self, transaction: str) -> PastTransaction | None:
        """Return the transaction with that ID or unique prefix of 4 digits or more."""
        if len(transaction) < _LEAST_DIGITS:
            return None
        candidates = self.newest_first(transaction.lower())
        matches = [past for past in candidates if not isinstance(past, Diagnostic)]
        exact = [past for past in matches if past.id == transaction.lower()]
        return exact[0] if exact else matches[0] if len(matches) == 1 else None

    def of_plan(self, plan_id: str) -> PastTransaction | None:
        """Return the newest transaction that committed the plan with that ID or unique prefix."""
        digits = plan_id.removeprefix(PREFIX).lower()
        if len(digits) < _LEAST_PLAN_DIGITS:
            return None
        commits = [
            past
            for past in self.newest_first()
            if isinstance(past, PastTransaction)
            and past.is_committed
            and (past.note.plan_id or "").startswith(PREFIX + digits)
        ]
        return commits[0] if len({past.note.plan_id for past in commits}) == 1 else None

    def with_undos(self) -> Iterator[tuple[PastTransaction | Diagnostic, str | None]]:
        """Yield the transactions newest first, each with the effective transaction that undid it."""
        undone_by: dict[str, str] = {}
        for past in self.newest_first():
            if isinstance(past, Diagnostic):
                yield past, None
                continue
            # An undo that was undone itself took nothing back in the end.
            if past.undoes_whole is not None and past.is_committed and past.id not in undone_by:
                undone_by.setdefault(past.undoes_whole, past.id)
            yield past, undone_by.get(past.id)

    def renames_since(self, past: PastTransaction) -> list[dict[str, str]]:
        """Return the renames of each transaction after `past`, oldest first, as old path to new path."""
        renames: list[dict[str, str]] = []
        for later in list_root(past.root):
            if isinstance(later, Diagnostic) or later.id == past.id:
                break
            plan = later.plan_now() if later.is_committed else None
            files = plan.files if plan is not None else ()
            renames.append({change.path: change.new_path for change in files if change.new_path is not None})
        return renames[::-1]

    def last_on(self, root: Root, paths: Container[str]) -> PastTransaction | None:
        """Return the newest effective transaction of `root` that changed one of `paths`.

        `paths` are relative to the root. Skips undone transactions and their undos, which leave no trace.
        """
        undone: set[str] = set()
        for past in list_root(root):
            if isinstance(past, Diagnostic) or not past.is_committed or past.id in undone:
                continue
            # An undo touches files of the transaction that it undoes, so other notes need not be decoded.
            if not any(file.path in paths for file in past.stored.record.entries):
                continue
            if past.undoes_whole is None:
                return past
            undone.add(past.undoes_whole)
        return None


def list_root(root: Root, beginning: str = "") -> Iterator[PastTransaction | Diagnostic]:
    """Yield the transactions of `root` with a file that may be shown; problems where it cannot be read."""
    from mdplan.storage.store import Store

    try:
        for stored in Store(root.path).transactions(beginning):
            past = PastTransaction.of(root, stored)
            if past.shown_paths or not stored.record.entries:
                yield past
    except StorageRefused as refused:
        yield from refused.problems


def _age(past: PastTransaction | Diagnostic) -> float:
    """Sort newest first; an unreadable record precedes all older ones."""
    return float("-inf") if isinstance(past, Diagnostic) else -(past.note.committed_at or 0.0)


def changed_paths(change: FileChange) -> tuple[str, ...]:
    """Return the path of a change, and the new one where it renames the file."""
    return (change.path,) if change.new_path is None else (change.path, change.new_path)


# --- Who calls an engine.

# Called with a plan that a person has to approve before it is committed.
OnPending: TypeAlias = Callable[[Plan, Root], None]
_USER: Final = "user "
_CLIENT: Final = "client "

# Longer names are cut: a client chooses its own.
_MOST_NAME: Final = 100


def user_actor() -> str:
    """Return the user of this process, as transactions name them."""
    return _USER + user_name()


def client_actor(name: str) -> str:
    """Return a client of a server, by the name that it gives itself."""
    return _CLIENT + _shortened(name)


def _shortened(name: str) -> str:
    return escaped(one_line(name))[:_MOST_NAME]


def ignore_pending(plan: Plan, root: Root) -> None:
    """Do nothing."""
    del plan, root


def library_client() -> Client:
    """Return the client of plans that a program makes with the library."""
    return Client("mdplan library", __version__)


def shell_client() -> Client:
    """Return the client of plans that a command makes."""
    return Client("mdplan CLI", __version__)


def mcp_client(name: str, version: str) -> Client:
    """Return a client of a server, by the name and version that it gives itself."""
    return Client(_shortened(name), _shortened(version))


class CallerIdentity(Struct, kw_only=True):
    """`actor` names who calls now, and `client` the program that is recorded with the plans that it makes.

    `on_pending` hears of plans that a person has to approve.
    """

    actor: Callable[[], str] = user_actor
    client: Callable[[], Client] = library_client
    on_pending: OnPending = ignore_pending


def user_name() -> str:
    """Return the user name for the user ID of this process; ignores the environment."""
    if sys.platform == "win32":
        return os.getlogin()
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
