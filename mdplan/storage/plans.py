"""Plans by ID, links between them, decisions, and the review page's state.

All of it is in the store of a root (`mdplan.storage.store`), as bytes that the engine wrote and verifies when
loaded. Failures never stop a command: the result says that nothing was stored.
"""

import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, TypeVar

from mdplan.client import Client
from mdplan.decisions import (
    UNDECIDED,
    UNREADABLE,
    AddOutcome,
    Decision,
    DecisionHistory,
    Event,
    event_of,
    stored_form,
)
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.store import Store, drop_unused, get_parts, put_parts, put_stream
from mdplan.text.lazy_pattern import lazy_pattern

DEFAULT_KEPT_SECONDS: Final = 30 * 24 * 3600.0
MAX_DOCUMENT_BYTES: Final = 1 << 30
_PLAN_ID: Final = lazy_pattern(r"sha256-[0-9a-f]{64}")
_PREFIX: Final = lazy_pattern(r"(?:sha256-)?([0-9a-f]{12,64})", re.IGNORECASE)
_COLLECT_SECONDS: Final = 3600.0

Loaded = TypeVar("Loaded")

# The maximum total size of contents stored with a plan.
_MOST_BASES: Final = 4 << 20


class StoredPlan(NamedTuple):
    """A stored plan and when it was last saved, in seconds since the epoch.

    `is_discarded`: a person discarded it since. `superseded_by`: the plan made in its place.
    """

    plan_id: str
    saved_at: float
    is_discarded: bool = False
    superseded_by: str | None = None


class _InStore:
    """Access to the store of the root with the real path `root_path`."""

    def __init__(self, root_path: str) -> None:
        self._store = Store(root_path)

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of `query`, or none if the store cannot be read."""
        with suppress(StorageRefused), self._store.read() as database:
            return database.execute(query, values).fetchall() if database is not None else []
        return []


class PlanStore(_InStore):
    """The plans of a root, kept for `kept_seconds` after saving."""

    def __init__(self, root_path: str, kept_seconds: float = DEFAULT_KEPT_SECONDS) -> None:
        super().__init__(root_path)
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
        """Store a plan under its full ID; return False if it cannot be stored.

        `document` is stored in parts; with it `bases`, the contents that a merge needs, up to a size limit,
        and the first `client` that made the plan.
        """
        if not _PLAN_ID.fullmatch(plan_id):
            return False
        try:
            with self._store.write(syncs=False) as database:
                database.execute(
                    "INSERT INTO plans VALUES (?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET saved_at = excluded.saved_at,"
                    " client = coalesce(client, excluded.client),"
                    " client_version = coalesce(client_version, excluded.client_version)",
                    (
                        plan_id,
                        time.time(),
                        *((client.name, client.version) if client is not None else (None, None)),
                    ),
                )
                database.execute("DELETE FROM parts WHERE key = ?", (f"plan {plan_id}",))
                put_stream(database, f"plan {plan_id}", document, MAX_DOCUMENT_BYTES)
                _put_bases(database, plan_id, bases)
                if self._collected_at is None or now - self._collected_at >= _COLLECT_SECONDS:
                    self._collected_at = now
                    _forget_plans(database, now - self._kept_seconds)
        except StorageRefused:
            return False
        return True

    def load_plan(self, plan_id: str) -> bytes | None:
        """Return the document of a plan, by ID or a unique prefix of 12 or more hex digits."""
        return self._of_one(plan_id, lambda database, found: get_parts(database, f"plan {found}"))

    def load_bases(self, plan_id: str) -> tuple[bytes, ...]:
        """Return the contents stored with a plan."""

        def load(database: sqlite3.Connection, found: str) -> tuple[bytes, ...]:
            query = "SELECT sha256 FROM plan_bases WHERE plan = ? ORDER BY position"
            contents = [get_parts(database, sha256) for (sha256,) in database.execute(query, (found,))]
            return tuple(content for content in contents if content is not None)

        return self._of_one(plan_id, load) or ()

    def load_client(self, plan_id: str) -> Client | None:
        """Return the program that made a plan, if known."""

        def load(database: sqlite3.Connection, found: str) -> Client | None:
            query = "SELECT client, client_version FROM plans WHERE id = ? AND client IS NOT NULL"
            row = database.execute(query, (found,)).fetchone()
            return Client(row[0], row[1]) if row else None

        return self._of_one(plan_id, load)

    def _of_one(
        self, plan_id: str, load: Callable[[sqlite3.Connection, str], Loaded | None]
    ) -> Loaded | None:
        """Return `load` for the only plan whose ID starts with `plan_id`; None if it is not unique."""
        prefix = _PREFIX.fullmatch(plan_id)
        if prefix is None:
            return None
        with suppress(StorageRefused), self._store.read() as database:
            if database is not None:
                query = "SELECT id FROM plans WHERE id GLOB ? LIMIT 2"
                rows = database.execute(query, (f"sha256-{prefix[1].lower()}*",)).fetchall()
                return load(database, rows[0][0]) if len(rows) == 1 else None
        return None

    def list_plans(self) -> tuple[StoredPlan, ...]:
        """Return all stored plans, newest first."""
        rows = self._rows(
            "SELECT id, saved_at, EXISTS (SELECT 1 FROM links"
            "  WHERE plan = id AND kind = 'discarded' AND at >= saved_at),"
            " (SELECT plan FROM links WHERE made_from = id AND kind = 'revises' AND at >= saved_at"
            "  ORDER BY at DESC LIMIT 1)"
            " FROM plans ORDER BY saved_at DESC, id"
        )
        return tuple(StoredPlan(*row) for row in rows)


def _put_bases(database: sqlite3.Connection, plan_id: str, bases: Iterable[bytes]) -> None:
    """Store `bases` with a plan, unless they are too large in total."""
    room, contents = _MOST_BASES, []
    for base in bases:
        room -= len(base)
        if room < 0:
            return
        contents.append(base)
    for position, content in enumerate(contents):
        sha256 = hashlib.sha256(content).hexdigest()
        put_parts(database, sha256, content)
        database.execute("INSERT OR REPLACE INTO plan_bases VALUES (?, ?, ?)", (plan_id, position, sha256))


def _forget_plans(database: sqlite3.Connection, oldest: float) -> None:
    """Remove plans saved before `oldest`, in seconds since the epoch, with their links."""
    old = database.execute("SELECT id FROM plans WHERE saved_at < ?", (oldest,)).fetchall()
    query = "SELECT sha256 FROM plan_bases JOIN plans ON plan = id WHERE saved_at < ?"
    digests = {row[0] for row in database.execute(query, (oldest,))}
    database.executemany("DELETE FROM parts WHERE key = 'plan ' || ?", old)
    database.executemany("DELETE FROM plans WHERE id = ?", old)
    drop_unused(database, digests)


# mdplan derives a plan from another: a decision on one counts for both. A plan revises another if its author
# made it as a replacement: a decision on one says nothing about the other. A discarded plan has a link to
# itself.
LinkKind = Literal["derived", "revises", "discarded"]


class PlanLinks(_InStore):
    """Links of one kind between plans of a root."""

    def __init__(self, root_path: str, kind: LinkKind) -> None:
        super().__init__(root_path)
        self._kind = kind

    def add(self, plan_id: str, origin: str) -> bool:
        """Record that `plan_id` was made from `origin`; return False if it cannot be stored."""
        if not (_PLAN_ID.fullmatch(plan_id) and _PLAN_ID.fullmatch(origin)):
            return False
        if plan_id == origin and self._kind != "discarded":
            return True
        try:
            with self._store.write(syncs=False) as database:
                database.execute(
                    "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)",
                    (plan_id, origin, self._kind, time.time()),
                )
        except StorageRefused:
            return False
        return True

    def of(self, plan_id: str) -> frozenset[str]:
        """Return all ancestors of `plan_id`."""
        return self._connected(plan_id, "plan", "made_from")

    def derived_from(self, plan_id: str) -> frozenset[str]:
        """Return all descendants of `plan_id`."""
        return self._connected(plan_id, "made_from", "plan")

    def _connected(self, plan_id: str, start: str, end: str) -> frozenset[str]:
        rows = self._rows(
            f"WITH RECURSIVE connected (id) AS (VALUES (?1) UNION SELECT {end} FROM links, connected"  # noqa: S608 (ours)
            f" WHERE links.{start} = connected.id AND kind = ?2) SELECT id FROM connected WHERE id <> ?1",
            (plan_id, self._kind),
        )
        return frozenset(row[0] for row in rows)

    def last_of(self, plan_id: str) -> str | None:
        """Return the origin of `plan_id` by the newest link."""
        rows = self._rows(
            "SELECT made_from FROM links WHERE plan = ? AND kind = ?"
            " ORDER BY at DESC, made_from DESC LIMIT 1",
            (plan_id, self._kind),
        )
        return rows[0][0] if rows else None


# --- Decisions about plans: an append-only log per plan
#
# A new event names the log version that its author saw, so of two concurrent decisions one is refused. A
# program running as the same user can write the store too: against it, approval is a guard rail and a record,
# not a boundary.


class DecisionStore(_InStore):
    """The decisions on plans of a root."""

    def add(self, plan_id: str, event: Event, version: str) -> AddOutcome:
        """Append `event` to the log of a plan at `version`.

        Return STALE if another event came first, FAILED if the store cannot be written safely.
        """
        if not _PLAN_ID.fullmatch(plan_id):
            return AddOutcome.FAILED
        kind, facts = stored_form(event)
        try:
            with self._store.write() as database:
                standing = _standing(database, plan_id)
                if standing.version != version:
                    return AddOutcome.STALE
                number = len(standing.events)
                after = _version_after(version, plan_id, number, kind, facts)
                database.execute(
                    "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?)",
                    (plan_id, number, after, kind, facts, time.time()),
                )
        except StorageRefused:
            return AddOutcome.FAILED
        return AddOutcome.ADDED

    def history(self, plan_id: str) -> DecisionHistory:
        """Return the trusted events of a plan, given its full ID."""
        with suppress(StorageRefused), self._store.read() as database:
            return _standing(database, plan_id) if database is not None else DecisionHistory()
        return DecisionHistory()

    def of(self, plan_id: str) -> Decision | None:
        """Return the latest decision on a plan, given its full ID."""
        return self.history(plan_id).decision

    def all(self, most: int | None = None) -> tuple[Decision, ...]:
        """Return the latest decision on each plan, newest first.

        `most` limits the number of plans, by last stored.
        """
        rows = self._rows(
            "SELECT plan FROM decisions GROUP BY plan ORDER BY max(stored_at) DESC LIMIT ?",
            (-1 if most is None else most,),
        )
        decisions = (self.of(plan_id) for (plan_id,) in rows)
        known = (decision for decision in decisions if decision is not None)
        return tuple(sorted(known, key=lambda decision: (-decision.decided_at, decision.plan_id)))

    def changed_at(self) -> str:
        """Return a token that changes whenever an event is added or forgotten."""
        return str(self._rows("SELECT count(*), max(stored_at) FROM decisions"))

    def forget_older(self, oldest: float) -> None:
        """Remove logs whose last event was stored before `oldest`, in seconds since the epoch.

        Rejections, even partial ones, stay: the same plan can be made again at any time.
        """
        old = self._rows("SELECT plan FROM decisions GROUP BY plan HAVING max(stored_at) < ?", (oldest,))
        plans = [plan_id for (plan_id,) in old if (found := self.of(plan_id)) is None or found.approves]
        if plans:
            with suppress(StorageRefused), self._store.write() as database:
                database.executemany(
                    "DELETE FROM decisions WHERE plan = ?", [(plan_id,) for plan_id in plans]
                )


def _version_after(version: str, plan_id: str, number: int, kind: str, facts: str) -> str:
    """Return the version after event `number`; the chained hash detects copied events."""
    return hashlib.sha256("\0".join((version, plan_id, str(number), kind, facts)).encode()).hexdigest()


def _standing(database: sqlite3.Connection, plan_id: str) -> DecisionHistory:
    """Return the events of a plan, up to the first unreadable one or a broken chain."""
    query = "SELECT version, kind, facts FROM decisions WHERE plan = ? ORDER BY number"
    events: list[Event] = []
    version = UNDECIDED
    for after, kind, facts in database.execute(query, (plan_id,)):
        try:
            event = event_of(kind, facts)
            expected = _version_after(version, plan_id, len(events), kind, facts)
        except UNREADABLE:
            break
        if after != expected:
            break
        events.append(event)
        version = after
    else:
        return DecisionHistory(tuple(events), version)
    return DecisionHistory(tuple(events), version, is_damaged=True)
