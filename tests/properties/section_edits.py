"""Edits of sections, whose addresses mostly exist."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation, SectionTargeted
from tests.properties.markdown_documents import new_sections, payloads
from tests.properties.own_fields import own_fields

Edit = dict[str, Any]


@st.composite
def section_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """Draw an edit of a section that exists, or nearly."""
    section = draw(st.sampled_from(_sections_for(outline, OPERATIONS[op])))
    return draw(_targets(outline, section)) | draw(_section_fields(outline, section, op))


def section_targets(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """An edit that names a section and nothing more."""
    sections = st.sampled_from(_sections_for(outline, OPERATIONS[op]))
    return sections.flatmap(lambda section: _targets(outline, section))


@st.composite
def _targets(draw: DrawFn, outline: Outline, section: Section) -> Edit:
    """`section`, some with its hash."""
    target = draw(addresses(outline, section))
    has_precondition = draw(st.integers(0, 3)) == 0
    return target | ({"sectionSha256": outline.section_sha256(section)} if has_precondition else {})


def _sections_for(outline: Outline, operation: type[Operation]) -> list[Section]:
    """Return the sections that `operation` accepts, or all sections."""
    assert issubclass(operation, SectionTargeted)
    fitting = [
        section
        for section in outline.every_section()
        if (not section.is_root or operation.accepts_root)
        and (not section.nested or operation.accepts_nested)
    ]
    return fitting or list(outline.every_section())


@st.composite
def addresses(draw: DrawFn, outline: Outline, section: Section) -> Edit:
    """A target that names `section`, or nearly."""
    occurrence = {"occurrence": section.ordinal} if section.repeats > 1 and not section.nested else {}
    ways: list[Edit] = [
        {"sectionId": section.section_id},
        {"sectionId": section.section_id},
        {"headingPath": list(section.path), **occurrence},
        {"headingPath": list(section.path[-1:])},
    ]
    if section.heading:
        ways += [{"heading": section.title}, {"heading": "No such"}]
    if section.anchor:
        ways.append({"anchor": section.anchor})
    return draw(st.sampled_from(ways))


@st.composite
def _section_fields(draw: DrawFn, outline: Outline, section: Section, op: str) -> Edit:
    own = st.just(outline.text_of(section.span)) | st.just(outline.text_of(section.body))
    levels = st.fixed_dictionaries({}, optional={"levels": st.sampled_from(["fit", "fit", "verbatim"])})
    positions = st.sampled_from(["before", "after", "firstChild", "lastChild"])
    match op:
        case "append_to_section":
            extra = {"markdown": payloads, "extent": st.sampled_from(["auto", "auto", "subtree"])}
        case "prepend_to_section":
            extra = {"markdown": payloads}
        case "replace_section":
            extra = {
                "markdown": payloads | own,
                "keepSubsections": st.sampled_from([None, None, True, False]),
            }
        case "insert_section":
            extra = {"markdown": new_sections | payloads, "position": positions}
        case "upsert_section":
            mode = draw(st.sampled_from(["replace", "append", "prepend"]))
            extra = {"markdown": payloads, "mode": st.just(mode), "createIfMissing": st.booleans()}
        case "move_section":
            to = draw(st.sampled_from(list(outline.every_section())))
            extra = {"toSectionId": st.just(to.section_id), "position": positions}
        case "rename_heading":
            titles = (
                "New title",
                "`Code` title",
                "Guide",
                "a # b #",
                "12. x",
                "=",
                "[l](#use)",
                "\\#",
                "<b>",
            )
            return draw(st.fixed_dictionaries({"newTitle": st.sampled_from(titles)}))
        case _:
            return draw(own_fields(op, SectionTargeted))
    return draw(st.builds(dict.__or__, st.fixed_dictionaries(extra), levels))
