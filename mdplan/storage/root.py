"""A root: an open folder below which files are named, read and written."""

import errno
import os
import posixpath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage import files
from mdplan.storage.filesystem import FileSystem, of_error, storage_errors
from mdplan.storage.local import local_disk
from mdplan.storage.names import (
    NOTE,
    absolute,
    canonical_path,
    component_problem,
    is_absolute,
    path_below,
    real_path,
    slashed,
)
from mdplan.text.visible import visible
from mdplan.values import Struct, replace
from mdplan.words import Step, either, say

Found = TypeVar("Found")


LET_THROUGH: Final = say("{--allow} and {--deny} say which may be read or written")


class Root(Struct):
    """An open root. `path` is absolute and resolved; `given` is the caller's path, made absolute.

    `locate` validates a caller's path once and returns a `FileName`, which cannot leave the root. `private`
    is the device and inode of a folder that is never entered under any name: mdplan's state directory.
    """

    name: str
    path: str
    given: str
    descriptor: int
    scope: files.Scope
    filesystem: FileSystem
    private: tuple[int, int] | None = None

    @staticmethod
    def open(
        folder: str | os.PathLike[str],
        name: str = "",
        scope: files.Scope | None = None,
        filesystem: FileSystem | None = None,
    ) -> "Root":
        """Open `folder` as the root `name`, limited to `scope`.

        Raise `StorageRefused`.
        """
        filesystem = filesystem or local_disk()
        given = absolute(folder)
        path = real_path(given)
        with storage_errors(visible(given), "opening the root"):
            descriptor = filesystem.open_root(path)
        return Root(name, path, given, descriptor, scope or files.Scope(), filesystem)

    def close(self) -> None:
        """Close the folder; do not use the root afterwards."""
        self.filesystem.release(self.descriptor)

    def show(self, path: str) -> str:
        """Return `path` for messages: with the root's name, if any, and always valid Unicode."""
        return f"{self.name}:{visible(path)}" if self.name else visible(path)

    def locate(self, path: str) -> files.FileName | Diagnostic:
        """Return the file name for `path`, relative to the root, if it may be touched.

        Errors: as `canonical_path`; PATH_OUTSIDE_ROOT outside `scope`.
        """
        checked = canonical_path(path)
        if isinstance(checked, Diagnostic):
            return checked
        reason = self.scope.refusal(checked)
        if reason is None:
            return files.FileName(self.name, checked)
        shown = self.show(checked)
        return Code.PATH_OUTSIDE_ROOT.problem(
            f"`{shown}` {reason}", either("name another file", LET_THROUGH, joint="; "), file=shown
        )

    def open_folder(self, path: str, around: tuple[str, int] = ("", -1)) -> int | Diagnostic:
        """Open the folder `path` (empty for the root), component by component, without following links.

        `around` is an open ancestor and its path. The caller releases the descriptor. Errors: as
        `canonical_path`, SYMLINK_REFUSED, FILE_NOT_FOUND (also for a file in place of a folder),
        PERMISSION_DENIED, IO_ERROR.
        """
        checked = canonical_path(path) if path else path
        if isinstance(checked, Diagnostic):
            return checked
        below = checked[len(around[0]) :].lstrip("/")
        return self._walk(below.split("/") if below else [], rest=[], start=around[1])

    def read(self, name: files.FileName, max_bytes: int) -> files.FileBytes | Diagnostic:
        """Read a file once. Errors: as `open_folder` and `read_regular_file`."""
        return self._find(name, partial(files.read_regular_file, max_bytes=max_bytes))

    def status_of(self, name: files.FileName) -> os.stat_result | Diagnostic:
        """Return the status of a regular file. Errors: as `open_folder` and `stat_file`."""
        return self._find(name, files.stat_file)

    def write_refusal(self, name: files.FileName) -> Diagnostic | None:
        """Return why a file cannot be replaced now, or None.

        Errors: as `status_of` and `files.write_refusal`.
        """

        def refusal(disk: FileSystem, folder: int, leaf: str, shown: str) -> Diagnostic | None:
            status = files.stat_file(disk, folder, leaf, shown)
            return (
                status
                if isinstance(status, Diagnostic)
                else files.write_refusal(disk, folder, leaf, shown, status)
            )

        return self._find(name, refusal)

    def explained(self, problem: Diagnostic, folder: int, path: str) -> Diagnostic:
        """Return `problem` of the file `path` in its open `folder`, with a better hint."""
        components = path.split("/")
        if problem.code is Code.SYMLINK_REFUSED:
            return replace(problem, hint=self._link_hint(folder, components, rest=[]))
        if problem.code is Code.FILE_NOT_FOUND:
            return replace(problem, hint=self._similar_hint(folder, components))
        return problem

    def has_note(self) -> bool:
        """Return True if a commit runs below this root, or was killed there, whoever started it."""
        return self.filesystem.has(self.descriptor, NOTE)

    def _find(
        self, name: files.FileName, find: Callable[[FileSystem, int, str, str], Found | Diagnostic]
    ) -> Found | Diagnostic:
        """Return `find` for the last component of `name` in its open folder."""
        *folders, leaf = name.path.split("/")
        folder, shown = self._walk(folders, rest=[leaf]), self.show(name.path)
        if isinstance(folder, Diagnostic):
            return folder
        try:
            found = find(self.filesystem, folder, leaf, shown)
            if isinstance(found, Diagnostic) and self.scope.hides_folder(name.path):
                # Do not reveal whether a denied folder exists.
                found = Code.FILE_NOT_FOUND.problem(f"there is no file `{shown}`", file=shown)
            return self.explained(found, folder, name.path) if isinstance(found, Diagnostic) else found
        finally:
            self.filesystem.release(folder)

    def _walk(self, components: list[str], rest: list[str], start: int = -1) -> int | Diagnostic:
        opened = -1
        for depth, component in enumerate((".", *components)):
            above = opened if opened >= 0 else start if start >= 0 else self.descriptor
            try:
                deeper = self.filesystem.open_directory(above, component)
            except OSError as error:
                return self._folder_problem(error, above, components[:depth], components[depth:] + rest)
            finally:
                if opened >= 0:
                    self.filesystem.release(opened)
            opened = deeper
            if self.is_private(opened):
                self.filesystem.release(opened)
                return self._private_problem("/".join(components[:depth]), "/".join(components + rest))
        return opened

    def is_private(self, folder: int) -> bool:
        """Return True if the open `folder` must never be entered."""
        return self.private is not None and self.filesystem.identity(folder) == self.private

    def _private_problem(self, folder: str, path: str) -> Diagnostic:
        shown = self.show(path)
        return Code.PATH_INVALID.problem(
            f"the path `{shown}` is refused: `{self.show(folder)}` is mdplan's state directory",
            "name a file elsewhere; the state directory contains history, plans and decisions",
            file=shown,
        )

    def _folder_problem(self, error: OSError, above: int, walked: list[str], rest: list[str]) -> Diagnostic:
        """Return why the last component of `walked` could not be opened in `above`."""
        shown = self.show("/".join(walked)) or "."
        file = self.show("/".join(walked + rest))
        if not walked or error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return replace(of_error(error, shown, "opening the folder"), file=file)
        if error.errno == errno.ENOENT:
            return Code.FILE_NOT_FOUND.problem(
                f"the folder `{shown}` does not exist", self._similar_hint(above, walked), file=file
            )
        # A link and a file in place of a folder have the same errno; check the name.
        seen = files.stat_file(self.filesystem, above, walked[-1], shown)
        if isinstance(seen, Diagnostic) and seen.code is Code.SYMLINK_REFUSED:
            return replace(seen, hint=self._link_hint(above, walked, rest), file=file)
        return Code.FILE_NOT_FOUND.problem(
            f"`{shown}` is a file, not a folder", f"name `{shown}` itself, or a folder", file=file
        )

    def _link_hint(self, folder: int, components: list[str], rest: list[str]) -> str:
        target = link_target(self.filesystem, folder, components, self.path)
        if target is None or isinstance(self.locate(target), Diagnostic):
            return "it points to nothing inside the root; name a real file"
        return f"name `{self.show('/'.join([target, *rest]))}` instead"

    def _similar_hint(self, folder: int, components: list[str]) -> str:
        def path_of(name: str) -> str:
            return "/".join([*components[:-1], name])

        def is_shown(name: str) -> bool:
            path = path_of(name)
            return isinstance(self.locate(path), files.FileName) and not self.scope.hides_folder(path)

        names = similar_names(self.filesystem, folder, components[-1], is_shown)
        if names:
            return f"did you mean {', '.join(f'`{self.show(path_of(name))}`' for name in names)}?"
        shown = self.show("/".join(components[:-1]) or ".")
        return say("{} lists the files that are there", Step("stat", file=shown))


_NAMES_COMPARED: Final = 2000
_NAMES_SHOWN: Final = 3


def link_target(filesystem: FileSystem, folder: int, components: Sequence[str], root: str) -> str | None:
    """Return the target of the link at `components` below `root`, relative to `root`.

    None if it is outside or not a valid name. Links on the way are not followed.
    """
    try:
        written = filesystem.read_link(folder, components[-1])
    except OSError:
        return None
    written = slashed(written)
    if is_absolute(written):
        target = path_below(posixpath.normpath(written), root) or ""
    else:
        target = posixpath.normpath(posixpath.join(*components[:-1], written))
    return target if isinstance(canonical_path(target), str) else None


def similar_names(
    filesystem: FileSystem, folder: int, name: str, is_shown: Callable[[str], bool]
) -> list[str]:
    """Return up to three names in `folder` similar to `name`, best first, ignoring case.

    Only names that pass `is_shown` are considered.
    """
    from difflib import get_close_matches

    try:
        names = sorted(entry.name for entry in filesystem.list(folder))[:_NAMES_COMPARED]
    except OSError:
        return []
    by_folded = {
        each.casefold(): each for each in names if component_problem(each) is None and is_shown(each)
    }
    matches = get_close_matches(name.casefold(), by_folded, n=_NAMES_SHOWN, cutoff=0.6)
    return [by_folded[match] for match in matches]
