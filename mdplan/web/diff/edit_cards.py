"""An edit on the page: what it is, what it found, and what the reader thinks of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.operations import moves_text
from mdplan.plan import EditResult
from mdplan.review.plan_review import ReviewedEdit, ReviewedFile
from mdplan.web.diff.edit_lines import EditLines, line_facts
from mdplan.web.labels import counted, shown
from mdplan.web.sessions import Mark

_MOST_REQUESTED: Final = 3000
_OFFSETS_NAMED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCard:
    """One edit where it is on the page. `name` is unique on the page.

    `number` is how people count it in the file where it is, `full_number` anywhere.
    `facts` are what it does and its match report in words, `requested` is it as JSON, cut where it is long.
    `section_of` is the file whose touched section can be examined. `first_line` is where its lines start: the
    side, ``old`` or ``new``, and the number.
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


def edit_card(
    edit: ReviewedEdit, mark: Mark, file: ReviewedFile, lines: EditLines, numbers: tuple[str, str]
) -> EditCard:
    """The card of `edit` in `file`, where it made `lines`; `numbers` are `number` and `full_number`."""
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


def card_name(edit: ReviewedEdit, file: int) -> str:
    """The name of the card of `edit` in the file at that position: one edit can be in several files."""
    return f"edit-{edit.index}" if edit.files[:1] == (file,) else f"edit-{edit.index}-file-{file}"


def _moves(result: EditResult, file: ReviewedFile) -> Iterator[str]:
    """Which way text goes that an edit of `result` moves from one file to another."""
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


def _requested(edit: ReviewedEdit) -> str:
    text = json.dumps(edit.requested, ensure_ascii=False, indent=2, default=str)
    text = shown(text)
    return text if len(text) <= _MOST_REQUESTED else f"{text[:_MOST_REQUESTED]}\n…"
