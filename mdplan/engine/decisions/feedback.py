"""Feedback for the authors of plans: comments by edit, and the diff to a revised plan."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine.decisions.approval import rejection_of, shown_part
from mdplan.engine.history.past_transactions import History
from mdplan.engine.plans.plan_library import PlanCache, PlanLibrary
from mdplan.plan import Plan
from mdplan.reports.base import refusal
from mdplan.storage.fs.root import Root
from mdplan.storage.user.decision_log import Decision, DecisionStore, Side
from mdplan.storage.user.origins import Revisions
from mdplan.storage.workspace import Workspace

# Few plans were reviewed: the comparison and the reports are loaded for these.
if TYPE_CHECKING:
    from mdplan.engine.plans.comparison import ComparedResults, PlanComparer
    from mdplan.reports.history import HistoryReport
    from mdplan.reports.plan import ReviewComment, ReviewReport

# Decisions that are looked through for the one that a plan was made in answer to: the last ones.
_MOST_DECISIONS: Final = 10


@dataclass(frozen=True, slots=True)
class Feedback:
    """Decisions on plans of `library`, told to the program that `client` names."""

    library: PlanLibrary
    plans: PlanCache
    comparer: "Callable[[], PlanComparer]"
    past: History
    client: Callable[[], Client]

    def revise(self, plan: Plan, root: Root, revises: str | None) -> Problems:
        """Record that `plan` was made in place of the plan `revises`.

        Where none is given, it is the one of the same client and files that a person commented last, unless a
        plan was committed in its place already. Errors: those of loading the plan.
        """
        if revises is not None:
            loaded = self.library.load(revises)
            if isinstance(loaded, Diagnostic):
                return (loaded,)
            old: str | None = loaded[0].plan_id
        else:
            found = (
                (decision, other)
                for decision, other in self._open_requests(root)
                if _are_same_files(plan, other)
            )
            old = next((other.plan_id for _, other in found), None)
        if old is not None and old != plan.plan_id:
            Revisions(root.path).add(plan.plan_id, old)
        return ()

    def of(self, plan: Plan, root: Root) -> "ReviewReport | None":
        """What people said of `plan`; else of the plan in whose place it was made, and what differs."""
        standing = DecisionStore(root.path).history(plan.plan_id)
        decision = rejection_of(root.path, plan, standing) or standing.decision
        if decision is not None:
            return self._report(decision, plan, root)
        return self.earlier(plan, root)

    def earlier(self, plan: Plan, root: Root) -> "ReviewReport | None":
        """What people said of the plan in whose place `plan` was made, and what differs."""
        old_id = Revisions(root.path).last_of(plan.plan_id)
        loaded = self.plans.load(old_id) if old_id is not None else None
        if loaded is None or isinstance(loaded, Diagnostic):
            return None
        from mdplan.engine.plans.comparison import ComparedResults
        from mdplan.reports.plan import ReviewReport

        old = loaded[0]
        compared = self.comparer().compare(plan, old)
        decision = DecisionStore(root.path).of(old.plan_id)
        report = (
            self._report(decision, old, root) if decision is not None else ReviewReport(plan_id=old.plan_id)
        )
        if not isinstance(compared, ComparedResults):
            return report
        comments = tuple(_dated(comment, compared) for comment in report.comments)
        return replace(report, comments=comments, comparison=compared.comparison)

    def pending(self, root: Root) -> "Iterator[ReviewReport]":
        """What people said of plans of this client, and nothing was made in their place yet."""
        revisions = Revisions(root.path)
        for decision, plan in self._open_requests(root):
            if not revisions.derived_from(plan.plan_id):
                yield self._report(decision, plan, root)

    def _open_requests(self, root: Root) -> Iterator[tuple[Decision, Plan]]:
        """Plans of this client that a person rejected or asked changes to, the last first."""
        client, revisions = self.client(), Revisions(root.path)
        for decision in DecisionStore(root.path).all(_MOST_DECISIONS):
            if not decision.is_rejection:
                continue
            made_by = self.library.client_of(decision.plan_id, root)
            if made_by is None or made_by.name != client.name:
                continue
            if any(map(self._is_committed, revisions.derived_from(decision.plan_id))):
                continue
            loaded = self.plans.load(decision.plan_id)
            if not isinstance(loaded, Diagnostic):
                yield decision, loaded[0]

    def _is_committed(self, plan_id: str) -> bool:
        return self.past.of_plan(plan_id) is not None

    def _report(self, decision: Decision, plan: Plan, root: Root) -> "ReviewReport":
        from mdplan.reports.plan import ReviewComment, ReviewReport

        decision, numbers = shown_part(decision, plan, root)
        on_edits = [
            ReviewComment(text=text, edit_index=index, edit=numbers.named(index))
            for index, text in decision.edit_comments.items()
            if text
        ]
        on_lines = [
            ReviewComment(
                text=each.text,
                edit_index=each.edit_index,
                edit=numbers.named(each.edit_index) if each.edit_index is not None else None,
                file=each.file,
                side=each.side.value,
                start_line=each.start,
                end_line=each.end,
                quote=each.quote,
            )
            for each in decision.line_comments
        ]
        return ReviewReport(
            plan_id=decision.plan_id,
            verdict=decision.verdict.value,
            decided_by=decision.decided_by,
            decided_at=decision.decided_at,
            channel=decision.channel.value,
            comment=decision.comment or None,
            comments=tuple(sorted((*on_edits, *on_lines), key=_in_order)),
        )


def reviews_report(feedback: Feedback, workspace: Workspace, plan_id: str | None) -> "HistoryReport":
    """The reviews of one plan, or of those that wait for their author. Errors: of loading the plan."""
    from mdplan.reports.history import HistoryReport
    from mdplan.reports.plan import ReviewReport

    if plan_id is None:
        found = tuple(review for root in workspace.roots for review in feedback.pending(root))
        return HistoryReport(ok=True, reviews=found)
    loaded = feedback.library.load(plan_id)
    if isinstance(loaded, Diagnostic):
        return refusal(HistoryReport, (loaded,))
    review = feedback.of(*loaded)
    return HistoryReport(ok=True, reviews=(review or ReviewReport(plan_id=loaded[0].plan_id),))


def _in_order(comment: "ReviewComment") -> tuple[bool, int, str, int]:
    index = comment.edit_index
    return index is None, index or 0, comment.file or "", comment.start_line or 0


def _dated(comment: "ReviewComment", compared: "ComparedResults") -> "ReviewComment":
    """`comment`, marked where its lines are others now."""
    if comment.file is None or comment.side != Side.AFTER or comment.start_line is None:
        return comment
    lines = range(comment.start_line, (comment.end_line or comment.start_line) + 1)
    changed = compared.changed_lines.get(comment.file, frozenset())
    return replace(comment, outdated=not changed.isdisjoint(lines) or None)


def _are_same_files(one: Plan, other: Plan) -> bool:
    """Whether the files of one plan are among those of the other."""
    left, right = ({change.path for change in plan.files} for plan in (one, other))
    return left <= right or right <= left
