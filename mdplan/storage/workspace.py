"""All roots of a process: a caller's path becomes a `FileName`, a `FileName` becomes bytes."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import FileName, canonical_path, visible
from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import FileBytes
from mdplan.storage.fs.root import Root
from mdplan.storage.fs.scope import Scope, compiled, cost_problem, glob_problem
from mdplan.storage.user.user_state import lies_in, state_directory_identity

# One letter before a colon is a drive.
_ROOT_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]+"
_NAMED: Final = rf"({_ROOT_NAME})=(.+)"
_GLOB_CHARACTERS: Final = frozenset("*?[")
_ROOTS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Workspace:
    """The roots that this process may touch, held open.

    Where there are several, callers put the root's name before a path (`docs:guide/a.md`); a single root has
    no name.
    """

    roots: tuple[Root, ...]

    @staticmethod
    def open(
        folders: str
        | os.PathLike[str]
        | Sequence[str | os.PathLike[str]]
        | Mapping[str, str | os.PathLike[str]],
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        filesystem: FileSystem | None = None,
    ) -> "Workspace":
        """Open `folders`, one or several, as roots; `allow` and `deny` are globs that hold in each of them.

        Several are named by the keys of a mapping, else as in `NAME=FOLDER`, else by the last component of
        each folder; a folder whose name has a `=` is given as `./a=b`. Raises `StorageRefused`:
        INVALID_ARGUMENT for names that repeat or are no names and for bad globs, and what the opening of a
        folder gives.
        """
        if isinstance(folders, str | os.PathLike):
            folders = (folders,)
        named = folders if isinstance(folders, Mapping) else _named_by_folder(folders)
        if len(named) == 1:
            named = {"": next(iter(named.values()))}
        for name in named:
            if len(named) > 1 and not re.fullmatch(_ROOT_NAME, name):
                message = f"`{visible(name)}` cannot name a root"
                hint = "use two or more letters, digits, `.`, `_`, `-`; give it with `NAME=FOLDER`"
                raise StorageRefused((Diagnostic.invalid(message, hint),))
        scope = Scope.of(allow, deny)
        filesystem = filesystem or FileSystem()
        opened: list[Root] = []
        try:
            for name, folder in named.items():
                opened.append(Root.open(folder, name, scope, filesystem))
            return Workspace(_without_private(opened))
        except StorageRefused:
            Workspace(tuple(opened)).close()
            raise

    def close(self) -> None:
        """Close all roots."""
        for root in self.roots:
            root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def root_of(self, name: FileName) -> Root:
        """The root that `name`, which came from this workspace, lies in."""
        return next(root for root in self.roots if root.name == name.root)

    def locate(self, path: str) -> FileName | Diagnostic:
        """The name of the file that a caller's `path` means; it need not exist.

        `path` is relative to the root, or absolute inside a root; with several roots a relative one begins
        with `name:`. Errors: PATH_INVALID, PATH_OUTSIDE_ROOT.
        """
        split = self._split(path)
        if isinstance(split, Diagnostic):
            return split
        root, below = split
        name = root.locate(below)
        return replace(name, file=visible(path)) if isinstance(name, Diagnostic) else name

    def hides(self, *paths: str) -> bool:
        """Whether `allow` or `deny` excludes one of `paths`, as `locate` takes them.

        Everything that leaves a process asks this: content, diffs, plans, history, messages.
        """
        if not any(root.scope.is_limited for root in self.roots):
            return False
        found = map(self.locate, paths)
        return any(isinstance(each, Diagnostic) and each.code is Code.PATH_OUTSIDE_ROOT for each in found)

    def contains(self, path: str) -> bool:
        """Whether the absolute `path` lies inside a root, by its name; it need not exist or be allowed."""
        return not isinstance(self._split_absolute(path), Diagnostic)

    def read(self, name: FileName, max_bytes: int) -> FileBytes | Diagnostic:
        """Read a file, once. Errors: those of `Root.read`."""
        return self.root_of(name).read(name, max_bytes)

    def status_of(self, name: FileName) -> os.stat_result | Diagnostic:
        """The status of a regular file. Errors: those of `Root.status_of`."""
        return self.root_of(name).status_of(name)

    def write_refusal(self, name: FileName) -> Diagnostic | None:
        """Why a file could not be replaced now; None when it could. Errors: those of `Root.write_refusal`."""
        return self.root_of(name).write_refusal(name)

    def is_several(self, pattern: str) -> bool:
        """Whether `pattern` is a folder or a glob, and so for `iter_files`, and not the name of one file.

        A file that exists is meant by its name, whatever characters that has (`[id].md`).
        """
        split = self._split_pattern(pattern)
        if isinstance(split, Diagnostic):
            return False
        root, below = split
        if _opens(root, below):
            return True
        name = root.locate(below) if _is_glob(below) else None
        return name is not None and (
            isinstance(name, Diagnostic) or isinstance(root.status_of(name), Diagnostic)
        )

    def iter_files(self, pattern: str, *, respect_gitignore: bool = False) -> Iterator[FileName] | Diagnostic:
        """The regular files below a folder (`.` is the root), or matching a glob with git's rules, sorted.

        Links are not followed; `.git`, `.mdplan`, names that `locate` refuses and files outside `allow`
        and `deny` are omitted; with `respect_gitignore` also what git would ignore. Errors: those of
        `locate`; INVALID_ARGUMENT for a glob that is none or takes too long; those of `Root.open_folder`.
        """
        split = self._split_pattern(pattern)
        if isinstance(split, Diagnostic):
            return split
        root, below = split
        if _opens(root, below) or not _is_glob(below):
            return _names(root, below, None, respect_gitignore=respect_gitignore)
        problem = cost_problem(below) or glob_problem(below)
        return problem or _names(root, _literal_folder(below), below, respect_gitignore=respect_gitignore)

    def shown(self, pattern: str) -> str:
        """A folder or glob as messages name it: relative to its root (`.` is the root); else as it is."""
        split = self._split_pattern(pattern)
        return visible(pattern) if isinstance(split, Diagnostic) else split[0].show(split[1] or ".")

    def _split(self, path: str) -> tuple[Root, str] | Diagnostic:
        """The root that `path` means, and what of `path` is relative to it, unchecked."""
        # A single slash and what begins with two are not files anywhere; the rules for names say so.
        if path.startswith("/") and path != "/" and not path.startswith("//"):
            return self._split_absolute(path)
        if len(self.roots) == 1:
            return self.roots[0], path
        name, colon, below = path.partition(":")
        for root in self.roots:
            if colon and root.name == name:
                return root, below
        examples = ", ".join(f"`{root.name}:…`" for root in self.roots[:_ROOTS_SHOWN])
        return Diagnostic(
            code=Code.PATH_INVALID,
            message=f"the path `{visible(path)}` names no root",
            hint=f"begin it with the name of a root: {examples}",
            file=visible(path),
        )

    def _split_absolute(self, path: str) -> tuple[Root, str] | Diagnostic:
        # Whole components are compared: `/srv/docs2` is not inside `/srv/docs`.
        components = path.split("/")
        fitting = [
            (len(folder), root)
            for root in self.roots
            for folder in (root.path.rstrip("/").split("/"), root.given.rstrip("/").split("/"))
            if components[: len(folder)] == folder
        ]
        if not fitting:
            return Diagnostic(
                code=Code.PATH_OUTSIDE_ROOT,
                message=f"the path `{visible(path)}` is outside every root",
                hint="name the file relative to a root folder",
                file=visible(path),
            )
        # Of nested roots the inner one is meant.
        length, root = max(fitting, key=lambda fit: fit[0])
        return root, "/".join(components[length:])

    def _split_pattern(self, pattern: str) -> tuple[Root, str] | Diagnostic:
        split = self._split(pattern.rstrip("/") or pattern)
        if isinstance(split, Diagnostic):
            return split
        root, below = split
        if pattern and below in ("", "."):
            return root, ""
        checked = canonical_path(below)
        return checked if isinstance(checked, Diagnostic) else (root, checked)


def _without_private(roots: Sequence[Root]) -> tuple[Root, ...]:
    """`roots` that never enter the user's state directory.

    Raises `StorageRefused` with PATH_INVALID for a root that is this directory, or lies in it.
    """
    private = state_directory_identity([root.path for root in roots])
    for root in roots:
        if private is not None and lies_in(root.path, private):
            message = f"the root `{visible(root.given)}` lies in mdplan's state directory"
            hint = "name a folder elsewhere; the state directory contains keys, plans and decisions"
            raise StorageRefused((Diagnostic(code=Code.PATH_INVALID, message=message, hint=hint),))
    return tuple(replace(root, private=private) for root in roots)


def folder_of(given: str) -> str:
    """The folder in `given`, which is a folder or NAME=FOLDER."""
    written = re.fullmatch(_NAMED, given)
    return written[2] if written else given


def _named_by_folder(folders: Sequence[str | os.PathLike[str]]) -> Mapping[str, str | os.PathLike[str]]:
    named: dict[str, str | os.PathLike[str]] = {}
    for given in folders:
        written = re.fullmatch(_NAMED, given) if isinstance(given, str) else None
        name, folder = (
            (written[1], written[2]) if written else (os.path.basename(os.path.realpath(given)), given)
        )
        if name in named:
            message = f"two roots are named `{visible(name)}`"
            hint = "give one of them another name with `NAME=FOLDER`"
            raise StorageRefused((Diagnostic.invalid(message, hint),))
        named[name] = folder
    return named


def _opens(root: Root, below: str) -> bool:
    """Whether there is a folder `below`; under `allow` or `deny`, one with a file that they leave."""
    folder = root.open_folder(below)
    if isinstance(folder, Diagnostic):
        return False
    root.filesystem.release(folder)
    return not below or not root.scope.is_limited or _has_files(root, below)


def _has_files(root: Root, folder: str) -> bool:
    from mdplan.storage.fs.listing import files_below

    return next(files_below(root, folder), None) is not None


def _names(
    root: Root, folder: str, glob: str | None, *, respect_gitignore: bool
) -> Iterator[FileName] | Diagnostic:
    from mdplan.storage.fs.listing import files_below

    if folder and root.scope.is_limited:
        # A folder that has nothing to show is answered like one that is missing.
        if not _opens(root, folder):
            return _no_files(root, folder)
    else:
        opened = root.open_folder(folder)
        if isinstance(opened, Diagnostic):
            return opened
        root.filesystem.release(opened)
    paths = files_below(root, folder, respect_gitignore=respect_gitignore)
    if glob is not None:
        paths = filter(compiled([glob]).match_file, paths)
    return (FileName(root.name, path) for path in paths)


def _no_files(root: Root, folder: str) -> Diagnostic:
    shown = root.show(folder)
    return Diagnostic(
        code=Code.FILE_NOT_FOUND,
        message=f"there is no file below `{shown}` that may be read",
        hint="name another folder; some may not be read or written (`--allow`, `--deny`)",
        file=shown,
    )


def _is_glob(below: str) -> bool:
    return not _GLOB_CHARACTERS.isdisjoint(below)


def _literal_folder(glob: str) -> str:
    """The folder that everything matching `glob` is below; a glob without a slash matches at every depth."""
    components = glob.split("/")
    literal = next(index for index, component in enumerate(components) if _is_glob(component))
    return "/".join(components[:literal])
