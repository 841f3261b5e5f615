"""The file that an operation of the bot is about, before anything parses it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileState:
    """The bytes of a file, None where it does not exist, and the encoding that the caller names for it.

    `exists` returns whether another path, relative to the root, is a file.
    """

    data: bytes | None
    encoding: str | None
    exists: Callable[[str], bool]
