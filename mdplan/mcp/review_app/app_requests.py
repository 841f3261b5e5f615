"""Requests of the App: what it shows, and what a person decided in it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from mdplan.mcp.strict_requests import Request
from mdplan.operations.base import Count
from mdplan.storage.decisions import LineComment, Side

PlanId = Annotated[str, Field(alias="planId", min_length=1, description="ID of the plan.")]


class Verb(StrEnum):
    """The kind of decision on a plan."""

    APPROVE = "approve"
    APPROVE_AND_APPLY = "approve_and_apply"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"

    @property
    def approves(self) -> bool:
        """Whether it allows a commit."""
        return self in {Verb.APPROVE, Verb.APPROVE_AND_APPLY}


class ShowRequest(Request):
    """A request to show a plan, or the lines of one `file` of it from line `first` on."""

    plan_id: PlanId
    file: Count | None = Field(default=None, description="Index of a file of the plan: show its lines.")
    first: Count = Field(default=0, description="Count of lines to skip.")


class EditComment(Request):
    """A comment on an edit."""

    edit: Count
    text: str


class CommentOnLines(Request):
    """A comment on the lines `start` to `end` of a file, before or after the plan."""

    file: str
    side: Side
    start: Count
    end: Count
    text: str

    def as_stored(self) -> LineComment:
        """The comment as a part of a decision."""
        return LineComment(
            file=self.file, side=self.side, start=self.start, end=self.end, text=self.text.strip()
        )


class DecideRequest(Request):
    """A decision on a plan. `version` and `nonce` are those that the App received with the plan."""

    plan_id: PlanId
    version: str = Field(description="Version of the decisions that the App showed.")
    nonce: str = Field(description="Proof that the App sends this.")
    verb: Verb
    rejected: tuple[Count, ...] = Field(default=(), description="Indexes of the edits that are rejected.")
    comment: str = ""
    edit_comments: tuple[EditComment, ...] = Field(default=(), alias="editComments")
    line_comments: tuple[CommentOnLines, ...] = Field(default=(), alias="lineComments")
