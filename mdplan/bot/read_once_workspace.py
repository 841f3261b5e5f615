"""A workspace in which a file is read once, whoever asks for it, until it is forgotten."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.files import FileBytes
from mdplan.storage.names import FileName
from mdplan.storage.root import Workspace

_MOST_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class ReadOnceWorkspace(Workspace):
    """The roots of another workspace; what was read stays in `kept`.

    So what a manifest's conditions saw is what its edits are planned on. Few files are kept at a time.
    """

    reading: Callable[[FileName, int], FileBytes | Diagnostic]
    kept: dict[FileName, FileBytes | Diagnostic] = field(default_factory=dict, compare=False)

    @classmethod
    def over(cls, workspace: Workspace) -> "ReadOnceWorkspace":
        """`workspace`, read once."""
        return cls(workspace.roots, workspace.read)

    def read(self, name: FileName, max_bytes: int) -> FileBytes | Diagnostic:
        """Read a file, once. Errors: those of `Workspace.read`."""
        if name not in self.kept:
            if len(self.kept) >= _MOST_KEPT:
                self.kept.clear()
            self.kept[name] = self.reading(name, max_bytes)
        return self.kept[name]

    def forget(self) -> None:
        """Read all files anew."""
        self.kept.clear()
