"""Text of a plan for the terminal, and Markdown for a pull request."""

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from mdplan.cli.report_text import problem_text
from mdplan.cli.terminal import Style, shown
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.plan import EditNumbers
from mdplan.review import plan_review
from mdplan.review.lines import MarkedText
from mdplan.review.shapes import ChangeClass
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import code_span, counted, escaped, longer_than_runs

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan


_COLOURS: Final = {"-": "red", "+": "green"}
_TRAILING: Final = lazy_pattern(r"[ \t]+$")
_BLANKS: Final = {" ": "·", "\t": "→"}
_EDITS_NAMED: Final = 5


def plan_text(opened: "OpenPlan", style: Style) -> str:
    """Return a whole plan: purpose, warnings, and every changed file.

    Files whose text is lost say so.
    """
    warnings = "".join(problem_text(warning, style) + "\n" for warning in opened.review.warnings)
    parts = [intent_text(opened, style), warnings, classes_text(opened, style)]
    for file in opened.review.changed_files:
        text = opened.file(file.index)
        if isinstance(text, plan_review.FileReview):
            parts.append(file_text(opened.review, text, style))
        else:
            parts.append("".join(problem_text(problem, style) + "\n" for problem in text))
    return "\n".join(part for part in parts if part)


# Of fewer edits, a list is no shorter than what it lists.
_LEAST_LISTED: Final = 4
_MOST_LISTED: Final = 40
_MOST_OF_A_TEXT: Final = 60
_VALUES_NAMED: Final = 4


def classes_text(opened: "OpenPlan", style: Style) -> str:
    """List equal changes once, those to look at first on top; nothing of a plan with few edits."""
    if len(opened.review.edits) < _LEAST_LISTED or opened.without_text:
        return ""
    classes = opened.classes
    rows = [f"{counted(len(classes), 'kind')} of change:"]
    rows += [f"  {row}" for one in classes[:_MOST_LISTED] for row in _class_rows(one, style)]
    more = len(classes) - _MOST_LISTED
    rows += [f"  and {counted(more, 'more kind')}"] if more > 0 else []
    return "".join(row + "\n" for row in rows)


def _class_rows(one: ChangeClass, style: Style) -> Iterator[str]:
    removed = style.paint(_short(one.removed), "red") if one.removed else ""
    values = [f"{_short(text)} ({count})" for text, count in one.values[:_VALUES_NAMED]]
    if values:
        more = len(one.values) - len(values)
        removed = style.paint(", ".join(values) + (f" and {more} more values" if more > 0 else ""), "red")
    added = style.paint(_short(one.added), "green") if one.added else ""
    text = " -> ".join(filter(None, (removed, added))) or "no text"
    yield f"{text}: {one.where}" + (", follows from the others" if one.is_derived else "")
    yield from (style.paint(f"  ! {shown(reason)}", "yellow") for reason in one.reasons)


def _short(text: str) -> str:
    line = shown(text)
    return line if len(line) <= _MOST_OF_A_TEXT else line[: _MOST_OF_A_TEXT - 1] + "…"


def intent_text(opened: "OpenPlan", style: Style) -> str:
    """Title and description of a plan, and the program that made it; nothing where it says none of them."""
    intent, client = opened.review.intent, opened.client
    rows = [style.bold(shown(intent.title))] if intent.title else []
    rows += [escaped(intent.description)] if intent.description else []
    if client is not None and not client.is_mdplan:
        rows.append(style.paint(f"Planned with {shown(str(client))}", "bright_black"))
    return "".join(row + "\n" for row in rows)


def file_text(review: plan_review.PlanReview, file: plan_review.FileReview, style: Style) -> str:
    """Return a file with its hunks."""
    head = [style.bold(file_title(file)), *(f"  {style.paint(shown(note), 'yellow')}" for note in file.notes)]
    hunks = [hunk_text(review, file, hunk, style) for hunk in file.hunks]
    return "".join(line + "\n" for line in head) + "".join(hunks)


def file_title(file: plan_review.FileReview) -> str:
    """Path of a file, what becomes of it, and how many lines."""
    of = file.file
    name = shown(of.path) + (f" -> {shown(of.new_path)}" if of.new_path is not None else "")
    kind = (
        "" if of.kind in (plan_review.ChangeKind.CHANGED, plan_review.ChangeKind.RENAMED) else f" ({of.kind})"
    )
    return f"{name}{kind}  +{of.lines_added} -{of.lines_removed}"


def hunk_text(
    review: plan_review.PlanReview,
    file: plan_review.FileReview,
    hunk: plan_review.ReviewedHunk,
    style: Style,
    of: int | None = None,
) -> str:
    """Return a hunk below its header, with its section and its edits.

    `of` is the index of the current edit; the others are dimmed.
    """
    header = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    section = shown(" / ".join(hunk.section))
    rows = [style.paint(header, "cyan") + (f" {section}" if section else "")]
    edits = [edit for edit in review.edits if edit.index in hunk.edits[:_EDITS_NAMED]]
    rows += [
        style.paint(
            f"   {'' if of is None else 'with '}{edit_text(review, edit, file.file.path)}", "bright_black"
        )
        for edit in edits
        if edit.index != of
    ]
    more = len(hunk.edits) - len(edits)
    rows += [style.paint(f"   and {counted(more, 'edit')} more", "bright_black")] if more > 0 else []
    rows += [style.paint("   updated links", "bright_black")] if hunk.is_derived else []
    shows_ends = len({line.line_end for each in file.hunks for line in each.lines if line.line_end}) > 1
    for line in hunk.lines:
        is_dimmed = of is not None and bool(line.edits) and of not in line.edits
        rows.append(_review_line(line, style, shows_end=shows_ends, is_dimmed=is_dimmed))
        if not line.line_end:
            rows.append(style.paint("\\ No newline at end of file", "bright_black"))
    return "".join(row + "\n" for row in rows)


def edit_text(
    review: plan_review.PlanReview, edit: plan_review.ReviewedEdit, within: str | None = None
) -> str:
    """Return an edit as a line: number, operation, place, and matches.

    The file `within` which it appears is not named.
    """
    name, result = f"{shown(review.numbers.named(edit.index, within=within))} {edit.op}", edit.result
    details = [shown(edit.place)] if edit.place else []
    if result.matches_found is not None:
        details.append(f"{result.matches_replaced} of {result.matches_found} matches")
    if result.no_op:
        details.append("no change")
    return f"{name}: {', '.join(details)}" if details else name


def _review_line(line: plan_review.ReviewedLine, style: Style, *, shows_end: bool, is_dimmed: bool) -> str:
    colour = "bright_black" if is_dimmed else _COLOURS.get(line.sign)
    end = "\\r" if shows_end and line.line_end == "\r\n" else ""
    if colour is None:
        return f" {escaped(line.text)}{end}"
    is_mixed = any(not piece.changed for piece in line.pieces) and any(piece.changed for piece in line.pieces)
    text = "".join(
        style.paint(part, colour, reverse=piece.changed and is_mixed)
        for piece, part in zip(line.pieces, _shown_pieces(line.pieces, is_mixed=is_mixed), strict=True)
    )
    return style.paint(line.sign, colour) + text + (style.paint(end, colour) if end else "")


def _shown_pieces(pieces: Sequence[MarkedText], *, is_mixed: bool) -> list[str]:
    """Return the texts of `pieces` with visible whitespace where it changed or ends the line."""
    parts = []
    for number, piece in enumerate(pieces):
        text = escaped(piece.text)
        if piece.changed and is_mixed and not piece.text.strip(" \t"):
            text = _visible_blanks(text)
        elif number == len(pieces) - 1:
            text = _TRAILING.sub(lambda match: _visible_blanks(match[0]), text)
        parts.append(text)
    return parts


def _visible_blanks(text: str) -> str:
    return "".join(_BLANKS.get(character, character) for character in text)


# --- A plan as a comment on a pull request, in Markdown as GitHub shows it
#
# Text of files and of callers is hostile there: it could end its block, link somewhere, or call people by
# their name. So all of it is in code: in fences that are longer than any run of backticks in them, in code
# spans, or HTML-escaped in the code of a summary. GitHub looks for names and links in none of these.

# GitHub's limit in UTF-16 units, less some room for text that a workflow adds.
MOST_CHARACTERS: Final = 65_536 - 1_536
_FILES_IN_TABLE: Final = 100
_WARNINGS: Final = 30
_LINES_UNFOLDED: Final = 40

# What the table and the warnings together leave to the diff, at least.
_MOST_BEFORE_DIFF: Final = 30_000
_MOST_MESSAGE: Final = 500

# The list of the files that are not shown, and what is around it.
_MOST_NAMES: Final = 2_000
_FOR_THE_REST: Final = _MOST_NAMES + 400

# Summary, name, fences and a hunk of one line.
_LEAST_OF_A_FILE: Final = 300
_MOST_TOO_LONG: Final = 200


def markdown_comment(
    review: plan_review.PlanReview, file_of: Callable[[int], plan_review.FileReview | Problems]
) -> str:
    """Return the plan of `review` in Markdown; `file_of` returns the text of the file at an index."""
    files, edits = counted(len(review.changed_files), "file"), counted(len(review.edits), "edit")
    size = f"{files}, {edits}: +{review.lines_added} -{review.lines_removed} lines"
    title, description = review.intent.title, escaped(review.intent.description)
    blocks = [f"### {code_span(title)}\n\n{size}" if title else f"### {size}"]
    # In a fence, because a stranger's pull request can contain anything.
    fence = "`" * max(3, longer_than_runs(description))
    blocks += [f"{fence}text\n{description}\n{fence}"] if description else []
    blocks.append(f"Plan {code_span(review.plan_id)}")
    blocks += _within(
        _MOST_BEFORE_DIFF, [*_warnings(review.warnings, review.numbers), *_table(review.changed_files)]
    )
    room = MOST_CHARACTERS - _length("\n\n".join(blocks)) - _FOR_THE_REST
    left_out: list[str] = []
    for file in review.changed_files:
        # To look at a file costs reading it; of a plan of thousands, most do not fit.
        looks = room >= _LEAST_OF_A_FILE and len(left_out) < _MOST_TOO_LONG
        text = file_of(file.index) if looks else ()
        block = _file(review, text, room) if isinstance(text, plan_review.FileReview) else None
        if block is None:
            left_out.append(_name(file))
            continue
        blocks.append(block)
        room -= _length(block) + 2
    if left_out:
        blocks.append(_not_shown(left_out, f"mdplan show {review.plan_id}"))
    return "\n\n".join(blocks) + "\n"


def _not_shown(left_out: Sequence[str], command: str) -> str:
    """Return a note on omitted files, with as many names as fit, and how to see them."""
    listed: list[str] = []
    room = _MOST_NAMES
    for name in left_out:
        row = f"- {code_span(name)}"
        room -= _length(row) + 1
        if room < 0:
            listed.append(f"- and {len(left_out) - len(listed)} more")
            break
        listed.append(row)
    return f"{counted(len(left_out), 'file')} not shown: {code_span(command)}\n\n" + "\n".join(listed)


def _warnings(warnings: Sequence[Diagnostic], numbers: EditNumbers) -> Iterator[str]:
    if not warnings:
        return
    rows = [_warning(warning, numbers) for warning in warnings[:_WARNINGS]]
    if len(warnings) > len(rows):
        rows.append(f"- and {len(warnings) - len(rows)} more")
    yield "\n".join([f"**{counted(len(warnings), 'warning')}**", "", *rows])


def _warning(warning: Diagnostic, numbers: EditNumbers) -> str:
    place = warning.file or ""
    if warning.place is not None:
        place += f":{warning.place.line}"
    index = warning.edit_index
    edit = f" ({_own_name(numbers, index, warning.file)})" if index is not None else ""
    message = warning.message[:_MOST_MESSAGE]
    return f"- **{warning.code}**{f' {code_span(place)}' if place else ''}{edit}: {code_span(message)}"


def _table(files: Sequence[plan_review.ReviewedFile]) -> Iterator[str]:
    if len(files) < 2:
        return
    rows = [
        f"| {_cell(_name(file))} | {file.kind} | +{file.lines_added} -{file.lines_removed} "
        f"| {len(file.edits) or 'links'} |"
        for file in files[:_FILES_IN_TABLE]
    ]
    table = ["| File | | Lines | Edits |", "|---|---|---|---|", *rows]
    more = len(files) - len(rows)
    yield "\n".join([*table, *([f"| and {more} more | | | |"] if more else [])])


def _file(review: plan_review.PlanReview, file: plan_review.FileReview, room: int) -> str | None:
    """Return a folded file with the hunks that fit into `room`; None if none fits."""
    size = sum(len(hunk.lines) for hunk in file.hunks)
    name = html.escape(escaped(_name(file.file)))
    kind = "" if file.file.kind is plan_review.ChangeKind.CHANGED else f" {file.file.kind}"
    head = (
        f"<details{' open' if size <= _LINES_UNFOLDED else ''}>\n<summary><code>{name}</code>{kind} "
        f"+{file.file.lines_added} -{file.file.lines_removed}</summary>"
    )
    parts = [head]
    edits = _edits(review, file)
    if edits:
        parts.append(edits)
    if file.notes:
        parts.append("\n".join(f"- {code_span(note)}" for note in file.notes))
    left = room - _length("\n\n".join(parts)) - 200
    if left < 0:
        return None
    texts = [_hunk(review, file, hunk) for hunk in file.hunks]
    fence = "`" * max(3, longer_than_runs("\n".join(texts)))
    left -= 2 * len(fence)
    shown: list[str] = []
    for text in texts:
        left -= _length(text) + 1
        if left < 0:
            break
        shown.append(text)
    if texts and not shown:
        return None
    if shown:
        parts.append("\n".join([f"{fence}diff", *shown, fence]))
    if len(shown) < len(texts):
        parts.append(f"{counted(len(texts) - len(shown), 'hunk')} not shown")
    return "\n\n".join([*parts, "</details>"])


def _edits(review: plan_review.PlanReview, file: plan_review.FileReview) -> str:
    """Return the edits of a file by the names used at its hunks."""
    indexes = frozenset(file.file.edits[:_WARNINGS])
    rows = []
    for edit in review.edits:
        if edit.index in indexes:
            place = f" {code_span(edit.place)}" if edit.place else ""
            count = edit.result.matches_replaced
            matches = f", {counted(count, 'match', 'matches')}" if count is not None else ""
            rows.append(
                f"- {_own_name(review.numbers, edit.index, file.file.path)}: "
                f"{code_span(edit.op)}{place}{matches}"
            )
    more = len(file.file.edits) - len(rows)
    return "\n".join([*rows, *([f"- and {more} more"] if more > 0 and rows else [])])


def _hunk(
    review: plan_review.PlanReview, file: plan_review.FileReview, hunk: plan_review.ReviewedHunk
) -> str:
    section = " / ".join(hunk.section)
    edits = review.numbers.listed(hunk.edits[:10], within=file.file.path) if hunk.edits else ""
    derived = "links" if hunk.is_derived else ""
    named = "; ".join(filter(None, (edits, derived)))
    header = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    named = f"[{_fenced_line(named)}]" if named else ""
    lines = [" ".join(filter(None, (header, _fenced_line(section), named)))]
    for line in hunk.lines:
        lines.append(line.sign + _fenced_line(line.text))
        if not line.line_end:
            lines.append("\\ No newline at end of file")
    return "\n".join(lines)


def _own_name(numbers: EditNumbers, index: int, file: str | None) -> str:
    """Return the name of an edit in notes on `file`: ``edit 2``, with its file if that differs."""
    name, of, other = numbers.named(index, within=file).partition(" of ")
    return f"{name}{of}{code_span(other)}" if of else name


def _fenced_line(text: str) -> str:
    """Return `text` of a file as a line inside a fence."""
    return escaped(text).replace("\n", "\\n")


def _name(file: plan_review.ReviewedFile) -> str:
    return file.path if file.new_path is None else f"{file.path} -> {file.new_path}"


def _cell(text: str) -> str:
    """Return `text` as a code span in a table cell, where a bar ends the cell even in code."""
    return code_span(text).replace("|", "\\|")


def _within(room: int, blocks: Iterable[str]) -> Iterator[str]:
    """Return the `blocks` that fit into `room` characters."""
    for block in blocks:
        room -= _length(block)
        if room < 0:
            return
        yield block


def _length(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
