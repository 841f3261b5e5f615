"""Decisions of people about plans: approvals, rejections and requested changes, with comments.

The events on a plan are an append-only log. A new event names the log version that its author saw.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from mdplan.values import Struct, field

# Longer comments would be too much for an agent.
MOST_COMMENT_CHARACTERS: Final = 2000
MOST_LINE_COMMENTS: Final = 500

# The log version of an undecided plan.
UNDECIDED: Final = "undecided"


class Verdict(StrEnum):
    """The kind of decision."""

    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes requested"


class Channel(StrEnum):
    """How a person decided.

    `APP` is a program using the library. For a chat, the host reports what the person said, in a form that it
    showed or in a view in the conversation.
    """

    PAGE = "page"
    TERMINAL = "terminal"
    COMMAND_LINE = "command line"
    CHAT_FORM = "chat form"
    CHAT_APP = "chat app"
    APP = "app"


class Side(StrEnum):
    """The text that line numbers refer to: before or after the plan."""

    BEFORE = "before"
    AFTER = "after"


class LineComment(Struct, kw_only=True):
    """A comment on the lines `start` to `end` (1-based, inclusive) of `file`.

    `file` is the path before the plan. `quote` is the text of the lines, possibly truncated, and `edit_index`
    the edit that made them; both are empty if the text was no longer known.
    """

    file: str
    side: Side
    start: int
    end: int
    text: str
    quote: str = ""
    edit_index: int | None = None


class Remarks(Struct, kw_only=True):
    """A person's remarks on a plan: a general `comment`, comments by edit index, and on lines."""

    comment: str = ""
    edit_comments: Mapping[int, str] = field(default_factory=dict)
    line_comments: tuple[LineComment, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there are no comments."""
        return not (self.comment or any(self.edit_comments.values()) or self.line_comments)

    @property
    def length(self) -> int:
        """The number of characters of the longest comment."""
        on_lines = (comment.text for comment in self.line_comments)
        return max(map(len, (self.comment, *self.edit_comments.values(), *on_lines)))


NO_REMARKS: Final = Remarks()


class DecidedPlace(Struct, kw_only=True):
    """The text edit `number` of the file at index `file` of a plan: rejected, or with another new `text`."""

    file: int
    number: int
    text: str | None = None


class DecidedClass(Struct, kw_only=True):
    """A class of changes that was accepted or rejected as a whole; `members` is the hash of its places."""

    key: str
    members: str
    accepted: bool


class Decision(Struct, kw_only=True):
    """A decision on the plan `plan_id`; `decided_at` is in seconds since the epoch.

    `approved_plan_id` is the plan of the accepted edits: `plan_id` if approved as a whole, None if rejected.
    `rejected` are the indexes of the other edits, and `places` what differs in accepted ones. `classes` are
    those that were decided as such. `part_of` is, in the decision on such a part, the reviewed
    plan. `overrides`: it overrides a rejection or requested changes.
    """

    plan_id: str
    verdict: Verdict
    decided_by: str
    decided_at: float
    approved_plan_id: str | None
    channel: Channel = Channel.APP
    remarks: Remarks = NO_REMARKS
    rejected: tuple[int, ...] = ()
    places: tuple[DecidedPlace, ...] = ()
    classes: tuple[DecidedClass, ...] = ()
    part_of: str | None = None
    overrides: bool = False

    @property
    def approves(self) -> bool:
        """True if its plan may be committed unchanged."""
        return self.verdict is Verdict.APPROVED and self.approved_plan_id == self.plan_id

    @property
    def is_partial(self) -> bool:
        """True if another plan than its own may be committed: one of what was accepted."""
        return self.verdict is Verdict.APPROVED and self.approved_plan_id not in (None, self.plan_id)

    @property
    def is_rejection(self) -> bool:
        """True if nothing of its plan may be committed: a rejection or requested changes."""
        return self.verdict is not Verdict.APPROVED

    @property
    def requests_changes(self) -> bool:
        """True if it asks for a revised plan."""
        return self.verdict is Verdict.CHANGES_REQUESTED


class PlanUsed(Struct, kw_only=True):
    """The transaction `transaction` used an approval, `at` seconds since the epoch."""

    transaction: str
    at: float


class DecisionRevoked(Struct, kw_only=True):
    """`by` revoked an approval, because of a decision on the plan `because_of`."""

    by: str
    at: float
    because_of: str


Event: TypeAlias = Decision | PlanUsed | DecisionRevoked

_KINDS: Final[Mapping[type[Event], str]] = {
    Decision: "decision",
    PlanUsed: "used",
    DecisionRevoked: "revoked",
}

_TYPES: Final = {kind: of_kind for of_kind, kind in _KINDS.items()}


class DecisionHistory(Struct):
    """The events of a plan, oldest first, and the `version` that a new decision must name.

    `is_damaged`: later events are not trustworthy, so no approval is valid.
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
        """True if the plan may be committed once: approved, and the approval neither used nor revoked."""
        last = self.events[-1] if self.events else None
        return isinstance(last, Decision) and last.approves and not self.is_damaged

    @property
    def is_rejected(self) -> bool:
        """True if the latest decision rejects the whole plan or requests changes."""
        return self.decision is not None and self.decision.is_rejection

    @property
    def used_by(self) -> str | None:
        """The transaction that used the latest approval, or None."""
        last = self.events[-1] if self.events else None
        return last.transaction if isinstance(last, PlanUsed) else None


# Exceptions of `event_of` for facts that another program changed.
UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def stored_form(event: Event) -> tuple[str, str]:
    """Return the kind of `event` and its facts as a JSON object."""
    facts = msgspec.to_builtins(event)
    facts |= facts.pop("remarks", {})
    return _KINDS[type(event)], json.dumps(facts, sort_keys=True, separators=(",", ":"))


def event_of(kind: str, stored_facts: str) -> Event:
    """Parse a `stored_form`. Raise one of `UNREADABLE` if it is invalid."""
    facts = json.loads(stored_facts)
    if kind == "decision":
        facts["remarks"] = {name: facts[name] for name in Remarks.__struct_fields__ if name in facts}
    event: Event = msgspec.convert(facts, _TYPES[kind], str_keys=True)
    return event


class AddOutcome(StrEnum):
    """The outcome of adding an event."""

    ADDED = "added"
    STALE = "stale"
    FAILED = "failed"
