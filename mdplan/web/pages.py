"""The values that the templates show: the list of plans, a plan, its files, search results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.client import Client
from mdplan.diagnostics import Problems
from mdplan.engine.reviews import OpenPlan, ReviewEntry, ReviewService, ReviewState
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.html import safe_html
from mdplan.review.plan_review import (
    FoundLine,
    PlanReview,
    ReviewedEdit,
    ReviewedFile,
    SectionSide,
    TouchedSection,
)
from mdplan.storage.decisions import Decision
from mdplan.text.source import DocumentFormat
from mdplan.web.diff.diff_rows import Cell, DiffOptions
from mdplan.web.diff.file_tree import TreeNode, file_tree, in_tree_order
from mdplan.web.diff.file_view import FileView, FileViews
from mdplan.web.diff.rendered_marks import marked_html
from mdplan.web.diff.warning_groups import WarningGroup, warning_groups
from mdplan.web.labels import shown, title_of
from mdplan.web.paging import (
    FILES_OF_A_PAGE,
    LINES_OF_A_FILE,
    LINES_OF_A_PAGE,
    MOST_FILES_OF_AN_ANSWER,
    Page,
    first_files,
    page_of_slices,
)
from mdplan.web.review_progress import ReviewProgress, can_approve, notes_of, progress_of
from mdplan.web.sessions import PlanNotes, ReviewSession, verdicts_key

PLANS_OF_A_PAGE: Final = 20
_MOST_IDLE_EDITS: Final = 100
_MOST_FOUND: Final = 200
_MOST_FOUND_IN_A_FILE: Final = 20
# What is rendered is a help for the eye; past this it takes long and no one looks.
_MOST_RENDERED: Final = 60_000
_ONE_PAGE: Final[Page[int]] = Page((), 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlan:
    """A plan in the list."""

    entry: ReviewEntry
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPage:
    """A page of a plan. `page` numbers the files, in the order of their `tree`.

    `views` are the files that come with the page, by position; the others come when the reader gets to them.
    `notes` and `progress` are what the reader did so far. `idle` are edits that change no file.
    `only_file` is set on the page of one file, whose lines are numbered by `lines_page`.
    """

    opened: OpenPlan
    title: str
    options: DiffOptions
    page: Page[ReviewedFile]
    tree: tuple[TreeNode, ...]
    views: Mapping[int, FileView]
    warnings: tuple[WarningGroup, ...]
    idle: tuple[ReviewedEdit, ...]
    notes: PlanNotes
    progress: ReviewProgress
    only_file: ReviewedFile | None = None
    lines_page: Page[int] = _ONE_PAGE

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
        """Where the plan is."""
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
        return verdicts_key(self.notes.marks or {})

    @property
    def is_whole(self) -> bool:
        """Whether it is accepted or rejected whole, as the plan of an undo is."""
        return self.review.undoes is not None

    @property
    def can_approve(self) -> bool:
        """Whether an approval could lead to a commit."""
        return can_approve(self.opened)

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
    """A section before or after. `html` is safe, with the words marked that only this side has.

    It is None where the text is nested too deep, or is no Markdown; then `text` stands in.
    """

    path: tuple[str, ...]
    html: str | None
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInFile:
    """The search results in one file. `is_path` says that its path contains the text."""

    file: ReviewedFile
    is_path: bool
    lines: tuple[FoundLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The files in which `wanted` was found; `is_cut` says that there is more."""

    wanted: str
    files: tuple[FoundInFile, ...]
    is_cut: bool

    @property
    def n_lines(self) -> int:
        """How many lines have the text."""
        return sum(len(file.lines) for file in self.files)


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
    """A plan, or page `number` of one with very many files."""
    notes = notes_of(opened, session)
    files = in_tree_order(file_tree(opened.review.changed_files))
    page = page_of_slices(files, FILES_OF_A_PAGE, number)
    views = FileViews(opened, notes, options)
    # What was viewed is collapsed.
    shown = [file for file in first_files(page.items) if file.index not in notes.viewed]
    return _page(
        opened, notes, options, page, {file.index: views.of(file, 0, LINES_OF_A_FILE) for file in shown}
    )


def file_page(
    opened: OpenPlan, session: ReviewSession, options: DiffOptions, index: int, number: int
) -> PlanPage:
    """Page `number` of the lines of the file at `index` of a plan."""
    notes, file = notes_of(opened, session), opened.review.files[index]
    view = FileViews(opened, notes, options).of(file, (number - 1) * LINES_OF_A_PAGE, LINES_OF_A_PAGE)
    page: Page[ReviewedFile] = Page((file,), 1, 1)
    lines: Page[int] = Page((), min(number, view.pages), view.pages)
    return replace(_page(opened, notes, options, page, {index: view}), only_file=file, lines_page=lines)


def file_views(
    opened: OpenPlan, session: ReviewSession, options: DiffOptions, indexes: Sequence[int]
) -> list[FileView]:
    """The first lines of the files at `indexes`, as many as one answer holds."""
    views = FileViews(opened, notes_of(opened, session), options)
    files = [opened.review.files[index] for index in indexes if index < len(opened.review.files)]
    return [views.of(file, 0, LINES_OF_A_FILE) for file in files[:MOST_FILES_OF_AN_ANSWER]]


def more_of_file(
    opened: OpenPlan, session: ReviewSession, options: DiffOptions, index: int, first: int
) -> FileView:
    """The lines of a file from the one at `first` on, below those that are there."""
    views = FileViews(opened, notes_of(opened, session), options)
    return views.of(opened.review.files[index], first, LINES_OF_A_FILE, goes_on=True)


def context_cells_of(
    opened: OpenPlan,
    session: ReviewSession,
    options: DiffOptions,
    file: ReviewedFile,
    lines: tuple[int, int],
) -> list[Cell] | Problems:
    """The first and last of `lines` of a file and those between them, as far as no hunk shows them."""
    first, last = lines[0], min(lines[1], lines[0] + LINES_OF_A_FILE - 1)
    return FileViews(opened, notes_of(opened, session), options).context(file, first, last)


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


def search_page(opened: OpenPlan, wanted: str) -> SearchPage:
    """Where the diff of a plan has the text `wanted`, whatever its case."""
    found: list[FoundInFile] = []
    n_left = _MOST_FOUND
    for file in in_tree_order(file_tree(opened.review.changed_files)):
        if not n_left:
            break
        inside = _found_in(opened, file, wanted, min(n_left, _MOST_FOUND_IN_A_FILE))
        if inside is not None:
            found.append(inside)
            n_left -= max(1, len(inside.lines))
    is_cut = not n_left or any(len(each.lines) == _MOST_FOUND_IN_A_FILE for each in found)
    return SearchPage(wanted=wanted, files=tuple(found), is_cut=is_cut)


def section_page(opened: OpenPlan, edit: ReviewedEdit, file: ReviewedFile) -> SectionPage:
    """The section that `edit` touches in `file`."""
    found = opened.section(edit.index, file.index)
    touched = found if isinstance(found, TouchedSection) else TouchedSection(before=None, after=None)
    before, after = (_rendered(opened, file, side) for side in (touched.before, touched.after))
    if before is not None and after is not None and before.html is not None and after.html is not None:
        old, new = marked_html(before.html, after.html)
        before, after = replace(before, html=old), replace(after, html=new)
    return SectionPage(
        edit=edit,
        number=opened.review.numbers.number(edit.index, within=file.path),
        file=file,
        before=before,
        after=after,
        problems=found if isinstance(found, tuple) else (),
    )


def _found_in(opened: OpenPlan, file: ReviewedFile, wanted: str, limit: int) -> FoundInFile | None:
    lines = opened.found(file.index, wanted, limit)
    is_path = any(wanted.lower() in path.lower() for path in (file.path, file.new_path or ""))
    if not isinstance(lines, list) or not (lines or is_path):
        return FoundInFile(file=file, is_path=True, lines=()) if is_path else None
    return FoundInFile(file=file, is_path=is_path, lines=tuple(lines))


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
    notes: PlanNotes,
    options: DiffOptions,
    page: Page[ReviewedFile],
    views: Mapping[int, FileView],
) -> PlanPage:
    review = opened.review
    changed = {file.index for file in review.changed_files}
    idle = [edit for edit in review.edits if changed.isdisjoint(edit.files)] if page.number == 1 else []
    return PlanPage(
        opened=opened,
        title=plan_title(review),
        options=options,
        page=page,
        tree=file_tree(page.items),
        views=views,
        warnings=warning_groups(review),
        idle=tuple(idle[:_MOST_IDLE_EDITS]),
        notes=notes,
        progress=progress_of(opened, notes),
    )
