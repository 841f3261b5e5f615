"""Which version of each file one client was shown last: what it writes is guarded by that."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

_MOST_FILES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version of a file: its SHA-256, and the hashes of its sections by their IDs, where they are known."""

    sha256: str
    sections: Mapping[str, str] = field(default_factory=dict)


class ShownFiles:
    """The memory of one session. Calls of one client may run at once."""

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._versions: OrderedDict[str, ShownVersion] = OrderedDict()
        self._lock = Lock()

    def version(self, file: str) -> ShownVersion | None:
        """The version of `file`, a path as reports write it, that was shown last."""
        with self._lock:
            return self._versions.get(file)

    def note(self, file: str, version: ShownVersion) -> None:
        """Remember that this `version` of `file` was shown; of very many files the oldest is forgotten."""
        with self._lock:
            self._versions[file] = version
            self._versions.move_to_end(file)
            if len(self._versions) > _MOST_FILES:
                self._versions.popitem(last=False)

    def follow(self, file: str, old_sha256: str | None, version: ShownVersion | None, new_file: str) -> None:
        """Remember what a commit of this client made of `file`, if it was made of the version that was shown.

        A file that it created, for which `old_sha256` is None, was shown whole. None as `version` is for one
        that is gone.
        """
        with self._lock:
            known = self._versions.get(file)
            if old_sha256 is not None and (known is None or known.sha256 != old_sha256):
                return
            self._versions.pop(file, None)
            if version is not None:
                self._versions[new_file] = version
