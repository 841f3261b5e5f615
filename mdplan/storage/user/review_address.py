"""Where the review page of a root is served, so that a server of agents can send people there.

The address holds the token of the page. It lies in the user's state directory, readable for nobody else, and
goes from there to people alone: never into text that a model reads.
"""

import json
import os
from contextlib import suppress
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.regular_file import read_leaf
from mdplan.storage.user.private_folder import PrivateFolder

# Stands for the plan ID in an address.
PLAN_ID: Final = "{plan_id}"
_FOLDER: Final = "review"
_FILE: Final = "address.json"
_MOST_BYTES: Final = 1 << 16
_OPEN_TO_OTHERS: Final = 0o077


def announce(root_path: str, address: str) -> bool:
    """Say that this process serves the review of the root; False where that cannot be kept.

    `root_path` is the root's real path, `address` the URL of a plan, with ``{plan_id}`` where its ID goes.
    """
    place = PrivateFolder(root_path, _FOLDER)
    data = json.dumps({"address": address, "process": os.getpid()}).encode("ascii")
    try:
        with place.open(makes=True) as folder:
            place.write(folder, _FILE, data)
    except OSError:
        return False
    return True


def withdraw(root_path: str) -> None:
    """Say that this process serves it no more; what another process has announced stays."""
    place = PrivateFolder(root_path, _FOLDER)
    with suppress(OSError), place.open() as folder:
        found = _announced(place, folder)
        if found is not None and found[1] == os.getpid():
            place.filesystem.unlink(folder, _FILE)


def address_of(root_path: str, plan_id: str) -> str | None:
    """The URL at which the plan of the root can be reviewed now; None where no process serves it."""
    place = PrivateFolder(root_path, _FOLDER)
    try:
        with place.open() as folder:
            found = _announced(place, folder)
    except OSError:
        return None
    if found is None or not _is_running(found[1]):
        return None
    return found[0].replace(PLAN_ID, plan_id)


def _announced(place: PrivateFolder, folder: int) -> tuple[str, int] | None:
    """The address that was announced, and the ID of the process that did."""
    found = read_leaf(place.filesystem, folder, _FILE, _FILE, _MOST_BYTES)
    if isinstance(found, Diagnostic) or found.status.st_mode & _OPEN_TO_OTHERS:
        return None
    try:
        stored = json.loads(found.data)
        return str(stored["address"]), int(stored["process"])
    except (ValueError, KeyError, TypeError):
        return None


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
