"""What the templates show, as values: the list of plans, a plan, a file of its own, a touched section."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.client import Client
from mdplan.diagnostics import Problems
from mdplan.engine.open_plan import OpenPlan, ReviewEntry, ReviewState
from mdplan.engine.reviews import ReviewService
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.inline.safe_html import safe_html
from mdplan.review.plan_review import PlanReview, ReviewedEdit, ReviewedFile, SectionSide, TouchedSection
from mdplan.storage.user.decisions import Decision
from mdplan.text.document_format import DocumentFormat
from mdplan.web.diff_rows import DiffOptions
from mdplan.web.file_view import FileView, FileViews
from mdplan.web.labels import shown, title_of
from mdplan.web.paging import (
    LINES_OF_A_FILE,
    LINES_OF_A_PAGE,
    Page,
    page_of_files,
    page_of_slices,
)
from mdplan.web.sessions import Mark, ReviewSession, verdicts_key

PLANS_OF_A_PAGE: Final = 20
_MOST_WARNINGS: Final = 50
_MOST_IDLE_EDITS: Final = 100
# What is rendered is a help for the eye; past this it takes long and no one looks.
_MOST_RENDERED: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlan:
    """A plan in the list."""

    entry: ReviewEntry
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPage:
    """A page of a plan. `page` numbers the files; `idle` are edits that change no file of it.

    `can_decide` is false once the plan is applied, or has nothing that could be approved.
    """

    opened: OpenPlan
    title: str
    options: DiffOptions
    page: Page[ReviewedFile]
    views: tuple[FileView, ...]
    warnings: Problems
    more_warnings: int
    idle: tuple[ReviewedEdit, ...]
    marks: dict[int, Mark]
    accepted: int
    only_file: bool = False

    @property
    def review(self) -> PlanReview:
        """The plan in short."""
        return self.opened.review

    @property
    def summary(self) -> str:
        """What the plan does, in a line, whatever its title says."""
        return plan_summary(self.review)

    @property
    def description(self) -> str:
        """What the author says of the plan; empty where they say nothing."""
        return self.review.intent.description

    @property
    def client(self) -> Client | None:
        """The program that made the plan, as far as it is known."""
        return self.opened.client

    @property
    def state(self) -> ReviewState:
        """Where the plan stands."""
        return self.opened.state

    @property
    def decision(self) -> Decision | None:
        """The decision in force: on the plan, or on one that it was derived from."""
        return self.opened.decision

    @property
    def version(self) -> str:
        """The version of the decisions that the page shows, which the form that decides names."""
        return self.opened.decisions.version

    @property
    def used_by(self) -> str | None:
        """The transaction that used the approval."""
        return self.opened.decisions.used_by

    @property
    def must_override(self) -> bool:
        """Whether an approval has to override a rejection of this plan."""
        return self.opened.decisions.is_rejected

    @property
    def verdicts(self) -> str:
        """What is rejected here, as the form that decides says it."""
        return verdicts_key(self.marks)

    @property
    def is_whole(self) -> bool:
        """Whether it is accepted or rejected whole, as the plan of an undo is."""
        return self.review.undoes is not None

    @property
    def can_approve(self) -> bool:
        """Whether an approval could lead to a commit."""
        return self.state not in {ReviewState.APPLIED, ReviewState.STALE}

    @property
    def can_reject(self) -> bool:
        """Whether a rejection would say something new."""
        return self.state is not ReviewState.APPLIED

    @property
    def can_apply(self) -> bool:
        """Whether it was approved, whole or in part, and is not applied."""
        return self.state is ReviewState.APPROVED


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSide:
    """A section before or after. `html` is safe; None where it is too deep, then `text` stands in."""

    path: tuple[str, ...]
    html: str | None
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPage:
    """The section that an edit touches, rendered. `problems` say why it cannot be shown."""

    edit: ReviewedEdit
    number: str
    file: ReviewedFile
    before: RenderedSide | None
    after: RenderedSide | None
    problems: Problems


def listed_plans(reviewing: ReviewService, number: int) -> Page[ListedPlan]:
    """The plans of page `number`, those that wait before the others, and then the newest first."""
    n_stored = len(reviewing.engine.library.pending())
    places = page_of_slices(range(n_stored), PLANS_OF_A_PAGE, number)
    entries = reviewing.entries(PLANS_OF_A_PAGE, (places.number - 1) * PLANS_OF_A_PAGE)
    entries.sort(key=lambda entry: entry.state is not ReviewState.PENDING)
    plans = [ListedPlan(entry=entry, title=plan_title(entry.review)) for entry in entries]
    return Page(plans, places.number, places.count)


def plan_page(opened: OpenPlan, session: ReviewSession, options: DiffOptions, number: int) -> PlanPage:
    """Page `number` of the files of a plan."""
    page = page_of_files(opened.review.changed_files, number)
    return _page(opened, session, options, page, [(file, 0, LINES_OF_A_FILE) for file in page.items])


def file_page(
    opened: OpenPlan, session: ReviewSession, options: DiffOptions, index: int, number: int
) -> PlanPage:
    """Page `number` of the lines of the file at `index` of a plan."""
    file = opened.review.files[index]
    shown = _page(
        opened,
        session,
        options,
        Page((file,), 1, 1),
        [(file, (number - 1) * LINES_OF_A_PAGE, LINES_OF_A_PAGE)],
    )
    return _with_pages_of_lines(shown, file, number)


def plan_title(review: PlanReview) -> str:
    """What a plan is for, as its author says, else what it does, in a line."""
    if review.intent.title:
        return shown(review.intent.title)
    return plan_summary(review)


def plan_summary(review: PlanReview) -> str:
    """What a plan does, in a line."""
    paths = [file.path for file in review.changed_files] or [file.path for file in review.files]
    title = title_of(len(review.edits), paths)
    return f"Undo of {title}" if review.undoes is not None else title


def marks_of(opened: OpenPlan, session: ReviewSession) -> dict[int, Mark]:
    """What the reader marked so far; before the first mark, what was decided before."""
    decision = opened.decision
    if opened.plan.plan_id in session.marks or decision is None:
        return session.marks.get(opened.plan.plan_id, {})
    marked = {*decision.rejected, *decision.edit_comments}
    return {
        index: Mark(index in decision.rejected, decision.edit_comments.get(index, "")) for index in marked
    }


def section_page(opened: OpenPlan, edit: ReviewedEdit, file: ReviewedFile) -> SectionPage:
    """The section that `edit` touches in `file`."""
    found = opened.section(edit.index, file.index)
    touched = found if isinstance(found, TouchedSection) else TouchedSection(before=None, after=None)
    return SectionPage(
        edit=edit,
        number=opened.review.numbers.number(edit.index, within=file.path),
        file=file,
        before=_rendered(opened, file, touched.before),
        after=_rendered(opened, file, touched.after),
        problems=found if isinstance(found, tuple) else (),
    )


def _rendered(opened: OpenPlan, file: ReviewedFile, side: SectionSide | None) -> RenderedSide | None:
    if side is None:
        return None
    text = side.text[:_MOST_RENDERED]
    given = opened.plan.files[file.index].format
    is_markdown = document_format(file.path, text, given) is DocumentFormat.MARKDOWN
    return RenderedSide(
        path=side.path,
        html=safe_html(text) if is_markdown else None,
        text=text,
        is_cut=len(text) < len(side.text),
    )


def _page(
    opened: OpenPlan,
    session: ReviewSession,
    options: DiffOptions,
    page: Page[ReviewedFile],
    parts: Sequence[tuple[ReviewedFile, int, int]],
) -> PlanPage:
    review = opened.review
    marks = marks_of(opened, session)
    views = FileViews(opened, marks, options)
    changed = {file.index for file in review.changed_files}
    idle = [edit for edit in review.edits if changed.isdisjoint(edit.files)] if page.number == 1 else []
    rejected = Counter(marks.get(edit.index, Mark()).is_rejected for edit in review.edits)[True]
    return PlanPage(
        opened=opened,
        title=plan_title(review),
        options=options,
        page=page,
        views=tuple(views.of(file, first, size) for file, first, size in parts),
        warnings=review.warnings[:_MOST_WARNINGS],
        more_warnings=max(0, len(review.warnings) - _MOST_WARNINGS),
        idle=tuple(idle[:_MOST_IDLE_EDITS]),
        marks=marks,
        accepted=len(review.edits) - rejected,
    )


def _with_pages_of_lines(shown: PlanPage, file: ReviewedFile, number: int) -> PlanPage:
    count = shown.views[0].pages
    return replace(shown, page=Page((file,), min(number, count), count), only_file=True)
