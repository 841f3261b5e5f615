"""Approval of plans: the gate before every commit, and what people said for the authors of plans."""

import os
import posixpath
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from mdplan.client import Client
from mdplan.decisions import AddOutcome, Decision, DecisionHistory, LineComment, PlanUsed, Side
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.workspace import Workspace
from mdplan.engine.history import History, OnPending, ignore_pending
from mdplan.engine.plans import PlanCache, PlanLibrary
from mdplan.plan import PREFIX, EditNumbers, Plan
from mdplan.planning.plan_document import read_document, untitled_id
from mdplan.reports.base import refusal
from mdplan.reports.plan import Approved, ReviewComment, ReviewReport
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.plans import DecisionStore, PlanLinks, PlanStore
from mdplan.storage.root import Root
from mdplan.text.visible import counted
from mdplan.values import Struct, replace
from mdplan.words import Argument, Command, Step, say

# Few plans were reviewed: the comparison and the reports are loaded for these.
if TYPE_CHECKING:
    from mdplan.engine.comparison import ComparedResults, PlanComparer
    from mdplan.reports.history import HistoryReport


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


class Clearance(Struct, kw_only=True):
    """Permission to commit a plan now.

    `approved` is the approval that the commit uses up, or None if the plan needs none. `version` is the
    version of the decisions that the gate saw, or None if the approval is not a stored decision.
    """

    approved: Approved | None
    version: str | None


class ApprovalGate(Struct, kw_only=True):
    """Decides for every commit, also of an undo, whether its plan may be committed.

    A rejection always refuses, and so does a request for changes. With `is_required` only approved plans
    pass. `own_check` is a further check of the program that uses the engine. `on_pending` is called with
    plans that need an approval.
    """

    is_required: bool
    own_check: Approval = no_approval
    on_pending: OnPending = ignore_pending

    @classmethod
    def of(cls, *, required: bool, own_check: Approval, on_pending: OnPending) -> "ApprovalGate":
        """Return the gate of an engine opened with `required`, in the environment of this process."""
        variable = os.environ.get(REQUIRE_APPROVAL_VARIABLE, "")
        is_required = required or variable.strip().lower() not in _OFF
        return cls(is_required=is_required, own_check=own_check, on_pending=on_pending)

    def check(self, plan: Plan, root: Root) -> Clearance | Problems:
        """Clear `plan` for a commit under the lock of `root`, or return why it must not be committed.

        Errors: as `rejection`; APPROVAL_REQUIRED if the plan needs an approval and has none, or its approval
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
        """Return why a person refused `plan`, or a plan that it was derived from, also in part.

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
    """Return the decision that blocks the commit of `plan`, if any.

    A decision can be on the plan itself, on a plan that it was derived from, or on the same edits under
    another title. An approval of the plan itself takes precedence.
    """
    own = standing.decision
    if own is not None and not own.approves:
        return own
    if standing.is_approved or standing.used_by is not None:
        return None
    store, origins, same = DecisionStore(root_path), PlanLinks(root_path, "derived"), untitled_id(plan)
    related = {same, *origins.of(plan.plan_id), *(origins.of(same) if same != plan.plan_id else ())}
    decisions = map(store.of, sorted(related - {plan.plan_id}))
    return next((decision for decision in decisions if decision is not None and not decision.approves), None)


def decision_problems(outcome: AddOutcome) -> Problems:
    """Return why a decision was not added. Errors: STALE_DECISION, IO_ERROR."""
    if outcome is AddOutcome.STALE:
        return (STALE_DECISION,)
    return (_NOT_STORED,) if outcome is AddOutcome.FAILED else ()


def _required(plan_id: str, standing: DecisionHistory) -> Diagnostic:
    used = standing.used_by
    again = f"; the transaction {used} used its approval" if used is not None else ""
    return Code.APPROVAL_REQUIRED.problem(
        f"a person has to approve the plan {plan_id} before it is applied{again}",
        say(
            "{run review} for a review page, or {} for a review of this plan in a terminal; "
            "then apply it again",
            Command("review", "--terminal", plan_id[:_SHORT]),
        ),
    )


def shown_part(decision: Decision, plan: Plan, root: Root) -> tuple[Decision, EditNumbers]:
    """Return `decision` without files excluded by `--allow` or `--deny`, and the numbers of its edits.

    The decision can be on a plan with more files than `plan`, which is the one on display.
    """
    numbers = _numbers(decision, plan, root)
    if not root.scope.is_limited:
        return decision, numbers
    said = decision.remarks
    on_edits = {
        index: text for index, text in said.edit_comments.items() if _is_shown(numbers.place(index)[0], root)
    }
    on_lines = tuple(comment for comment in said.line_comments if _is_shown(comment.file, root))
    rejected = tuple(index for index in decision.rejected if _is_shown(numbers.place(index)[0], root))
    remarks = replace(said, edit_comments=on_edits, line_comments=on_lines)
    return replace(decision, rejected=rejected, remarks=remarks), numbers


def _is_shown(path: str | None, root: Root) -> bool:
    if path is None:
        return False
    relative = posixpath.normpath(path.removeprefix(f"{root.name}:" if root.name else ""))
    return root.scope.refusal(relative) is None


def _numbers(decision: Decision, plan: Plan, root: Root) -> EditNumbers:
    """Return the numbers of edits in the plan that was reviewed, which `decision` means."""
    reviewed = decision.part_of or decision.plan_id
    if reviewed == plan.plan_id:
        return plan.edit_numbers
    document = PlanStore(root.path).load_plan(reviewed)
    reviewed_plan = None if document is None else read_document(document)
    return reviewed_plan.edit_numbers if isinstance(reviewed_plan, Plan) else EditNumbers()


def _rejected(decision: Decision, numbers: EditNumbers, plan_id: str) -> Diagnostic:
    comments = " ".join(_comments(decision, numbers))
    code = Code.PLAN_REJECTED
    if decision.requests_changes:
        code = Code.CHANGES_REQUESTED
        message = f"{decision.decided_by} requested changes to the plan {decision.plan_id}"
        hint = say(
            "plan the revised edits with {}: {step plan}", Argument("revises", decision.plan_id[:_SHORT])
        )
    elif decision.is_rejection or decision.approved_plan_id is None:
        message = f"{decision.decided_by} rejected the plan {decision.plan_id}"
        hint = "plan again with that in mind" if comments else "ask why, before you plan again"
    else:
        message = (
            f"{decision.decided_by} approved the plan {decision.plan_id} {_differently(decision, numbers)}"
        )
        hint = say("apply what was approved: {}", Step("apply", planId=decision.approved_plan_id))
    if decision.plan_id != plan_id:
        message += f", from which the plan {plan_id} was derived"
    return code.problem(f"{message}: {comments}" if comments else message, hint)


def _differently(decision: Decision, numbers: EditNumbers) -> str:
    """Say what was accepted of a plan otherwise than as planned."""
    without = [numbers.listed(decision.rejected)] if decision.rejected else []
    changed = sum(place.text is not None for place in decision.places)
    rejected = len(decision.places) - changed
    without += [counted(rejected, "place")] if rejected else []
    said = (
        [f"without {' and '.join(filter(None, without)) or 'some of its edits'}"]
        if without or not changed
        else []
    )
    return " and ".join([*said, *([f"with {counted(changed, 'changed text')}"] if changed else [])])


def _comments(decision: Decision, numbers: EditNumbers) -> Iterator[str]:
    """Yield the comments, each on one line."""
    said = decision.remarks
    if said.comment:
        yield f'"{_line(said.comment)}"'
    whole = f" in the plan {decision.part_of[:_SHORT]}" if decision.part_of else ""
    for index, text in sorted(said.edit_comments.items()):
        if text:
            yield f'on {numbers.named(index)}{whole}: "{_line(text)}"'
    shown = said.line_comments[:_MOST_LINE_COMMENTS]
    yield from (f'on {place_of(comment)}: "{_line(comment.text)}"' for comment in shown)
    if len(shown) < len(said.line_comments):
        yield f"and {len(said.line_comments) - len(shown)} more comments on lines"


def place_of(comment: LineComment) -> str:
    """Return the lines of `comment` in words: ``guide.md lines 3-5``, of the text after the plan."""
    lines = (
        f"line {comment.start}" if comment.start == comment.end else f"lines {comment.start}-{comment.end}"
    )
    return f"{comment.file} {lines}{' before the plan' if comment.side is Side.BEFORE else ''}"


def _line(comment: str) -> str:
    return " ".join(comment.split())


STALE_DECISION: Final = Code.STALE_DECISION.problem(
    "somebody decided about this plan since you looked at it, or its approval was used; "
    "your decision was not recorded",
    "reload the plan, and decide again",
)

_NOT_STORED: Final = Code.IO_ERROR.problem(
    "the decision cannot be stored: the user's state directory cannot be written, or not safely",
    say("make it a folder of your own with mode 0700, or set MDPLAN_STATE_DIR; then {run doctor}"),
)


# --- Feedback for the authors of plans.

# A new plan can answer any of this many recent decisions.
_MOST_DECISIONS: Final = 10


class Feedback(Struct):
    """What people decided about plans of `library`, for the program `client` that made the plans."""

    library: PlanLibrary
    plans: PlanCache
    comparer: "Callable[[], PlanComparer]"
    past: History
    client: Callable[[], Client]

    def record_revision(self, plan: Plan, revises: str | None) -> Problems:
        """Record that `plan` replaces the plan `revises`.

        Without `revises`, it replaces the plan of the same client and files that a person commented on last,
        unless another plan was already committed in its place. Errors: as for loading a plan.
        """
        root = self.library.root_of(plan)
        if revises is not None:
            loaded = self.library.load(revises)
            if isinstance(loaded, Diagnostic):
                return (loaded,)
            old: str | None = loaded[0].plan_id
        else:
            open_requests = (other for _, other in self._open_requests(root))
            old = next((other.plan_id for other in open_requests if _are_same_files(plan, other)), None)
        if old is not None:
            PlanLinks(root.path, "revises").add(plan.plan_id, old)
        return ()

    def of(self, plan: Plan, root: Root) -> ReviewReport | None:
        """Return what people said of `plan`, else of the plan that it replaces, and how they differ."""
        standing = DecisionStore(root.path).history(plan.plan_id)
        decision = rejection_of(root.path, plan, standing) or standing.decision
        if decision is not None:
            return self._report(decision, plan, root)
        return self.earlier(plan, root)

    def earlier(self, plan: Plan, root: Root) -> ReviewReport | None:
        """Return what people said of the plan that `plan` replaces, and how they differ."""
        old_id = PlanLinks(root.path, "revises").last_of(plan.plan_id)
        loaded = self.plans.load(old_id) if old_id is not None else None
        if loaded is None or isinstance(loaded, Diagnostic):
            return None
        old = loaded[0]
        decision = DecisionStore(root.path).of(old.plan_id)
        report = (
            self._report(decision, old, root) if decision is not None else ReviewReport(plan_id=old.plan_id)
        )
        try:
            compared = self.comparer().compare(plan, old)
        except StorageRefused:
            return report
        comments = tuple(_dated(comment, compared) for comment in report.comments)
        return replace(report, comments=comments, comparison=compared.comparison)

    def pending(self, root: Root) -> Iterator[ReviewReport]:
        """Yield what people said of plans of this client that no plan replaces yet."""
        revisions = PlanLinks(root.path, "revises")
        for decision, plan in self._open_requests(root):
            if not revisions.derived_from(plan.plan_id):
                yield self._report(decision, plan, root)

    def _open_requests(self, root: Root) -> Iterator[tuple[Decision, Plan]]:
        """Yield the plans of this client that a person rejected or wants changed, the last one first."""
        client, revisions = self.client(), PlanLinks(root.path, "revises")
        for decision in DecisionStore(root.path).all(_MOST_DECISIONS):
            if not decision.is_rejection:
                continue
            made_by = self.library.client_of(decision.plan_id, root)
            if made_by is None or made_by.name != client.name:
                continue
            if any(map(self.past.of_plan, revisions.derived_from(decision.plan_id))):
                continue
            loaded = self.plans.load(decision.plan_id)
            if not isinstance(loaded, Diagnostic):
                yield decision, loaded[0]

    def _report(self, decision: Decision, plan: Plan, root: Root) -> ReviewReport:
        decision, numbers = shown_part(decision, plan, root)
        on_edits = [
            ReviewComment(text=text, edit_index=index, edit=numbers.named(index))
            for index, text in decision.remarks.edit_comments.items()
            if text
        ]
        on_lines = [
            ReviewComment(
                text=comment.text,
                edit_index=comment.edit_index,
                edit=numbers.named(comment.edit_index) if comment.edit_index is not None else None,
                file=comment.file,
                side=comment.side.value,
                start_line=comment.start,
                end_line=comment.end,
                quote=comment.quote,
            )
            for comment in decision.remarks.line_comments
        ]
        return ReviewReport(
            plan_id=decision.plan_id,
            verdict=decision.verdict.value,
            decided_by=decision.decided_by,
            decided_at=decision.decided_at,
            channel=decision.channel.value,
            comment=decision.remarks.comment or None,
            comments=tuple(sorted((*on_edits, *on_lines), key=_in_order)),
        )


def reviews_report(feedback: Feedback, workspace: Workspace, plan_id: str | None) -> "HistoryReport":
    """Return the reviews of one plan, or of all that wait for their author. Errors: of loading the plan."""
    from mdplan.reports.history import HistoryReport

    if plan_id is None:
        pending = (review for root in workspace.roots for review in feedback.pending(root))
        return HistoryReport(ok=True, reviews=tuple(pending))
    loaded = feedback.library.load(plan_id)
    if isinstance(loaded, Diagnostic):
        return refusal(HistoryReport, (loaded,))
    review = feedback.of(*loaded)
    return HistoryReport(ok=True, reviews=(review or ReviewReport(plan_id=loaded[0].plan_id),))


def _in_order(comment: ReviewComment) -> tuple[bool, int, str, int]:
    index = comment.edit_index
    return index is None, index or 0, comment.file or "", comment.start_line or 0


def _dated(comment: ReviewComment, compared: "ComparedResults") -> ReviewComment:
    """Return `comment`, marked where its lines are others now."""
    if comment.file is None or comment.side != Side.AFTER or comment.start_line is None:
        return comment
    lines = range(comment.start_line, (comment.end_line or comment.start_line) + 1)
    changed = compared.changed_lines.get(comment.file, frozenset())
    return replace(comment, outdated=not changed.isdisjoint(lines) or None)


def _are_same_files(one: Plan, other: Plan) -> bool:
    """Return True if one plan covers all files of the other."""
    paths, other_paths = ({change.path for change in plan.files} for plan in (one, other))
    return paths <= other_paths or other_paths <= paths
