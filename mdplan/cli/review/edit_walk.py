"""The edits of a plan one after the other, as `git add -p` has hunks: shown, answered, commented."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mdplan.cli.review.hunk_parts import parts_of_edit
from mdplan.cli.review.overview import file_list, warning_list
from mdplan.cli.review.quoted_diff import Comments, QuotedDiff, without
from mdplan.cli.review.review_choices import Choices, TerminalDialog
from mdplan.cli.review.revision import revision_text
from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.report_view import counted, problem_text
from mdplan.cli.views.review_text import edit_text, file_text, file_title, hunk_text
from mdplan.reports.plan import ReviewReport
from mdplan.review.plan_review import FileReview, ReviewedEdit, ReviewedFile, ReviewedHunk

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan

_KEYS: Final = "ynqadjkf/epwrs?"
_SHOWN_KEYS: Final = "y,n,q,a,d,j,k,f,/,e,p,w,r,?"
_HELP: Final = """\
y - accept this edit
n - reject this edit
q - ask no more, and decide about the plan
a - accept this edit and all later ones of its file
d - reject this edit and all later ones of its file
j - leave this edit open, go to the next
k - leave this edit open, go to the previous
f - list the files and go to one
/ - go to the next edit that shows a text: /TEXT
e - comment on this edit or its lines in your editor
p - show this edit again
w - list the warnings of the plan
r - show the review of the plan that this one revises, and what differs
? - this help
"""
_NO_SPLIT: Final = "An edit is accepted or rejected whole; `e` comments on its lines.\n"


class EditWalk:
    """The edits of `opened`, which `choices` are about. A plan that is accepted whole is one edit here.

    `earlier` is the review of the plan that this one revises.
    """

    def __init__(
        self,
        opened: "OpenPlan",
        choices: Choices,
        talk: TerminalDialog,
        style: Style,
        earlier: ReviewReport | None,
    ) -> None:
        self._opened = opened
        self._review = opened.review
        self._choices = choices
        self._talk = talk
        self._style = style
        self._earlier = earlier
        edits = opened.review.edits
        self._groups = [(edit,) for edit in edits] if opened.review.undoes is None else [edits]
        self._files: dict[int, FileReview | None] = {}
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
            question = f"({self._at + 1}/{len(self._groups)}) Accept this edit [{_SHOWN_KEYS}]? "
            key = self._talk.key(question, _KEYS, _HELP)
            if key is None:
                return False
            if key == "q":
                return True
            at = self._at
            self._do(key)
            is_shown = self._at == at
        return True

    def _do(self, typed: str) -> None:
        if typed.startswith("/"):
            self._search(typed[1:].strip())
        else:
            self._actions()[typed]()

    def _actions(self) -> Mapping[str, Callable[[], None]]:
        here, talk = self._groups[self._at], self._talk
        return {
            "y": lambda: self._answer(here, accepted=True),
            "n": lambda: self._answer(here, accepted=False),
            "a": lambda: self._answer(self._rest_of_file(), accepted=True),
            "d": lambda: self._answer(self._rest_of_file(), accepted=False),
            "j": lambda: self._go(self._at + 1),
            "k": lambda: self._go(max(self._at - 1, 0)),
            "f": self._go_to_file,
            "e": lambda: self._comment(here[0]),
            "p": lambda: self._show(here),
            "w": lambda: talk.page(warning_list(self._review, self._style)),
            "r": lambda: talk.page(revision_text(self._earlier, self._style)),
            "s": lambda: talk.tell(_NO_SPLIT),
            "?": lambda: talk.tell(_HELP),
        }

    def _go(self, at: int) -> None:
        self._at = at

    def _answer(self, edits: Sequence[ReviewedEdit], *, accepted: bool) -> None:
        self._choices.answers.update((edit.index, accepted) for edit in edits)
        self._go(self._next_open())

    def _rest_of_file(self) -> list[ReviewedEdit]:
        """The edits from here on that change a file which this one changes; those that have no answer."""
        here = self._groups[self._at]
        files = {file for edit in here for file in edit.files}
        later = [edit for group in self._groups[self._at + 1 :] for edit in group]
        open_edits = self._choices.open_edits([edit.index for edit in later])
        return [
            *here,
            *(each for each in later if each.index in open_edits and files.intersection(each.files)),
        ]

    def _next_open(self) -> int:
        """Where the next edit without an answer is, last those before this one; the end where none is."""
        n_groups = len(self._groups)
        order = [*range(self._at + 1, n_groups), *range(self._at)]
        is_open = (at for at in order if self._groups[at][0].index not in self._choices.answers)
        return next(is_open, n_groups)

    def _show(self, group: Sequence[ReviewedEdit], before: str = "") -> None:
        self._talk.page(before + "".join(self._text(edit) for edit in group))
        self._choices.viewed.update(file for edit in group for file in edit.files)

    def _text(self, edit: ReviewedEdit) -> str:
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
                parts.append(style.bold(file_title(file)) + self._position(file.file) + "\n")
                at = file
            parts.append(hunk_text(self._review, file, hunk, style, edit.index))
        return "".join(parts)

    def _position(self, file: ReviewedFile) -> str:
        files = [each.index for each in self._review.changed_files]
        if len(files) < 2 or file.index not in files:
            return ""
        return self._style.paint(f"  (file {files.index(file.index) + 1} of {len(files)})", "bright_black")

    def _hunks(self, edit: ReviewedEdit) -> Iterator[tuple[FileReview, ReviewedHunk]]:
        for index in edit.files:
            file = self._file(index)
            if file is not None:
                for hunk in file.hunks:
                    yield from ((file, part) for part in parts_of_edit(hunk, edit.index))

    def _file(self, index: int) -> FileReview | None:
        if index not in self._files:
            found = self._opened.file(index)
            self._files[index] = found if isinstance(found, FileReview) else None
        return self._files[index]

    def _go_to_file(self) -> None:
        files = self._review.changed_files
        self._talk.page(file_list(self._review, self._choices, self._style))
        typed = (self._talk.ask(f"File [1-{len(files)}, or a part of its path]? ") or "").strip()
        if not typed:
            return
        if typed.isdecimal() and 1 <= int(typed) <= len(files):
            found = files[int(typed) - 1]
        else:
            named = [file for file in files if typed.casefold() in file.path.casefold()]
            if not named:
                self._talk.tell(f"No file of this plan has `{shown(typed)}` in its path.\n")
                return
            found = named[0]
        at = next((at for at, group in enumerate(self._groups) if _changes(group, found.index)), None)
        if at is not None:
            self._at = at
            return
        # No edit asked for it: links that follow.
        file = self._file(found.index)
        if file is not None:
            self._talk.page(file_text(self._review, file, self._style))
            self._choices.viewed.add(found.index)

    def _search(self, text: str) -> None:
        text = text or (self._talk.ask("Search for: ") or "").strip()
        wanted = text.casefold()
        order = [*range(self._at + 1, len(self._groups)), *range(self._at + 1)]
        for at in order:
            if wanted and any(self._contains(edit, wanted) for edit in self._groups[at]):
                self._at = at
                return
        self._talk.tell(f"No edit shows `{shown(text)}`.\n")

    def _contains(self, edit: ReviewedEdit, wanted: str) -> bool:
        if wanted in edit_text(self._review, edit).casefold():
            return True
        lines = (line for _, hunk in self._hunks(edit) for line in hunk.lines if edit.index in line.edits)
        return any(wanted in line.text.casefold() for line in lines)

    def _comment(self, edit: ReviewedEdit) -> None:
        """Let the person comment on an edit and its lines in the editor."""
        choices = self._choices
        quoted = QuotedDiff(edit_text(self._review, edit), self._hunks(edit))
        before = Comments(choices.comments.get(edit.index, ""), choices.line_comments)
        saved = self._talk.edit(quoted.text(before))
        if saved is None:
            self._talk.tell("The editor saved nothing; your comments are as they were.\n")
            return
        comments = quoted.read(saved)
        choices.comments.pop(edit.index, None)
        if comments.whole:
            choices.comments[edit.index] = comments.whole
        choices.line_comments = without(choices.line_comments, quoted.places) | dict(comments.on_lines)
        n_comments = len(comments.on_lines) + bool(comments.whole)
        self._talk.tell(f"This edit has {counted(n_comments, 'comment')} of yours.\n")


def _changes(group: Sequence[ReviewedEdit], file: int) -> bool:
    return any(file in edit.files for edit in group)
