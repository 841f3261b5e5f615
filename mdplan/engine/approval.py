"""Commits of approved plans alone: the approval that an engine asks, and what callers are told of it."""

from collections.abc import Iterator
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.plan import PREFIX, Plan
from mdplan.reports.plan import Approved
from mdplan.storage.fs.root import Root
from mdplan.storage.user.decisions import Decision, DecisionStore, Verdict

# Enough of a plan ID to name it on a command line.
_SHORT: Final = len(PREFIX) + 16


def approved_only(plan: Plan, root: Root) -> Problems | Approved:
    """The approval of `plan` in the user's state directory, for `Engine.open(…, approval=approved_only)`.

    Errors: APPROVAL_REQUIRED where nobody decided yet; PLAN_REJECTED, with the comment of who did, also for
    a plan of which only a part was approved: that part is a plan of its own, which the message names.

    >>> strict = Engine.open(["."], approval=approved_only)
    >>> batch = {"file": "guide.md", "edits": [{"op": "set_front_matter", "key": "status", "value": "done"}]}
    >>> strict.apply({"planId": strict.plan(batch).plan_id}).error.code.value
    'APPROVAL_REQUIRED'
    """
    decision = DecisionStore(root.path).of(plan.plan_id)
    if decision is None:
        return (_required(plan.plan_id),)
    if decision.approves:
        return Approved(
            decided_by=decision.decided_by,
            decided_at=decision.decided_at,
            comment=" ".join(_comments(decision)),
        )
    return (_rejected(decision),)


def _required(plan_id: str) -> Diagnostic:
    return Diagnostic(
        code=Code.APPROVAL_REQUIRED,
        message=f"a person has to approve the plan {plan_id} before it is applied",
        hint="ask for it: `mdplan review` shows the plans that wait on a page, "
        f"`mdplan review --terminal {plan_id[:_SHORT]}` shows this one in a terminal; then apply it again",
    )


def _rejected(decision: Decision) -> Diagnostic:
    comments = " ".join(_comments(decision))
    if decision.verdict is Verdict.REJECTED or decision.approved_plan_id is None:
        message = f"{decision.decided_by} rejected the plan {decision.plan_id}"
        hint = "plan again with that in mind" if comments else "ask why, before you plan again"
    else:
        edits = "edit" if len(decision.rejected) == 1 else "edits"
        message = (
            f"{decision.decided_by} approved the plan {decision.plan_id} without {edits} "
            f"{', '.join(map(str, decision.rejected))}"
        )
        hint = f'apply what was approved: {{"planId": "{decision.approved_plan_id}"}}'
    return Diagnostic(
        code=Code.PLAN_REJECTED,
        message=f"{message}: {comments}" if comments else message,
        hint=hint,
    )


def _comments(decision: Decision) -> Iterator[str]:
    """What was said, on one line each."""
    if decision.comment:
        yield f'"{_line(decision.comment)}"'
    whole = f" of the plan {decision.part_of[:_SHORT]}" if decision.part_of else ""
    for index, comment in sorted(decision.edit_comments.items()):
        if comment:
            yield f'on edit {index}{whole}: "{_line(comment)}"'


def _line(comment: str) -> str:
    return " ".join(comment.split())
