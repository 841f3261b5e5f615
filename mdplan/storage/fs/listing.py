"""The files of a root, in order, without following links."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.file_name import component_problem
from mdplan.storage.fs.filesystem import DirectoryEntry
from mdplan.storage.fs.root import Root

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILE: Final = ".gitignore"
# A folder in a repository; a file in a submodule or a linked work tree.
_REPOSITORY: Final = ".git"
_MOST_IGNORE_BYTES: Final = 1 << 20

# The rules in force in a folder, those of the innermost one first, each with the path they are relative to.
_Rules: TypeAlias = "tuple[tuple[str, GitIgnoreSpec], ...]"


def files_below(root: Root, folder: str, *, respect_gitignore: bool = False) -> Iterator[str]:
    """The paths of all regular files below `folder` (empty for the root), sorted as texts.

    Left out are links, `.git` and `.mdplan`, names that no caller could give, what the scope of `root`
    excludes, what a killed commit left, and folders that cannot be opened; with `respect_gitignore` also what
    the `.gitignore` files of the root ignore, whether or not git tracks it, and submodules and other
    repositories below `folder`, which git does not list either.
    """
    start = f"{folder}/" if folder else ""
    # Folders wait under their name with the slash, so that paths come out sorted before all are known.
    waiting: list[tuple[str, _Rules]] = [(start, _rules_above(root, start) if respect_gitignore else ())]
    while waiting:
        path, rules = waiting.pop()
        if path and not path.endswith("/"):
            if root.scope.refusal(path) is None:
                yield path
            continue
        listed = _entries(root, path)
        if respect_gitignore and path != start and any(entry.name == _REPOSITORY for entry in listed):
            continue
        entries = [entry for entry in listed if _is_named(entry.name)]
        if respect_gitignore and any(entry.name == _IGNORE_FILE and entry.is_file for entry in entries):
            rules = _with_rules(root, path, rules)
        names = [path + (f"{entry.name}/" if entry.is_directory else entry.name) for entry in entries]
        waiting.extend((name, rules) for name in sorted(names, reverse=True) if not _is_ignored(name, rules))


def _entries(root: Root, path: str) -> list[DirectoryEntry]:
    folder = root.open_folder(path.rstrip("/"))
    if isinstance(folder, Diagnostic):
        return []
    try:
        found = root.filesystem.list(folder)
    except OSError:
        return []
    finally:
        root.filesystem.release(folder)
    return [entry for entry in found if entry.is_directory or entry.is_file]


def _is_named(name: str) -> bool:
    # Callers may not write a backslash, which some systems read as the end of a folder's name.
    return "\\" not in name and component_problem(name) is None


def _rules_above(root: Root, path: str) -> _Rules:
    """Rules of the folders around the folder `path`, from the root down."""
    rules: _Rules = ()
    above = ""
    for component in path.split("/")[:-1]:
        rules = _with_rules(root, above, rules)
        above += f"{component}/"
    return rules


def _with_rules(root: Root, path: str, rules: _Rules) -> _Rules:
    """`rules` and, in front of them, those of the folder `path`; a file that cannot be read has none."""
    from pathspec import GitIgnoreSpec

    name = root.locate(path + _IGNORE_FILE)
    found = name if isinstance(name, Diagnostic) else root.read(name, _MOST_IGNORE_BYTES)
    if isinstance(found, Diagnostic):
        return rules
    text = found.data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return ((path, GitIgnoreSpec.from_lines(text.split("\n"))), *rules)


def _is_ignored(path: str, rules: _Rules) -> bool:
    """Whether the innermost rule that speaks of `path` ignores it (gitignore(5)); folders end in a slash."""
    for folder, spec in rules:
        is_included = spec.check_file(path.removeprefix(folder)).include
        if is_included is not None:
            return is_included
    return False
