"""A plan for eyes in a terminal: warnings, then the diff with the words that changed, and whose they are."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.report_view import counted, problem_text
from mdplan.review.lines import MarkedText
from mdplan.review.plan_review import (
    ChangeKind,
    FileReview,
    PlanReview,
    ReviewedEdit,
    ReviewedHunk,
    ReviewedLine,
)
from mdplan.text.visible import escaped

if TYPE_CHECKING:
    from mdplan.engine.reviews import OpenPlan

_COLOURS: Final = {"-": "red", "+": "green"}
_TRAILING: Final = re.compile(r"[ \t]+$")
_BLANKS: Final = {" ": "·", "\t": "→"}
_EDITS_NAMED: Final = 5


def plan_text(opened: "OpenPlan", style: Style) -> str:
    """A whole plan: what it is for, its warnings, then every file that changes.

    Files whose text is gone say so.
    """
    parts = [intent_text(opened, style), warnings_text(opened.review, style)]
    for file in opened.review.changed_files:
        found = opened.file(file.index)
        if isinstance(found, FileReview):
            parts.append(file_text(opened.review, found, style))
        else:
            parts.append("".join(problem_text(problem, style) + "\n" for problem in found))
    return "\n".join(part for part in parts if part)


def intent_text(opened: "OpenPlan", style: Style) -> str:
    """Title and description of a plan, and the program that made it; nothing where it says none of them."""
    intent, client = opened.review.intent, opened.client
    rows = [style.bold(shown(intent.title))] if intent.title else []
    rows += [escaped(intent.description)] if intent.description else []
    if client is not None and not client.is_mdplan:
        rows.append(style.paint(f"Planned with {shown(str(client))}", "bright_black"))
    return "".join(row + "\n" for row in rows)


def warnings_text(review: PlanReview, style: Style) -> str:
    """The warnings of a plan, each as a paragraph; nothing where there are none."""
    return "".join(problem_text(warning, style) + "\n" for warning in review.warnings)


def file_text(review: PlanReview, file: FileReview, style: Style) -> str:
    """One file with its hunks."""
    head = [style.bold(file_title(file)), *(f"  {style.paint(shown(note), 'yellow')}" for note in file.notes)]
    hunks = [hunk_text(review, file, hunk, style) for hunk in file.hunks]
    return "".join(line + "\n" for line in head) + "".join(hunks)


def file_title(file: FileReview) -> str:
    """Path of a file, what becomes of it, and how many lines."""
    of = file.file
    name = shown(of.path) + (f" -> {shown(of.new_path)}" if of.new_path is not None else "")
    kind = "" if of.kind in (ChangeKind.CHANGED, ChangeKind.RENAMED) else f" ({of.kind})"
    return f"{name}{kind}  +{of.lines_added} -{of.lines_removed}"


def hunk_text(
    review: PlanReview, file: FileReview, hunk: ReviewedHunk, style: Style, of: int | None = None
) -> str:
    """One hunk under its header, with the section it is in and the edits that made it.

    `of` is the index of the edit that it is shown for: the others stand back.
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
        rows.append(_line(line, style, shows_end=shows_ends, is_dimmed=is_dimmed))
        if not line.line_end:
            rows.append(style.paint("\\ No newline at end of file", "bright_black"))
    return "".join(row + "\n" for row in rows)


def edit_text(review: PlanReview, edit: ReviewedEdit, within: str | None = None) -> str:
    """An edit in a line: its number, its operation, its place, and what it matched.

    The file `within` which it is shown is not named.
    """
    parts = [
        f"{shown(review.numbers.named(edit.index, within=within))} {edit.op}",
        *([shown(edit.place)] if edit.place else []),
    ]
    result = edit.result
    if result.matches_found is not None:
        parts.append(f"{result.matches_replaced} of {result.matches_found} matches")
    if result.no_op:
        parts.append("no change")
    return ": ".join([parts[0], ", ".join(parts[1:])]) if parts[1:] else parts[0]


def _line(line: ReviewedLine, style: Style, *, shows_end: bool, is_dimmed: bool) -> str:
    colour = "bright_black" if is_dimmed else _COLOURS.get(line.sign)
    end = "\\r" if shows_end and line.line_end == "\r\n" else ""
    if colour is None:
        return f" {escaped(line.text)}{end}"
    is_mixed = any(not piece.changed for piece in line.pieces) and any(piece.changed for piece in line.pieces)
    text = "".join(
        style.paint_mark(part, colour) if piece.changed and is_mixed else style.paint(part, colour)
        for piece, part in zip(line.pieces, _shown_pieces(line.pieces, is_mixed=is_mixed), strict=True)
    )
    return style.paint(line.sign, colour) + text + (style.paint(end, colour) if end else "")


def _shown_pieces(pieces: Sequence[MarkedText], *, is_mixed: bool) -> list[str]:
    """The texts of `pieces`, in which blanks can be seen that changed, or that end the line."""
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
