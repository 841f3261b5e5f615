"""rename_heading: give a heading another text."""

import re
from typing import ClassVar, Final, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.headings import with_title
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import read_content
from mdplan.markdown.sections import Section
from mdplan.markdown.targets import with_kept_anchors
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted

_MARKS: Final = re.compile(r"#{1,6}[ \t]")


class RenameHeading(SectionTargeted):
    """Change the text of a heading; its level, its section and everything below stay.

    `newTitle` is one line of Markdown, taken as it is, without leading marks; an ID such as `{#id}` or
    `<a id="id"></a>` stays where it has none. Links to the old anchor follow
    with `updateReferences`; without it those of the same file that break are BROKEN_LINK warnings. The
    section gets a new ID, and so do its subsections: see `newSectionId` in the result.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "rename_heading",
        "headingPath": ["Install"],
        "newTitle": "Installation",
    }
    accepts_nested: ClassVar = True

    op: Literal["rename_heading"]
    new_title: str = Field(description="New heading text, one line of Markdown without leading #.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement of the heading's text.

        Errors: those of the target; EMPTY_CONTENT; INVALID_ARGUMENT for a title that is no single line, or
        that the heading cannot carry.
        """
        section = self.find_section(outline)
        title = self.new_title.strip()
        problem = _title_problem(title)
        problems = tuple(found for found in (section, problem) if isinstance(found, Diagnostic))
        if isinstance(section, Diagnostic) or problems:
            return problems
        assert section.heading is not None
        # The IDs that a heading gives itself outlive its title.
        attributes = "" if read_content(title).id else read_content(section.heading.content).attributes
        title = title if read_content(title).id else with_kept_anchors(outline, section.heading, title)
        edit = with_title(outline.source, section.heading, f"{title} {attributes}" if attributes else title)
        if edit is None:
            return (
                Diagnostic.invalid(
                    f"the heading at line {section.heading_line} cannot carry this title as one line",
                    "escape what Markdown would read as something else than a title",
                ),
            )
        unchanged = outline.text_of(edit.span) == edit.new_text
        return Resolution(
            claims=(Claim(span=edit.span, owner=None),),
            edits=() if unchanged else (edit,),
            section=section,
        )

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Whether the heading has its new title: a section has the same path with that title at its end.

        Of a heading that was named by an anchor or an ID, which change with the title, the path is unknown:
        then one section anywhere with the new title is enough.
        """
        if problem.code not in (Code.SECTION_NOT_FOUND, Code.ANCHOR_NOT_FOUND):
            return False
        path = self.heading_path or ("",)
        return isinstance(find_by_path(outline, [*path[:-1], self.new_title]), Section)


def _title_problem(title: str) -> Diagnostic | None:
    if not title:
        return Diagnostic(
            code=Code.EMPTY_CONTENT, message="newTitle is empty", hint="give the new text of the heading"
        )
    if "\n" in title or "\r" in title:
        return Diagnostic.invalid(
            "newTitle has a line break, and a heading is one line",
            "use append_to_section for text below the heading",
        )
    if _MARKS.match(title):
        return Diagnostic.invalid(
            "newTitle starts with heading marks; the level of the heading stays as it is",
            "give the text alone, without #",
        )
    return None
