"""Bytes that are put aside and read again later, on the disk once they are many."""

from tempfile import SpooledTemporaryFile
from typing import Final

_IN_MEMORY: Final = 1 << 20
_LENGTH_BYTES: Final = 8


class Spool:
    """A file without a name, which goes with this object."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (it is closed with its owner)
        self._end = 0

    def put(self, data: bytes) -> int:
        """Put `data` aside; the number by which `get` finds it."""
        start = self._end
        self._file.seek(start)
        self._file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
        self._file.write(data)
        self._end += _LENGTH_BYTES + len(data)
        return start

    def get(self, start: int) -> bytes:
        """What was put aside there."""
        self._file.seek(start)
        return self._file.read(int.from_bytes(self._file.read(_LENGTH_BYTES), "big"))

    def close(self) -> None:
        """Delete all of it."""
        self._file.close()
