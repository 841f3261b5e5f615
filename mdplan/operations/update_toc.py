"""update_toc: write the list of headings into its region."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.edits.payload import read_payload
from mdplan.markdown.edits.region_text import RegionText, replace_region_text
from mdplan.markdown.outline.contents_list import contents_list
from mdplan.markdown.outline.heading_path import MAX_LEVEL
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.operation import Operation, Resolution
from mdplan.operations.base.region import claim_of_region, find_region, inside_of_a_line

_Level = Annotated[int, Field(strict=True, ge=1, le=MAX_LEVEL)]


class UpdateToc(Operation):
    """Write the headings behind a region into it, as a list of links: a table of contents.

    The region stands between ``<!-- toc:start -->`` and ``<!-- toc:end -->``, which must be there; `region`
    gives another name than `toc`. The list is made last, of the result of all edits of the batch, with the
    anchors that GitHub gives: the second of two equal headings gets ``-1``. Headings before the region,
    inside of it, in quotes and in lists are left out, and so are those above `minLevel` or below
    `maxLevel`; the default leaves out the title of the document.

    What stood in the region is replaced, and nothing needs to pin that. Where the list is right already,
    nothing changes.
    """

    example: ClassVar[dict[str, object]] = {"op": "update_toc", "maxLevel": 3}
    has_second_pass: ClassVar = True

    op: Literal["update_toc"]
    region: str = Field(default="toc", description="NAME of the marker comments.")
    min_level: _Level = Field(default=2, description="Shallowest headings that are listed.")
    max_level: _Level = Field(default=MAX_LEVEL, description="Deepest headings that are listed.")
    bullet: Literal["-", "*", "+", "1."] = Field(default="-", description="Marker of the items.")

    @model_validator(mode="after")
    def _check_levels(self) -> "UpdateToc":
        if self.max_level < self.min_level:
            raise ValueError("maxLevel is less than minLevel")
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """The claim on the region. Errors: REGION_NOT_FOUND."""
        found = find_region(outline, self.region)
        if isinstance(found, Diagnostic):
            return (found,)
        claim = claim_of_region(outline, found.region)
        return Resolution(claims=(claim,), section=outline.section_at(claim.span.start), is_evidence=True)

    def resolve_second_pass(self, outline: Outline) -> Resolution | Problems:
        """One replacement in the result; the claim on the region tells which one it is.

        Errors: REGION_NOT_FOUND; INVALID_ARGUMENT where the region stands inside of a line of text.
        """
        found = find_region(outline, self.region)
        if isinstance(found, Diagnostic):
            return (found,)
        has_lines = found.lines is not None or found.is_alone
        contents = read_payload(self._contents(outline, found))
        edit = replace_region_text(outline, found, contents) if has_lines else None
        if edit is None:
            return (inside_of_a_line(found.region, "a list needs lines of its own", "use another region"),)
        is_new = edit.new_text != outline.text_of(edit.span)
        return Resolution(claims=(claim_of_region(outline, found.region),), edits=(edit,) if is_new else ())

    def _contents(self, outline: Outline, found: RegionText) -> str:
        behind = found.region.end.span.end
        listed = (
            section
            for section in outline.sections
            if section.span.start >= behind and self.min_level <= section.level <= self.max_level
        )
        return contents_list(listed, self.bullet)
