"""Content of one place, with what guards an edit of it, within a budget of characters."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.outline import Outline
from mdplan.reading.document_place import ReadLocation
from mdplan.reading.read_place import find_place
from mdplan.reports.read import OutlineRow, ReadResult
from mdplan.requests.read import ReadTarget
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import visible
from mdplan.text.visible import escape_for_message, shown_names

_CURSOR: Final = re.compile(r"(?P<line>[0-9]{1,9})(?:\+(?P<col>[0-9]{1,9}))?-(?P<base>[0-9a-f]{16})")
_BASE_DIGITS: Final = 16
_MOST_LEFT_OUT: Final = 100


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a reading goes on: `offset` in the text, in the line `line`."""

    line: int
    offset: int


def read_target(
    file: str,
    outline: Outline,
    target: ReadTarget,
    budget: int,
    cursor: str | None = None,
    *,
    addresses: bool = False,
) -> ReadResult | Diagnostic:
    """What `target` names in the document `outline`, which is in `file`: at most `budget` characters.

    With `addresses` each line begins with its own, such as ``12:a3f``.

    Where it is longer it is cut at the end of a block, else of a line, else inside a line. Errors: those
    of `find_place`; INVALID_ARGUMENT for a cursor that is none of this place, STALE_BASE for one of another
    version of the file.
    """
    place = find_place(outline, target)
    if isinstance(place, Diagnostic):
        return place
    lines = outline.source.lines
    whole = lines.span(place.first, place.last) if place.last >= place.first else Span(0, 0)
    start = _start(outline, place, whole, cursor)
    if isinstance(start, Diagnostic):
        return start
    end = whole.end if whole.end - start.offset <= budget else _cut(outline, start.offset, budget)
    text = outline.source.text[start.offset : end]
    rest = Span(end, whole.end) if end < whole.end else None
    section, source = place.section, outline.source
    return ReadResult(
        file=file,
        base_sha256=source.sha256,
        start_line=start.line,
        end_line=lines.line_at(end - 1) if end > start.offset else start.line - 1,
        total_lines=lines.count,
        content=_addressed(outline, start.line, visible(text)) if addresses else visible(text),
        addressed=True if addresses else None,
        content_exact=source.is_exact or visible(text) == text,
        section_id=section.section_id if section else None,
        heading_path=shown_names(section.path) if section else None,
        section_sha256=_hash(outline, place),
        language=place.language,
        match_line=place.match_line,
        truncated=True if rest else None,
        next_cursor=_cursor(outline, rest.start) if rest else None,
        left_out=_left_out(outline, rest) if rest else None,
    )


def _addressed(outline: Outline, first: int, text: str) -> str:
    """`text`, which begins in the line `first`, with the address of each line in front of it."""
    lines, hashes = LineIndex(text), outline.line_hashes
    return "".join(
        f"{hashes.address(first - 1 + number)} {lines.content(number)}{lines.ending(number)}"
        for number in range(1, lines.count + 1)
    )


def _hash(outline: Outline, place: ReadLocation) -> str | None:
    if place.section is None or place.section.nested:
        return None
    if place.own_body:
        return outline.body_sha256(place.section)
    return outline.section_sha256(place.section)


def _cut(outline: Outline, start: int, budget: int) -> int:
    """The last place after `start`, at most `budget` characters on, at which a text can be cut."""
    limit = start + budget
    blocks = outline.tree.roots_backwards(limit)
    # A heading stays with its text.
    last = next((block for block in blocks if block.kind is not BlockKind.HEADING), None)
    if last is not None and last.span.end > start:
        return last.span.end
    lines = outline.source.lines
    line_start = lines.start(lines.line_at(limit))
    return line_start if line_start > start else limit


def _cursor(outline: Outline, offset: int) -> str:
    lines = outline.source.lines
    line = lines.line_at(offset)
    inside = f"+{offset - lines.start(line)}" if offset > lines.start(line) else ""
    return f"{line}{inside}-{outline.source.sha256[:_BASE_DIGITS]}"


def _start(outline: Outline, place: ReadLocation, whole: Span, cursor: str | None) -> _Start | Diagnostic:
    if cursor is None:
        return _Start(place.first, whole.start)
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        return _invalid_cursor()
    if not outline.source.sha256.startswith(found["base"]):
        return Diagnostic(
            code=Code.STALE_BASE,
            message="the file has changed since the cursor was given",
            hint="read the place again without cursor",
        )
    line = int(found["line"])
    if not place.first <= line <= place.last:
        return _invalid_cursor()
    offset = outline.source.lines.start(line) + int(found["col"] or 0)
    return _Start(line, offset) if offset < whole.end else _invalid_cursor()


def _invalid_cursor() -> Diagnostic:
    return Diagnostic.invalid(
        "the cursor is not one of this place", "send nextCursor with the target that it came with"
    )


def _left_out(outline: Outline, rest: Span) -> tuple[OutlineRow, ...]:
    starts = [section.span.start for section in outline.sections]
    first = bisect_right(starts, rest.start - 1)
    rows: list[OutlineRow] = []
    for section in outline.sections[first : first + _MOST_LEFT_OUT]:
        if section.span.start >= rest.end:
            break
        rows.append(
            OutlineRow(
                section_id=section.section_id,
                heading=f"{'#' * section.level} {escape_for_message(section.title)}",
                start_line=section.first_line,
                end_line=section.last_line,
            )
        )
    return tuple(rows)
