"""Manifests and their JSON files, read under the rules of documents: below one root, regular files, bounded.

A pull request can bring both, so neither may lead the reader to another file of the machine.
"""

import os
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.settings import DEFAULT_SETTINGS
from mdplan.storage.files import FileBytes
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import visible
from mdplan.storage.root import Root, Workspace

_HERE: Final = "."


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Reads input files of the bot, of at most `max_bytes` each.

    A file below a root of `workspace` must be allowed there. Any other is read below the current folder, or
    below its own folder if it lies elsewhere.
    """

    workspace: Workspace | None = None
    max_bytes: int = DEFAULT_SETTINGS.max_file_bytes

    def read(self, path: str) -> str | Diagnostic:
        """The text of the file `path`, which the user named. Errors: INVALID_ARGUMENT."""
        try:
            found = self._bytes(os.path.abspath(path))
        except StorageRefused as refused:
            found = refused.problems[0]
        if isinstance(found, Diagnostic):
            is_missing = found.code is Code.FILE_NOT_FOUND
            message = found.message if is_missing else f"`{visible(path)}` cannot be read: {found.message}"
            return Diagnostic.invalid(message, found.hint)
        try:
            return found.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return Diagnostic.invalid(f"`{visible(path)}` is not UTF-8", "write it in UTF-8")

    def read_relative(self, manifest: str, file: str) -> str | Diagnostic:
        """The text of `file`, a path that `manifest` contains; it is relative to the folder of `manifest`.

        Errors: INVALID_ARGUMENT, also for a path that leaves the root of `manifest`.
        """
        manifest = os.path.abspath(manifest)
        path = os.path.normpath(os.path.join(os.path.dirname(manifest), file))
        if os.path.isabs(file) or not _is_below(self._base(manifest), path):
            return Diagnostic.invalid(
                f"`{visible(file)}` is not below the root of the manifest",
                "name a file below that root, relative to the manifest; `--data NAME=FILE` reads any file",
            )
        return self.read(path)

    def _bytes(self, absolute: str) -> FileBytes | Diagnostic:
        if self.workspace is not None and self.workspace.contains(absolute):
            name = self.workspace.locate(absolute)
            return name if isinstance(name, Diagnostic) else self.workspace.read(name, self.max_bytes)
        base = self._base(absolute)
        with closing(Root.open(base)) as root:
            name = root.locate(os.path.relpath(absolute, base))
            return name if isinstance(name, Diagnostic) else root.read(name, self.max_bytes)

    def _base(self, absolute: str) -> str:
        """The folder below which the file `absolute` is read."""
        roots = () if self.workspace is None else self.workspace.roots
        folders = [folder for root in roots for folder in (root.path, root.given)]
        fitting = [folder for folder in folders if _is_below(folder, absolute)]
        if fitting:
            return max(fitting, key=len)
        here = os.path.abspath(_HERE)
        return here if _is_below(here, absolute) else os.path.dirname(absolute)


def _is_below(folder: str, path: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
