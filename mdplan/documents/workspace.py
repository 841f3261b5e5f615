"""The workspace: the roots that a process may touch, file names in them, and listings."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import msgspec

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage import files
from mdplan.storage.filesystem import DirectoryEntry, FileSystem, StorageRefused
from mdplan.storage.local import is_own, local_disk
from mdplan.storage.names import (
    SYSTEM,
    WINDOWS,
    canonical_path,
    component_problem,
    is_absolute,
    path_below,
    real_path,
    slashed,
    with_parents,
)
from mdplan.storage.root import LET_THROUGH, Root
from mdplan.storage.user_state import is_known_root, user_state_directory
from mdplan.text.visible import composed, visible
from mdplan.values import Struct, field, replace
from mdplan.words import either

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# A single letter before a colon is a drive.
_ROOT_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]+"
_NAMED: Final = rf"({_ROOT_NAME})=(.+)"
_GLOB_CHARACTERS: Final = frozenset("*?[")
_ROOTS_SHOWN: Final = 10


class _KeptFiles(msgspec.Struct):
    """Files already read, by the identity of their root (also kept) and their path.

    `room` is the number of bytes that still fit.
    """

    room: int = 16 << 20
    by_path: dict[tuple[int, str], tuple[Root, files.FileBytes]] = field(default_factory=dict)


_kept: Final[ContextVar[_KeptFiles | None]] = ContextVar("kept_files", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Read each file only once in the block, so that searching and planning see the same bytes.

    A nested block joins the outer one. Beyond a size limit files are read again.
    """
    token = _kept.set(_kept.get() or _KeptFiles())
    try:
        yield
    finally:
        _kept.reset(token)


class Workspace(Struct):
    """The roots that this process may touch, held open.

    If there are several, paths start with a root's name (`docs:guide/a.md`); a single root has no name.
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
        """Open `folders`, one or several, as roots, with the globs `allow` and `deny` for each.

        Roots are named by the keys of a mapping, by `NAME=FOLDER`, or by the last component of the folder;
        write `./a=b` for a folder with a `=`. Raise `StorageRefused`: INVALID_ARGUMENT for duplicate or
        invalid names and invalid globs, or a failure to open a folder.
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
        scope = scope_of(allow, deny)
        filesystem = filesystem or local_disk()
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

    def root_of(self, name: files.FileName) -> Root:
        """Return the root of `name`."""
        return next(root for root in self.roots if root.name == name.root)

    def locate(self, path: str) -> files.FileName | Diagnostic:
        """Return the file name for a caller's `path`, which need not exist.

        `path` is relative to the root, or absolute inside a root; with several roots a relative path starts
        with `name:`. Errors: PATH_INVALID, PATH_OUTSIDE_ROOT.
        """
        split = self._split(path)
        if isinstance(split, Diagnostic):
            return split
        root, below = split
        name = root.locate(below)
        return replace(name, file=visible(path)) if isinstance(name, Diagnostic) else name

    def hides(self, *paths: str) -> bool:
        """Return True if `allow` or `deny` excludes one of `paths`.

        Check this for everything that leaves the process: content, diffs, plans, history, messages.
        """
        if not any(root.scope.is_limited for root in self.roots):
            return False
        names = map(self.locate, paths)
        return any(isinstance(each, Diagnostic) and each.code is Code.PATH_OUTSIDE_ROOT for each in names)

    def contains(self, path: str) -> bool:
        """Return True if the absolute `path` is inside a root; it need not exist or be allowed."""
        return not isinstance(self._split_absolute(slashed(path)), Diagnostic)

    def read(self, name: files.FileName, max_bytes: int) -> files.FileBytes | Diagnostic:
        """Read a file, only once within `reading_once`. Errors: as `Root.read`."""
        root, kept = self.root_of(name), _kept.get()
        known = kept.by_path.get((id(root), name.path)) if kept is not None else None
        if known is not None and len(known[1].data) <= max_bytes:
            return known[1]
        content = root.read(name, max_bytes)
        if kept is not None and not isinstance(content, Diagnostic) and len(content.data) <= kept.room:
            kept.room -= len(content.data)
            kept.by_path[id(root), name.path] = root, content
        return content

    def status_of(self, name: files.FileName) -> os.stat_result | Diagnostic:
        """Return the status of a regular file. Errors: as `Root.status_of`."""
        return self.root_of(name).status_of(name)

    def write_refusal(self, name: files.FileName) -> Diagnostic | None:
        """Return why a file cannot be replaced now, or None. Errors: as `Root.write_refusal`."""
        return self.root_of(name).write_refusal(name)

    def is_several(self, pattern: str) -> bool:
        """Return True if `pattern` is a folder or glob for `iter_files`, not a file.

        An existing file takes precedence, whatever characters its name has (`[id].md`).
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

    def iter_files(
        self, pattern: str, *, respect_gitignore: bool = False
    ) -> Iterator[files.FileName] | Diagnostic:
        """Yield the regular files in a folder (`.` is the root) or matching a git-style glob, sorted.

        Links are not followed; `.git`, `.mdplan`, invalid names and files outside `allow` and `deny` are
        omitted, and git-ignored files with `respect_gitignore`. Errors: as `locate` and `Root.open_folder`;
        INVALID_ARGUMENT for an invalid or too expensive glob.
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
        """Return a folder or glob for messages: relative to its root (`.`), or as it is."""
        split = self._split_pattern(pattern)
        return visible(pattern) if isinstance(split, Diagnostic) else split[0].show(split[1] or ".")

    def _split(self, path: str) -> tuple[Root, str] | Diagnostic:
        """Return the root of `path` and the relative path, unchecked."""
        # `/` is never a file, nor is a path that starts with `//`, but for shares of Windows; the name rules
        # refuse them.
        written = slashed(path)
        if is_absolute(written) and path != "/" and (SYSTEM == WINDOWS or not path.startswith("//")):
            return self._split_absolute(written)
        if len(self.roots) == 1:
            return self.roots[0], path
        name, colon, below = path.partition(":")
        for root in self.roots:
            if colon and root.name == name:
                return root, below
        examples = ", ".join(f"`{root.name}:…`" for root in self.roots[:_ROOTS_SHOWN])
        return Code.PATH_INVALID.problem(
            f"the path `{visible(path)}` names no root",
            f"begin it with the name of a root: {examples}",
            file=visible(path),
        )

    def _split_absolute(self, path: str) -> tuple[Root, str] | Diagnostic:
        fitting = [
            (below, root)
            for root in self.roots
            for folder in (root.path, root.given)
            if (below := path_below(path, folder)) is not None
        ]
        if not fitting:
            return Code.PATH_OUTSIDE_ROOT.problem(
                f"the path `{visible(path)}` is outside every root",
                "name the file relative to a root folder",
                file=visible(path),
            )
        # The innermost of nested roots.
        below, root = min(fitting, key=lambda fit: len(fit[0]))
        return root, below

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
    """Return `roots` set to never enter the user's state directory.

    Raise `StorageRefused` with PATH_INVALID for a root in this directory.
    """
    private = _state_directory_identity([root.path for root in roots])
    for root in roots:
        if private is not None and _lies_in(root.path, private):
            message = f"the root `{visible(root.given)}` lies in mdplan's state directory"
            hint = "name a folder elsewhere; the state directory contains history, plans and decisions"
            raise StorageRefused((Code.PATH_INVALID.problem(message, hint),))
    return tuple(replace(root, private=private) for root in roots)


def folder_of(given: str) -> str:
    """Return the folder in `given`, a folder or NAME=FOLDER."""
    return _split_name(given)[1]


def root_name_of(given: str) -> str:
    """Return the root name in `given`, a folder or NAME=FOLDER."""
    return _split_name(given)[0]


def _split_name(given: str | os.PathLike[str]) -> tuple[str, str]:
    written = re.fullmatch(_NAMED, given) if isinstance(given, str) else None
    return (written[1], written[2]) if written else (real_path(given).rpartition("/")[2], os.fspath(given))


def _named_by_folder(folders: Sequence[str | os.PathLike[str]]) -> Mapping[str, str]:
    named: dict[str, str] = {}
    for given in folders:
        name, folder = _split_name(given)
        if name in named:
            message = f"two roots are named `{visible(name)}`"
            hint = "give one of them another name with `NAME=FOLDER`"
            raise StorageRefused((Diagnostic.invalid(message, hint),))
        named[name] = folder
    return named


def _opens(root: Root, below: str) -> bool:
    """Return True if the folder `below` exists and, within a limited scope, has an allowed file."""
    folder = root.open_folder(below)
    if isinstance(folder, Diagnostic):
        return False
    root.filesystem.release(folder)
    return not below or not root.scope.is_limited or next(files_below(root, below), None) is not None


def _names(
    root: Root, folder: str, glob: str | None, *, respect_gitignore: bool
) -> Iterator[files.FileName] | Diagnostic:
    if folder and root.scope.is_limited:
        # A folder without visible files looks like a missing one.
        if not _opens(root, folder):
            shown = root.show(folder)
            return Code.FILE_NOT_FOUND.problem(
                f"there is no file below `{shown}` that may be read",
                either("name another folder", LET_THROUGH, joint="; "),
                file=shown,
            )
    else:
        opened = root.open_folder(folder)
        if isinstance(opened, Diagnostic):
            return opened
        root.filesystem.release(opened)
    paths = files_below(root, folder, respect_gitignore=respect_gitignore)
    if glob is not None:
        paths = filter(compiled([glob]).match_file, paths)
    return (files.FileName(root.name, path) for path in paths)


def _is_glob(below: str) -> bool:
    return not _GLOB_CHARACTERS.isdisjoint(below)


def _literal_folder(glob: str) -> str:
    """Return the folder that contains all matches of `glob`; without a slash it matches at any depth."""
    components = glob.split("/")
    literal = next(index for index, component in enumerate(components) if _is_glob(component))
    return "/".join(components[:literal])


# --- Listing the files of a root, sorted, without following links

_IGNORE_FILE: Final = ".gitignore"

# A folder in a repository; a file in a submodule or linked work tree.
_REPOSITORY: Final = ".git"
_MOST_IGNORE_BYTES: Final = 1 << 20
# Opening a folder costs as much as listing this many files.
_COST_OF_FOLDER: Final = 20
_MOST_OPEN: Final = 64

# The rules that apply in a folder, innermost first, each with its base path.
_Rules: TypeAlias = "tuple[tuple[str, GitIgnoreSpec], ...]"


def files_below(root: Root, folder: str, *, respect_gitignore: bool = False) -> Iterator[str]:
    """Yield the paths of all regular files in `folder` (empty for the root), sorted as text.

    Links, `.git` and `.mdplan`, invalid names, files out of scope, leftovers of killed commits, and
    unreadable folders are omitted. With `respect_gitignore` so are files that the root's `.gitignore` files
    ignore, tracked or not, and submodules and nested repositories, as in git. Raise `StorageRefused`
    (BATCH_TOO_LARGE) beyond the listing limit of `root.filesystem`.
    """
    start = f"{folder}/" if folder else ""
    # Folders are queued under their name with a slash, so that paths are sorted.
    waiting: list[tuple[str, _Rules]] = [(start, _rules_above(root, start) if respect_gitignore else ())]
    left = root.filesystem.most_listed
    opened: list[tuple[str, int]] = []
    try:
        while waiting:
            path, rules = waiting.pop()
            if path and not path.endswith("/"):
                if root.scope.refusal(path) is None:
                    yield path
                continue
            listed = _entries(root, path.rstrip("/"), opened)
            if respect_gitignore and path != start and any(entry.name == _REPOSITORY for entry in listed):
                continue
            entries = [entry for entry in listed if component_problem(entry.name) is None]
            left -= len(entries) + _COST_OF_FOLDER
            if left < 0:
                most = root.filesystem.most_listed
                message = f"there are more than {most:,} files, with each folder as {_COST_OF_FOLDER}"
                raise StorageRefused.of(
                    Code.BATCH_TOO_LARGE, message, "name a folder in place of all of them"
                )
            if respect_gitignore and any(entry.name == _IGNORE_FILE and entry.is_file for entry in entries):
                rules = _with_rules(root, path, rules)
            names = [path + (f"{entry.name}/" if entry.is_directory else entry.name) for entry in entries]
            waiting.extend(
                (name, rules) for name in sorted(names, reverse=True) if not _is_ignored(name, rules)
            )
    finally:
        for _, inner in opened:
            root.filesystem.release(inner)


def _entries(root: Root, path: str, opened: list[tuple[str, int]]) -> list[DirectoryEntry]:
    """Return the entries of the folder `path`, or none if it cannot be opened.

    `opened` are ancestor folders, held open so that listing a deep tree is not quadratic.
    """
    while opened and not path.startswith(f"{opened[-1][0]}/"):
        root.filesystem.release(opened.pop()[1])
    folder = root.open_folder(path, *opened[-1:])
    if isinstance(folder, Diagnostic):
        return []
    opened.append((path, folder))
    if len(opened) > _MOST_OPEN:
        root.filesystem.release(opened.pop(0)[1])
    try:
        entries = root.filesystem.list(folder)
    except OSError:
        return []
    return [entry for entry in entries if entry.is_directory or entry.is_file]


def _rules_above(root: Root, path: str) -> _Rules:
    """Return the rules of the ancestors of `path`, from the root down."""
    rules: _Rules = ()
    above = ""
    for component in path.split("/")[:-1]:
        rules = _with_rules(root, above, rules)
        above += f"{component}/"
    return rules


def _with_rules(root: Root, path: str, rules: _Rules) -> _Rules:
    """Return `rules` preceded by those of the folder `path`; an unreadable file has no rules.

    Raise `StorageRefused` (IO_ERROR) if reading fails.
    """
    from pathspec import GitIgnoreSpec

    name = root.locate(path + _IGNORE_FILE)
    content = name if isinstance(name, Diagnostic) else root.read(name, _MOST_IGNORE_BYTES)
    if isinstance(content, Diagnostic):
        if content.code is Code.IO_ERROR:
            raise StorageRefused((content,))
        return rules
    text = content.data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return ((path, GitIgnoreSpec.from_lines(text.split("\n"))), *rules)


def _is_ignored(path: str, rules: _Rules) -> bool:
    """Return True if the innermost matching rule ignores `path` (gitignore(5)); folders end in a slash."""
    for folder, spec in rules:
        is_included = spec.check_file(path.removeprefix(folder)).include
        if is_included is not None:
            return is_included
    return False


def find_root(start: str) -> str:
    """Return the default root for a command started in `start`."""
    return found_root(start)[0]


def found_root(start: str) -> tuple[str, str]:
    """Return the default root for `start` and the reason for it.

    It is the nearest folder, upwards from `start`, that this user has edited as a root; else the nearest top
    of a git work tree or vault of Obsidian; else `start`. Those of other users are ignored.
    """
    here = real_path(start)
    above = with_parents(here)
    for reason in (_edited_before, _owned_mark):
        folder = next(filter(reason, above), None)
        if folder is not None:
            where = "the current folder" if folder == here else "the nearest folder upwards"
            return folder, f"{where}, which {reason(folder)}; --root names another"
    return here, "the current folder; --root names another"


def _edited_before(folder: str) -> str:
    return "mdplan has edited before" if is_known_root(folder) else ""


def _owned_mark(folder: str) -> str:
    """Say that `folder` has a `.git` or `.obsidian` which this user owns; empty if it has none."""
    for name in (".git", ".obsidian"):
        with suppress(OSError):
            if is_own(f"{folder}/{name}"):
                return f"has {name}"
    return ""


def _state_directory_identity(roots: Iterable[str]) -> tuple[int, int] | None:
    """Return device and inode of the state directory, creating it if it would be in one of `roots`.

    `roots` are real paths. Return None if it does not exist and cannot be created through a root.
    """
    disk, directory = local_disk(), user_state_directory()
    try:
        status = disk.status_at(directory)
    except OSError:
        real = real_path(directory)
        if not any(f"{real}/".startswith(f"{root.rstrip('/')}/") for root in roots):
            return None
        try:
            disk.make_directories(real)
            status = disk.status_at(real)
        except OSError:
            return None
    return status.st_dev, status.st_ino


def _lies_in(path: str, identity: tuple[int, int]) -> bool:
    """Return True if the real path `path` is, or is inside, the folder with `identity`."""
    disk = local_disk()
    for above in with_parents(path):
        with suppress(OSError):
            status = disk.status_at(above)
            if (status.st_dev, status.st_ino) == identity:
                return True
    return False


# --- Globs, as in a `.gitignore`

_MAX_STARS: Final = 3
_MAX_DOUBLE_STARS: Final = 2
_AS_GIT: Final = "write it as in a `.gitignore`, for example `docs/**/*.md`"
_ONE_EACH: Final = "give a glob for each, for example `*.md` and `*.txt`"
_BRACES: Final = r"\{[^{}/]*,[^{}/]*\}"


def scope_of(allow: Sequence[str], deny: Sequence[str]) -> files.Scope:
    """Return the scope of these globs. Raise `StorageRefused` with INVALID_ARGUMENT."""
    problems = tuple(problem for glob in (*allow, *deny) if (problem := glob_problem(glob)))
    if problems:
        raise StorageRefused(problems)
    allowed, denied = (
        compiled([composed(glob) for glob in globs]) if globs else None for globs in (allow, deny)
    )
    return files.Scope(tuple(allow), tuple(deny), allowed, denied)


def compiled(globs: Sequence[str]) -> "GitIgnoreSpec":
    """Compile valid globs."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(globs)


def glob_problem(glob: str) -> Diagnostic | None:
    """Return INVALID_ARGUMENT if `glob` is invalid or can match nothing (a comment, half a bracket).

    Braces are refused too: git does not expand them, so `--deny "*.{key,pem}"` would deny nothing.
    """
    braces = re.search(_BRACES, glob)
    if braces is not None:
        reason = f"has `{visible(braces[0])}`, and braces are not expanded"
        return _invalid_glob(glob, reason, _ONE_EACH)
    try:
        patterns = compiled([glob]).patterns
    except (ValueError, re.error):
        patterns = []
    if not patterns or patterns[0].include is None:
        return _invalid_glob(glob, "is not a glob")
    return None


def cost_problem(glob: str) -> Diagnostic | None:
    """Return INVALID_ARGUMENT if matching the untrusted `glob` could take very long.

    Matching tries every length for every star.
    """
    components = glob.split("/")
    stars = max((component.count("*") for component in components if component != "**"), default=0)
    if stars > _MAX_STARS or components.count("**") > _MAX_DOUBLE_STARS:
        return _invalid_glob(glob, f"has more than {_MAX_STARS} `*` in one name or {_MAX_DOUBLE_STARS} `**`")
    return None


def _invalid_glob(glob: str, reason: str, hint: str = _AS_GIT) -> Diagnostic:
    return Diagnostic.invalid(f"`{visible(glob)}` {reason}", hint)
