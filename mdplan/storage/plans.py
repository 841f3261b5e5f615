"""What people and clients did with plans: plans by their ID, links between them, decisions, the review page.

All of it is in the store of a root (`mdplan.storage.store`). What is stored are bytes that the engine wrote;
it checks them again when they are loaded. Nothing here stops a command: where nothing can be stored, that is
what the answer says.
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

# Contents are stored with a plan up to this size together.
_MOST_BASES: Final = 4 << 20


class StoredPlan(NamedTuple):
    """A plan in the store, and when it was last saved, in seconds since the epoch.

    It `is_discarded` if a person did that since; `superseded_by` is a plan that was made in its place.
    """

    plan_id: str
    saved_at: float
    is_discarded: bool = False
    superseded_by: str | None = None


class _InStore:
    """Something in the store of the root whose real path is `root_path`."""

    def __init__(self, root_path: str) -> None:
        self._store = Store(root_path)

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows that `query` gives; none where the store cannot be read."""
        with suppress(StorageRefused), self._store.read() as database:
            return database.execute(query, values).fetchall() if database is not None else []
        return []


class PlanStore(_InStore):
    """The plans of one root. A plan that was saved more than `kept_seconds` ago is forgotten."""

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
        """Store a plan under its full ID; False when it cannot be stored.

        With the parts of its `document` go `bases`, the contents that a merge needs, up to some size, and the
        `client` that made the plan: the first one that did.
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
        """The document of a plan, by its ID or a prefix of 12 or more hex digits that only it has."""
        return self._of_one(plan_id, lambda database, found: get_parts(database, f"plan {found}"))

    def load_bases(self, plan_id: str) -> tuple[bytes, ...]:
        """The contents that were stored with a plan."""

        def load(database: sqlite3.Connection, found: str) -> tuple[bytes, ...]:
            query = "SELECT sha256 FROM plan_bases WHERE plan = ? ORDER BY position"
            contents = [get_parts(database, sha256) for (sha256,) in database.execute(query, (found,))]
            return tuple(content for content in contents if content is not None)

        return self._of_one(plan_id, load) or ()

    def load_client(self, plan_id: str) -> Client | None:
        """The program that made a plan, as far as it is known."""

        def load(database: sqlite3.Connection, found: str) -> Client | None:
            query = "SELECT client, client_version FROM plans WHERE id = ? AND client IS NOT NULL"
            row = database.execute(query, (found,)).fetchone()
            return Client(row[0], row[1]) if row else None

        return self._of_one(plan_id, load)

    def _of_one(
        self, plan_id: str, load: Callable[[sqlite3.Connection, str], Loaded | None]
    ) -> Loaded | None:
        """What `load` finds of the one plan whose ID begins with `plan_id`; None where there is not one."""
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
        """All plans in the store, the newest first."""
        rows = self._rows(
            "SELECT id, saved_at, EXISTS (SELECT 1 FROM links"
            "  WHERE plan = id AND kind = 'discarded' AND at >= saved_at),"
            " (SELECT plan FROM links WHERE made_from = id AND kind = 'revises' AND at >= saved_at"
            "  ORDER BY at DESC LIMIT 1)"
            " FROM plans ORDER BY saved_at DESC, id"
        )
        return tuple(StoredPlan(*row) for row in rows)


def _put_bases(database: sqlite3.Connection, plan_id: str, bases: Iterable[bytes]) -> None:
    """Store `bases` with a plan; none where they are too large together."""
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
    """Remove the plans that were saved before `oldest`, in seconds since the epoch, with their links."""
    old = database.execute("SELECT id FROM plans WHERE saved_at < ?", (oldest,)).fetchall()
    query = "SELECT sha256 FROM plan_bases JOIN plans ON plan = id WHERE saved_at < ?"
    digests = {row[0] for row in database.execute(query, (oldest,))}
    database.executemany("DELETE FROM parts WHERE key = 'plan ' || ?", old)
    database.executemany("DELETE FROM plans WHERE id = ?", old)
    drop_unused(database, digests)


# A plan is derived from another one by mdplan: what people decided about that counts for both. It revises
# another one if its author made it in place of that: a decision on one says nothing of the other. A plan that
# a person discarded has a link to itself.
LinkKind = Literal["derived", "revises", "discarded"]


class PlanLinks(_InStore):
    """The links of one kind between plans of the root whose real path is `root_path`."""

    def __init__(self, root_path: str, kind: LinkKind) -> None:
        super().__init__(root_path)
        self._kind = kind

    def add(self, plan_id: str, origin: str) -> bool:
        """Record that the plan `plan_id` was made from `origin`; False where nothing is stored."""
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
        """Return the plans that `plan_id` was made from, at any distance."""
        return self._connected(plan_id, "plan", "made_from")

    def derived_from(self, plan_id: str) -> frozenset[str]:
        """Return the plans that were made from `plan_id`, at any distance."""
        return self._connected(plan_id, "made_from", "plan")

    def _connected(self, plan_id: str, start: str, end: str) -> frozenset[str]:
        rows = self._rows(
            f"WITH RECURSIVE connected (id) AS (VALUES (?1) UNION SELECT {end} FROM links, connected"  # noqa: S608 (ours)
            f" WHERE links.{start} = connected.id AND kind = ?2) SELECT id FROM connected WHERE id <> ?1",
            (plan_id, self._kind),
        )
        return frozenset(row[0] for row in rows)

    def last_of(self, plan_id: str) -> str | None:
        """Return the plan that `plan_id` was made from according to the newest link."""
        rows = self._rows(
            "SELECT made_from FROM links WHERE plan = ? AND kind = ?"
            " ORDER BY at DESC, made_from DESC LIMIT 1",
            (plan_id, self._kind),
        )
        return rows[0][0] if rows else None


# --- Decisions of people about plans: an append-only log for each plan.
#
# A new event names the version of the log that its author saw. So of two decisions that saw the same version
# one is refused. A program that runs as the same user can write the store too: against that program, approval
# is a guard rail and a record, not a boundary.


class DecisionStore(_InStore):
    """The decisions on plans of the root whose real path is `root_path`."""

    def add(self, plan_id: str, event: Event, version: str) -> AddOutcome:
        """Add `event` to the log of a plan whose version is `version`.

        STALE where another event came first; FAILED where nothing can be stored that others cannot change.
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
        """The events on the plan of that full ID that can be trusted."""
        with suppress(StorageRefused), self._store.read() as database:
            return _standing(database, plan_id) if database is not None else DecisionHistory()
        return DecisionHistory()

    def of(self, plan_id: str) -> Decision | None:
        """The latest decision on the plan of that full ID."""
        return self.history(plan_id).decision

    def all(self, most: int | None = None) -> tuple[Decision, ...]:
        """The latest decision on each plan, the newest first.

        With `most` those on so many plans, the last stored.
        """
        rows = self._rows(
            "SELECT plan FROM decisions GROUP BY plan ORDER BY max(stored_at) DESC LIMIT ?",
            (-1 if most is None else most,),
        )
        decisions = (self.of(plan_id) for (plan_id,) in rows)
        known = (decision for decision in decisions if decision is not None)
        return tuple(sorted(known, key=lambda decision: (-decision.decided_at, decision.plan_id)))

    def changed_at(self) -> str:
        """A text that is another one whenever an event was added or forgotten."""
        return str(self._rows("SELECT count(*), max(stored_at) FROM decisions"))

    def forget_older(self, oldest: float) -> None:
        """Remove the logs whose last event was stored before `oldest`, in seconds since the epoch.

        Rejections stay, also those of a part: the same plan can be made again at any time.
        """
        old = self._rows("SELECT plan FROM decisions GROUP BY plan HAVING max(stored_at) < ?", (oldest,))
        plans = [plan_id for (plan_id,) in old if (found := self.of(plan_id)) is None or found.approves]
        if plans:
            with suppress(StorageRefused), self._store.write() as database:
                database.executemany(
                    "DELETE FROM decisions WHERE plan = ?", [(plan_id,) for plan_id in plans]
                )


def _version_after(version: str, plan_id: str, number: int, kind: str, facts: str) -> str:
    """The version of a log with one more event, whose index is `number`: it tells a copied event."""
    return hashlib.sha256("\0".join((version, plan_id, str(number), kind, facts)).encode()).hexdigest()


def _standing(database: sqlite3.Connection, plan_id: str) -> DecisionHistory:
    """The events of a plan, up to the first that cannot be read, or was not added to these."""
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
