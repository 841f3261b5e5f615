"""Stamps of files, which show without reading that their content has not changed."""

import os
import stat
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

# Disks keep times in steps of up to two seconds.
_RACY_NS: Final = 2_000_000_000


def file_stamps(roots: Mapping[str, str], paths: Collection[str]) -> dict[str, str]:
    """Identity, size and times of the files `paths`, as callers write them, in `roots` by their names.

    A stamp is empty where a later change of the file may have the same times. Files that are missing, or
    reached through a link, have none.
    """
    latest = time.time_ns() - _RACY_NS
    is_real: dict[str, bool] = {}
    found: dict[str, str] = {}
    for path in paths:
        name, _, below = ("", "", path) if "" in roots else path.partition(":")
        full = f"{roots.get(name, '')}/{below}"
        folder = os.path.dirname(full)
        if folder not in is_real:
            is_real[folder] = os.path.realpath(folder) == os.path.normpath(folder)
        with suppress(OSError, ValueError):
            status = os.lstat(full)
            if is_real[folder] and stat.S_ISREG(status.st_mode):
                times = (status.st_mtime_ns, status.st_ctime_ns)
                facts = (status.st_dev, status.st_ino, status.st_size, *times)
                found[path] = ".".join(map(str, facts)) if max(times) < latest else ""
    return found
