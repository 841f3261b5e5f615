"""Decisions on plans that people make in the chat with the agent: in the App, or in a form of the client.

Whether an approval there counts is for the operator to say (`serve --approve-in-chat`): the host shows the
plan and passes on the answer, so whoever trusts the answer trusts the host.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.engine.plans import PlanRef
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp.answers.result import cut_diff
from mdplan.mcp.review_app.app_requests import DecideRequest, Verb
from mdplan.mcp.review_app.nonces import Nonces
from mdplan.mcp.tool import PlanQuestion
from mdplan.reports.plan import ApplyReport
from mdplan.storage.decisions import Channel, Decision
from mdplan.storage.user_state import user_name
from mdplan.text.visible import escaped
from mdplan.web.labels import counted

# What the App receives next to a plan, in the `_meta` of a result.
META_KEY: Final = "mdplan/review"
# What a form shows of a diff.
_MOST_OF_A_DIFF: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision that was stored, and the report of the apply that followed; None where none did."""

    decision: Decision
    applied: ApplyReport | None


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

    def meta_of(self, plan_id: str) -> Mapping[str, Any]:
        """`_meta` of a result about a plan, for the App alone: what proves that it received the plan."""
        opened = self.reviewing.open(plan_id)
        if not isinstance(opened, OpenPlan):
            return {}
        full_id, version = opened.plan.plan_id, opened.decisions.version
        facts = {
            "planId": full_id,
            "version": version,
            "nonce": self._nonces.nonce(full_id, version),
            "mayApprove": self.may_approve,
            # Where no approval is required, the agent could apply the plan by itself.
            "mayApply": not self.reviewing.engine.gate.is_required,
        }
        return {META_KEY: facts}

    def question(self, plan_id: str) -> PlanQuestion | None:
        """What a form asks about a plan; None where it cannot be shown."""
        opened = self.reviewing.open(plan_id)
        diff = self.reviewing.engine.diff_bytes(plan_id)
        if not isinstance(opened, OpenPlan) or not isinstance(diff, bytes):
            return None
        review = opened.review
        files = counted(len(review.changed_files), "file")
        size = f"{files}, {counted(len(review.edits), 'edit')}: +{review.lines_added} -{review.lines_removed}"
        shown = escaped(diff.decode("utf-8", "backslashreplace"))
        is_whole = len(shown) <= _MOST_OF_A_DIFF
        said = [escaped(text) for text in (review.intent.title, review.intent.description) if text]
        parts = [
            f"An edit needs your approval ({size}).",
            *said,
            shown.rstrip() if is_whole else cut_diff(shown, _MOST_OF_A_DIFF).rstrip(),
            *([] if is_whole else ["The diff goes on: it is too long to be approved here."]),
        ]
        return PlanQuestion("\n\n".join(part for part in parts if part), is_whole)

    def decide_in_form(self, plan_id: str, version: str, verb: str, comment: str) -> bool:
        """Whether the answer to a form was stored as a decision."""
        terms = DecisionTerms(saw=version, channel=Channel.CHAT_FORM)
        decided = self.decide(plan_id, Verb(verb), {"comment": comment.strip()}, terms)
        return isinstance(decided, Decided)

    def decide_in_app(self, request: DecideRequest) -> Decided | Problems:
        """Decide as the App says. Errors: APPROVAL_REQUIRED without its nonce; those of `decide`."""
        if not self._nonces.use(request.nonce, request.plan_id, request.version):
            return NOT_THE_APP
        said: dict[str, Any] = {
            "comment": request.comment.strip(),
            "line_comments": [each.as_stored() for each in request.line_comments],
            "edit_comments": {
                each.edit: each.text.strip() for each in request.edit_comments if each.text.strip()
            },
        }
        terms = DecisionTerms(saw=request.version, channel=Channel.CHAT_APP)
        return self.decide(request.plan_id, request.verb, said, terms, request.rejected)

    def decide(
        self,
        plan_id: str,
        verb: Verb,
        said: Mapping[str, Any],
        terms: DecisionTerms,
        rejected: tuple[int, ...] = (),
    ) -> Decided | Problems:
        """Record a decision of the person in the chat, with the comments `said`.

        Errors: APPROVAL_REQUIRED for an approval that this server does not take from a chat; those of
        `ReviewService.approve`.
        """
        if verb.approves and not self.may_approve:
            return (_NOT_IN_CHAT,)
        reviewing, user = self.reviewing, self._user()
        decision: Decision | Problems
        if verb is Verb.REQUEST_CHANGES:
            decision = reviewing.request_changes(plan_id, user, terms=terms, **said)
        elif verb is Verb.REJECT:
            decision = reviewing.reject(plan_id, user, terms=terms, **said)
        else:
            decision = reviewing.approve(plan_id, user, rejected=rejected, terms=terms, **said)
        if not isinstance(decision, Decision):
            return decision
        applied = None
        if verb is Verb.APPROVE_AND_APPLY and decision.approved_plan_id is not None:
            applied = reviewing.engine.apply(PlanRef(plan_id=decision.approved_plan_id))
        return Decided(decision=decision, applied=applied)


NOT_THE_APP: Final[Problems] = (
    Diagnostic(
        code=Code.APPROVAL_REQUIRED,
        message="only the review that the user sees in the chat can decide on a plan; nothing was decided",
        hint="ask the user to decide there; if that fails, preview the plan again with md_validate",
    ),
)
_NOT_IN_CHAT: Final = Diagnostic(
    code=Code.APPROVAL_REQUIRED,
    message="this server takes no approvals from the chat; nothing was decided",
    hint="ask the user to run `mdplan review` or `mdplan serve --approve-in-chat`",
)
