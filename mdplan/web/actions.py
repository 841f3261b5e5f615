"""The actions of the review page, independent of HTTP."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine.plans import PlanRef
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService, placed_comments
from mdplan.review.plan_review import ReviewedFile
from mdplan.storage.decisions import (
    MOST_COMMENT_CHARACTERS,
    Channel,
    Decision,
    DecisionStore,
    LineComment,
    Verdict,
)
from mdplan.web.labels import counted, short
from mdplan.web.review_progress import notes_of, progress_of
from mdplan.web.sessions import FlashMessage, Mark, ReviewSession, verdicts_key

# The verbs of the form with which a plan is decided.
APPROVE: Final = "approve"
APPROVE_AND_APPLY: Final = "apply"
REQUEST_CHANGES: Final = "changes"
REJECT: Final = "reject"
_APPROVALS: Final = frozenset({APPROVE, APPROVE_AND_APPLY})
_ONE_LINE_END: Final = str.maketrans({"\r": ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionForm:
    """A form that decides on a plan. `verdicts` and `version` are what the page showed.

    `overrides` says that the reader ticked the box that overrides a rejection. `unviewed` are the files that
    the reader was asked about, and approves without a look at them.
    """

    verb: str
    comment: str
    verdicts: str
    version: str
    overrides: bool
    unviewed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ReviewActions:
    """Decisions over `reviewing`; `user` gives the name of who decides."""

    reviewing: ReviewService
    user: Callable[[], str]

    def mark(self, session: ReviewSession, opened: OpenPlan, index: int, mark: Mark) -> None:
        """Note what the reader thinks of the edit `index`; nothing is decided yet."""
        notes = session.notes_on(opened.plan.plan_id)
        notes.marks = dict(notes_of(opened, session).marks or {})
        notes.marks[index] = Mark(mark.choice, _comment(mark.comment))
        notes.version += 1

    def view(self, session: ReviewSession, opened: OpenPlan, file: int, *, is_viewed: bool) -> None:
        """Note that the reader viewed the file at that position, or that it is to be viewed again."""
        notes = session.notes_on(opened.plan.plan_id)
        (notes.viewed.add if is_viewed else notes.viewed.discard)(file)
        notes.version += 1

    def comment(self, session: ReviewSession, opened: OpenPlan, comment: LineComment) -> int | Problems:
        """Note a comment on lines, which is sent with the decision; its number.

        Errors: INVALID_ARGUMENT.
        """
        text = _comment(comment.text)
        if len(text) > MOST_COMMENT_CHARACTERS:
            problem = f"a comment is longer than {MOST_COMMENT_CHARACTERS} characters"
            return (Diagnostic.invalid(problem, "say it shorter"),)
        notes = session.notes_on(opened.plan.plan_id)
        comment = replace(comment, text=text)
        placed = placed_comments(opened, (*notes.comments.values(), comment))
        if isinstance(placed, Diagnostic):
            return (placed,)
        notes.version += 1
        return notes.add_comment(placed[-1])

    def remove_comment(self, session: ReviewSession, opened: OpenPlan, number: int) -> None:
        """Forget a comment that was not sent yet."""
        notes = session.notes_on(opened.plan.plan_id)
        notes.comments.pop(number, None)
        notes.version += 1

    def unviewed(self, session: ReviewSession, opened: OpenPlan, form: DecisionForm) -> list[ReviewedFile]:
        """The files that `form` approves, which nobody viewed and about which the reader was not asked."""
        if form.verb not in _APPROVALS:
            return []
        unviewed = progress_of(opened, notes_of(opened, session)).unviewed
        asked = form.unviewed.issuperset(unviewed)
        return [] if asked else [opened.review.files[index] for index in unviewed]

    def decide(self, session: ReviewSession, opened: OpenPlan, form: DecisionForm) -> str:
        """Decide on a plan as `form` says, by the marks of the session; the ID of the plan to show next.

        Nothing is decided where other edits are rejected than the page showed, or someone else decided.
        """
        plan_id = opened.plan.plan_id
        marks = notes_of(opened, session).marks or {}
        if form.verb in _APPROVALS and form.verdicts != verdicts_key(marks):
            session.notices[plan_id] = FlashMessage(
                "Your decision was not saved: your choices have changed since the page was loaded."
            )
            return plan_id
        feedback: dict[str, Any] = {
            "comment": _comment(form.comment),
            "edit_comments": {index: mark.comment for index, mark in marks.items() if mark.comment},
            "line_comments": tuple(session.notes_on(plan_id).comments.values()),
            "terms": DecisionTerms(saw=form.version, channel=Channel.PAGE, overrides=form.overrides),
        }
        rejected = frozenset(index for index, mark in marks.items() if mark.is_rejected)
        decided = self._decided(plan_id, form, feedback, rejected)
        if not isinstance(decided, Decision):
            session.notices[plan_id] = FlashMessage("Your decision was not saved.", decided)
            return plan_id
        notes = session.notes_on(plan_id)
        notes.marks, notes.comments = None, {}
        notes.version += 1
        if form.verb == APPROVE_AND_APPLY and decided.approved_plan_id is not None:
            self.apply(session, plan_id, decided.approved_plan_id)
        else:
            session.notices[plan_id] = FlashMessage(_outcome(decided, len(opened.review.edits)))
        return plan_id

    def _decided(
        self, plan_id: str, form: DecisionForm, feedback: dict[str, Any], rejected: frozenset[int]
    ) -> Decision | Problems:
        """The decision of `form`, with what the reader `said`."""
        if form.verb == REJECT:
            return self.reviewing.reject(plan_id, self.user(), **feedback)
        if form.verb == REQUEST_CHANGES:
            return self.reviewing.request_changes(plan_id, self.user(), **feedback)
        return self.reviewing.approve(plan_id, self.user(), rejected=rejected, **feedback)

    def apply(self, session: ReviewSession, plan_id: str, approved_plan_id: str) -> None:
        """Commit what was approved of the plan `plan_id`."""
        report = self.reviewing.engine.apply(PlanRef(plan_id=approved_plan_id))
        if not report.ok:
            session.notices[plan_id] = FlashMessage(
                "The plan was not applied; no file was changed.", report.diagnostics
            )
        elif report.already_applied:
            session.notices[plan_id] = FlashMessage("The plan was already applied.")
        else:
            n_files = sum(file.changed for file in report.files)
            session.notices[plan_id] = FlashMessage(f"Applied: {counted(n_files, 'file')} written.")

    def replan(self, session: ReviewSession, plan_id: str) -> str:
        """Plan the edits again on the files as they are; the ID of the plan to look at next."""
        report = self.reviewing.engine.replan(plan_id)
        if not report.ok or report.plan_id is None:
            session.notices[plan_id] = FlashMessage(
                "The edits do not fit the current files. Ask for a new plan.", report.diagnostics
            )
            return plan_id
        session.notices[report.plan_id] = FlashMessage(
            "Planned again on the current files: the same edits, in a new plan."
        )
        return report.plan_id

    def review_changes(self) -> str:
        """A text that changes when a plan comes, or a decision on one; cheap enough to be asked for often."""
        engine = self.reviewing.engine
        stored = [f"{plan.plan_id} {plan.saved_at}" for plan, _ in engine.library.pending()]
        decided = [str(DecisionStore(root.path).changed_at()) for root in engine.workspace.roots]
        last = engine.past.last()
        committed = last.id if last is not None and not isinstance(last, Diagnostic) else ""
        return "\n".join((*stored, *decided, committed))


def no_such_edit() -> Problems:
    """For an edit that the plan does not have."""
    return (Diagnostic.invalid("the plan has no edit of that number", "go back to the plan and choose one"),)


def _outcome(decision: Decision, n_edits: int) -> str:
    if decision.verdict is Verdict.REJECTED:
        return "Plan rejected. Its author will see your comments."
    if decision.requests_changes:
        return "Changes requested. The author will see your comments, and can plan again."
    if decision.rejected:
        part = short(decision.approved_plan_id or "")
        accepted = n_edits - len(decision.rejected)
        return f"Approved {accepted} of {counted(n_edits, 'edit')} (plan {part})."
    return "Approved. It can be applied now."


def _comment(text: str) -> str:
    # Browsers send CRLF. What is too long is left to the store to refuse: one more is enough for that.
    return text.translate(_ONE_LINE_END).strip()[: MOST_COMMENT_CHARACTERS + 1]
