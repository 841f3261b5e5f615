"""One file of a plan on the page: its hunks, and each edit before the first lines that it made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from mdplan.diagnostics import Problems
from mdplan.engine.open_plan import OpenPlan
from mdplan.review.plan_review import FileReview, ReviewedEdit, ReviewedFile, ReviewedHunk, ReviewedLine
from mdplan.web.diff_rows import Cell, DiffOptions, Row, cells_of, side_by_side
from mdplan.web.edit_cards import EditCard, edit_card
from mdplan.web.paging import EDITS_OF_A_FILE
from mdplan.web.sessions import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class EditName:
    """An edit that is named beside a hunk, and the name of its card on this page."""

    index: int
    number: str
    op: str
    card: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkView:
    """A hunk, or as much of it as is on this page. `cards` are edits that stand here for the first time."""

    hunk: ReviewedHunk
    edits: tuple[EditName, ...]
    cards: tuple[EditCard, ...]
    names_edits: bool
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A file, or as much of it as is on this page.

    `cards` are its edits without lines that can be shown, `more_cards` counts those that are omitted.
    `problems` say why its text cannot be shown. `pages` is how many pages of its own it would fill; 1 where
    all of it is here.
    """

    file: ReviewedFile
    notes: tuple[str, ...]
    problems: Problems
    cards: tuple[EditCard, ...]
    more_cards: int
    hunks: tuple[HunkView, ...]
    n_lines: int
    pages: int


class FileViews:
    """The files of one page; each edit has one name on it, whichever file it is shown in."""

    def __init__(self, opened: OpenPlan, marks: dict[int, Mark], options: DiffOptions) -> None:
        self._opened = opened
        self._marks = marks
        self._options = options
        self._edits = {edit.index: edit for edit in opened.review.edits}
        self._names: set[str] = set()

    def of(self, file: ReviewedFile, first: int, size: int) -> FileView:
        """The lines of `file` from the one at `first`, a 0-based count through all hunks; `size` at most."""
        found = self._opened.file(file.index)
        problems: Problems = ()
        if not isinstance(found, FileReview):
            problems, found = found, FileReview(file=file, hunks=(), notes=())
        made = {edit for hunk in found.hunks for edit in hunk.edits}
        loose = [edit for edit in file.edits if edit not in made] if first == 0 else []
        n_lines = sum(len(hunk.lines) for hunk in found.hunks)
        cards: dict[int, EditCard] = {}
        self._add(cards, loose[:EDITS_OF_A_FILE], file)
        return FileView(
            file=file,
            notes=found.notes,
            problems=problems,
            cards=tuple(cards.values()),
            more_cards=max(0, len(loose) - EDITS_OF_A_FILE),
            hunks=tuple(self._hunks(found, first, size, cards)),
            n_lines=n_lines,
            pages=ceil(n_lines / size) or 1,
        )

    def _hunks(
        self, found: FileReview, first: int, size: int, cards: dict[int, EditCard]
    ) -> Iterator[HunkView]:
        before = 0
        for hunk in found.hunks:
            lines = hunk.lines[max(0, first - before) : max(0, first + size - before)]
            before += len(hunk.lines)
            if lines:
                yield self._hunk(hunk, lines, found.file, cards)

    def _hunk(
        self,
        hunk: ReviewedHunk,
        lines: Sequence[ReviewedLine],
        file: ReviewedFile,
        cards: dict[int, EditCard],
    ) -> HunkView:
        edits = sorted({edit for line in lines for edit in line.edits})
        new = [edit for edit in edits if edit not in cards]
        self._add(cards, new, file)
        cells = tuple(cells_of(hunk, lines, self._options))
        return HunkView(
            hunk=hunk,
            edits=tuple(
                EditName(index=index, number=cards[index].number, op=cards[index].op, card=cards[index].name)
                for index in edits
                if index in cards
            ),
            cards=tuple(cards[index] for index in new if index in cards),
            names_edits=any(cell.edits for cell in cells),
            cells=() if self._options.is_split else cells,
            rows=tuple(side_by_side(cells)) if self._options.is_split else (),
        )

    def _add(self, cards: dict[int, EditCard], indexes: Sequence[int], file: ReviewedFile) -> None:
        for index in indexes:
            edit = self._edits.get(index)
            if edit is not None:
                section_of = file.index if self._has_section(edit) else None
                numbers = self._opened.review.numbers
                cards[index] = edit_card(
                    edit,
                    self._marks.get(index, Mark()),
                    self._named(index, file.index),
                    section_of,
                    (numbers.number(index, within=file.path), numbers.number(index)),
                )

    def _has_section(self, edit: ReviewedEdit) -> bool:
        result = edit.result
        return bool(result.section_id or result.ranges or result.result_lines)

    def _named(self, index: int, file: int) -> str:
        name = f"edit-{index}"
        if name in self._names:
            name = f"edit-{index}-file-{file}"
        self._names.add(name)
        return name
