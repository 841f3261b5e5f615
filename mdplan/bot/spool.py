"""Bytes that are put aside and asked for later, on the disk once they are many."""

from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Final

_IN_MEMORY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class SpoolEntry:
    """Where bytes are in a spool."""

    start: int
    length: int


class Spool:
    """A file without a name, which goes with this object."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (it is closed with its owner)
        self._end = 0

    def put(self, data: bytes) -> SpoolEntry:
        """Put `data` aside."""
        self._file.seek(self._end)
        self._file.write(data)
        put = SpoolEntry(self._end, len(data))
        self._end += len(data)
        return put

    def get(self, put: SpoolEntry) -> bytes:
        """What was put aside there."""
        self._file.seek(put.start)
        return self._file.read(put.length)

    def close(self) -> None:
        """Let go of all of it."""
        self._file.close()
