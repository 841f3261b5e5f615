"""Addresses of the base, carried into the document that earlier edits of a sequential batch have made.

DESIGN section 7: in a sequential batch names are looked up in the intermediate document, while lines, ranges
and guards mean the base, and section IDs of the base stay valid.
"""

from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.headings import section_id_digits
from mdplan.operations.base import (
    LinesField,
    Operation,
    PositionField,
    RangeField,
    Resolution,
    SectionTargeted,
)
from mdplan.planning.sequence.state import SequentialState
from mdplan.text.lines import Position, Span

# Fields that hold a section ID, and those that name a place by numbers.
_IDS: Final = ("section_id", "to_section_id")
_NUMERIC: Final = ("lines", "line", "range")
_ABOUT_PLACES: Final = frozenset({Code.RANGE_OUT_OF_BOUNDS, Code.TEXT_MISMATCH})


def remap_operation(operation: Operation, to: SequentialState) -> Operation | Problems:
    """`operation`, which was written for the base, as it reads on the current document of `to`.

    Errors: those of its guards and numeric addresses on the base; CONFLICTING_EDITS for lines or a range that
    an earlier edit deleted or cut.
    """
    located = operation.located(to.base)
    if isinstance(located, Diagnostic):
        return (located,)
    operation = located
    if not to.edits:
        return operation
    changed = _ids_now(operation, to)
    if isinstance(changed, Diagnostic):
        return (changed,)
    if isinstance(operation, SectionTargeted) and operation.section_sha256 is not None:
        bare = operation.model_copy(update={**changed, "section_sha256": None})
        guard = _hash_now(bare, to, operation.section_sha256)
        if isinstance(guard, Diagnostic):
            return (guard,)
        changed["section_sha256"] = guard
    changed |= operation.rebased_guards(to.base, to.current)
    if any(getattr(operation, name, None) is not None for name in _NUMERIC):
        outcome = operation.resolve(to.base)
        problems = () if isinstance(outcome, Resolution) else outcome
        problems = tuple(problem for problem in problems if problem.code in _ABOUT_PLACES)
        place = _place_now(operation, to) if not problems else None
        if place is None:
            return problems or (_REPLACED,)
        changed |= place
    return operation.model_copy(update=changed)


def _ids_now(operation: Operation, to: SequentialState) -> dict[str, Any] | Diagnostic:
    """Section IDs of the base as the IDs that those sections have now. Errors: SECTION_NOT_FOUND."""
    changed: dict[str, Any] = {}
    for name in _IDS:
        given = getattr(operation, name, None)
        digits = section_id_digits(given) if given else None
        named = to.base.with_digits(digits) if digits else []
        if digits is None or len(named) != 1:
            continue
        section = to.section_now(named[0])
        if section is not None:
            changed[name] = section.section_id
        elif any(to.section_before(found) for found in to.current.with_digits(digits)):
            # An ID that counts equal headings is now that of another one.
            return _GONE
    return changed


def _hash_now(bare: SectionTargeted, to: SequentialState, expected: str) -> str | Diagnostic:
    """`expected` as the hash of the section that `bare` addresses now, if it is its hash in the base.

    Errors: SECTION_CHANGED.
    """
    found = bare.find_section(to.current)
    before = None if isinstance(found, Diagnostic) else to.section_before(found)
    if isinstance(found, Diagnostic) or before is None:
        return expected
    part = to.base.hashed_part(before, expected)
    if part is None:
        return Diagnostic(
            code=Code.SECTION_CHANGED,
            message=f"the section at lines {before.first_line}-{before.last_line} has changed",
            hint=f"read it again; its sectionSha256 is now {to.base.section_sha256(before)}",
        )
    of_all = part == before.span
    return to.current.section_sha256(found) if of_all else to.current.body_sha256(found)


def _place_now(operation: Operation, to: SequentialState) -> dict[str, Any] | None:
    """The numeric address of `operation`, and the text that it expects, as they are now."""
    given = getattr(operation, "range", None)
    place = _lines_now(operation, to) if given is None else _range_now(given, to)
    if place is None:
        return None
    changed, text = place
    if getattr(operation, "expected_text", None) is not None:
        changed["expected_text"] = to.current.text_of(text)
    return changed


def _range_now(given: RangeField, to: SequentialState) -> tuple[dict[str, Any], Span] | None:
    start, end = (to.base.source.lines.offset(place.to_position()) for place in (given.start, given.end))
    assert start is not None, "it was resolved on the base"
    assert end is not None, "it was resolved on the base"
    now = to.span_now(Span(start, end))
    if now is None:
        return None
    first, last = (_field(to.current.source.lines.position(offset)) for offset in (now.start, now.end))
    return {"range": RangeField(start=first, end=last)}, now


def _lines_now(operation: Operation, to: SequentialState) -> tuple[dict[str, Any], Span] | None:
    """Lines of the base, or those that were written in their place; None where they are cut."""
    line = getattr(operation, "line", None)
    given = getattr(operation, "lines", None) if line is None else LinesField(start=line, end=line)
    assert isinstance(given, LinesField), "lines are the only other numeric address"
    base, current = to.base.source.lines, to.current.source.lines
    span = base.span(given.start, given.end)
    now = to.span_now(span) or to.span_now(Span(span.start, base.content_end(given.end)))
    if now is None or not len(now):
        return None
    first, last = current.line_at(now.start), current.line_at(now.end - 1)
    if now.start != current.start(first) or now.end < current.content_end(last):
        return None
    text = Span(now.start, current.content_end(last))
    if line is None:
        return {"lines": LinesField(start=first, end=last)}, text
    return {"line": first if getattr(operation, "position", None) == "before" else last}, text


def _field(position: Position) -> PositionField:
    return PositionField(line=position.line, col=position.col)


_GONE: Final = Diagnostic(
    code=Code.SECTION_NOT_FOUND,
    message="the section of that ID is gone, by an earlier edit of the batch",
    hint="an ID of the base means the section that had it in the base",
)
_REPLACED: Final = Diagnostic(
    code=Code.CONFLICTING_EDITS,
    message="an earlier edit of the batch deleted or cut these lines",
    hint="lines and ranges mean the file as you saw it: name the text by replace_match or by its section",
)
