"""Decisions of people about plans, as values: an approval, a rejection, a request for changes, with comments.

The events on one plan are an append-only log. A new event names the version of the log that its author saw.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from mdplan.values import Struct, field

# Longer than any comment that an agent should have to read.
MOST_COMMENT_CHARACTERS: Final = 2000
MOST_LINE_COMMENTS: Final = 500

# The version of a plan about which no one has decided.
UNDECIDED: Final = "undecided"


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


class LineComment(Struct, kw_only=True):
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


class Remarks(Struct, kw_only=True):
    """What a person says of a plan: a `comment` on the whole, comments on edits by index, and on lines."""

    comment: str = ""
    edit_comments: Mapping[int, str] = field(default_factory=dict)
    line_comments: tuple[LineComment, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not (self.comment or any(self.edit_comments.values()) or self.line_comments)

    @property
    def length(self) -> int:
        """The characters of the longest comment."""
        on_lines = (comment.text for comment in self.line_comments)
        return max(map(len, (self.comment, *self.edit_comments.values(), *on_lines)))


NO_REMARKS: Final = Remarks()


class Decision(Struct, kw_only=True):
    """A decision on the plan `plan_id`. `decided_at` is in seconds since the epoch.

    Of a plan that was approved in part, `rejected` are the indexes of the other edits, and
    `approved_plan_id` is the plan of the accepted ones; of one that was approved whole it is `plan_id`, of
    one that was rejected None. `part_of` is, in the decision on such a part, the plan that was reviewed.
    `overrides` says that it was made in spite of a rejection, or of a request for changes.
    """

    plan_id: str
    verdict: Verdict
    decided_by: str
    decided_at: float
    approved_plan_id: str | None
    channel: Channel = Channel.APP
    remarks: Remarks = NO_REMARKS
    rejected: tuple[int, ...] = ()
    part_of: str | None = None
    overrides: bool = False

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


class PlanUsed(Struct, kw_only=True):
    """An approval was used by the transaction `transaction`, at `at` seconds since the epoch."""

    transaction: str
    at: float


class DecisionRevoked(Struct, kw_only=True):
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


class DecisionHistory(Struct):
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


# What `event_of` raises for facts that another program changed.
UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def stored_form(event: Event) -> tuple[str, str]:
    """Return the kind of `event`, and its facts as a JSON object."""
    facts = msgspec.to_builtins(event)
    facts |= facts.pop("remarks", {})
    return _KINDS[type(event)], json.dumps(facts, sort_keys=True, separators=(",", ":"))


def event_of(kind: str, stored_facts: str) -> Event:
    """Return the event of that `stored_form`. Raises one of `UNREADABLE` for what is none."""
    facts = json.loads(stored_facts)
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
        remarks=Remarks(
            comment=str(facts["comment"]),
            edit_comments={int(index): str(comment) for index, comment in facts["edit_comments"].items()},
            line_comments=tuple(map(_line_comment_of, facts.get("line_comments", ()))),
        ),
        rejected=tuple(map(int, facts["rejected"])),
        part_of=facts["part_of"],
        overrides=bool(facts["overrides"]),
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


class AddOutcome(StrEnum):
    """The outcome of adding an event."""

    ADDED = "added"
    STALE = "stale"
    FAILED = "failed"
