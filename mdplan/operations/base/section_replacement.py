"""Replacing the text of a section by a payload: which part of it the payload stands for."""

from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks import Block
from mdplan.markdown.enclosure_search import find_enclosures
from mdplan.markdown.headings import PREAMBLE_ID, folded, render_text, with_title
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import attribute_lines, read_content, without_attributes
from mdplan.markdown.payload import (
    Payload,
    end_of_body,
    end_of_subtree,
    end_of_text_before,
    read_payload,
    replace_blocks,
    start_of_body,
)
from mdplan.markdown.sections import Section
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.section_payload import LevelFitting
from mdplan.text.edit import EditList
from mdplan.text.lines import Span
from mdplan.text.source import Source

_Path = tuple[str, ...]
_EMPTY_PATH = Diagnostic(
    code=Code.INVALID_HEADING_PATH,
    message="an empty headingPath names no section to replace",
    hint=f'name the section; to replace the text before the first heading, send "sectionId": "{PREAMBLE_ID}"',
)


def replace_section(
    operation: LevelFitting,
    outline: Outline,
    section: Section,
    payload: Payload,
    keep_subsections: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> Resolution | Problems:
    """Replacement of the text of `section` by `payload`.

    Errors: INVALID_HEADING_PATH for the empty path, which is more often a mistake than the text before the
    first heading; HEADING_LEVEL_OVERFLOW; INVALID_ARGUMENT for a payload with another heading at or above the
    level of the section; DUPLICATE_HEADING for one that repeats some of the subsections.
    """
    if operation.heading_path == ():
        return (_EMPTY_PATH,)
    has_heading = _has_heading_of(section, payload)
    keeps = _keeps_subsections(outline, section, payload, keep_subsections)
    other = _other_heading(section, payload, has_heading=has_heading)
    problems = tuple(problem for problem in (other, keeps) if isinstance(problem, Diagnostic))
    if problems:
        return problems
    if has_heading:
        payload = _with_id_of(outline, section, payload)
    fitted = operation.fitted(
        payload,
        _level_of_subsections(outline, section) if keeps else section.level + 1,
        own_level=section.level if has_heading else None,
    )
    if isinstance(fitted, Diagnostic):
        return (fitted,)
    start = _start(outline, section, payload, has_heading=has_heading)
    end = max(start, _end(outline, section, payload, keeps=keeps is True))
    declared = Span(start if has_heading else section.body.start, end)
    members = outline.members(section)
    taken = members[:1] if keeps else members
    return Resolution(
        claims=(Claim(span=declared, owner=section.index, takes=taken, verb="replaces"),),
        edits=replace_blocks(outline, Span(start, end), fitted),
        section=section,
    )


def _keeps_subsections(
    outline: Outline,
    section: Section,
    payload: Payload,
    asked: bool | None,  # noqa: FBT001 (a field of the edit, handed on)
) -> bool | Diagnostic:
    if asked is not None:
        return asked
    wanted = [
        tuple(folded(title) for title in outline.sections[index].path[len(section.path) :])
        for index in outline.members(section)
        if index != section.index
    ]
    given = _paths_in(payload, behind_own_heading=_has_heading_of(section, payload))
    repeated = set(wanted) & set(given)
    if not repeated:
        return True
    if _is_subsequence(wanted, given):
        return False
    return Diagnostic(
        code=Code.DUPLICATE_HEADING,
        message=f"the payload repeats {len(repeated)} of {len(set(wanted))} subsections",
        hint="repeat all of them in order, or none; or say it with keepSubsections",
    )


def _paths_in(payload: Payload, *, behind_own_heading: bool) -> list[_Path]:
    """Path of each heading of `payload`, by folded titles, as it is among the others."""
    paths: list[_Path] = []
    above: list[tuple[int, _Path]] = [(0, ())]
    for block in payload.headings[int(behind_own_heading) :]:
        while above[-1][0] >= block.level:
            above.pop()
        path = (*above[-1][1], folded(_title(block)))
        above.append((block.level, path))
        paths.append(path)
    return paths


def _level_of_subsections(outline: Outline, section: Section) -> int:
    """Level for new subsections before those that stay: they must not become the parent of one."""
    first = next(outline.children(section), None)
    return max(section.level + 1, first.level if first else 0)


def _start(outline: Outline, section: Section, payload: Payload, *, has_heading: bool) -> int:
    """Where the replaced text starts: anchor lines above the heading stay unless the payload has some."""
    if not has_heading:
        return start_of_body(outline, section)
    return section.span.start if payload.starts_with_anchor else section.heading_start


def _with_id_of(outline: Outline, section: Section, payload: Payload) -> Payload:
    """`payload` whose heading has the attributes of that of `section`, unless it brings its own."""
    heading, text = payload.headings[0], payload.text
    assert section.heading is not None
    attributes = read_content(section.heading.content).attributes
    below = outline.source.text[section.heading_end : section.body.start]
    if attribute_lines([0], [heading.span.end], text) or read_content(heading.content).attributes:
        return payload
    if attributes:
        edit = with_title(Source.from_text(text), heading, f"{heading.content} {attributes}")
        text = text if edit is None else EditList((edit,)).apply(text)
    elif below:
        head = text[: heading.span.end].removesuffix("\n")
        text = f"{head}\n{below.rstrip()}\n{text[heading.span.end :]}"
    return read_payload(text)


def _end(outline: Outline, section: Section, payload: Payload, *, keeps: bool) -> int:
    """Where the replaced text ends: before tags of other enclosures, unless the payload has them."""
    end = end_of_body(outline, section) if keeps else end_of_subtree(outline, section)
    whole = section.body.end if keeps else section.span.end
    has_lone = find_enclosures(outline).first_crossing(Span(section.body.start, whole)) is not None
    if has_lone and find_enclosures(Outline(Source.from_text(payload.text))).lone:
        return end_of_text_before(outline, whole)
    return end


def _has_heading_of(section: Section, payload: Payload) -> bool:
    """Whether `payload` begins with the heading of `section`, by its rendered text."""
    return (
        not section.is_root
        and payload.starts_with_heading
        and folded(_title(payload.headings[0])) == folded(section.title)
    )


def _title(heading: Block) -> str:
    return render_text(without_attributes(heading.content))


def _other_heading(section: Section, payload: Payload, *, has_heading: bool) -> Diagnostic | None:
    """INVALID_ARGUMENT where the first heading of the payload belongs next to or above the section."""
    if has_heading or not payload.headings or section.is_root:
        return None
    if payload.headings[0].level > section.level:
        return None
    return Diagnostic.invalid(
        "the payload has another heading at or above the level of the section",
        "to change the heading use rename_heading; to add a section next to it use insert_section; "
        "subsections need a deeper level",
    )


def _is_subsequence(wanted: Sequence[_Path], given: Sequence[_Path]) -> bool:
    rest = iter(given)
    return all(any(path == found for found in rest) for path in wanted)
