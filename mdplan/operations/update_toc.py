"""update_toc: write the list of headings into its region."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.addresses import MAX_LEVEL
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import read_payload
from mdplan.markdown.region_edits import (
    ContentsForm,
    RegionText,
    contents_list,
    form_of,
    head_of,
    is_omitted,
    replace_region_text,
)
from mdplan.operations.base.operation import Operation, Resolution
from mdplan.operations.base.region_edit import claim_of_region, find_region, inside_of_a_line

_Level = Annotated[int, Field(strict=True, ge=1, le=MAX_LEVEL)]


class UpdateToc(Operation):
    """Write the headings after a region into it, as a list of links: a table of contents.

    The region is between ``<!-- toc:start -->`` and ``<!-- toc:end -->``, which must be there, or between
    the markers of another tool: ``<!-- toc -->`` and ``<!-- /toc -->`` or ``<!-- tocstop -->``, those of
    doctoc. `region` gives another name than `toc`. Marker, indentation and levels of the list stay as they
    are, and so does text above it; headings with ``<!-- omit in toc -->`` are skipped.

    The list is made last, of the result of all edits of the batch, with the anchors that GitHub gives: the
    second of two equal headings gets ``-1``. Headings before the region, inside it, in quotes and in lists
    are skipped, and so are those above `minLevel` or below `maxLevel`; without `minLevel` the title of the
    document is, unless there are several.

    What was in the region is replaced, and nothing needs to guard that. Where the list is right already,
    nothing changes.
    """

    example: ClassVar[dict[str, object]] = {"op": "update_toc", "maxLevel": 3}
    has_second_pass: ClassVar = True

    op: Literal["update_toc"]
    region: str = Field(default="toc", description="NAME of the marker comments.")
    min_level: _Level | None = Field(
        default=None, description="Shallowest headings that are listed; without it as now, else 2."
    )
    max_level: _Level | None = Field(
        default=None, description="Deepest headings that are listed; without it as now, else 6."
    )
    bullet: Literal["-", "*", "+", "1."] | None = Field(
        default=None, description="Marker of the items; without it as now, else -."
    )

    @model_validator(mode="after")
    def _check_levels(self) -> "UpdateToc":
        if self.max_level is not None and self.min_level is not None and self.max_level < self.min_level:
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
        """One replacement in the result; the claim on the region shows which one it is.

        Errors: REGION_NOT_FOUND; INVALID_ARGUMENT where the region is inside a line of text.
        """
        found = find_region(outline, self.region)
        if isinstance(found, Diagnostic):
            return (found,)
        has_lines = found.lines is not None or found.is_alone
        contents = read_payload(self._contents(outline, found))
        edit = replace_region_text(outline, found, contents) if has_lines else None
        if edit is None:
            return (inside_of_a_line(found.region, "a list needs separate lines", "use another region"),)
        is_new = edit.new_text != outline.text_of(edit.span)
        return Resolution(claims=(claim_of_region(outline, found.region),), edits=(edit,) if is_new else ())

    def _contents(self, outline: Outline, found: RegionText) -> str:
        behind = found.region.end.span.end
        sections = [section for section in outline.sections if section.heading_start >= behind]
        form = form_of(outline, found.content, sections)
        form = ContentsForm(
            self.bullet or form.bullet,
            form.indent if self.bullet in (None, form.bullet) else " " * (len(self.bullet) + 1),
            self.min_level or form.min_level,
            self.max_level or form.max_level,
        )
        levels = range(form.min_level, form.max_level + 1)
        listed = (each for each in sections if each.level in levels and not is_omitted(outline, each))
        return head_of(found.content) + contents_list(outline, listed, form)
