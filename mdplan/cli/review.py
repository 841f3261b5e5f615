"""Reviews a plan in the terminal edit by edit, as `git add -p` does with hunks."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from mdplan.cli.plan_output import short_id
from mdplan.cli.report_text import diff_for_people, line_counts, problem_text
from mdplan.cli.terminal import Style, agrees, ask_key, shown, shown_paths
from mdplan.cli.views import classes_text, edit_text, file_text, file_title, hunk_text, intent_text
from mdplan.decisions import LineComment, Side, Verdict
from mdplan.reports.plan import ReviewComment, ReviewReport
from mdplan.review import plan_review
from mdplan.text.visible import counted, escaped
from mdplan.values import Struct, replace

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan


_EDIT_KEYS: Final[Mapping[str, str]] = {
    "y": "accept this edit",
    "n": "reject this edit",
    "q": "ask no more, and decide about the plan",
    "a": "accept this edit and all later ones of its file",
    "d": "reject this edit and all later ones of its file",
    "c": "accept all edits that make the same change",
    "x": "reject all edits that make the same change",
    "j": "leave this edit open, go to the next",
    "k": "leave this edit open, go to the previous",
    "f": "list the files and go to one",
    "/": "go to the next edit that shows a text: /TEXT",
    "e": "comment on this edit or its lines in your editor",
    "p": "show this edit again",
    "w": "list the warnings of the plan",
    "r": "show the review of the plan that this one revises, and what differs",
    "?": "this help",
}
_NO_SPLIT: Final = "An edit is accepted or rejected whole; `e` comments on its lines.\n"


# Lines that a comment can be on: a comment without text.
Place: TypeAlias = LineComment


def _place_text(place: Place) -> str:
    lines = f"line {place.start}" if place.start == place.end else f"lines {place.start} to {place.end}"
    return f"{place.file}, {lines}{' before the plan' if place.side is Side.BEFORE else ''}"


# --- Answers and comments of the person, and the dialog that asks for them


@dataclass(slots=True)
class Choices:
    """The answers of a person: accepted (True) or rejected edits, and comments, by index of the edit.

    `line_comments` are on lines, by their place. `viewed` are indexes of files whose edits were shown.
    """

    answers: dict[int, bool] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    line_comments: dict[Place, str] = field(default_factory=dict)
    viewed: set[int] = field(default_factory=set)
    message: str = ""

    @property
    def rejected(self) -> frozenset[int]:
        """The edits that were rejected."""
        return frozenset(index for index, accepted in self.answers.items() if not accepted)

    @property
    def on_lines(self) -> tuple[LineComment, ...]:
        """The comments on lines, by their place."""
        made = (replace(place, text=text) for place, text in self.line_comments.items())
        return tuple(sorted(made, key=lambda each: (each.file, each.side, each.start, each.end)))

    @property
    def n_comments(self) -> int:
        """How many comments there are."""
        return len(self.comments) + len(self.line_comments) + bool(self.message)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost."""
        return not self.answers and not self.n_comments

    def open_edits(self, indexes: Collection[int]) -> list[int]:
        """Those of `indexes` without an answer."""
        return [index for index in indexes if index not in self.answers]


class TerminalDialog(Struct, kw_only=True):
    """How a review talks to its person.

    `ask` gives the line typed after a question, None at the end of the input. `show_text` writes a text,
    `page` shows it in a pager where it is longer than the screen, `edit` opens an editor with it and gives
    what was saved, None where nothing was.
    """

    ask: Callable[[str], str | None]
    show_text: Callable[[str], None]
    page: Callable[[str], None]
    edit: Callable[[str], str | None]

    def key(self, question: str, keys: Mapping[str, str], unlisted: str = "") -> str | None:
        """One of `keys` or `unlisted`; see `ask_key`."""
        choices = {**keys, **dict.fromkeys(unlisted, "")}
        return ask_key(f"{question} [{','.join(keys)}]? ", choices, self.ask, self.show_text)

    def agrees(self, question: str) -> bool:
        """Whether the person answers with yes."""
        return agrees(question, self.ask)


class EditWalk:
    """The edits of `opened`, which `choices` are about. A plan that is accepted whole is one edit here.

    `earlier` is the review of the plan that this one revises.
    """

    def __init__(
        self,
        opened: "OpenPlan",
        choices: Choices,
        dialog: TerminalDialog,
        style: Style,
        earlier: ReviewReport | None,
    ) -> None:
        self._opened = opened
        self._review = opened.review
        self._choices = choices
        self._dialog = dialog
        self._style = style
        self._earlier = earlier
        edits = opened.review.edits
        self._groups = [(edit,) for edit in edits] if opened.review.undoes is None else [edits]
        self._files: dict[int, plan_review.FileReview] = {}
        self._at = 0

    def run(self, before: str = "") -> bool:
        """Ask for edits until all have an answer, or the person stops; False at the end of the input.

        The text `before` is shown above the first edit, on the same screen.
        """
        is_shown = False
        self._at = min(self._at, len(self._groups) - 1)
        while 0 <= self._at < len(self._groups):
            if not is_shown:
                self._show(self._groups[self._at], before)
                before = ""
            question = f"({self._at + 1}/{len(self._groups)}) Accept this edit"
            key = self._dialog.key(question, _EDIT_KEYS, unlisted="s")
            if key is None:
                return False
            if key == "q":
                return True
            at = self._at
            if key.startswith("/"):
                self._search(key[1:].strip())
            else:
                self._actions()[key]()
            is_shown = self._at == at
        return True

    def _actions(self) -> Mapping[str, Callable[[], None]]:
        here, dialog = self._groups[self._at], self._dialog
        return {
            "y": lambda: self._answer(here, accepted=True),
            "n": lambda: self._answer(here, accepted=False),
            "a": lambda: self._answer(self._with_others(self._at, self._changes_here), accepted=True),
            "d": lambda: self._answer(self._with_others(self._at, self._changes_here), accepted=False),
            "c": lambda: self._answer(self._with_others(0, self._is_alike), accepted=True),
            "x": lambda: self._answer(self._with_others(0, self._is_alike), accepted=False),
            "j": lambda: self._go(self._at + 1),
            "k": lambda: self._go(max(self._at - 1, 0)),
            "f": self._go_to_file,
            "e": lambda: self._comment(here[0]),
            "p": lambda: self._show(here),
            "w": lambda: dialog.page(warning_list(self._review, self._style)),
            "r": lambda: dialog.page(revision_text(self._earlier, self._style)),
            "s": lambda: dialog.show_text(_NO_SPLIT),
        }

    def _go(self, at: int) -> None:
        self._at = at

    def _answer(self, edits: Sequence[plan_review.ReviewedEdit], *, accepted: bool) -> None:
        self._choices.answers.update((edit.index, accepted) for edit in edits)
        # The next edit without an answer, last those before this one; the end if all have one.
        n_groups = len(self._groups)
        order = [*range(self._at + 1, n_groups), *range(self._at)]
        is_open = (at for at in order if self._groups[at][0].index not in self._choices.answers)
        self._go(next(is_open, n_groups))

    def _with_others(
        self, first: int, fits: Callable[[plan_review.ReviewedEdit], bool]
    ) -> list[plan_review.ReviewedEdit]:
        """Return the edits here, and those from the group `first` on that have no answer and that `fits`."""
        here = self._groups[self._at]
        others = (edit for group in self._groups[first:] for edit in group if edit not in here)
        return [*here, *(edit for edit in others if edit.index not in self._choices.answers and fits(edit))]

    def _changes_here(self, edit: plan_review.ReviewedEdit) -> bool:
        """Return True if `edit` changes a file that an edit here changes."""
        return any(set(edit.files).intersection(each.files) for each in self._groups[self._at])

    def _is_alike(self, edit: plan_review.ReviewedEdit) -> bool:
        """Return True if the places of `edit` are of the same classes as those here."""
        here = self._groups[self._at][0]
        keys = ({one.key for one in self._opened.classes if each.index in one.edits} for each in (edit, here))
        return next(keys) == next(keys)

    def _show(self, group: Sequence[plan_review.ReviewedEdit], before: str = "") -> None:
        self._dialog.page(before + "".join(self._text(edit) for edit in group))
        self._choices.viewed.update(file for edit in group for file in edit.files)

    def _text(self, edit: plan_review.ReviewedEdit) -> str:
        """One edit with its lines of every hunk, its warnings, and what was chosen before."""
        style = self._style
        parts = ["\n" + style.bold(edit_text(self._review, edit)) + "\n"]
        parts += [problem_text(warning, style) + "\n" for warning in edit.result.warnings]
        answer = self._choices.answers.get(edit.index)
        if answer is not None:
            parts.append(f"You {'accepted' if answer else 'rejected'} this edit.\n")
        if edit.index in self._choices.comments:
            comment = " ".join(self._choices.comments[edit.index].split())
            parts.append(f"Your comment: {shown(comment)}\n")
        at = None
        for file, hunk in self._hunks(edit):
            if file is not at:
                files = [each.index for each in self._review.changed_files]
                which = files.index(file.file.index) + 1 if file.file.index in files else 0
                position = f"  (file {which} of {len(files)})" if which and len(files) > 1 else ""
                parts.append(style.bold(file_title(file)) + style.paint(position, "bright_black") + "\n")
                at = file
            parts.append(hunk_text(self._review, file, hunk, style, edit.index))
        return "".join(parts)

    def _hunks(
        self, edit: plan_review.ReviewedEdit
    ) -> Iterator[tuple[plan_review.FileReview, plan_review.ReviewedHunk]]:
        for file in filter(None, map(self._file, edit.files)):
            for hunk in file.hunks:
                yield from ((file, part) for part in parts_of_edit(hunk, edit.index))

    def _file(self, index: int) -> plan_review.FileReview | None:
        found = self._files.get(index) or self._opened.file(index)
        if not isinstance(found, plan_review.FileReview):
            return None
        self._files[index] = found
        return found

    def _go_to_file(self) -> None:
        files = self._review.changed_files
        self._dialog.page(file_list(self._review, self._choices, self._style))
        typed = (self._dialog.ask(f"File [1-{len(files)}, or a part of its path]? ") or "").strip()
        if not typed:
            return
        if typed.isdecimal() and 1 <= int(typed) <= len(files):
            chosen = files[int(typed) - 1]
        else:
            matches = [file for file in files if typed.casefold() in file.path.casefold()]
            if not matches:
                self._dialog.show_text(f"No file of this plan has `{shown(typed)}` in its path.\n")
                return
            chosen = matches[0]
        for at, group in enumerate(self._groups):
            if any(chosen.index in edit.files for edit in group):
                self._at = at
                return
        # No edit asked for it: links that follow.
        file = self._file(chosen.index)
        if file is not None:
            self._dialog.page(file_text(self._review, file, self._style))
            self._choices.viewed.add(chosen.index)

    def _search(self, text: str) -> None:
        text = text or (self._dialog.ask("Search for: ") or "").strip()
        folded = text.casefold()
        order = [*range(self._at + 1, len(self._groups)), *range(self._at + 1)]
        found = (at for at in order if any(folded in each for each in self._shown(self._groups[at])))
        at = next(found, None) if folded else None
        if at is None:
            self._dialog.show_text(f"No edit shows `{shown(text)}`.\n")
        else:
            self._go(at)

    def _shown(self, group: Sequence[plan_review.ReviewedEdit]) -> Iterator[str]:
        """Yield the case-folded names and lines of edits."""
        for edit in group:
            yield edit_text(self._review, edit).casefold()
            for _, hunk in self._hunks(edit):
                yield from (line.text.casefold() for line in hunk.lines if edit.index in line.edits)

    def _comment(self, edit: plan_review.ReviewedEdit) -> None:
        """Let the person comment on an edit and its lines in the editor."""
        choices = self._choices
        quoted = QuotedDiff(edit_text(self._review, edit), self._hunks(edit))
        saved = self._dialog.edit(quoted.text(choices.comments.get(edit.index, ""), choices.line_comments))
        if saved is None:
            self._dialog.show_text("The editor saved nothing; your comments are as they were.\n")
            return
        whole, on_lines = quoted.read(saved)
        choices.comments.pop(edit.index, None)
        if whole:
            choices.comments[edit.index] = whole
        others = choices.line_comments.items()
        choices.line_comments = {
            place: text for place, text in others if place not in quoted.places
        } | on_lines
        n_comments = len(on_lines) + bool(whole)
        self._dialog.show_text(f"This edit has {counted(n_comments, 'comment')} of yours.\n")


# --- The decision about the plan

_DECISION_KEYS: Final[Mapping[str, str]] = {
    "a": "approve the accepted edits",
    "c": "request changes: nothing is applied, the author receives your comments and plans again",
    "r": "reject the plan",
    "m": "write a message to the author in your editor",
    "b": "go back to the edits",
    "f": "list the files, and which were viewed",
    "q": "quit without a decision",
    "?": "this help",
}

_NO_COMMENTS: Final = "Say what to change: `m` writes a message, and `b` goes back to comment on edits.\n"
_MESSAGE: Final = """\

> Write your message to the author of the plan above this line.
> Save and leave the editor to keep it; leave it without saving to change nothing.
"""


class ReviewEnd(Struct):
    """How a review ended: the decision, and the choices that it is about."""

    verdict: Verdict
    choices: Choices


def review_plan_in_terminal(
    opened: "OpenPlan", dialog: TerminalDialog, style: Style, earlier: ReviewReport | None = None
) -> ReviewEnd | None:
    """Show the edits of a plan, ask for each, then for the decision; None where nothing is decided.

    `earlier` is the review of the plan that this one revises.
    """
    choices = Choices()
    walk = EditWalk(opened, choices, dialog, style, earlier)
    before = overview(opened, style) + revision_note(earlier)
    while walk.run(before):
        before = ""
        if choices.is_empty:
            return None
        dialog.page(_derived(opened, choices, style))
        verdict = _decision(opened.review, choices, dialog, style)
        if isinstance(verdict, Verdict):
            return ReviewEnd(verdict, choices)
        if not verdict:
            return None
    return None


def _decision(
    review: plan_review.PlanReview, choices: Choices, dialog: TerminalDialog, style: Style
) -> Verdict | bool:
    """What is decided about the plan; True to go back to the edits, False to quit."""
    actions: dict[str, Callable[[], Verdict | bool | None]] = {
        "a": lambda: Verdict.APPROVED if _approves(review, choices, dialog) else None,
        "c": lambda: Verdict.CHANGES_REQUESTED if choices.n_comments else dialog.show_text(_NO_COMMENTS),
        "r": lambda: Verdict.REJECTED,
        "m": lambda: _write_message(choices, dialog),
        "b": lambda: True,
        "f": lambda: dialog.page(file_list(review, choices, style)),
        "q": lambda: False,
    }
    decided = None
    while decided is None:
        comments = "".join(
            f"  {_place_text(each)}: {' '.join(each.text.split())}\n" for each in choices.on_lines
        )
        dialog.show_text(f"\n{progress(review, choices)}.\n{comments}")
        key = dialog.key("Your decision", _DECISION_KEYS)
        decided = actions[key]() if key is not None else False
    return decided


def _approves(review: plan_review.PlanReview, choices: Choices, dialog: TerminalDialog) -> bool:
    """Whether the person approves, also what they have not seen or answered, which is named."""
    everything = [edit.index for edit in review.edits]
    if len(choices.rejected) == len(everything):
        dialog.show_text("You rejected every edit: request changes, or reject the plan.\n")
        return False
    still_open = choices.open_edits(everything)
    unseen = [file for file in review.changed_files if file.index not in choices.viewed]
    if not still_open and not unseen:
        return True
    if still_open:
        of = [file for file in review.changed_files if set(still_open).intersection(file.edits)]
        dialog.show_text(f"{counted(len(still_open), 'edit')} without an answer, in {_path_list(of)}.\n")
    if unseen:
        dialog.show_text(f"{counted(len(unseen), 'file')} not viewed: {_path_list(unseen)}.\n")
    accepts = "and accept the edits without an answer" if still_open else "all the same"
    return dialog.agrees(f"Approve {accepts}?")


def _write_message(choices: Choices, dialog: TerminalDialog) -> None:
    saved = dialog.edit(choices.message + _MESSAGE)
    if saved is not None:
        rows = [row for row in saved.split("\n") if not row.startswith(">")]
        choices.message = "\n".join(rows).strip()


def _derived(opened: "OpenPlan", choices: Choices, style: Style) -> str:
    """What follows from the edits, which nobody is asked about: links that the engine rewrites."""
    parts: list[str] = []
    for reviewed in opened.review.files:
        file = opened.file(reviewed.index) if reviewed.references_updated else None
        if not isinstance(file, plan_review.FileReview):
            continue
        hunks = [hunk for hunk in file.hunks if not hunk.edits]
        if hunks:
            choices.viewed.add(reviewed.index)
            parts.append(style.bold(file_title(file)) + "\n")
            parts += [hunk_text(opened.review, file, hunk, style) for hunk in hunks]
    return "\nLinks updated because of these edits:\n" + "".join(parts) if parts else ""


# --- Overview of a plan: size, files, warnings, progress

_FILES_NAMED: Final = 10
_CAUSES_NAMED: Final = 5


def overview(opened: "OpenPlan", style: Style) -> str:
    """What a plan is for, its size, and its warnings by cause, in a few lines."""
    review = opened.review
    size = f"{counted(len(review.changed_files), 'file')}, {counted(len(review.edits), 'edit')}"
    lines = [f"{size}: {line_counts(review, style)}"]
    causes = Counter(warning.code for warning in review.warnings)
    if causes:
        named = ", ".join(f"{count} {code}" for code, count in causes.most_common(_CAUSES_NAMED))
        more = len(causes) - _CAUSES_NAMED
        named += f" and {counted(more, 'more cause')}" if more > 0 else ""
        warnings = style.paint(counted(len(review.warnings), "warning"), "yellow")
        lines.append(f"{warnings}: {named}. Each is shown with its edit; w lists all.")
    listed = classes_text(opened, style)
    return intent_text(opened, style) + "".join(line + "\n" for line in lines) + listed


def warning_list(review: plan_review.PlanReview, style: Style) -> str:
    """All warnings of a plan; a line that says so where there are none."""
    texts = [problem_text(warning, style, (), review.numbers) + "\n" for warning in review.warnings]
    return "".join(texts) or "This plan has no warnings.\n"


def file_list(review: plan_review.PlanReview, choices: Choices, style: Style) -> str:
    """The files of a plan, numbered, with what was answered on the edits of each."""
    files = review.changed_files
    width = len(str(len(files)))
    rows = []
    for number, file in enumerate(files, 1):
        counts = line_counts(file, style)
        rows.append(f"{number:{width}}  {_mark(file, choices)}  {shown(file.path)}  {counts}\n")
    return "".join(rows) + "● viewed, all edits answered   ◐ viewed   ○ not viewed\n"


def progress(review: plan_review.PlanReview, choices: Choices) -> str:
    """How far the review is: ``2 of 9 edits accepted, 1 rejected, 6 open; 1 of 32 files viewed``."""
    accepted = sum(choices.answers.values())
    indexes = [edit.index for edit in review.edits]
    text = f"{accepted} of {counted(len(indexes), 'edit')} accepted"
    text += f", {len(choices.rejected)} rejected" if choices.rejected else ""
    still_open = choices.open_edits(indexes)
    text += f", {len(still_open)} open" if still_open else ""
    viewed = sum(file.index in choices.viewed for file in review.changed_files)
    text += f"; {viewed} of {counted(len(review.changed_files), 'file')} viewed"
    return text + (f"; {counted(choices.n_comments, 'comment')}" if choices.n_comments else "")


def _path_list(files: Sequence[plan_review.ReviewedFile]) -> str:
    return shown_paths([file.path for file in files], _FILES_NAMED)


def _mark(file: plan_review.ReviewedFile, choices: Choices) -> str:
    if file.index not in choices.viewed:
        return "○"
    return "◐" if choices.open_edits(file.edits) else "●"


# --- The text of the editor in which a person comments: the quoted diff of an edit
#
# A comment is written below the line that it is about, as in a reply to a mail. What is above all quoted
# lines is on the edit as a whole, what is below the header of a hunk on all its lines.

# Editors look for settings in the first and last five lines of a file: those are ours, not those of a plan.
_HEAD: Final = (
    "> Write a comment on a line below that line, and a comment on all lines of a hunk",
    "> below its line with @@. The author receives each with its place and its text.",
    "> Delete a comment to take it back.",
    ">",
    "> Write what you think of the edit as a whole below its name:",
)

_TAIL: Final = (
    ">",
    "> End of the edit. Quoted lines begin with > and are never part of a comment.",
    "> Save and leave the editor to keep your comments;",
    "> leave it without saving to change nothing.",
    ">",
)


class _Quoted(Struct):
    """A line of the editor that the person did not write. `place` is None where it has none."""

    text: str
    place: Place | None = None


class QuotedDiff:
    """The diff of one edit in an editor: `hunks` are its hunks, each with the file that it is in."""

    def __init__(
        self, title: str, hunks: Iterable[tuple[plan_review.FileReview, plan_review.ReviewedHunk]]
    ) -> None:
        self._title = f"> {title}"
        self._lines = [*map(_Quoted, _HEAD), _Quoted(self._title)]
        shown = None
        for file, hunk in hunks:
            if file is not shown:
                self._lines.append(_Quoted(f"> file {escaped(file.file.path)}"))
                shown = file
            self._lines += _quoted(file, hunk)
        self._lines += map(_Quoted, _TAIL)

    @property
    def places(self) -> frozenset[Place]:
        """All places that a comment can be on here."""
        return frozenset(line.place for line in self._lines if line.place is not None)

    def text(self, whole: str, on_lines: Mapping[Place, str]) -> str:
        """What the editor opens with: the quoted lines, and below them the comments that there are."""
        rows: list[str] = []
        for line in self._lines:
            rows.append(line.text)
            if line.text == self._title:
                # There is room to write where most people write.
                rows += [whole, ""]
            elif line.place is not None and line.place in on_lines:
                rows.append(on_lines[line.place])
        return "\n".join(rows) + "\n"

    def read(self, text: str) -> tuple[str, dict[Place, str]]:
        """The comment on the edit in `text`, which was saved, and those on lines.

        Quoted lines that were deleted are not missed.
        """
        written: dict[Place | None, list[str]] = {}
        at, place = 0, None
        # Editors may take blanks from the ends of lines.
        for row in map(str.rstrip, text.split("\n")):
            lines = range(at, len(self._lines))
            found = next((number for number in lines if self._lines[number].text.rstrip() == row), None)
            if found is not None:
                at, place = found + 1, self._lines[found].place
            elif not row.startswith(">"):
                written.setdefault(place, []).append(row)
        texts = {each: "\n".join(rows).strip() for each, rows in written.items()}
        return texts.get(None, ""), {each: comment for each, comment in texts.items() if each and comment}


def _quoted(file: plan_review.FileReview, hunk: plan_review.ReviewedHunk) -> Iterator[_Quoted]:
    is_old = hunk.new_count == 0
    first, count = (hunk.old_start, hunk.old_count) if is_old else (hunk.new_start, hunk.new_count)
    header = f"> @@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    yield _Quoted(header, _place(file, first, first + max(count, 1) - 1, is_old=is_old))
    width = max((len(str(line.new_line or line.old_line)) for line in hunk.lines), default=1)
    for line in hunk.lines:
        number = line.new_line or line.old_line or 0
        place = _place(file, number, number, is_old=line.new_line is None)
        yield _Quoted(f"> {number:>{width}} {line.sign}{escaped(line.text)}", place)


def _place(file: plan_review.FileReview, start: int, end: int, *, is_old: bool) -> Place:
    side = Side.BEFORE if is_old else Side.AFTER
    return Place(file=file.file.path, side=side, start=start, end=end, text="")


# --- Parts of a hunk: the lines that one edit made, with context

# As many as a unified diff has.
_CONTEXT: Final = 3


def parts_of_edit(hunk: plan_review.ReviewedHunk, edit: int) -> Iterator[plan_review.ReviewedHunk]:
    """Hunks of the lines that the edit of that index made in `hunk`, each with up to three lines around."""
    own = [at for at, line in enumerate(hunk.lines) if edit in line.edits]
    spans: list[tuple[int, int]] = []
    for at in own:
        first, end = max(at - _CONTEXT, 0), min(at + _CONTEXT + 1, len(hunk.lines))
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((first, end))
    for first, end in spans:
        yield _part(hunk, first, end)


def _part(hunk: plan_review.ReviewedHunk, first: int, end: int) -> plan_review.ReviewedHunk:
    lines = hunk.lines[first:end]
    old = [line.old_line for line in lines if line.old_line is not None]
    new = [line.new_line for line in lines if line.new_line is not None]
    is_changed_before = any(line.sign != " " for line in hunk.lines[:first])
    return replace(
        hunk,
        old_start=old[0] if old else hunk.old_start,
        old_count=len(old),
        new_start=new[0] if new else hunk.new_start,
        new_count=len(new),
        # It is that of the first changed line.
        section=() if is_changed_before else hunk.section,
        edits=tuple(sorted({edit for line in lines for edit in line.edits})),
        is_derived=any(line.sign != " " and not line.edits for line in lines),
        lines=lines,
    )


# --- The revised plan: comments on it, and the diff to the new one


def revision_note(earlier: ReviewReport | None) -> str:
    """A line that says which plan is revised; nothing where none is."""
    if earlier is None:
        return ""
    plan = short_id(earlier.plan_id)
    if earlier.verdict is None:
        return f"This plan revises plan {plan}; r shows what differs.\n"
    what = _decided(earlier)
    return f"This plan revises plan {plan} ({what}); r shows that review and what differs.\n"


def revision_text(earlier: ReviewReport | None, style: Style) -> str:
    """The comments on the revised plan, and the diff between the plans."""
    if earlier is None:
        return "This plan revises no other plan.\n"
    return "".join(f"{line}\n" for line in _lines(earlier, style)) + _difference(earlier, style)


def _lines(earlier: ReviewReport, style: Style) -> Iterator[str]:
    yield style.bold(f"Plan {short_id(earlier.plan_id)}: {_decided(earlier) or 'nobody decided'}")
    if earlier.comment:
        yield f"  {_one_line(earlier.comment)}"
    for comment in earlier.comments:
        yield f"- {_comment_place(comment)}: {_one_line(comment.text)}"
        if comment.quote:
            differs = ", these lines differ now" if comment.outdated else ""
            yield style.paint(f"  on: {_one_line(comment.quote)}{differs}", "bright_black")


def _difference(earlier: ReviewReport, style: Style) -> str:
    compared = earlier.comparison
    if compared is None:
        return ""
    if not compared.files:
        return "The plans leave all files the same.\n"
    cut = "The diff between the plans is cut; `mdplan show --against` shows it.\n"
    diff = diff_for_people(compared.diff.encode("utf-8", "surrogateescape"), style)
    return f"\nWhat differs:\n{diff}{cut if compared.diff_truncated else ''}"


def _decided(earlier: ReviewReport) -> str:
    if earlier.verdict is None:
        return ""
    comments = len(earlier.comments) + bool(earlier.comment)
    comment_count = f", {counted(comments, 'comment')}" if comments else ""
    return f"{earlier.verdict} by {shown(earlier.decided_by or '')}{comment_count}"


def _comment_place(comment: ReviewComment) -> str:
    parts = [shown(comment.edit)] if comment.edit else []
    if comment.file is not None:
        end = f" to {comment.end_line}" if comment.end_line != comment.start_line else ""
        side = " before the plan" if comment.side == "before" else ""
        parts.append(f"{shown(comment.file)}, line {comment.start_line}{end}{side}")
    return ", ".join(parts)


def _one_line(text: str) -> str:
    return shown(" ".join(text.split()))
