"""Hints for a name that leads nowhere: where a link points to, which names are like it."""

import os
import posixpath
from collections.abc import Callable, Sequence
from typing import Final

from mdplan.storage.fs.file_name import canonical_path, component_problem
from mdplan.storage.fs.filesystem import FileSystem

_NAMES_COMPARED: Final = 2000
_NAMES_SHOWN: Final = 3


def link_target(filesystem: FileSystem, folder: int, components: Sequence[str], root: str) -> str | None:
    """Where the link at `components` (below `root`, its last one in `folder`) points to, relative to `root`.

    None when it points outside, or when no file may be named so. Nothing on the way is followed.
    """
    try:
        written = filesystem.read_link(folder, components[-1])
    except OSError:
        return None
    if written.startswith("/"):
        target = os.path.relpath(posixpath.normpath(written), root)
    else:
        target = posixpath.normpath(posixpath.join(*components[:-1], written))
    return target if isinstance(canonical_path(target), str) else None


def similar_names(
    filesystem: FileSystem, folder: int, name: str, is_shown: Callable[[str], bool]
) -> list[str]:
    """Up to three names in `folder` that are most like `name`, the best first; case is not compared.

    Names for which `is_shown` is false are never compared.
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
