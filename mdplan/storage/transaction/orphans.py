"""Files that cut-off commits have left below a root, as far as their names tell."""

from collections.abc import Iterator

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.file_name import is_temporary_name
from mdplan.storage.fs.root import STATE_FOLDER, Root

_NOT_ENTERED = frozenset({".git", STATE_FOLDER})


def orphan_files(root: Root) -> Iterator[str]:
    """The paths of all files below `root` that are named as a commit names what it works on.

    Links are not followed; folders that cannot be opened, `.git` and `.mdplan` are skipped.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        folder = root.open_folder(path)
        if isinstance(folder, Diagnostic):
            continue
        try:
            entries = sorted(root.filesystem.list(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        finally:
            root.filesystem.release(folder)
        above = f"{path}/" if path else ""
        yield from (above + each.name for each in entries if each.is_file and is_temporary_name(each.name))
        waiting += (
            above + each.name
            for each in reversed(entries)
            if each.is_directory and each.name not in _NOT_ENTERED
        )
