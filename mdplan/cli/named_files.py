"""Files as the command line names them: relative to the folder of `--root`, as `git -C` does it."""

import os
from collections.abc import Sequence

from mdplan.storage.root import folder_of


def base_folder(roots: Sequence[str]) -> str:
    """The folder that names are relative to: the root, where `--root` names one; else the current folder."""
    if len(roots) != 1:
        return os.path.abspath(os.curdir)  # noqa: PTH100 (links stay)
    return os.path.abspath(folder_of(roots[0]))  # noqa: PTH100 (as above)


def named_file(file: str, roots: Sequence[str]) -> str:
    """`file` as the engine takes it: absolute, or with the name of its root where there are several.

    What is not in the root that `--root` names, but is in the current folder and inside that root, is
    meant: before mdplan 0.2 all names were relative to the current folder.
    """
    if len(roots) > 1 and ":" in file.partition("/")[0]:
        return file
    base = base_folder(roots)
    below = os.path.normpath(file if file.startswith("/") else f"{base}/{file}")
    here = os.path.abspath(file)  # noqa: PTH100 (as above)
    is_inside = here == base or here.startswith(base.rstrip("/") + "/")
    return here if is_inside and os.path.lexists(here) and not os.path.lexists(below) else below
