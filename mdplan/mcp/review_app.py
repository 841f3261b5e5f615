"""Decisions on plans in the chat with the agent: in the App, or in a form of the client.

The operator decides whether an approval there counts (`serve --approve-in-chat`): the host shows the plan and
passes on the answer, so trusting the answer means trusting the host.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from threading import Lock
from typing import Annotated, Any, Final

from pydantic import Field

from mdplan.decisions import Channel, Decision, LineComment, Remarks, Side, Verdict
from mdplan.diagnostics import Code, Problems
from mdplan.engine.engine import Engine
from mdplan.engine.history import user_name
from mdplan.engine.plans import PlanRef
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp.answers import Request, answered, cut_diff, request_tool, text_of
from mdplan.mcp.tool import ResourceDefinition, ToolDefinition, ToolResult
from mdplan.operations.base import Count
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.plan import ApplyReport
from mdplan.text.visible import escaped
from mdplan.values import Struct, replace
from mdplan.web.labels import counted
from mdplan.words import AgentWords, say

# What the App receives next to a plan, in the `_meta` of a result.
META_KEY: Final = "mdplan/review"

# What a form shows of a diff.
_MOST_OF_A_DIFF: Final = 4_000


class PlanQuestion(Struct):
    """The question of a form about a plan: `text` shows it; `is_whole` says that it shows all changes."""

    text: str
    is_whole: bool


class Decided(Struct, kw_only=True):
    """A stored decision, and the report of the apply that followed, or None."""

    decision: Decision
    applied: ApplyReport | None


class Verb(StrEnum):
    """The kind of decision on a plan."""

    APPROVE = "approve"
    APPROVE_AND_APPLY = "approve_and_apply"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"

    @property
    def verdict(self) -> Verdict:
        """What it decides."""
        refusals = {Verb.REQUEST_CHANGES: Verdict.CHANGES_REQUESTED, Verb.REJECT: Verdict.REJECTED}
        return refusals.get(self, Verdict.APPROVED)


PlanId = Annotated[str, Field(alias="planId", min_length=1, description="ID of the plan.")]


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
        """Return the comment as part of a decision."""
        return LineComment(**{**dict(self), "text": self.text.strip()})


class DecideRequest(Request):
    """A decision on a plan, with the `version` and `nonce` that the App received with the plan."""

    plan_id: PlanId
    version: str = Field(description="Version of the decisions that the App showed.")
    nonce: str = Field(description="Proof that the App sends this.")
    verb: Verb
    rejected: tuple[Count, ...] = Field(default=(), description="Indexes of the edits that are rejected.")
    comment: str = ""
    edit_comments: tuple[EditComment, ...] = Field(default=(), alias="editComments")
    line_comments: tuple[CommentOnLines, ...] = Field(default=(), alias="lineComments")


class ChatReview:
    """Review of the plans of `engine` in the chat. Nothing is approved there unless `may_approve`.

    `user` gives the name of the person, who is the user of this process.
    """

    def __init__(
        self, engine: Engine, *, may_approve: bool = False, user: Callable[[], str] = user_name
    ) -> None:
        self.reviewing: Final = ReviewService(engine)
        self.may_approve: Final = may_approve
        self._user = user
        self._nonces = Nonces()

    def meta_of(self, plan_id: str, saw: str | None = None) -> Mapping[str, Any]:
        """Return `_meta` of a result about a plan, only for the App: the proof that it received the plan.

        `saw` is the version of the decisions that the App shows, if the result does not show the plan.
        """
        opened = self.reviewing.open(plan_id)
        return self.meta_of_open(opened, saw) if isinstance(opened, OpenPlan) else {}

    def meta_of_open(self, opened: OpenPlan, saw: str | None = None) -> Mapping[str, Any]:
        """Return the same for a plan that was `opened`."""
        full_id, version = opened.plan.plan_id, saw or opened.decisions.version
        facts = {
            "planId": full_id,
            "version": version,
            "nonce": self._nonces.nonce(full_id, version),
            "mayApprove": self.may_approve,
            # Without required approval, the agent could apply the plan anyway.
            "mayApply": not self.reviewing.engine.gate.is_required,
        }
        return {META_KEY: facts}

    def question(self, plan_id: str) -> PlanQuestion | None:
        """Return the question of a form about a plan; None if the plan cannot be shown."""
        opened = self.reviewing.open(plan_id)
        diff = self.reviewing.engine.diff_bytes(plan_id)
        if not isinstance(opened, OpenPlan) or not isinstance(diff, bytes):
            return None
        review = opened.review
        size = f"{counted(len(review.changed_files), 'file')}, {counted(len(review.edits), 'edit')}"
        shown = escaped(diff.decode("utf-8", "backslashreplace"))
        is_whole = len(shown) <= _MOST_OF_A_DIFF
        said = [escaped(text) for text in (review.intent.title, review.intent.description) if text]
        parts = [
            f"An edit needs your approval ({size}: +{review.lines_added} -{review.lines_removed}).",
            *said,
            shown.rstrip() if is_whole else cut_diff(shown, _MOST_OF_A_DIFF).rstrip(),
            *([] if is_whole else ["The diff goes on: it is too long to be approved here."]),
        ]
        return PlanQuestion("\n\n".join(part for part in parts if part), is_whole)

    def decide_in_form(self, plan_id: str, version: str, verb: str, comment: str) -> bool:
        """Store the answer to a form as a decision; return True if that worked."""
        terms = DecisionTerms(saw=version, channel=Channel.CHAT_FORM)
        decided = self.decide(plan_id, Verb(verb), Remarks(comment=comment.strip()), terms)
        return isinstance(decided, Decided)

    def decide_in_app(self, request: DecideRequest) -> Decided | Problems:
        """Decide as the App says. Errors: APPROVAL_REQUIRED without its nonce; as `decide`."""
        if not self._nonces.use(request.nonce, request.plan_id, request.version):
            return NOT_THE_APP
        on_edits = ((each.edit, each.text.strip()) for each in request.edit_comments)
        remarks = Remarks(
            comment=request.comment.strip(),
            edit_comments={index: text for index, text in on_edits if text},
            line_comments=tuple(each.as_stored() for each in request.line_comments),
        )
        terms = DecisionTerms(saw=request.version, channel=Channel.CHAT_APP)
        return self.decide(request.plan_id, request.verb, remarks, terms, request.rejected)

    def decide(
        self, plan_id: str, verb: Verb, remarks: Remarks, terms: DecisionTerms, rejected: tuple[int, ...] = ()
    ) -> Decided | Problems:
        """Record a decision of the person in the chat.

        Errors: APPROVAL_REQUIRED if this server accepts no approvals from a chat; as `ReviewService.decide`.
        """
        if verb.verdict is Verdict.APPROVED and not self.may_approve:
            return (_NOT_IN_CHAT,)
        decision = self.reviewing.decide(
            plan_id, self._user(), verb.verdict, remarks, rejected=rejected, terms=terms
        )
        if not isinstance(decision, Decision):
            return decision
        applied = None
        if verb is Verb.APPROVE_AND_APPLY and decision.approved_plan_id is not None:
            applied = self.reviewing.engine.apply(PlanRef(plan_id=decision.approved_plan_id))
        return Decided(decision=decision, applied=applied)


NOT_THE_APP: Final[Problems] = (
    Code.APPROVAL_REQUIRED.problem(
        "only the review that the user sees in the chat can decide on a plan; nothing was decided",
        say("ask the user to decide there; if that fails, preview the plan again: {step plan}"),
    ),
)

_NOT_IN_CHAT: Final = Code.APPROVAL_REQUIRED.problem(
    "this server takes no approvals from the chat; nothing was decided",
    say("{run review}, or to start {mdplan serve --approve-in-chat}"),
)


# --- Tools of the App: hosts offer them only to the App; without an App they are of no use


class ReviewAppReport(Report, kw_only=True):
    """The answer to the App: HTML to show, or the outcome of a decision; `message` is one sentence."""

    plan_id: str | None = None
    state: str | None = None
    html: str | None = None
    message: str | None = None
    approved_plan_id: str | None = None
    applied: bool | None = None


def app_tools(review: ChatReview, *, read_only: bool) -> tuple[ToolDefinition, ...]:
    """Return the tools of the App for `review`; with `read_only` it only shows."""
    show = request_tool(
        ShowRequest,
        partial(_show, review),
        _refused,
        name="md_review",
        title="Show a plan to the user",
        description="For the review App only: the plan, or a file of it, as HTML.",
        writes=False,
        meta=ONLY_FOR_APP,
    )
    decide = request_tool(
        DecideRequest,
        partial(_decide, review),
        _refused,
        name="md_decide",
        title="Record the decision of the user",
        description="For the review App only: refused without the nonce that the App receives.",
        writes=True,
        may_be_repeated=False,
        meta=ONLY_FOR_APP,
    )
    return (show,) if read_only else (show, decide)


def app_resource() -> ResourceDefinition:
    """Return the App: a self-contained HTML file."""
    return ResourceDefinition(
        uri=APP_URI,
        name="review",
        title="Review of a plan",
        description="Shows the plan of md_validate to the user, who comments and decides.",
        mime_type=APP_MIME_TYPE,
        read=_app_html,
        meta={"ui": {"prefersBorder": True}},
    )


# Code for HTML is loaded when a host shows the App.
def _app_html() -> str:
    from mdplan.web.responses import chat_app_html

    return chat_app_html()


class ShowRequest(Request):
    """A request to show a plan, or the lines of one `file` of it from line `first` on."""

    plan_id: PlanId
    file: Count | None = Field(default=None, description="Index of a file of the plan: show its lines.")
    first: Count = Field(default=0, description="Count of lines to skip.")


def _show(review: ChatReview, request: ShowRequest) -> ToolResult:
    from mdplan.web.responses import chat_file_html, chat_plan_html

    opened = review.reviewing.open(request.plan_id)
    if not isinstance(opened, OpenPlan):
        return _refused(opened)
    if request.file is None:
        html = chat_plan_html(opened, review.reviewing.earlier(opened))
    elif request.file < len(opened.review.files):
        html = chat_file_html(opened, request.file, request.first)
    else:
        html = ""
    report = ReviewAppReport(ok=True, plan_id=opened.plan.plan_id, state=opened.state, html=html)
    # A decision is about the version that is shown, and the lines of a file do not show it all.
    meta = review.meta_of_open(opened) if request.file is None else None
    return _answer(report, meta)


def _decide(review: ChatReview, request: DecideRequest) -> ToolResult:
    decided = review.decide_in_app(request)
    if not isinstance(decided, Decided):
        # The nonce was used up, if it was one. Who has not seen a later decision cannot decide over it.
        is_app = decided != NOT_THE_APP
        return _refused(decided, review.meta_of(request.plan_id, request.version) if is_app else None)
    decision, applied = decided.decision, decided.applied
    message = _outcome(decision)
    if applied is not None:
        n_files = sum(file.changed for file in applied.files)
        message += (
            f" Applied: {counted(n_files, 'file')} written."
            if applied.ok
            else f" It was not applied: {text_of(to_wire(AgentWords().tell_all(applied)))}"
        )
    report = ReviewAppReport(
        ok=True,
        plan_id=decision.plan_id,
        message=message,
        approved_plan_id=decision.approved_plan_id,
        applied=applied is not None and applied.ok,
    )
    return _answer(report, review.meta_of(decision.plan_id))


def _outcome(decision: Decision) -> str:
    """Describe the decision for the agent and the person."""
    by = decision.decided_by
    if decision.approved_plan_id is None:
        what = "requested changes to" if decision.requests_changes else "rejected"
        return f"{by} {what} the plan {decision.plan_id}."
    if not decision.is_partial:
        return f"{by} approved the plan {decision.plan_id}."
    without = counted(len(decision.rejected), "edit")
    return (
        f"{by} approved the plan {decision.plan_id} without {without}, as plan {decision.approved_plan_id}."
    )


def _answer(report: ReviewAppReport, meta: Mapping[str, Any] | None = None) -> ToolResult:
    return replace(answered(to_wire(report)), meta=meta or {})


def _refused(problems: Problems, meta: Mapping[str, Any] | None = None) -> ToolResult:
    return _answer(AgentWords().tell_all(refusal(ReviewAppReport, problems)), meta)


# --- Nonces, which prove that a call comes from the App
#
# The host gives the `_meta` of a result to the App and not to the model. Some hosts let the model call tools
# meant only for the App, so `visibility` is not enough.

_KEY_BYTES: Final = 32


class Nonces:
    """The nonces of one process. Each is for one call about one version of the decisions on one plan."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._used: dict[str, int] = {}
        self._lock = Lock()

    def nonce(self, plan_id: str, version: str) -> str:
        """Return the nonce for the next decision on a plan whose decisions have that version."""
        named = json.dumps([plan_id, version, self._used.get(plan_id, 0)]).encode("ascii")
        return hmac.new(self._key, named, hashlib.sha256).hexdigest()

    def use(self, nonce: str, plan_id: str, version: str) -> bool:
        """Use up `nonce`; return True if this process issued it for that plan and version."""
        given = nonce.encode("utf-8", "surrogatepass")
        with self._lock:
            is_valid = hmac.compare_digest(given, self.nonce(plan_id, version).encode("ascii"))
            if is_valid:
                self._used[plan_id] = self._used.get(plan_id, 0) + 1
        return is_valid


APP_URI: Final = "ui://mdplan/review"
APP_MIME_TYPE: Final = "text/html;profile=mcp-app"

# For a tool whose result the App shows.
SHOWS_APP: Final[Mapping[str, Any]] = {"ui": {"resourceUri": APP_URI}}

# For a tool that only the App may call.
ONLY_FOR_APP: Final[Mapping[str, Any]] = {"ui": {"visibility": ["app"]}}
