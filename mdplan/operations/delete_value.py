"""delete_value: delete a key or list item of a YAML, JSON, TOML or INI file, or front matter."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.data.tree import REMOVED, KeyChange
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.front_matter_edits import no_block
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import DataOperation, Step
from mdplan.operations.base.operation import KEYS, Claim, DataChanges, Resolution


class DeleteValue(DataOperation):
    """Delete a key with its value, or a list item, of a YAML, JSON, TOML or INI file, or of front matter.

    A comment on its lines goes with it; comments above it stay. A map or list that loses its last entry
    stays, empty; in TOML a table without its own header goes with it. `wholeBlock` deletes front matter
    with its fences and the blank lines after it, whatever it says.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_value", "key": "nav[0].Home"}
    satisfied_by: ClassVar = frozenset(
        {Code.KEY_NOT_FOUND, Code.SECTION_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND}
    )

    op: Literal["delete_value"]
    key: str | tuple[Step, ...] | None = Field(  # type: ignore[assignment]
        default=None, description=str(DataOperation.model_fields["key"].description)
    )
    whole_block: bool = Field(default=False, description="Delete the front matter itself; instead of key.")

    @model_validator(mode="after")
    def _check_choice(self) -> "DeleteValue":
        if (self.key is None) == (not self.whole_block):
            msg = "give a key, or `wholeBlock: true`"
            raise ValueError(msg)
        if self.whole_block and self.expected_value is not None:
            msg = "expectedValue requires key"
            raise ValueError(msg)
        return self

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletion of lines, or of the text between commas. Errors: those of `read` and `find`."""
        if self.whole_block:
            return self._without_block(outline)
        target = self.read(outline)
        path = target if isinstance(target, Diagnostic) else self.find_there(outline, target)
        if isinstance(target, Diagnostic) or isinstance(path, Diagnostic):
            return tuple(each for each in (path,) if isinstance(each, Diagnostic))
        if not path:
            return (Diagnostic.invalid("delete_value needs a key", "a whole file goes with delete_file"),)
        return self.resolution(outline, target, [(path, "")], [KeyChange(path, REMOVED)])

    def _without_block(self, outline: Outline) -> Resolution | Problems:
        if outline.front_matter is None:
            return (no_block(may_create=False),)
        span = outline.front_matter.span
        return Resolution(
            claims=(Claim(span=span, owner=None, part=(KEYS,)),),
            deletions=(span,),
            data=DataChanges(removes=True),
        )
