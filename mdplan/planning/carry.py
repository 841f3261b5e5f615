"""Addresses of the base, carried into the document that earlier edits of a sequential batch have made.

DESIGN section 7: in a sequential batch names are looked up in the intermediate document, while lines, ranges
and guards mean the base, and section IDs of the base stay valid.
"""

from typing import Any

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.markdown.section import Section
from mdplan.markdown.section_id import section_id_digits
from mdplan.operation import LinesField, Operation, PositionField, RangeField, SectionTargeted
from mdplan.text.edit import EditList
from mdplan.text.span import Position


def carry(operation: Operation, base: Outline, edits: EditList, current: Outline) -> Operation | Diagnostic:
    """`operation` as it reads on `current`, the result of `edits` on `base`.

    Errors: CONFLICTING_EDITS for lines or a range that an earlier edit replaced; SECTION_CHANGED.
    """
    if not edits:
        return operation
    changed: dict[str, Any] = {}
    if isinstance(operation, SectionTargeted):
        section = _section_by_base_id(operation, base, edits, current)
        if section is not None:
            changed["section_id"] = section.section_id
        guard = _carried_guard(operation, base, edits, current, section)
        if isinstance(guard, Diagnostic):
            return guard
        changed |= guard
    for name, carried in (("lines", _lines), ("line", _line), ("range", _range)):
        value = getattr(operation, name, None)
        if value is not None:
            moved = carried(value, base, edits, current)
            if moved is None:
                return _REPLACED
            changed[name] = moved
    return operation.model_copy(update=changed)


def in_current(section: Section, edits: EditList, current: Outline) -> Section | None:
    """The section of `current` that `section` of the base has become."""
    for after in (True, False):
        start = edits.map_offset(section.span.start, after=after)
        found = current.section_at(start) if start is not None else None
        if found is not None and found.span.start == start and found.is_root is section.is_root:
            return found
    return None


def _section_by_base_id(
    operation: SectionTargeted, base: Outline, edits: EditList, current: Outline
) -> Section | None:
    digits = section_id_digits(operation.section_id) if operation.section_id else None
    if digits is None:
        return None
    named = base.with_digits(digits)
    return in_current(named[0], edits, current) if len(named) == 1 else None


def _carried_guard(
    operation: SectionTargeted,
    base: Outline,
    edits: EditList,
    current: Outline,
    section: Section | None,
) -> dict[str, Any] | Diagnostic:
    """`section_sha256` as it reads on `current`: the hash there, if that of the base held."""
    if operation.section_sha256 is None:
        return {}
    bare = operation.model_copy(
        update={"section_sha256": None} | ({"section_id": section.section_id} if section else {})
    )
    found = bare.find_section(current)
    if isinstance(found, Diagnostic):
        return {}
    start = edits.unmap_offset(found.span.start)
    of_base = base.section_at(start) if start is not None else None
    if of_base is None or of_base.span.start != start:
        return {}
    part = base.hashed_part(of_base, operation.section_sha256)
    if part is None:
        return Diagnostic(
            code=Code.SECTION_CHANGED,
            message=f"the section at lines {of_base.first_line}-{of_base.last_line} has changed",
            hint=f"read it again; its sectionSha256 is now {base.section_sha256(of_base)}",
        )
    of_all = part == of_base.span
    return {"section_sha256": current.section_sha256(found) if of_all else current.body_sha256(found)}


def _lines(value: LinesField, base: Outline, edits: EditList, current: Outline) -> LinesField | None:
    table = base.source.lines
    if value.end > table.count:
        return value
    start, end = _line(value.start, base, edits, current), _line(value.end, base, edits, current)
    if start is None or end is None or end - start != value.end - value.start:
        return None
    return LinesField(start=start, end=end)


def _line(value: int, base: Outline, edits: EditList, current: Outline) -> int | None:
    """Number of the line `value` of the base in `current`; None when it is not the same line any more."""
    table = base.source.lines
    if value > table.count:
        # A line that the base does not have is refused there as here.
        return value + max(0, current.source.lines.count - table.count)
    start = edits.map_offset(table.start(value), after=True)
    end = edits.map_offset(table.content_end(value))
    if start is None or end is None:
        return None
    line = current.source.lines.line_at(start)
    is_same = current.source.lines.content(line) == table.content(value)
    return line if is_same and current.source.lines.start(line) == start else None


def _range(value: RangeField, base: Outline, edits: EditList, current: Outline) -> RangeField | None:
    offsets = [base.source.lines.offset(place.to_position()) for place in (value.start, value.end)]
    if None in offsets or offsets[0] > offsets[1]:  # type: ignore[operator]
        return value
    start = edits.map_offset(offsets[0] or 0, after=True)
    end = edits.map_offset(offsets[1] or 0, after=offsets[0] == offsets[1])
    if start is None or end is None or end - start != (offsets[1] or 0) - (offsets[0] or 0):
        return None
    lines = current.source.lines
    return RangeField(start=_place(lines.position(start)), end=_place(lines.position(end)))


def _place(position: Position) -> PositionField:
    return PositionField(line=position.line, col=position.col)


_REPLACED = Diagnostic(
    code=Code.CONFLICTING_EDITS,
    message="an earlier edit of the batch changed these lines",
    hint="lines and ranges mean the file as you saw it: name the text by replace_match or by its section",
)
