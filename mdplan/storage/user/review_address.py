"""Where the review page of a root is served, so that a server of agents can show a plan to people.

The address is for viewing: clients receive it, and it opens a page that shows one plan and cannot decide.
"""

import hashlib
import hmac
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.regular_file import read_regular_file
from mdplan.storage.user.private_folder import PrivateFolder

_FOLDER: Final = "review"
_FILE: Final = "address.json"
_MOST_BYTES: Final = 1 << 16
_OPEN_TO_OTHERS: Final = 0o077


def view_token(view_key: str, plan_id: str) -> str:
    """The token of the link that shows one plan, for the server with that key."""
    return hmac.new(view_key.encode(), plan_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def announce(root_path: str, address: str, view_key: str) -> bool:
    """Record that this process serves the review of the root; False where that cannot be stored.

    `root_path` is the root's real path, `address` the URL that takes the query `plan` and `token`.
    """
    place = PrivateFolder(root_path, _FOLDER)
    facts = {"address": address, "viewKey": view_key, "process": os.getpid()}
    data = json.dumps(facts).encode("ascii")
    try:
        with place.open(makes=True) as folder:
            place.write(folder, _FILE, data)
    except OSError:
        return False
    return True


def withdraw(root_path: str) -> None:
    """Remove the record of this process; the record of another process stays."""
    place = PrivateFolder(root_path, _FOLDER)
    with suppress(OSError), place.open() as folder:
        found = _announced(place, folder)
        if found is not None and found.process == os.getpid():
            place.filesystem.unlink(folder, _FILE)


def address_of(root_path: str, plan_id: str) -> str | None:
    """The URL that shows the plan of the root, and cannot decide; None where no process serves one."""
    place = PrivateFolder(root_path, _FOLDER)
    try:
        with place.open() as folder:
            found = _announced(place, folder)
    except OSError:
        return None
    if found is None or not _is_running(found.process):
        return None
    return f"{found.address}?{urlencode({'plan': plan_id, 'token': view_token(found.view_key, plan_id)})}"


@dataclass(frozen=True, slots=True)
class _Announced:
    """What the process of that ID announced."""

    address: str
    view_key: str
    process: int


def _announced(place: PrivateFolder, folder: int) -> _Announced | None:
    found = read_regular_file(place.filesystem, folder, _FILE, _FILE, _MOST_BYTES)
    if isinstance(found, Diagnostic) or found.status.st_mode & _OPEN_TO_OTHERS:
        return None
    try:
        stored = json.loads(found.data)
        return _Announced(str(stored["address"]), str(stored["viewKey"]), int(stored["process"]))
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
