"""Replacing the text of a section by a payload: which part of it the payload stands for."""

from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload
from mdplan.markdown.rendered_text import render_text
from mdplan.markdown.section import Section
from mdplan.markdown.section_id import folded
from mdplan.markdown.spacing import end_of_body, end_of_subtree, replace_blocks, start_of_body
from mdplan.operation import Claim, Resolution
from mdplan.payload_operation import LevelFitting
from mdplan.text.span import Span


def replace_section(
    operation: LevelFitting,
    outline: Outline,
    section: Section,
    payload: Payload,
    keep_subsections: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> Resolution | Problems:
    """Replacement of the text of `section` by `payload`.

    Errors: HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT for a payload with another heading at or above the level
    of the section; DUPLICATE_HEADING for one that repeats some of the subsections.
    """
    has_heading = _has_heading_of(section, payload)
    keeps = _keeps_subsections(outline, section, payload, keep_subsections)
    other = _other_heading(section, payload, has_heading=has_heading)
    fitted = operation.fitted(payload, section.level + 1, skipped=int(has_heading))
    problems = tuple(problem for problem in (other, keeps, fitted) if isinstance(problem, Diagnostic))
    if problems or isinstance(fitted, Diagnostic):
        return problems
    start = section.span.start if has_heading else start_of_body(outline, section)
    end = end_of_body(outline, section) if keeps else end_of_subtree(outline, section)
    members = outline.members(section)
    declared = Span(section.span.start, section.body.end if keeps else section.span.end)
    return Resolution(
        claims=(Claim(span=declared, owner=section.index, takes=members[:1] if keeps else members),),
        edits=replace_blocks(outline, Span(start, max(start, end)), fitted),
        section=section,
    )


def _keeps_subsections(
    outline: Outline,
    section: Section,
    payload: Payload,
    asked: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> bool | Diagnostic:
    if section.is_root:
        return True
    if asked is not None:
        return asked
    children = [folded(child.title) for child in outline.children(section)]
    given = [folded(render_text(heading.content)) for heading in payload.headings]
    repeated = set(children) & set(given)
    if not repeated:
        return True
    if _is_subsequence(children, given):
        return False
    return Diagnostic(
        code=Code.DUPLICATE_HEADING,
        message=f"the payload repeats {len(repeated)} of {len(set(children))} subsections",
        hint="repeat all of them in order, or none; or say it with keepSubsections",
    )


def _has_heading_of(section: Section, payload: Payload) -> bool:
    """Whether `payload` begins with the heading of `section`, by its rendered text."""
    return (
        not section.is_root
        and payload.starts_with_heading
        and folded(render_text(payload.headings[0].content)) == folded(section.title)
    )


def _other_heading(section: Section, payload: Payload, *, has_heading: bool) -> Diagnostic | None:
    """INVALID_ARGUMENT where the first heading of the payload belongs beside or above the section."""
    if has_heading or not payload.headings or section.is_root:
        return None
    if payload.headings[0].level > section.level:
        return None
    return Diagnostic(
        code=Code.INVALID_ARGUMENT,
        message="the payload has another heading at or above the level of the section",
        hint="to change the heading use rename_heading; to add a section beside it use insert_section; "
        "subsections need a deeper level",
    )


def _is_subsequence(wanted: Sequence[str], given: Sequence[str]) -> bool:
    rest = iter(given)
    return all(any(title == found for found in rest) for title in wanted)
