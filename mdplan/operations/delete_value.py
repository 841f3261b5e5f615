"""delete_value: delete a key or list item of a YAML, JSON, TOML or INI file, or of front matter."""

from typing import ClassVar, Literal

from mdplan.data.change import REMOVED, KeyChange
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.operations.base.data import DataOperation
from mdplan.operations.base.operation import Resolution


class DeleteValue(DataOperation):
    """Delete a key with its value, or a list item, of a YAML, JSON, TOML or INI file, or of front matter.

    A comment on its lines goes with it; comments above it stay. A map or list that loses its last entry
    stays, empty; in TOML a table without its own header goes with it.
    """

    example: ClassVar[dict[str, object]] = {"op": "delete_value", "key": "nav[0].Home"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND})

    op: Literal["delete_value"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Deletion of lines, or of the text between commas. Errors: those of `read` and `find_there`."""
        target = self.read(outline)
        path = target if isinstance(target, Diagnostic) else self.find_there(outline, target)
        if isinstance(target, Diagnostic) or isinstance(path, Diagnostic):
            return tuple(each for each in (path,) if isinstance(each, Diagnostic))
        if not path:
            return (Diagnostic.invalid("delete_value needs a key", "a whole file goes with delete_file"),)
        return self.resolution(outline, target, [(path, "")], [KeyChange(path, REMOVED)])
