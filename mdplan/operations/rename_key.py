"""rename_key: give a key of a YAML, JSON, TOML or INI file, or of front matter, another name."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.data.address import shown
from mdplan.data.tree import NewName, value_at
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.data import DataOperation
from mdplan.operations.base.operation import Resolution


class RenameKey(DataOperation):
    """Give a key another name, in a YAML, JSON, TOML or INI file, or in front matter.

    Its value, place and quotes stay. The map must not have a key of that name.
    """

    example: ClassVar[dict[str, object]] = {"op": "rename_key", "key": "nav.Guide", "newName": "Manual"}

    op: Literal["rename_key"]
    new_name: str = Field(min_length=1, description="New name of the key alone, without what is around it.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement. Errors: those of `read` and `find`; INVALID_ARGUMENT."""
        target = self.read(outline)
        path = target if isinstance(target, Diagnostic) else self.find_there(outline, target)
        if isinstance(target, Diagnostic) or isinstance(path, Diagnostic):
            return tuple(each for each in (path,) if isinstance(each, Diagnostic))
        if not path or not isinstance(path[-1], str):
            return (Diagnostic.invalid("rename_key needs the key of a map", "list items have no names"),)
        if self.new_name != path[-1] and self.new_name in value_at(target.content.values, path[:-1]):
            taken = shown((*path[:-1], self.new_name))
            return (Diagnostic.invalid(f"`{taken}` is there already", "choose another name"),)
        changes = [] if self.new_name == path[-1] else [NewName(path, self.new_name)]
        return self.resolution(outline, target, [(path, "")], changes)
