"""The one gate before every commit: decisions of people about plans, and the setting that requires them."""

import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.edit_numbers import EditNumbers
from mdplan.engine.caller import OnPending, ignore_pending
from mdplan.plan import PREFIX, Plan
from mdplan.planning.plan_document import read_document, untitled_id
from mdplan.reports.plan import Approved
from mdplan.storage.fs.root import Root
from mdplan.storage.user.decision_log import (
    AddOutcome,
    Decision,
    DecisionHistory,
    DecisionStore,
    LineComment,
    PlanUsed,
    Side,
)
from mdplan.storage.user.origins import Origins
from mdplan.storage.user.plan_store import PlanStore

REQUIRE_APPROVAL_VARIABLE: Final = "MDPLAN_REQUIRE_APPROVAL"
_OFF: Final = frozenset({"", "0", "false", "f", "no", "n", "off"})
# Enough of a plan ID to name it on a command line.
_SHORT: Final = len(PREFIX) + 16
# Comments on lines that a message quotes; md_history has all of them.
_MOST_LINE_COMMENTS: Final = 20

# A check of the caller's own: why a plan must not be committed now, or whose approval it has.
Approval: TypeAlias = Callable[[Plan, Root], Problems | Approved]


def approved_only(plan: Plan, root: Root) -> Problems:
    """Why `plan` has no approval that a commit could use, for `Engine.open(…, approval=approved_only)`.

    Errors: APPROVAL_REQUIRED where no one decided or the approval was used, PLAN_REJECTED where someone
    rejected it, CHANGES_REQUESTED where someone asked for another plan.

    >>> strict = Engine.open(["."], approval=approved_only)
    >>> tick = {"op": "set_task", "item": "It has water.", "done": True}
    >>> strict.apply({"file": "guide.md", "edits": [tick]}).error.code.value
    'APPROVAL_REQUIRED'
    >>> strict.close()
    """
    cleared = ApprovalGate(is_required=True).check(plan, root)
    return () if isinstance(cleared, Clearance) else cleared


def no_approval(plan: Plan, root: Root) -> Problems:
    """Allow every plan."""
    del plan, root
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """A plan may be committed now. `approved` is the approval that the commit uses, None where there is none.

    `version` is the version of the decisions that the gate saw; None where the approval is not one of them.
    """

    approved: Approved | None
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGate:
    """Whether plans may be committed: asked for every commit, also of an undo, by every surface.

    A rejection always refuses, and so does a request for changes. With `is_required` only approved plans
    pass. `own_check` is a further check of the program that uses the engine. `on_pending` is called with
    plans that need an approval.
    """

    is_required: bool
    own_check: Approval = no_approval
    on_pending: OnPending = ignore_pending

    @classmethod
    def of(cls, *, required: bool, own_check: Approval, on_pending: OnPending) -> "ApprovalGate":
        """The gate for an engine that was opened with `required`, in the environment of this process."""
        variable = os.environ.get(REQUIRE_APPROVAL_VARIABLE, "")
        is_required = required or variable.strip().lower() not in _OFF
        return cls(is_required=is_required, own_check=own_check, on_pending=on_pending)

    def check(self, plan: Plan, root: Root) -> Clearance | Problems:
        """Whether `plan` may be committed now, under the lock of `root`.

        Errors: those of `rejection`; APPROVAL_REQUIRED where an approval is required, and there is none or it
        was used.
        """
        rejection = self.rejection(plan, root)
        answer = rejection or self.own_check(plan, root)
        if answer and not isinstance(answer, Approved):
            return answer
        standing = DecisionStore(root.path).history(plan.plan_id)
        decision = standing.decision
        if decision is not None and standing.is_approved:
            approved = Approved(
                decided_by=decision.decided_by,
                decided_at=decision.decided_at,
                channel=decision.channel.value,
                comment=" ".join(_comments(*shown_part(decision, plan, root))),
                overrides=decision.overrides or None,
            )
            return Clearance(approved=approved, version=standing.version)
        if self.is_required:
            self.on_pending(plan, root)
            return (_required(plan.plan_id, standing),)
        return Clearance(approved=answer if isinstance(answer, Approved) else None, version=None)

    def rejection(self, plan: Plan, root: Root) -> Problems:
        """Why a person keeps `plan` from being committed, or a plan that it was derived from, also in part.

        Errors: PLAN_REJECTED, CHANGES_REQUESTED.
        """
        standing = DecisionStore(root.path).history(plan.plan_id)
        decision = rejection_of(root.path, plan, standing)
        if decision is None:
            return ()
        return (_rejected(*shown_part(decision, plan, root), plan.plan_id),)

    def use(self, clearance: Clearance, plan_id: str, root: Root, transaction: str, now: float) -> Problems:
        """Use up the approval of `clearance` for `transaction`, before its files are put in place.

        Errors: STALE_DECISION where someone decided since; IO_ERROR.
        """
        if clearance.approved is None or clearance.version is None:
            return ()
        event = PlanUsed(transaction=transaction, at=now)
        outcome = DecisionStore(root.path).add(plan_id, event, clearance.version)
        return decision_problems(outcome)


def rejection_of(root_path: str, plan: Plan, standing: DecisionHistory) -> Decision | None:
    """The decision that keeps `plan` from being committed; None where there is none.

    It is on the plan itself, or on one that it was derived from, or that makes the same edits under another
    title; an approval of the plan itself comes first.
    """
    own = standing.decision
    if own is not None and not own.approves:
        return own
    if standing.is_approved or standing.used_by is not None:
        return None
    store, origins, same = DecisionStore(root_path), Origins(root_path), untitled_id(plan)
    found = {same, *origins.of(plan.plan_id), *(origins.of(same) if same != plan.plan_id else ())}
    decisions = (store.of(origin) for origin in sorted(found - {plan.plan_id}))
    return next((each for each in decisions if each is not None and not each.approves), None)


def decision_problems(outcome: AddOutcome) -> Problems:
    """What is wrong when a decision was not added. Errors: STALE_DECISION, IO_ERROR."""
    if outcome is AddOutcome.STALE:
        return (STALE_DECISION,)
    return (_NOT_STORED,) if outcome is AddOutcome.FAILED else ()


def _required(plan_id: str, standing: DecisionHistory) -> Diagnostic:
    used = standing.used_by
    again = f"; the transaction {used} used its approval" if used is not None else ""
    return Diagnostic(
        code=Code.APPROVAL_REQUIRED,
        message=f"a person has to approve the plan {plan_id} before it is applied{again}",
        hint="ask the user to run `mdplan review` for a review page, or `mdplan review --terminal "
        f"{plan_id[:_SHORT]}` for a review of this plan in a terminal; then apply it again",
    )


def shown_part(decision: Decision, plan: Plan, root: Root) -> tuple[Decision, EditNumbers]:
    """`decision` without what it says of files that `--allow` or `--deny` exclude, and the numbers of edits.

    It can be on another plan than `plan`, which is shown: one with more files.
    """
    numbers = _numbers(decision, plan, root)
    if not root.scope.is_limited:
        return decision, numbers
    shown = replace(
        decision,
        rejected=tuple(each for each in decision.rejected if _is_shown(numbers.place(each)[0], root)),
        edit_comments={
            index: text
            for index, text in decision.edit_comments.items()
            if _is_shown(numbers.place(index)[0], root)
        },
        line_comments=tuple(each for each in decision.line_comments if _is_shown(each.file, root)),
    )
    return shown, numbers


def _is_shown(path: str | None, root: Root) -> bool:
    if path is None:
        return False
    relative = posixpath.normpath(path.removeprefix(f"{root.name}:" if root.name else ""))
    return root.scope.refusal(relative) is None


def _numbers(decision: Decision, plan: Plan, root: Root) -> EditNumbers:
    """How people count the edits that `decision` names: of the plan that was reviewed."""
    reviewed = decision.part_of or decision.plan_id
    if reviewed == plan.plan_id:
        return plan.edit_numbers
    document = PlanStore(root.path).load_plan(reviewed)
    known = None if document is None else read_document(document)
    return known.edit_numbers if isinstance(known, Plan) else EditNumbers()


def _rejected(decision: Decision, numbers: EditNumbers, plan_id: str) -> Diagnostic:
    comments = " ".join(_comments(decision, numbers))
    code = Code.PLAN_REJECTED
    if decision.requests_changes:
        code = Code.CHANGES_REQUESTED
        message = f"{decision.decided_by} requested changes to the plan {decision.plan_id}"
        hint = f'plan the revised edits with `"revises": "{decision.plan_id[:_SHORT]}"`: md_validate'
    elif decision.is_rejection or decision.approved_plan_id is None:
        message = f"{decision.decided_by} rejected the plan {decision.plan_id}"
        hint = "plan again with that in mind" if comments else "ask why, before you plan again"
    else:
        message = (
            f"{decision.decided_by} approved the plan {decision.plan_id} without "
            f"{numbers.listed(decision.rejected) or 'some of its edits'}"
        )
        hint = f'apply what was approved: md_apply {{"planId": "{decision.approved_plan_id}"}}'
    if decision.plan_id != plan_id:
        message += f", from which the plan {plan_id} was derived"
    return Diagnostic(
        code=code,
        message=f"{message}: {comments}" if comments else message,
        hint=hint,
    )


def _comments(decision: Decision, numbers: EditNumbers) -> Iterator[str]:
    """The comments, each on one line."""
    if decision.comment:
        yield f'"{_line(decision.comment)}"'
    whole = f" in the plan {decision.part_of[:_SHORT]}" if decision.part_of else ""
    for index, comment in sorted(decision.edit_comments.items()):
        if comment:
            yield f'on {numbers.named(index)}{whole}: "{_line(comment)}"'
    shown = decision.line_comments[:_MOST_LINE_COMMENTS]
    yield from (f'on {place_of(each)}: "{_line(each.text)}"' for each in shown)
    if len(shown) < len(decision.line_comments):
        yield f"and {len(decision.line_comments) - len(shown)} more comments on lines"


def place_of(comment: LineComment) -> str:
    """The lines that `comment` is on, in words: ``guide.md lines 3-5``, of the text after the plan."""
    lines = (
        f"line {comment.start}" if comment.start == comment.end else f"lines {comment.start}-{comment.end}"
    )
    return f"{comment.file} {lines}{' before the plan' if comment.side is Side.BEFORE else ''}"


def _line(comment: str) -> str:
    return " ".join(comment.split())


STALE_DECISION: Final = Diagnostic(
    code=Code.STALE_DECISION,
    message="somebody decided about this plan since you looked at it, or its approval was used; "
    "your decision was not recorded",
    hint="reload the plan, and decide again",
)
_NOT_STORED: Final = Diagnostic(
    code=Code.IO_ERROR,
    message="the decision cannot be stored: the user's state directory cannot be written, or not safely",
    hint="make it a folder of your own with mode 0700, or set MDPLAN_STATE_DIR; then run `mdplan doctor`",
)
