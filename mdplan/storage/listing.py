"""The files of a root, in order, without following links."""

from collections.abc import Iterator

from mdplan.diagnostics import Diagnostic
from mdplan.storage.file_name import TEMPORARY_NAME, component_problem
from mdplan.storage.filesystem import Entry
from mdplan.storage.root import Root


def files_below(root: Root, folder: str) -> Iterator[str]:
    """The paths of all regular files below `folder` (empty for the root), sorted as texts.

    Left out are links, `.git` and `.mdplan`, names that no caller could give, what the scope of `root`
    excludes, what a killed commit left, and folders that cannot be opened.
    """
    # Folders wait under their name with the slash, so that paths come out sorted before all are known.
    waiting = [f"{folder}/" if folder else ""]
    while waiting:
        path = waiting.pop()
        if path and not path.endswith("/"):
            if root.scope.refusal(path, path) is None:
                yield path
            continue
        names = [f"{entry.name}/" if entry.is_directory else entry.name for entry in _entries(root, path)]
        waiting.extend(path + name for name in sorted(names, reverse=True))


def _entries(root: Root, path: str) -> list[Entry]:
    folder = root.open_folder(path.rstrip("/"))
    if isinstance(folder, Diagnostic):
        return []
    try:
        found = root.filesystem.list(folder)
    except OSError:
        return []
    finally:
        root.filesystem.release(folder)
    return [entry for entry in found if (entry.is_directory or entry.is_file) and _is_named(entry.name)]


def _is_named(name: str) -> bool:
    return component_problem(name) is None and not TEMPORARY_NAME.fullmatch(name)
