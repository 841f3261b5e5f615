"""One file of a plan on the page: its hunks, and each edit before the first lines that it made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from mdplan.diagnostics import Problems
from mdplan.engine.reviews import OpenPlan
from mdplan.operations import moves_text
from mdplan.review.plan_review import FileReview, Gap, ReviewedFile, ReviewedHunk, ReviewedLine
from mdplan.storage.decisions import LineComment, Side
from mdplan.web.diff.diff_rows import Cell, DiffOptions, OtherFile, Row, cells_of, context_cells, side_by_side
from mdplan.web.diff.edit_cards import EditCard, card_name, edit_card
from mdplan.web.diff.edit_lines import EditLines, lines_by_edit
from mdplan.web.sessions import Mark, PlanNotes

# Edits without lines that one file shows.
MOST_LOOSE_EDITS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class EditName:
    """An edit that is named next to a hunk, and the name of its card on this page."""

    index: int
    number: str
    op: str
    card: str


@dataclass(frozen=True, slots=True)
class ShownComment:
    """A comment on lines. `number` is that of one that was not sent yet; `by` wrote one that was."""

    comment: LineComment
    number: int | None = None
    by: str = ""

    @property
    def is_old(self) -> bool:
        """Whether its lines are those before the plan."""
        return self.comment.side is Side.BEFORE


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkView:
    """A hunk, or as much of it as is on this page. `cards` are edits that are here for the first time.

    `gap` are the lines before it that no hunk shows; None in the middle of a hunk. `rows` are its lines in
    pairs where the reader wants them side by side; else `cells` are its lines.
    """

    hunk: ReviewedHunk
    gap: Gap | None
    edits: tuple[EditName, ...]
    cards: tuple[EditCard, ...]
    names_edits: bool
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A file, or as much of it as is on this page.

    `cards` are its edits without lines that can be shown, `more_cards` counts those that are omitted.
    `problems` say why its text cannot be shown. `next` is the first line that is not shown, a 0-based count
    through all hunks; None where nothing follows, and then `last_gap` are the lines after the last hunk.
    `pages` is how many pages of its own the file would fill. `comments` are by side and last line; those that
    are on no line of this page are in `loose_comments`.
    """

    file: ReviewedFile
    notes: tuple[str, ...]
    problems: Problems
    cards: tuple[EditCard, ...]
    more_cards: int
    hunks: tuple[HunkView, ...]
    n_lines: int
    next: int | None
    last_gap: Gap | None
    pages: int
    comments: Mapping[tuple[bool, int], Sequence[ShownComment]]
    loose_comments: tuple[ShownComment, ...]

    def comments_at(self, *cells: Cell | None) -> list[ShownComment]:
        """The comments that end at a row with those cells."""
        places: dict[tuple[bool, int], None] = {}
        for cell in cells:
            if cell is not None and cell.kind != "new" and cell.old_line is not None:
                places[True, cell.old_line] = None
            if cell is not None and cell.kind != "gone" and cell.new_line is not None:
                places[False, cell.new_line] = None
        return [each for place in places for each in self.comments.get(place, ())]


class FileViews:
    """The files of one plan, with what `notes` of a reader say, as `options` want them."""

    def __init__(self, opened: OpenPlan, notes: PlanNotes, options: DiffOptions) -> None:
        self._opened = opened
        self._marks = notes.marks or {}
        decision = opened.decision
        sent = decision.line_comments if decision is not None else ()
        by = decision.decided_by if decision is not None else ""
        self._comments = [
            *(ShownComment(comment, by=by) for comment in sent),
            *(ShownComment(comment, number) for number, comment in notes.comments.items()),
        ]
        self._options = options
        self._edits = {edit.index: edit for edit in opened.review.edits}

    def of(self, file: ReviewedFile, first: int, size: int, *, goes_on: bool = False) -> FileView:
        """The lines of `file` from the one at `first`, a 0-based count through all hunks; `size` at most.

        A view that `goes_on` below the lines before it repeats none of the edits that are there.
        """
        found = self._opened.file(file.index)
        problems: Problems = ()
        if not isinstance(found, FileReview):
            problems, found = found, FileReview(file=file, hunks=(), gaps=(), notes=())
        made = lines_by_edit(found.hunks)
        loose = [edit for edit in file.edits if edit not in made] if first == 0 else []
        n_lines = sum(len(hunk.lines) for hunk in found.hunks)
        before = _before(found.hunks, first) if goes_on else frozenset()
        hunks = tuple(self._hunks(found, first, size, made, before))
        comments = self._comments_of(file, hunks)
        is_end = first + size >= n_lines
        return FileView(
            file=file,
            notes=found.notes,
            problems=problems,
            cards=tuple(self._cards(loose[:MOST_LOOSE_EDITS], file, made)),
            more_cards=max(0, len(loose) - MOST_LOOSE_EDITS),
            hunks=hunks,
            n_lines=n_lines,
            next=None if is_end else first + size,
            last_gap=found.gaps[-1] if found.gaps and is_end else None,
            pages=ceil(n_lines / size) or 1,
            comments=comments[0],
            loose_comments=comments[1] if first == 0 else (),
        )

    def context(self, file: ReviewedFile, first: int, last: int) -> list[Cell] | Problems:
        """The lines `first` to `last` of the result that no hunk shows. Errors: `OpenPlan.context`."""
        found = self._opened.context(file.index, first, last)
        return list(context_cells(found, self._options)) if isinstance(found, list) else found

    def _hunks(
        self,
        found: FileReview,
        first: int,
        size: int,
        made: Mapping[int, EditLines],
        shown: frozenset[int],
    ) -> Iterator[HunkView]:
        before = 0
        for hunk, gap in zip(found.hunks, found.gaps, strict=False):
            start, end = max(0, first - before), max(0, first + size - before)
            before += len(hunk.lines)
            lines = hunk.lines[start:end]
            if not lines:
                continue
            edits = sorted({edit for line in lines for edit in line.edits})
            new = [edit for edit in edits if edit not in shown]
            shown |= frozenset(new)
            yield self._hunk(hunk, lines, found.file, (edits, new), made, gap if start == 0 else None)

    def _hunk(
        self,
        hunk: ReviewedHunk,
        lines: Sequence[ReviewedLine],
        file: ReviewedFile,
        edits: tuple[Sequence[int], Sequence[int]],
        made: Mapping[int, EditLines],
        gap: Gap | None,
    ) -> HunkView:
        numbers = {edit: self._number(edit, file) for edit in edits[0]}
        others = {edit: other for edit in edits[0] if (other := self._other(edit, file)) is not None}
        cells = tuple(cells_of(hunk, lines, self._options, numbers, others))
        return HunkView(
            hunk=hunk,
            gap=gap,
            edits=tuple(
                EditName(
                    index=index,
                    number=numbers[index],
                    op=self._edits[index].op,
                    card=card_name(self._edits[index], file.index),
                )
                for index in edits[0]
                if index in self._edits
            ),
            cards=tuple(self._cards(edits[1], file, made)),
            names_edits=any(cell.edits for cell in cells),
            cells=() if self._options.is_split else cells,
            rows=tuple(side_by_side(cells)) if self._options.is_split else (),
        )

    def _other(self, index: int, file: ReviewedFile) -> OtherFile | None:
        """The other file of an edit that moves a section between two files."""
        edit = self._edits.get(index)
        if edit is None or not moves_text(edit.op) or len(edit.files) != 2:
            return None
        other = next(each for each in edit.files if each != file.index)
        found = self._opened.file(other)
        if not isinstance(found, FileReview):
            return None
        lines = (line for hunk in found.hunks for line in hunk.lines)
        texts = frozenset(line.text for line in lines if index in line.edits)
        return OtherFile(self._opened.review.files[other].path, other, texts)

    def _cards(
        self, indexes: Sequence[int], file: ReviewedFile, made: Mapping[int, EditLines]
    ) -> Iterator[EditCard]:
        numbers = self._opened.review.numbers
        for index in indexes:
            edit = self._edits.get(index)
            if edit is not None:
                yield edit_card(
                    edit,
                    self._marks.get(index, Mark()),
                    file,
                    made.get(index, EditLines()),
                    (self._number(index, file), numbers.number(index)),
                )

    def _number(self, index: int, file: ReviewedFile) -> str:
        return self._opened.review.numbers.number(index, within=file.path)

    def _comments_of(
        self, file: ReviewedFile, hunks: Sequence[HunkView]
    ) -> tuple[Mapping[tuple[bool, int], Sequence[ShownComment]], tuple[ShownComment, ...]]:
        """The comments on `file` by the place where they are shown, and those on lines that are not here."""
        shown = {
            place
            for view in hunks
            for line in view.hunk.lines
            for place in ((True, line.old_line), (False, line.new_line))
        }
        by_place: dict[tuple[bool, int], list[ShownComment]] = {}
        loose = []
        for each in self._comments:
            if each.comment.file != file.path:
                continue
            place = each.is_old, each.comment.end
            if place in shown:
                by_place.setdefault(place, []).append(each)
            else:
                loose.append(each)
        return by_place, tuple(loose)


def _before(hunks: Sequence[ReviewedHunk], first: int) -> frozenset[int]:
    """The edits of the lines before the one at `first`."""
    lines = [line for hunk in hunks for line in hunk.lines][:first]
    return frozenset(edit for line in lines for edit in line.edits)
