"""Decisions of people about plans: an append-only log for each plan.

Each event is a file of its own, named by the plan and a number. Only one event can get a number, so of two
decisions that saw the same version one is refused. An event names the hash of the one before it.

Decisions are in the user's state directory, outside every root, in files and folders that only the user can
write. A program that runs as the same user can write them too: against that program, approval is a guard rail
and a record, not a boundary.
"""

import hashlib
import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.files import read_regular_file
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.plans import PrivateFolder
from mdplan.text.lazy_pattern import lazy_pattern

# Longer than any comment that an agent should have to read.
MOST_COMMENT_CHARACTERS: Final = 2000

MOST_LINE_COMMENTS: Final = 500

# The version of a plan about which no one has decided.
UNDECIDED: Final = "undecided"

_FOLDER: Final = "decisions"

_PLAN_ID: Final = lazy_pattern(r"sha256-([0-9a-f]{64})")

_EVENT: Final = lazy_pattern(r"([0-9a-f]{64})\.([1-9][0-9]{0,5})\.json")

_MOST_BYTES: Final = 16 << 20

_OPEN_TO_OTHERS: Final = 0o077


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
        self._place = PrivateFolder(root_path, _FOLDER, directory, filesystem)

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
                data = _encoded(plan_id, number, version, event)
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
        number, version = 1, UNDECIDED
        while True:
            name = f"{digits}.{number}.json"
            leaf = read_regular_file(self._place.filesystem, folder, name, name, _MOST_BYTES)
            if isinstance(leaf, Diagnostic) and leaf.code is Code.FILE_NOT_FOUND:
                return
            is_private = not isinstance(leaf, Diagnostic) and not leaf.status.st_mode & _OPEN_TO_OTHERS
            data = leaf.data if not isinstance(leaf, Diagnostic) and is_private else b""
            found = _read_event(data, (f"sha256-{digits}", number, version))
            yield found
            if found is None:
                return
            number, version = number + 1, found[1]


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
