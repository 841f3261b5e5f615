"""set_task: check or uncheck the box of a task."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.list import FoundItem, ItemOperation
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


class SetTask(ItemOperation):
    """Check or uncheck the box of a task.

    The task is named by its first paragraph, as written or as a reader sees it, without its marker and box;
    it is looked for in all lists of the section with its subsections, of the file, or in the given list,
    nested ones included. Several tasks of that text are refused, unless `itemOccurrence` picks one, or
    `under` names the item that the task is a part of.

    One character changes, and none where the box is as it should be. A box is checked with the `x` or `X`
    that most of its list has. A text as it is written, that one task has, proves which task is meant.

    `list` counts from 0 the lists that are in no other list; with a section, only those of the
    section with its subsections.
    """

    example: ClassVar[dict[str, object]] = {"op": "set_task", "item": "It has water.", "done": True}

    op: Literal["set_task"]
    item: str = Field(description="Text of the task.")
    done: bool = Field(strict=True, description="Whether its box is checked.")
    under: str | None = Field(default=None, description="Text of an item that the task is a part of.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One edit of the box. Errors: those of `scope` and `find_item`; INVALID_ARGUMENT without a box."""
        scope = self.scope(outline)
        if isinstance(scope, Diagnostic):
            return (scope,)
        if self.under is not None:
            parent = self.find_item(outline, scope, "under", self.under)
            if isinstance(parent, Diagnostic):
                return (parent,)
            scope = replace(scope, area=parent.placed.item.block.span)
        found = self.find_item(outline, scope, "item", self.item, tasks=True)
        if isinstance(found, Diagnostic):
            return (found,)
        box = outline.lists.box(found.placed) if found.placed.item.mark is not None else None
        if box is None:
            return (_no_box(outline, found),)
        section = outline.section_at(box.start)
        is_done = outline.text_of(box) != " "
        mark = found.placed.listing.done_mark if self.done else " "
        return Resolution(
            claims=(Claim(span=Span(box.start - 1, box.end + 1), owner=section.index),),
            edits=() if is_done is self.done else (TextEdit(box, mark),),
            section=scope.section or section,
            is_evidence=found.is_exact,
        )


def _no_box(outline: Outline, found: FoundItem) -> Diagnostic:
    item = found.placed.item
    return Diagnostic.invalid(
        f"the list item at line {item.first_line} is not a task: it has no checkbox",
        "add `[ ]` after its marker first, with replace_match or replace_range",
        place=outline.source.lines.position(item.block.span.start),
    )
