"""upsert_section: write a section, and make it where it is missing."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.heading_path import find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload, read_payload
from mdplan.operation import Resolution
from mdplan.payload_operation import Addressed, PayloadOperation, place_beside
from mdplan.section_replacement import replace_section


class UpsertSection(PayloadOperation):
    """Write a section; with `createIfMissing: true` make it where there is none.

    An existing section is replaced, appended to or prepended to, as `mode` says. A missing one becomes the
    last subsection of `parentPath`, else of the path above it, which must exist; it gets the payload's
    heading, else the last element of `headingPath`. A `sectionId` never creates.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "upsert_section",
        "headingPath": ["Guide", "Support"],
        "markdown": "Write to us.",
        "createIfMissing": True,
    }
    accepts_root: ClassVar = True

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
            raise ValueError("keepSubsections goes with mode replace")
        if self.parent_path is not None and not self.create_if_missing:
            raise ValueError("parentPath goes with createIfMissing")
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement or insertion.

        Errors: those of the target and of `replace_section`, `append_to_section` or `prepend_to_section`;
        SECTION_NOT_FOUND for a parent that does not exist either.
        """
        section = self.find_section(outline)
        payload = self.read_payload()
        if isinstance(payload, Diagnostic):
            is_missing = isinstance(section, Diagnostic) and self._may_create(section)
            return (section, payload) if isinstance(section, Diagnostic) and not is_missing else (payload,)
        if isinstance(section, Diagnostic):
            return self._create(outline, payload) if self._may_create(section) else (section,)
        if self.mode == "replace":
            return replace_section(self, outline, section, payload, self.keep_subsections)
        to = Addressed(section, payload)
        if self.mode == "append":
            return self.write_into(outline, to, "lastChild", "end")
        return self.write_into(outline, to, "firstChild", "start")

    def _may_create(self, problem: Diagnostic) -> bool:
        named = self.heading_path or ((self.heading,) if self.heading is not None else ())
        return self.create_if_missing and bool(named) and problem.code is Code.SECTION_NOT_FOUND

    def _create(self, outline: Outline, payload: Payload) -> Resolution | Problems:
        path = self.heading_path if self.heading_path is not None else (self.heading or "",)
        parent = find_by_path(outline, self.parent_path if self.parent_path is not None else path[:-1])
        if isinstance(parent, Diagnostic):
            return (parent,)
        if parent.nested:
            return (_NESTED_PARENT,)
        whole = payload if payload.starts_with_heading else _under_heading(path[-1], payload)
        place = place_beside(outline, parent, "lastChild")
        fitted = self.fitted(whole, place.level)
        return (fitted,) if isinstance(fitted, Diagnostic) else self.insertion(fitted, place, parent)


def _under_heading(title: str, payload: Payload) -> Payload:
    """`payload` below a heading of level 1, whose place decides what becomes of it."""
    return read_payload(f"# {title.lstrip('#').strip()}\n\n{payload.text}")


_NESTED_PARENT = Diagnostic(
    code=Code.INVALID_ARGUMENT,
    message="parentPath names a heading in a quote or list, which holds no sections",
    hint="name a section of its own",
)
