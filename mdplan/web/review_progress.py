"""How far a review is: what was viewed, accepted, rejected and commented, as numbers and in words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mdplan.engine.reviews import OpenPlan, ReviewState
from mdplan.storage.decisions import Verdict
from mdplan.web.labels import counted
from mdplan.web.sessions import EditChoice, Mark, PlanNotes, ReviewSession


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewProgress:
    """Numbers of edits, files and comments. `unviewed` are the positions of the files that nobody viewed."""

    edits: int
    accepted: int
    rejected: int
    files: int
    unviewed: Sequence[int]
    comments: int

    @property
    def undecided(self) -> int:
        """Edits that are neither accepted nor rejected."""
        return self.edits - self.accepted - self.rejected

    @property
    def viewed(self) -> int:
        """Files that somebody viewed."""
        return self.files - len(self.unviewed)

    @property
    def viewed_words(self) -> str:
        """``1 of 32 viewed``."""
        return f"{self.viewed:,} of {self.files:,} viewed"

    @property
    def edits_words(self) -> str:
        """``2 of 3 edits accepted, 1 rejected``."""
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        return f"{self.accepted:,} of {counted(self.edits, 'edit')} accepted{rejected}"

    @property
    def comments_words(self) -> str:
        """``2 comments``; empty without one."""
        return counted(self.comments, "comment") if self.comments else ""

    @property
    def undecided_words(self) -> str:
        """What an approval does to edits that nobody marked; empty where there are none."""
        if not self.undecided:
            return ""
        edits = "the edit" if self.edits == 1 else counted(self.undecided, "unmarked edit")
        return f"Approve accepts {edits}."


def notes_of(opened: OpenPlan, session: ReviewSession) -> PlanNotes:
    """What the reader noted so far; edits have the marks of the decision before, until the first new one."""
    notes = session.notes_on(opened.plan.plan_id)
    decision = opened.decision
    if notes.marks is not None or decision is None:
        return notes
    others = EditChoice.ACCEPT if decision.verdict is Verdict.APPROVED else EditChoice.NONE
    marks = {
        edit.index: Mark(
            EditChoice.REJECT if edit.index in decision.rejected else others,
            decision.edit_comments.get(edit.index, ""),
        )
        for edit in opened.review.edits
    }
    return PlanNotes(marks, notes.viewed, notes.comments, notes.version)


def progress_of(opened: OpenPlan, notes: PlanNotes) -> ReviewProgress:
    """How far the review of a plan is."""
    marks = notes.marks or {}
    choices = Counter(marks.get(edit.index, Mark()).choice for edit in opened.review.edits)
    files = opened.review.changed_files
    return ReviewProgress(
        edits=len(opened.review.edits),
        accepted=choices[EditChoice.ACCEPT],
        rejected=choices[EditChoice.REJECT],
        files=len(files),
        unviewed=[file.index for file in files if file.index not in notes.viewed],
        comments=len(notes.comments) + sum(bool(mark.comment) for mark in marks.values()),
    )


def can_approve(opened: OpenPlan) -> bool:
    """Whether an approval could lead to a commit."""
    return opened.state not in {ReviewState.APPLIED, ReviewState.STALE}
