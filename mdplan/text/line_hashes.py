"""Short hashes of lines, which make of a line number an address that proves itself: ``12:a3f``."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final

from mdplan.text.diff.common_edges import common_start
from mdplan.text.lines import LineIndex

LEAST_DIGITS: Final = 3


class LineHashes:
    """Hashes of the lines of one text, without their line ends. Lines are 1-based."""

    def __init__(self, lines: LineIndex) -> None:
        """Hash all of `lines`."""
        self._digests = [_digest(lines.content(number)) for number in range(1, lines.count + 1)]

    def address(self, line: int) -> str:
        """``12:a3f``: three digits of the hash, or more where lines of another text begin with the same."""
        digest = self._digests[line - 1]
        distinct = self._distinct
        place = bisect_left(distinct, digest)
        near = distinct[max(place - 1, 0) : place] + distinct[place + 1 : place + 2]
        length = max([LEAST_DIGITS, *(common_start(digest, other) + 1 for other in near)])
        return f"{line}:{digest[:length]}"

    def places(self, start: str, end: str, distance: int) -> Sequence[int]:
        """The lines of the hash `start` that have a line of the hash `end` so many lines after them.

        `start` may be several hashes with commas between them, those of the lines from there on.
        """
        digests = self._digests
        first, *following = start.split(",")
        return [
            number
            for number, digest in enumerate(digests[: len(digests) - distance], start=1)
            if digest.startswith(first)
            and digests[number - 1 + distance].startswith(end)
            and all(map(str.startswith, digests[number : number + len(following)], following))
        ]

    @cached_property
    def _distinct(self) -> list[str]:
        return sorted(set(self._digests))


def _digest(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()
