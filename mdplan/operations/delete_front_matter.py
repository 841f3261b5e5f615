"""delete_front_matter: delete a key of the front matter, or all of it."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.data.change import REMOVED, KeyChange, value_at
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.edits.front_matter_problems import key_not_found, no_block
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.front_matter import PART, FrontMatterOperation
from mdplan.operations.base.operation import Claim, DataChanges, Resolution


class DeleteFrontMatter(FrontMatterOperation):
    """Delete a key of the front matter, or the whole block.

    With the key go its value and a comment on its lines; comments above it and blank lines stay. A map that
    loses its last key stays as `{}`; in TOML a table without its own header goes with it. A block that
    loses its last key stays, empty: `wholeBlock` deletes it with its fences and the blank lines after it,
    whatever it says.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_front_matter", "key": "draft"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND})
    is_listed: ClassVar = False  # delete_value does the same, and delete_lines deletes the whole block.

    op: Literal["delete_front_matter"]
    whole_block: bool = Field(default=False, description="Delete the block itself; instead of key.")

    @model_validator(mode="after")
    def _check_choice(self) -> "DeleteFrontMatter":
        if (self.key is None) == (not self.whole_block):
            msg = "give a key, or `wholeBlock: true`"
            raise ValueError(msg)
        if self.whole_block and self.expected_value is not None:
            msg = "expectedValue requires key"
            raise ValueError(msg)
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletion of lines, or of the text between commas.

        Errors: FRONT_MATTER_NOT_FOUND, FRONT_MATTER_INVALID, KEY_NOT_FOUND; those of `find`.
        """
        if self.whole_block:
            return self._without_block(outline)
        block = self.read(outline)
        if isinstance(block, Diagnostic):
            return (block,)
        key = self.find(outline, block, self.key)
        if isinstance(key, Diagnostic):
            return (key,)
        if value_at(block.content.values, key) is REMOVED:
            return (key_not_found(block.content, key),)
        return self.resolution(outline, block, [key], [KeyChange(key, REMOVED)])

    def _without_block(self, outline: Outline) -> Resolution | Problems:
        if outline.front_matter is None:
            return (no_block(may_create=False),)
        span = outline.front_matter.span
        return Resolution(
            claims=(Claim(span=span, owner=None, part=(PART,)),),
            deletions=(span,),
            data=DataChanges(removes=True),
        )
