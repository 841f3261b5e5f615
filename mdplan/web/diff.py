"""The diff of a file on the review page: its hunks, with each edit above its first lines."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile, zip_longest
from math import ceil
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from mdplan.decisions import LineComment, Side
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.reviews import OpenPlan
from mdplan.operations import moves_text
from mdplan.plan import EditResult
from mdplan.review import plan_review
from mdplan.review.lines import MarkedText, Pieces
from mdplan.text.diff import LineComparison
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import escaped, is_hidden
from mdplan.values import Struct, field, replace
from mdplan.web.labels import counted, shown
from mdplan.web.sessions import EditChoice, Mark, PlanNotes

# Edits without lines to show per file.
MOST_LOOSE_EDITS: Final = 60


class EditName(Struct, kw_only=True):
    """An edit named next to a hunk, and the name of its card on this page."""

    index: int
    number: str
    op: str
    card: str


class ShownComment(Struct):
    """A comment on lines: unsent with a `number`, or sent `by` someone."""

    comment: LineComment
    number: int | None = None
    by: str = ""

    @property
    def is_old(self) -> bool:
        """True if its lines are in the base."""
        return self.comment.side is Side.BEFORE


class OtherFile(Struct):
    """The other file of a moved text: its path, position, and lines."""

    path: str
    index: int
    texts: frozenset[str]


class Cell(Struct, kw_only=True):
    """A line of one side, ready for display. `edits` names its authors, where useful.

    `text` has no markup. `moved` is the line number on the other side of a line that only moved, `other` the
    file that it moved to or from; `starts_move` marks the first line of a move.
    """

    kind: str
    sign: str
    old_line: int | None
    new_line: int | None
    text: str
    html: Markup
    edits: tuple[str, ...]
    moved: int | None
    starts_move: bool
    other: OtherFile | None = None

    @property
    def is_moved(self) -> bool:
        """True if the line only moved."""
        return self.moved is not None or self.other is not None


Row = tuple[Cell | None, Cell | None]


class EditCard(Struct, kw_only=True):
    """An edit on the page; `name` is unique there.

    `number` is its number within the file, `full_number` across the plan. `facts` describe its effect and
    match report; `requested` is its JSON, truncated. `section_of` is the file whose section can be viewed.
    `first_line` is its first line: side (``old`` or ``new``) and number.
    """

    index: int
    number: str
    full_number: str
    name: str
    op: str
    place: str
    facts: tuple[str, ...]
    requested: str
    warnings: tuple[Diagnostic, ...]
    mark: Mark
    section_of: int | None
    first_line: tuple[str, int] | None


class HunkView(Struct, kw_only=True):
    """A hunk, or its part on this page. `cards` are edits that first appear here.

    `gap` are the hidden lines before it; None within a hunk. `cells` are its lines.
    """

    hunk: plan_review.ReviewedHunk
    gap: plan_review.Gap | None
    edits: tuple[EditName, ...]
    cards: tuple[EditCard, ...]
    names_edits: bool
    cells: tuple[Cell, ...]


class FileView(Struct, kw_only=True):
    """A file, or its part on this page.

    - `cards`: edits without lines; `more_cards` counts omitted ones.
    - `problems`: why the text cannot be shown.
    - `next`: the first line not shown, a 0-based count through all hunks; None at the end, where `last_gap`
      are the lines after the last hunk.
    - `pages`: the number of pages of the file's own view.
    - `comments`: by side and last line; `loose_comments` are on lines not on this page.
    """

    file: plan_review.ReviewedFile
    notes: tuple[str, ...]
    problems: Problems
    cards: tuple[EditCard, ...]
    more_cards: int
    hunks: tuple[HunkView, ...]
    n_lines: int
    next: int | None
    last_gap: plan_review.Gap | None
    pages: int
    comments: Mapping[tuple[bool, int], Sequence[ShownComment]]
    loose_comments: tuple[ShownComment, ...]

    def comments_at(self, *cells: Cell | None) -> list[ShownComment]:
        """Return the comments that end at a row with these cells."""
        places: dict[tuple[bool, int], None] = {}
        for cell in cells:
            if cell is not None and cell.kind != "new" and cell.old_line is not None:
                places[True, cell.old_line] = None
            if cell is not None and cell.kind != "gone" and cell.new_line is not None:
                places[False, cell.new_line] = None
        return [each for place in places for each in self.comments.get(place, ())]


class DiffOptions(Struct, kw_only=True):
    """A reader's display options for diffs."""

    is_split: bool = False
    shows_blanks: bool = False


class EditLines(Struct):
    """The base lines that an edit removes, and the result lines that it adds.

    `moved` maps removed lines that only moved to their number on the other side. `blank` has sign and number
    of blank lines.
    """

    removed: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)
    blank: set[tuple[str, int]] = field(default_factory=set)

    @property
    def first(self) -> tuple[str, int] | None:
        """Side (``old`` or ``new``) and number of the first line, or None."""
        if self.added:
            return "new", self.added[0]
        return ("old", self.removed[0]) if self.removed else None


def marks_of(opened: OpenPlan, notes: PlanNotes) -> dict[int, Mark]:
    """Return what cards show of the choices and comments in `notes`."""
    if not (notes.choices or notes.said or notes.texts):
        return {}
    chosen = opened.chosen(notes.choices or {})
    kinds = (
        (EditChoice.ACCEPT, chosen.accepted),
        (EditChoice.REJECT, chosen.rejected),
        (EditChoice.PART, chosen.in_part),
        (EditChoice.NONE, chosen.undecided),
    )
    return {
        index: Mark(choice, notes.said.get(index, ""), index in notes.texts)
        for choice, edits in kinds
        for index in edits
    }


class FileViews:
    """Views of the files of a plan, with a reader's `notes` and `options`."""

    def __init__(self, opened: OpenPlan, notes: PlanNotes, options: DiffOptions) -> None:
        self._opened = opened
        self._marks = marks_of(opened, notes)
        decision = opened.decision
        sent = decision.remarks.line_comments if decision is not None else ()
        by = decision.decided_by if decision is not None else ""
        self._comments = [
            *(ShownComment(comment, by=by) for comment in sent),
            *(ShownComment(comment, number) for number, comment in notes.comments.items()),
        ]
        self._options = options
        self._edits = {edit.index: edit for edit in opened.review.edits}

    def of(self, file: plan_review.ReviewedFile, first: int, size: int, *, goes_on: bool = False) -> FileView:
        """Return up to `size` lines of `file` from line `first`, a 0-based count through all hunks.

        With `goes_on`, edits shown above are not repeated.
        """
        review = self._opened.file(file.index)
        problems: Problems = ()
        if not isinstance(review, plan_review.FileReview):
            problems, review = review, plan_review.FileReview(file=file, hunks=(), gaps=(), notes=())
        edit_lines = lines_by_edit(review.hunks)
        loose = [edit for edit in file.edits if edit not in edit_lines] if first == 0 else []
        n_lines = sum(len(hunk.lines) for hunk in review.hunks)
        shown_edits = _edits_before(review.hunks, first) if goes_on else frozenset()
        hunks = tuple(self._hunks(review, first, size, edit_lines, shown_edits))
        comments, loose_comments = self._comments_of(file, hunks)
        is_end = first + size >= n_lines
        return FileView(
            file=file,
            notes=review.notes,
            problems=problems,
            cards=tuple(self._cards(loose[:MOST_LOOSE_EDITS], file, edit_lines)),
            more_cards=max(0, len(loose) - MOST_LOOSE_EDITS),
            hunks=hunks,
            n_lines=n_lines,
            next=None if is_end else first + size,
            last_gap=review.gaps[-1] if review.gaps and is_end else None,
            pages=ceil(n_lines / size) or 1,
            comments=comments,
            loose_comments=loose_comments if first == 0 else (),
        )

    def context(self, file: plan_review.ReviewedFile, first: int, last: int) -> list[Cell] | Problems:
        """Return the result lines `first` to `last` outside hunks. Errors: as `OpenPlan.context`."""
        lines = self._opened.context(file.index, first, last)
        if not isinstance(lines, list):
            return lines
        options = self._options
        return [_cell(line, options, (), shows_end=options.shows_blanks) for line in lines]

    def _hunks(
        self,
        review: plan_review.FileReview,
        first: int,
        size: int,
        edit_lines: Mapping[int, EditLines],
        shown_edits: frozenset[int],
    ) -> Iterator[HunkView]:
        before = 0
        for hunk, gap in zip(review.hunks, review.gaps, strict=False):
            start, end = max(0, first - before), max(0, first + size - before)
            before += len(hunk.lines)
            lines = hunk.lines[start:end]
            if not lines:
                continue
            edits = sorted({edit for line in lines for edit in line.edits})
            new = [edit for edit in edits if edit not in shown_edits]
            shown_edits |= frozenset(new)
            yield self._hunk(hunk, lines, review.file, (edits, new), edit_lines, gap if start == 0 else None)

    def _hunk(
        self,
        hunk: plan_review.ReviewedHunk,
        lines: Sequence[plan_review.ReviewedLine],
        file: plan_review.ReviewedFile,
        edits: tuple[Sequence[int], Sequence[int]],
        edit_lines: Mapping[int, EditLines],
        gap: plan_review.Gap | None,
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
            cards=tuple(self._cards(edits[1], file, edit_lines)),
            names_edits=any(cell.edits for cell in cells),
            cells=cells,
        )

    def _other(self, index: int, file: plan_review.ReviewedFile) -> OtherFile | None:
        """Return the other file of an edit that moves a section between files."""
        edit = self._edits.get(index)
        if edit is None or not moves_text(edit.op) or len(edit.files) != 2:
            return None
        other = next(each for each in edit.files if each != file.index)
        review = self._opened.file(other)
        if not isinstance(review, plan_review.FileReview):
            return None
        lines = (line for hunk in review.hunks for line in hunk.lines)
        texts = frozenset(line.text for line in lines if index in line.edits)
        return OtherFile(self._opened.review.files[other].path, other, texts)

    def _cards(
        self, indexes: Sequence[int], file: plan_review.ReviewedFile, edit_lines: Mapping[int, EditLines]
    ) -> Iterator[EditCard]:
        numbers = self._opened.review.numbers
        for index in indexes:
            edit = self._edits.get(index)
            if edit is not None:
                yield edit_card(
                    edit,
                    self._marks.get(index, Mark()),
                    file,
                    edit_lines.get(index, EditLines()),
                    (self._number(index, file), numbers.number(index)),
                )

    def _number(self, index: int, file: plan_review.ReviewedFile) -> str:
        return self._opened.review.numbers.number(index, within=file.path)

    def _comments_of(
        self, file: plan_review.ReviewedFile, hunks: Sequence[HunkView]
    ) -> tuple[Mapping[tuple[bool, int], Sequence[ShownComment]], tuple[ShownComment, ...]]:
        """Return the comments on `file` by position, and those on lines not shown here."""
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


def _edits_before(hunks: Sequence[plan_review.ReviewedHunk], first: int) -> frozenset[int]:
    """Return the edits of the lines before line `first`."""
    lines = [line for hunk in hunks for line in hunk.lines][:first]
    return frozenset(edit for line in lines for edit in line.edits)


# --- Hunks as table rows: unified, or side by side

_KINDS: Final = {" ": "same", "-": "gone", "+": "new"}
_SIGNS: Final = {" ": "", "-": "\N{MINUS SIGN}", "+": "+"}


def cells_of(
    hunk: plan_review.ReviewedHunk,
    lines: Sequence[plan_review.ReviewedLine],
    options: DiffOptions,
    numbers: Mapping[int, str],
    others: Mapping[int, OtherFile],
) -> Iterator[Cell]:
    """Yield `lines` of `hunk` as cells; `numbers` are the edits' numbers in the file.

    `others` are the files to or from which edits move text.
    """
    changed_ends = {line.line_end for line in hunk.lines if line.sign != " " and line.line_end}
    names_edits = len(hunk.edits) > 1 or hunk.is_derived
    last_moved, last_other = None, None
    for line in lines:
        is_changed = line.sign != " "
        shows_end = options.shows_blanks or (is_changed and len(changed_ends) > 1)
        named = line.edits if names_edits and is_changed else ()
        known = tuple(numbers[edit] for edit in named if edit in numbers)
        cell = _cell(line, options, known, shows_end=shows_end)
        other = _other(line, others)
        starts_move = line.moved is not None and last_moved != line.moved - 1
        starts_move = starts_move or (other is not None and other is not last_other)
        yield replace(cell, starts_move=starts_move, other=other) if starts_move or other else cell
        last_moved, last_other = line.moved, other


def _other(line: plan_review.ReviewedLine, others: Mapping[int, OtherFile]) -> OtherFile | None:
    """Return the other file that contains the moved text of `line`."""
    candidates = (others[edit] for edit in line.edits if edit in others)
    return next((other for other in candidates if line.text in other.texts), None)


def side_by_side(cells: Sequence[Cell]) -> Iterator[Row]:
    """Pair `cells` side by side: unchanged lines with themselves, removed with added lines.

    Moved lines are unpaired. Unchanged blank lines count as part of surrounding changes, because diffs keep
    them between different paragraphs.
    """
    for stays, run in groupby(cells, key=lambda cell: cell.kind == "same" and bool(cell.text.strip())):
        block = list(run)
        if stays or all(cell.kind == "same" for cell in block):
            yield from ((cell, cell) for cell in block)
        else:
            yield from _beside(
                [cell for cell in block if cell.kind != "new"],
                [cell for cell in block if cell.kind != "gone"],
            )


def _beside(gone: Sequence[Cell], new: Sequence[Cell]) -> Iterator[Row]:
    """Yield rows for the cells of both sides, each in order."""
    old_stay = [cell for cell in gone if not cell.is_moved]
    new_stay = [cell for cell in new if not cell.is_moved]
    left, right = iter(gone), iter(new)
    for old_at, new_at in paired([cell.text for cell in old_stay], [cell.text for cell in new_stay]):
        old = old_stay[old_at] if old_at is not None else None
        come = new_stay[new_at] if new_at is not None else None
        yield from ((cell, None) for cell in _until(left, old))
        yield from ((None, cell) for cell in _until(right, come))
        yield old, come
    yield from ((cell, None) for cell in left)
    yield from ((None, cell) for cell in right)


def _until(cells: Iterator[Cell], last: Cell | None) -> Iterator[Cell]:
    """Yield the cells before `last`, which is consumed too; nothing if it is None."""
    if last is not None:
        yield from takewhile(lambda cell: cell is not last, cells)


def _cell(
    line: plan_review.ReviewedLine, options: DiffOptions, edits: tuple[str, ...], *, shows_end: bool
) -> Cell:
    return Cell(
        kind=_KINDS[line.sign],
        sign=_SIGNS[line.sign],
        old_line=line.old_line,
        new_line=line.new_line,
        text=line.text,
        html=line_html(line, shows_blanks=options.shows_blanks, shows_end=shows_end),
        edits=edits,
        moved=line.moved,
        starts_move=False,
    )


# --- The card of an edit: what it does, its match, and the reader's opinion

_MOST_REQUESTED: Final = 3000
_OFFSETS_NAMED: Final = 6


def edit_card(
    edit: plan_review.ReviewedEdit,
    mark: Mark,
    file: plan_review.ReviewedFile,
    lines: EditLines,
    numbers: tuple[str, str],
) -> EditCard:
    """Return the card of `edit` in `file` with its `lines`; `numbers` are `number` and `full_number`."""
    result = edit.result
    has_section = result.section_id or result.ranges or result.result_lines
    return EditCard(
        index=edit.index,
        number=shown(numbers[0]),
        full_number=shown(numbers[1]),
        name=card_name(edit, file.index),
        op=edit.op,
        place=shown(edit.place),
        facts=(*line_facts(lines), *_moves(result, file), *_facts(result)),
        requested=_requested(edit),
        warnings=result.warnings,
        mark=mark,
        section_of=file.index if has_section else None,
        first_line=lines.first,
    )


def card_name(edit: plan_review.ReviewedEdit, file: int) -> str:
    """Return the card name of `edit` in a file: an edit can be in several files."""
    return f"edit-{edit.index}" if edit.files[:1] == (file,) else f"edit-{edit.index}-file-{file}"


def _moves(result: EditResult, file: plan_review.ReviewedFile) -> Iterator[str]:
    """Yield the direction in which an edit moves text between files."""
    if result.to_file is None:
        return
    verb = "moved" if moves_text(result.op) else "writes text"
    yield (
        f"{verb} to {shown(result.to_file)}"
        if file.path == result.file
        else f"{verb} from {shown(result.file)}"
    )


def _facts(result: EditResult) -> Iterator[str]:
    if result.no_op:
        yield "changes nothing"
    if result.matches_found is not None:
        found = counted(result.matches_found, "match", "matches")
        yield f"{found} found, {result.matches_replaced or 0} replaced"
    for kind, count in (result.excluded_matches or {}).items():
        if count:
            yield f"{count} skipped in {kind}"
    if result.line_ends_normalized:
        yield "matched with line ends taken as equal"
    if result.hunk_offsets:
        yield f"hunks moved by {', '.join(f'{offset:+d}' for offset in result.hunk_offsets[:_OFFSETS_NAMED])}"


def _requested(edit: plan_review.ReviewedEdit) -> str:
    text = json.dumps(edit.requested, ensure_ascii=False, indent=2, default=str)
    text = shown(text)
    return text if len(text) <= _MOST_REQUESTED else f"{text[:_MOST_REQUESTED]}\n…"


# --- The effect of an edit on the lines of a file, from the diff

_RANGES_NAMED: Final = 6


def lines_by_edit(hunks: Iterable[plan_review.ReviewedHunk]) -> Mapping[int, EditLines]:
    """Return the lines of each edit in `hunks`."""
    by_edit: dict[int, EditLines] = {}
    for hunk in hunks:
        for line in hunk.lines:
            for edit in line.edits:
                lines = by_edit.setdefault(edit, EditLines())
                if not line.text.strip():
                    lines.blank.add((line.sign, line.old_line or line.new_line or 0))
                if line.old_line is not None:
                    lines.removed.append(line.old_line)
                    if line.moved is not None:
                        lines.moved[line.old_line] = line.moved
                elif line.new_line is not None:
                    lines.added.append(line.new_line)
    return by_edit


def line_facts(lines: EditLines) -> Iterator[str]:
    """Yield descriptions such as ``removes lines 3 to 7``."""
    arrived = set(lines.moved.values())
    removed = [line for line in lines.removed if line not in lines.moved]
    added = [line for line in lines.added if line not in arrived]
    if lines.moved:
        yield f"moves {_ranges(sorted(lines.moved))} to {_ranges(sorted(arrived))}"
    has_gone = any(("-", line) not in lines.blank for line in removed)
    has_come = any(("+", line) not in lines.blank for line in added)
    # Blank lines that accompany other removals or additions are not worth mentioning.
    if (lines.moved and not (has_gone or has_come)) or not (removed or added):
        return
    if has_gone == has_come and removed and added:
        is_same_many = len(removed) == len(added)
        many = "a line" if len(removed) == 1 else f"{len(removed):,} lines"
        yield f"changes {_ranges(added)}" if is_same_many else f"replaces {many} by {_ranges(added)}"
    elif removed and (has_gone or not added):
        yield f"removes {_ranges(removed)}"
    else:
        yield f"adds {_ranges(added)}"


def _ranges(numbers: Sequence[int]) -> str:
    """Return ``line 3``, ``lines 3 to 7``, or ``lines 3, 5 to 7 and 9 more places``."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    named = [str(start) if start == end else f"{start} to {end}" for start, end in runs[:_RANGES_NAMED]]
    more = len(runs) - len(named)
    noun = "line" if len(numbers) == 1 else "lines"
    return f"{noun} {', '.join(named)}{f' and {more} more places' if more else ''}"


# --- The folder tree; a folder whose only entry is a folder shares its row, as `docs/guide`

# At this depth, rows show the rest of the path.
_MOST_NESTED: Final = 12


class TreeNode(Struct, kw_only=True):
    """A folder with `children`, or a file; `name` labels its row."""

    name: str
    file: plan_review.ReviewedFile | None
    children: tuple["TreeNode", ...]


def file_tree(files: Iterable[plan_review.ReviewedFile]) -> tuple[TreeNode, ...]:
    """Return the top of the tree of `files`: folders first, then files, in plan order."""
    return _nodes([(file.path.split("/"), file) for file in files])


def _nodes(
    placed: Sequence[tuple[list[str], plan_review.ReviewedFile]], nested: int = 0
) -> tuple[TreeNode, ...]:
    folders: dict[str, list[tuple[list[str], plan_review.ReviewedFile]]] = {}
    leaves = []
    for parts, file in placed:
        if len(parts) > 1 and nested < _MOST_NESTED:
            folders.setdefault(parts[0], []).append((parts[1:], file))
        else:
            leaves.append(TreeNode(name="/".join(parts), file=file, children=()))
    return (*(_folder(name, inside, nested + 1) for name, inside in folders.items()), *leaves)


def _folder(name: str, inside: list[tuple[list[str], plan_review.ReviewedFile]], nested: int) -> TreeNode:
    # A loop instead of recursion, since paths can be deep.
    while all(len(parts) > 1 for parts, _ in inside) and len({parts[0] for parts, _ in inside}) == 1:
        name = f"{name}/{inside[0][0][0]}"
        inside = [(parts[1:], file) for parts, file in inside]
    return TreeNode(name=name, file=None, children=_nodes(inside, nested))


def in_tree_order(nodes: Iterable[TreeNode]) -> list[plan_review.ReviewedFile]:
    """Return the files below `nodes`, in tree order."""
    files: list[plan_review.ReviewedFile] = []
    for node in nodes:
        files += in_tree_order(node.children) if node.file is None else [node.file]
    return files


# --- Lines as HTML
#
# Only this part creates markup from file text, and it escapes everything. Significant spaces and tabs are
# made visible: those that changed alone, trailing ones of changed lines, and all if requested. They remain in
# the text, so that copying yields the file's text.

# Characters per line: more than a prose paragraph, but not so many that a browser hangs.
MOST_SHOWN: Final = 20_000
_BLANKS: Final = lazy_pattern(r"( +|\t)")
_TRAILING: Final = lazy_pattern(r"[ \t]+\Z")
_TAB: Final = "\t"
_MARKS: Final = {"-": ("<del>", "</del>"), "+": ("<ins>", "</ins>")}
_ENDS: Final = {"\n": "LF", "\r\n": "CRLF", "": "no line end"}


def line_html(line: plan_review.ReviewedLine, *, shows_blanks: bool, shows_end: bool) -> Markup:
    """Return `line` as HTML with changed words marked; its newline is named with `shows_end` or if missing.

    Very long lines are truncated, with a note.
    """
    shown, n_left = _beginning(line.pieces)
    parts = list(_pieces(replace(line, pieces=shown), shows_blanks=shows_blanks))
    if n_left:
        parts.append(f'<b class="end">and {n_left:,} more characters, which are in the patch</b>')
    if shows_end or not line.line_end:
        parts.append(f'<b class="end">{_ENDS[line.line_end]}</b>')
    return Markup("".join(parts))  # noqa: S704 (made of escaped text above)


def _beginning(pieces: Pieces) -> tuple[Pieces, int]:
    """Return the part of `pieces` to show, and the number of omitted characters."""
    length = sum(len(piece.text) for piece in pieces)
    if length <= MOST_SHOWN:
        return pieces, 0
    shown: list[MarkedText] = []
    room = MOST_SHOWN
    for piece in pieces:
        shown.append(MarkedText(piece.text[:room], piece.changed))
        room -= len(shown[-1].text)
        if not room:
            break
    return tuple(shown), length - MOST_SHOWN


def _pieces(line: plan_review.ReviewedLine, *, shows_blanks: bool) -> Iterator[str]:
    # Of a line that only moved, no word changed.
    is_mixed = line.moved is None and len({piece.changed for piece in line.pieces}) == 2
    trailing = _trailing(line.pieces) if line.sign != " " else 0
    last = len(line.pieces) - 1
    for number, piece in enumerate(line.pieces):
        if shows_blanks or (is_mixed and piece.changed and piece.text.isspace()):
            html = _with_blanks(piece.text)
        elif number == last and trailing:
            kept = piece.text[: len(piece.text) - trailing]
            html = _plain(kept) + _with_blanks(piece.text[len(kept) :])
        else:
            html = _plain(piece.text)
        start, end = _MARKS[line.sign] if is_mixed and piece.changed else ("", "")
        yield f"{start}{html}{end}"


def _trailing(pieces: Sequence[MarkedText]) -> int:
    """Return the number of trailing spaces."""
    spaces = _TRAILING.search(pieces[-1].text) if pieces else None
    return len(spaces[0]) if spaces else 0


def _with_blanks(text: str) -> str:
    return "".join(
        _plain(part) if number % 2 == 0 else f'<i class="{"tab" if part == _TAB else "blank"}">{part}</i>'
        for number, part in enumerate(_BLANKS.split(text))
        if part
    )


def _plain(text: str) -> str:
    """Return `text` escaped, with hidden characters in boxes."""
    if text.replace("\t", "").isprintable() and not any(map(is_hidden, text)):
        return str(escape(text))
    return "".join(
        f'<b class="hidden">{escape(escaped(character))}</b>'
        if is_hidden(character)
        else str(escape(character))
        for character in text
    )


# --- Pairing removed and added lines, such as an old and a new title

# The maximum number of line pairs per block; larger blocks are paired by position.
_MOST_LINE_COMPARISONS: Final = 10_000

# Lines that share fewer words are not paired.
_LEAST_SHARED: Final = 0.35

# The score of two headings of one level without common words, so that renamed titles pair up.
_HEADINGS: Final = 0.5
_BLANK: Final = 0.05
_HEADING: Final = lazy_pattern(r" {0,3}(#{1,6})[ \t]")
_WORD: Final = lazy_pattern(r"\w+")
Pair = tuple[int | None, int | None]


class _Line(NamedTuple):
    """A line; `level` is that of a heading, else 0; `section` has the words below a heading."""

    text: str
    level: int
    words: Counter[str]
    section: Counter[str]


def paired(old: Sequence[str], new: Sequence[str]) -> Iterator[Pair]:
    """Pair the indexes of `old` and `new`, each once and in order; None without counterpart.

    Similar lines are paired; lines between two such pairs go by position.
    """
    at_old = at_new = 0
    for old_index, new_index in (*_anchors(old, new), (len(old), len(new))):
        yield from zip_longest(range(at_old, old_index), range(at_new, new_index))
        if old_index < len(old):
            yield old_index, new_index
        at_old, at_new = old_index + 1, new_index + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the order-preserving list of similar pairs with the highest total score."""
    if len(old) * len(new) > _MOST_LINE_COMPARISONS or not (old and new):
        return []
    # best[i][j] is the best score for the lines from `i` and from `j`.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    new_lines = _lines(new)
    likeness = [[_likeness(line, other) for other in new_lines] for line in _lines(old)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            with_pair = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] else 0.0
            best[i][j] = max(with_pair, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: "_Line", new: "_Line") -> float:
    """Return the similarity of two lines, up to 1; 0 if they must not be paired."""
    if bool(old.level) != bool(new.level):
        return 0.0
    if not old.words and not new.words:
        return _BLANK if old.text.strip() == new.text.strip() else 0.0
    shared = _shared(old.words, new.words)
    if not old.level:
        return shared if shared >= _LEAST_SHARED else 0.0
    # A title can be rewritten entirely; then the section below identifies the heading.
    alike = shared / 2 + _shared(old.section, new.section) / 2
    return _HEADINGS * (1 + alike) if old.level == new.level else alike * _HEADINGS


def _shared(old: Counter[str], new: Counter[str]) -> float:
    longest = max(old.total(), new.total())
    return (old & new).total() / longest if longest else 0.0


def _lines(texts: Sequence[str]) -> list["_Line"]:
    """Return `texts` with their words and, for headings, the words up to the next heading."""
    lines: list[_Line] = []
    section: Counter[str] = Counter()
    for text in reversed(texts):
        heading = _HEADING.match(text)
        words = Counter(_WORD.findall(text.lower()))
        lines.append(_Line(text, len(heading[1]) if heading else 0, words, section if heading else Counter()))
        section = Counter() if heading else section + words
    return lines[::-1]


# --- Word differences of rendered texts

# The maximum number of word pairs; beyond it, everything between unique words is marked.
_MOST_WORD_COMPARISONS: Final = 200_000

# A tag (without `>` inside, in `safe_html`), an escaped character, a word, whitespace, any character.
_TOKEN: Final = lazy_pattern(r"<[^>]*>|&[#\w]+;|\w+|\s+|.", re.DOTALL)


def marked_html(before: str, after: str) -> tuple[str, str]:
    """Return both `safe_html` texts with `del` and `ins` around words that only one has."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    blocks = list(LineComparison(_MOST_WORD_COMPARISONS).differing(old, new))
    gone = [(block.old_start, block.old_end) for block in blocks]
    come = [(block.new_start, block.new_end) for block in blocks]
    return "".join(_marked(old, gone, "del")), "".join(_marked(new, come, "ins"))


def _marked(tokens: Sequence[str], ranges: Sequence[tuple[int, int]], tag: str) -> Iterator[str]:
    at = 0
    for start, end in ranges:
        yield from tokens[at:start]
        for is_tag, run in groupby(tokens[start:end], key=lambda token: token.startswith("<")):
            text = "".join(run)
            words = text.strip()
            if is_tag or not words:
                # Whitespace between table rows cannot be wrapped in an element.
                yield text
            else:
                before, _, behind = text.partition(words)
                yield f"{before}<{tag}>{words}</{tag}>{behind}"
        at = end
    yield from tokens[at:]


# --- Warnings by cause, each with its location


class PlacedWarning(Struct, kw_only=True):
    """A warning; `file` is the position of its file in the plan, `line` its line in the result."""

    warning: Diagnostic
    file: int | None
    line: int | None

    @property
    def anchor(self) -> str:
        """The ID of the page element for it, or empty."""
        if self.file is None:
            return ""
        return f"file-{self.file}" if self.line is None else f"f{self.file}R{self.line}"


class WarningGroup(Struct, kw_only=True):
    """The warnings with one cause; `n_files` is the number of affected files."""

    code: Code
    warnings: tuple[PlacedWarning, ...]
    n_files: int


def warning_groups(review: plan_review.PlanReview) -> tuple[WarningGroup, ...]:
    """Return the warnings of a plan by cause, most frequent first."""
    by_code: dict[Code, list[PlacedWarning]] = {}
    for placed in _placed(review):
        by_code.setdefault(placed.warning.code, []).append(placed)
    groups = [
        WarningGroup(code=code, warnings=tuple(found), n_files=len({each.file for each in found}))
        for code, found in by_code.items()
    ]
    return tuple(sorted(groups, key=lambda group: -len(group.warnings)))


def _placed(review: plan_review.PlanReview) -> Iterator[PlacedWarning]:
    paths = {path: file.index for file in review.files for path in (file.new_path, file.path) if path}
    edits = {edit.index: edit for edit in review.edits}
    for warning in dict.fromkeys(review.warnings):
        edit = edits.get(warning.edit_index) if warning.edit_index is not None else None
        path = warning.file or (edit.result.file if edit is not None else None)
        line = warning.place.line if warning.place is not None else None
        if line is None and edit is not None and path in (None, edit.result.to_file or edit.result.file):
            line = next((lines.start for lines in edit.result.result_lines), None)
        yield PlacedWarning(warning=warning, file=paths.get(path or ""), line=line)
