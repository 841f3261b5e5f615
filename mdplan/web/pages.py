"""The values that templates show: the list of plans, a plan, its files, search results."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from markupsafe import escape

from mdplan.decisions import Verdict
from mdplan.diagnostics import Problems
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import (
    OpenMerge,
    OpenPlan,
    ReviewEntry,
    ReviewService,
    ReviewState,
    ShownPlace,
    open_merge,
    plan_merge,
)
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.html import safe_html
from mdplan.merge.documents import Choice, ConflictPlace
from mdplan.review import plan_review
from mdplan.review.shapes import PLAN, ChangeClass, Choices, Place, choice_of, place_name
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.lines import to_lf
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace
from mdplan.web import diff
from mdplan.web.labels import counted, shown
from mdplan.web.sessions import EditChoice, FlashMessage, PlanNotes, ReviewSession

PLANS_OF_A_PAGE: Final = 20
_MOST_IDLE_EDITS: Final = 100
_MOST_FOUND: Final = 200
_MOST_FOUND_IN_A_FILE: Final = 20

# Rendering is a visual aid; longer text is slow and nobody reads it.
_MOST_RENDERED: Final = 60_000
Item = TypeVar("Item")


class Page(Struct, Generic[Item]):
    """A page of several: `number` is 1-based, `count` at least 1."""

    items: Sequence[Item]
    number: int
    count: int


_ONE_PAGE: Final[Page[int]] = Page((), 1, 1)


class ReviewProgress(Struct, kw_only=True):
    """Counts of edits, files and comments.

    `unviewed` are positions of files that were not viewed; those in `settled` need not be, because all their
    edits were decided.
    """

    edits: int
    accepted: int
    rejected: int
    in_part: int
    files: int
    unviewed: Sequence[int]
    settled: Sequence[int]
    comments: int
    has_accepted: bool

    @property
    def undecided(self) -> int:
        """Edits without a choice."""
        return self.edits - self.accepted - self.rejected - self.in_part

    @property
    def can_approve(self) -> bool:
        """True if an approval would accept anything."""
        return self.rejected < self.edits

    @property
    def viewed(self) -> int:
        """Viewed files."""
        return self.files - len(self.unviewed)

    @property
    def viewed_words(self) -> str:
        """``1 of 32 viewed``."""
        return f"{self.viewed:,} of {self.files:,} viewed"

    @property
    def edits_words(self) -> str:
        """``2 of 3 edits accepted, 1 rejected``."""
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        in_part = f", {self.in_part:,} in part" if self.in_part else ""
        return f"{self.accepted:,} of {counted(self.edits, 'edit')} accepted{in_part}{rejected}"

    @property
    def comments_words(self) -> str:
        """``2 comments``, or empty."""
        return counted(self.comments, "comment") if self.comments else ""

    @property
    def undecided_words(self) -> str:
        """The effect of an approval on undecided edits, or empty."""
        if not self.undecided:
            return ""
        if self.has_accepted:
            return f"Approve leaves out {counted(self.undecided, 'undecided edit')}."
        edits = "the edit" if self.edits == 1 else counted(self.undecided, "undecided edit")
        return f"Approve accepts {edits}."


class PlanPage(Struct, kw_only=True):
    """A page of a plan; `page` lists files in the order of their `tree`.

    `views` are the files included in the page, by position; others load on scrolling. `notes` and `progress`
    are the reader's. `idle` are edits without changes. `only_file` is set for a single file, paginated by
    `lines_page`.
    """

    opened: OpenPlan
    options: diff.DiffOptions
    page: Page[plan_review.ReviewedFile]
    tree: tuple[diff.TreeNode, ...]
    views: Mapping[int, diff.FileView]
    warnings: tuple[diff.WarningGroup, ...]
    idle: tuple[plan_review.ReviewedEdit, ...]
    notes: PlanNotes
    progress: ReviewProgress
    only_file: plan_review.ReviewedFile | None = None
    lines_page: Page[int] = _ONE_PAGE


class RenderedSide(Struct, kw_only=True):
    """A section before or after; `html` is safe, with the words of this side marked.

    `html` is None if the text is nested too deep or not Markdown; then `text` is shown.
    """

    path: tuple[str, ...]
    html: str | None
    text: str
    is_cut: bool


class FoundInFile(Struct, kw_only=True):
    """Search results in a file; `is_path` if its path matches."""

    file: plan_review.ReviewedFile
    is_path: bool
    lines: tuple[plan_review.FoundLine, ...]


class SearchPage(Struct, kw_only=True):
    """Files that contain `text`; `is_cut` if there are more."""

    text: str
    files: tuple[FoundInFile, ...]
    is_cut: bool

    @property
    def n_lines(self) -> int:
        """The number of matching lines."""
        return sum(len(file.lines) for file in self.files)


class SectionPage(Struct, kw_only=True):
    """The rendered section that an edit touches; `problems` if it cannot be shown."""

    edit: plan_review.ReviewedEdit
    number: str
    file: plan_review.ReviewedFile
    before: RenderedSide | None
    after: RenderedSide | None
    problems: Problems


def listed_plans(reviewing: ReviewService, number: int) -> Page[ReviewEntry]:
    """Return page `number` of the plans: pending ones first, then newest first."""
    n_stored = len(reviewing.engine.library.pending())
    places = page_of_slices(range(n_stored), PLANS_OF_A_PAGE, number)
    entries = reviewing.entries(PLANS_OF_A_PAGE, (places.number - 1) * PLANS_OF_A_PAGE)
    entries.sort(key=lambda entry: entry.state is not ReviewState.PENDING)
    return Page(entries, places.number, places.count)


def plan_page(opened: OpenPlan, session: ReviewSession, options: diff.DiffOptions, number: int) -> PlanPage:
    """Return a plan, or page `number` if it has very many files."""
    notes = notes_of(opened, session)
    files = diff.in_tree_order(diff.file_tree(opened.review.changed_files))
    page = page_of_slices(files, FILES_OF_A_PAGE, number)
    views = diff.FileViews(opened, notes, options)
    # Viewed files are collapsed.
    shown = [file for file in first_files(page.items) if file.index not in notes.viewed]
    return _page(
        opened, notes, options, page, {file.index: views.of(file, 0, LINES_OF_A_FILE) for file in shown}
    )


def file_page(
    opened: OpenPlan, session: ReviewSession, options: diff.DiffOptions, index: int, number: int
) -> PlanPage:
    """Return page `number` of the lines of the file at `index`."""
    notes, file = notes_of(opened, session), opened.review.files[index]
    view = diff.FileViews(opened, notes, options).of(file, (number - 1) * LINES_OF_A_PAGE, LINES_OF_A_PAGE)
    page: Page[plan_review.ReviewedFile] = Page((file,), 1, 1)
    lines: Page[int] = Page((), min(number, view.pages), view.pages)
    return replace(_page(opened, notes, options, page, {index: view}), only_file=file, lines_page=lines)


def plan_title(review: plan_review.PlanReview) -> str:
    """Return the author's title of a plan, else a one-line summary."""
    if review.intent.title:
        return shown(review.intent.title)
    return plan_summary(review)


def plan_summary(review: plan_review.PlanReview) -> str:
    """Return what a plan does in one line: ``3 edits in guide.md and 2 more files``."""
    files = review.changed_files or review.files
    undo = "Undo of " if review.is_whole else ""
    more = f" and {counted(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    return f"{undo}{counted(len(review.edits), 'edit')} in {shown(files[0].path)}{more}"


def search_page(opened: OpenPlan, text: str) -> SearchPage:
    """Find `text` in the diff of a plan, ignoring case."""
    files: list[FoundInFile] = []
    n_left = _MOST_FOUND
    for file in diff.in_tree_order(diff.file_tree(opened.review.changed_files)):
        if not n_left:
            break
        inside = _found_in(opened, file, text, min(n_left, _MOST_FOUND_IN_A_FILE))
        if inside is not None:
            files.append(inside)
            n_left -= max(1, len(inside.lines))
    is_cut = not n_left or any(len(each.lines) == _MOST_FOUND_IN_A_FILE for each in files)
    return SearchPage(text=text, files=tuple(files), is_cut=is_cut)


def section_page(
    opened: OpenPlan, edit: plan_review.ReviewedEdit, file: plan_review.ReviewedFile
) -> SectionPage:
    """Return the section that `edit` touches in `file`."""
    section = opened.section(edit.index, file.index)
    problems = section if isinstance(section, tuple) else ()
    if not isinstance(section, plan_review.TouchedSection):
        section = plan_review.TouchedSection(before=None, after=None)
    before, after = (_rendered(opened, file, side) for side in (section.before, section.after))
    if before is not None and after is not None and before.html is not None and after.html is not None:
        old, new = diff.marked_html(before.html, after.html)
        before, after = replace(before, html=old), replace(after, html=new)
    return SectionPage(
        edit=edit,
        number=opened.review.numbers.number(edit.index, within=file.path),
        file=file,
        before=before,
        after=after,
        problems=problems,
    )


def _found_in(opened: OpenPlan, file: plan_review.ReviewedFile, text: str, limit: int) -> FoundInFile | None:
    lines = opened.found(file.index, text, limit)
    is_path = any(text.lower() in path.lower() for path in (file.path, file.new_path or ""))
    if not isinstance(lines, list) or not (lines or is_path):
        return FoundInFile(file=file, is_path=True, lines=()) if is_path else None
    return FoundInFile(file=file, is_path=is_path, lines=tuple(lines))


def _rendered(
    opened: OpenPlan, file: plan_review.ReviewedFile, side: plan_review.SectionSide | None
) -> RenderedSide | None:
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
    options: diff.DiffOptions,
    page: Page[plan_review.ReviewedFile],
    views: Mapping[int, diff.FileView],
) -> PlanPage:
    review = opened.review
    changed = {file.index for file in review.changed_files}
    idle = [edit for edit in review.edits if changed.isdisjoint(edit.files)] if page.number == 1 else []
    return PlanPage(
        opened=opened,
        options=options,
        page=page,
        tree=diff.file_tree(page.items),
        views=views,
        warnings=diff.warning_groups(review),
        idle=tuple(idle[:_MOST_IDLE_EDITS]),
        notes=notes,
        progress=progress_of(opened, notes),
    )


# --- How much of a plan one response holds
#
# A plan is one page. The first files are included, the others load on scrolling. Line counts of the plan
# decide, without reading text.

# Lines of all files included in a plan page, of a page of a single file, and of a file until the reader asks
# for more.
FIRST_LINES: Final = 200
LINES_OF_A_PAGE: Final = 400
LINES_OF_A_FILE: Final = 250

# Files per page; larger plans have several pages.
FILES_OF_A_PAGE: Final = 500

# Files per response on scrolling.
MOST_FILES_OF_AN_ANSWER: Final = 10

# Context lines, and the height of a file's header.
_AROUND: Final = 12

# The height of an edit's header, in lines.
_LINES_OF_AN_EDIT: Final = 2


def page_of_slices(items: Sequence[Item], size: int, number: int) -> Page[Item]:
    """Return page `number` of `items` with `size` each, or the nearest existing page."""
    count = max(1, -(-len(items) // size))
    at = min(max(number, 1), count)
    return Page(items[(at - 1) * size : at * size], at, count)


def first_files(files: Iterable[plan_review.ReviewedFile]) -> Iterator[plan_review.ReviewedFile]:
    """Yield the first `files`, as many as a page includes."""
    used = 0
    for file in files:
        if used >= FIRST_LINES:
            return
        used += height_of(file)
        yield file


def height_of(file: plan_review.ReviewedFile) -> int:
    """Return the approximate height of a file in lines."""
    lines = file.lines_added + file.lines_removed + _AROUND
    return min(lines, LINES_OF_A_FILE) + len(file.edits) * _LINES_OF_AN_EDIT


# --- Conflicts of a stale plan: base, file and plan side by side

_FIELD = "choice-{}-{}"
# The choice of a text that the reader wrote.
_OWN: Final = "own"


class ShownConflict(Struct):
    """A conflict with its form `field`, section, and the lines of each column as HTML with changed words.

    `base` is None if the old lines are not known for this place. `text` is what the reader can change.
    """

    field: str
    where: str
    reason: str
    base: str | None
    now: str
    plan: str
    text: str


class MergePage(Struct):
    """A merge that waits for choices: conflicts by file."""

    title: str
    version: str
    files: Sequence[tuple[str, Sequence[ShownConflict]]]
    count: int


def merge_page(opened: OpenMerge, title: str) -> MergePage:
    """Return the page for `opened`, the merge of a plan with `title`."""
    files = [
        (each.path, [_shown(number, index, place) for index, place in enumerate(each.places)])
        for number, each in enumerate(opened.files)
        if each.places
    ]
    return MergePage(title, opened.version, files, opened.places)


def _shown(file: int, index: int, place: ConflictPlace) -> ShownConflict:
    known = place.known
    now, plan = (str(escape(shown(text))) for text in (place.ours, place.theirs))
    base = str(escape(shown(known.base))) if known and known.base is not None else None
    if base is None:
        now, plan = diff.marked_html(now, plan)
    else:
        now, plan = (diff.marked_html(base, side)[1] for side in (now, plan))
    return ShownConflict(
        field=_FIELD.format(file, index),
        where=" / ".join(map(shown, known.path)) if known else "",
        reason=known.reason if known else "",
        base=base,
        now=now,
        plan=plan,
        text=to_lf(place.theirs),
    )


def opened_merge(engine: Engine, session: ReviewSession, plan_id: str) -> OpenMerge | None:
    """Return the merge of a plan, or None with a notice if it cannot be merged."""
    try:
        return open_merge(engine, plan_id)
    except StorageRefused as refused:
        session.notices[plan_id] = FlashMessage("The plan cannot be merged.", refused.problems)
        return None


def merge_chosen(engine: Engine, session: ReviewSession, plan_id: str, form: Mapping[str, str]) -> str | None:
    """Make a plan from the choices in `form` and return its ID, or None with a notice."""
    merge = opened_merge(engine, session, plan_id)
    if merge is None:
        return None
    choices = dict(_choices(merge, form))
    if sum(map(len, choices.values())) < merge.places:
        session.notices[plan_id] = FlashMessage("Choose a text for each conflict.")
        return None
    try:
        merged = plan_merge(engine, plan_id, choices, form.get("version", ""))
    except StorageRefused as refused:
        session.notices[plan_id] = FlashMessage("The plan was not merged.", refused.problems)
        return None
    session.notices[merged] = FlashMessage("Merged with the current files, as a new plan.")
    return merged


def _choices(merge: OpenMerge, form: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each file with the texts that `form` chooses; one that is not chosen is missing."""
    for number, file in enumerate(merge.files):
        texts: list[str] = []
        for index, place in enumerate(file.places):
            field = _FIELD.format(number, index)
            chosen = form.get(field, "")
            if chosen == _OWN:
                texts.append(own_text(form.get(f"{field}-text", ""), place.ours or place.theirs))
            elif chosen in set(Choice):
                texts.append(place.chosen(Choice(chosen)))
        yield file.path, texts


def own_text(written: str, like: str) -> str:
    """Return the text that a person wrote in a form, with the line ends of the text `like`."""
    text = to_lf(written)
    if text and like.endswith("\n") and not text.endswith("\n"):
        text += "\n"
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def notes_of(opened: OpenPlan, session: ReviewSession) -> PlanNotes:
    """Return the reader's notes; until the first choice, those of the earlier decision.

    Of the plan that this one revises, choices on classes count that have the same places here.
    """
    notes = session.notes_on(opened.plan.plan_id)
    if notes.choices is not None:
        return notes
    decision, choices = opened.decision, dict[str, bool]()
    if decision is not None and decision.plan_id == opened.plan.plan_id:
        choices |= {PLAN: True} if decision.verdict is Verdict.APPROVED else {}
        choices |= {f"edit {index}": False for index in decision.rejected}
        choices |= {
            place_name(Place(each.file, each.number)): False for each in decision.places if each.text is None
        }
    elif opened.carried:
        members = {one.key: one.members for one in opened.classes}
        choices |= {
            f"class {each.key}": each.accepted
            for each in opened.carried
            if members.get(each.key) == each.members
        }
    said = {**(decision.remarks.edit_comments if decision is not None else {}), **notes.said}
    return dataclasses.replace(notes, choices=choices, said=said)


def progress_of(opened: OpenPlan, notes: PlanNotes) -> ReviewProgress:
    """Return the progress of a review."""
    choices = notes.choices or {}
    chosen = opened.chosen(choices)
    files = opened.review.changed_files
    # An edit that is accepted with the whole plan was not looked at.
    decided = (
        chosen.accepted | chosen.rejected | chosen.in_part.keys() if PLAN not in choices else frozenset()
    )
    return ReviewProgress(
        edits=len(opened.review.edits),
        accepted=len(chosen.accepted),
        rejected=len(chosen.rejected),
        in_part=len(chosen.in_part),
        files=len(files),
        unviewed=[file.index for file in files if file.index not in notes.viewed],
        settled=[file.index for file in files if file.edits and decided.issuperset(file.edits)],
        comments=len(notes.comments) + sum(map(bool, notes.said.values())),
        has_accepted=any(choices.values()),
    )


# --- Classes of changes, each with the places that a reader asks for

_MOST_CLASSES: Final = 200
_MOST_PLACES: Final = 100


class ListedPlace(Struct, kw_only=True):
    """A place of a class, with the line that it changes and what was chosen for it."""

    name: str
    file: plan_review.ReviewedFile
    line: ShownPlace
    choice: EditChoice


class ListedClass(Struct, kw_only=True):
    """A class with what was chosen for it, and the `places` on this page if it is open."""

    number: int
    one: ChangeClass
    choice: EditChoice
    places: tuple[ListedPlace, ...] = ()


class ClassesPage(Struct, kw_only=True):
    """The classes of a plan; `more` counts omitted ones."""

    classes: tuple[ListedClass, ...]
    more: int


def classes_page(opened: OpenPlan, notes: PlanNotes, key: str = "") -> ClassesPage:
    """Return the classes of a plan, or the one with `key` and its first places."""
    choices = notes.choices or {}
    numbered = [(number, one) for number, one in enumerate(opened.classes, 1) if key in ("", one.key)]
    listed = [
        ListedClass(
            number=number,
            one=one,
            choice=_joint_choice(choices, one),
            places=tuple(_listed_places(opened, choices, one)) if key else (),
        )
        for number, one in numbered[:_MOST_CLASSES]
    ]
    return ClassesPage(classes=tuple(listed), more=max(0, len(numbered) - _MOST_CLASSES))


def _joint_choice(choices: Choices, one: ChangeClass) -> EditChoice:
    chosen = {
        choice_of(choices, place, owners, one.key)
        for place, owners in zip(one.places, one.owners, strict=True)
    }
    return _KINDS[chosen.pop()] if len(chosen) == 1 else EditChoice.PART


_KINDS: Final = {True: EditChoice.ACCEPT, False: EditChoice.REJECT, None: EditChoice.NONE}


def _listed_places(opened: OpenPlan, choices: Choices, one: ChangeClass) -> Iterator[ListedPlace]:
    for place, owners in list(zip(one.places, one.owners, strict=True))[:_MOST_PLACES]:
        line = opened.place(place)
        if isinstance(line, ShownPlace):
            yield ListedPlace(
                name=place_name(place),
                file=opened.review.files[place.file],
                line=line,
                choice=_KINDS[choice_of(choices, place, owners, one.key)],
            )
