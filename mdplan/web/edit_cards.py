"""An edit on the page: what it is, what it found, and what the reader thinks of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.plan import EditResult
from mdplan.review.plan_review import ReviewedEdit
from mdplan.text.span import Lines
from mdplan.web.labels import counted, shown
from mdplan.web.sessions import Mark

_MOST_REQUESTED: Final = 3000
_LINES_NAMED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCard:
    """One edit where it is on the page. `name` is unique on the page.

    `number` is how people count it in the file where it is, `full_number` anywhere.
    `facts` are its match report in words, `requested` is it as JSON, cut where it is long. `section_of` is
    the file whose touched section can be examined.
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


def edit_card(
    edit: ReviewedEdit, mark: Mark, name: str, section_of: int | None, numbers: tuple[str, str]
) -> EditCard:
    """The card of `edit`; `numbers` are its `number` and `full_number`."""
    return EditCard(
        index=edit.index,
        number=shown(numbers[0]),
        full_number=shown(numbers[1]),
        name=name,
        op=edit.op,
        place=shown(edit.place),
        facts=tuple(_facts(edit.result)),
        requested=_requested(edit),
        warnings=edit.result.warnings,
        mark=mark,
        section_of=section_of,
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
    if result.result_lines:
        ranges = list(dict.fromkeys(map(_range, result.result_lines)))
        named = ranges[:_LINES_NAMED]
        more = len(ranges) - len(named)
        yield f"writes {', '.join(named)}{f' and {more} more places' if more else ''}"
    if result.to_file is not None:
        yield f"moves text to {shown(result.to_file)}"
    if result.line_ends_normalized:
        yield "matched with line ends taken as equal"
    if result.hunk_offsets:
        yield f"hunks moved by {', '.join(f'{offset:+d}' for offset in result.hunk_offsets[:_LINES_NAMED])}"


def _range(lines: Lines) -> str:
    return f"line {lines.start}" if lines.start == lines.end else f"lines {lines.start} to {lines.end}"


def _requested(edit: ReviewedEdit) -> str:
    text = json.dumps(edit.requested, ensure_ascii=False, indent=2, default=str)
    text = shown(text)
    return text if len(text) <= _MOST_REQUESTED else f"{text[:_MOST_REQUESTED]}\n…"
