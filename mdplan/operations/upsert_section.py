"""upsert_section: write a section, and make it where it is missing."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.headings import atx_heading
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, fit_levels, read_payload
from mdplan.operations.base.operation import Resolution
from mdplan.operations.base.section_payload import Addressed, PayloadOperation, not_too_deep, place_next_to
from mdplan.operations.base.section_replacement import replace_section


class UpsertSection(PayloadOperation):
    """Write a section; with `createIfMissing: true` make it where there is none.

    An existing section is replaced, appended to or prepended to, as `mode` says. A missing one becomes the
    last subsection of `parentPath`, else of the path above it, which must exist; it gets the payload's
    heading, else the last element of `headingPath`. A `sectionId` never creates, and neither does an edit
    with `sectionSha256`, which is of a section that was there.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "upsert_section",
        "headingPath": ["Guide", "Support"],
        "markdown": "Write to us.",
        "createIfMissing": True,
    }
    accepts_root: ClassVar = True
    may_begin_file: ClassVar = True

    op: Literal["upsert_section"]
    mode: Literal["replace", "append", "prepend"] = Field(
        default="replace", description="What happens to a section that exists."
    )
    create_if_missing: bool = Field(default=False, description="Make the section where there is none.")
    parent_path: tuple[str, ...] | None = Field(
        default=None, description="Section to make it in; [] is the top; else headingPath[:-1]."
    )
    keep_subsections: bool | None = Field(
        default=None, description="With mode replace: keep subsections (true) or replace them (false)."
    )

    @model_validator(mode="after")
    def _check_mode(self) -> "UpsertSection":
        if self.keep_subsections is not None and self.mode != "replace":
            raise ValueError("keepSubsections requires mode replace")
        if self.parent_path is not None and not self.create_if_missing:
            raise ValueError("parentPath requires createIfMissing")
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement or insertion.

        Errors: those of the target and of `replace_section`, `append_to_section` or `prepend_to_section`;
        SECTION_NOT_FOUND for a parent that does not exist either; INVALID_ARGUMENT for a path element that
        gives the new section no heading, or another level than its place.
        """
        section = self.find_section(outline)
        payload = self.read_payload()
        if isinstance(payload, Diagnostic):
            is_missing = isinstance(section, Diagnostic) and self._may_create(section)
            if isinstance(section, Diagnostic) and not is_missing:
                return (self._with_way_to_create(section), payload)
            return (payload,)
        if isinstance(section, Diagnostic):
            is_missing = self._may_create(section)
            return self._create(outline, payload) if is_missing else (self._with_way_to_create(section),)
        if self.mode == "replace":
            return replace_section(self, outline, section, payload, self.keep_subsections)
        to = Addressed(section, payload)
        if self.mode == "append":
            return self.write_into(outline, to, "lastChild", "end")
        return self.write_into(outline, to, "firstChild", "start")

    def _may_create(self, problem: Diagnostic) -> bool:
        return self.create_if_missing and self._could_create(problem)

    def _could_create(self, problem: Diagnostic) -> bool:
        named = self.heading_path or ((self.heading,) if self.heading is not None else ())
        return self.section_sha256 is None and bool(named) and problem.code is Code.SECTION_NOT_FOUND

    def _with_way_to_create(self, problem: Diagnostic) -> Diagnostic:
        if self.create_if_missing or not self._could_create(problem):
            return problem
        return replace(problem, hint=f'{problem.hint}; `"createIfMissing": true` would make it')

    def _create(self, outline: Outline, payload: Payload) -> Resolution | Problems:
        path = self.heading_path if self.heading_path is not None else (self.heading or "",)
        parent = find_by_path(outline, self.parent_path if self.parent_path is not None else path[:-1])
        if isinstance(parent, Diagnostic):
            return (parent,)
        if parent.nested:
            return (_NESTED_PARENT,)
        place = place_next_to(outline, parent, "lastChild")
        fitted = self._fitted_below(path[-1], payload, place.level)
        return (fitted,) if isinstance(fitted, Diagnostic) else self.insertion(fitted, place, parent)

    def _fitted_below(self, element: str, payload: Payload, level: int) -> Payload | Diagnostic:
        if payload.starts_with_heading:
            return self.fitted(payload, level)
        whole = _under_heading(element, payload, level)
        if isinstance(whole, Diagnostic):
            return whole
        shallowest = 1 if self.levels == "verbatim" else level + 1
        return not_too_deep(fit_levels(whole, shallowest, own_level=level))


def _under_heading(element: str, payload: Payload, level: int) -> Payload | Diagnostic:
    """`payload` below a heading of level 1, which is to go to `level`.

    `element` is the title as one line of Markdown; it may carry its level.
    """
    headings = read_payload(element).headings
    given, title = (headings[0].level, headings[0].content) if headings else (level, element.strip())
    if not title:
        return _NO_TITLE
    if given != level:
        return Diagnostic.invalid(
            f"headingPath gives the new section level {given}, and its place has level {level}",
            "give the heading without marks, or another parent",
        )
    heading = atx_heading(1, title)
    return _NO_TITLE if heading is None else read_payload(f"{heading}\n\n{payload.text}")


_NO_TITLE = Diagnostic.invalid(
    "the last element of headingPath gives the new section no title",
    "name the section, or start markdown with its heading",
)


_NESTED_PARENT = Diagnostic.invalid(
    "parentPath names a heading in a quote or list, which has no sections", "name a section of the document"
)
