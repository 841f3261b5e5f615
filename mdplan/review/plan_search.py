"""Search in the lines that a plan shows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mdplan.review.file_context import text_and_end
from mdplan.review.file_sides import FileSides


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of the diff of a file that has the text. `sign` is a blank, ``-`` or ``+``.

    `number` is its line number on the new side; on the old side where it is removed. The text that was
    sought starts at `at`, and has `length` characters.
    """

    sign: str
    number: int
    text: str
    at: int
    length: int


def found_lines(sides: FileSides, wanted: str) -> Iterator[FoundLine]:
    """The lines of the diff of `sides` that contain `wanted`, whatever its case; one for each line."""
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    for hunk in sides.hunks:
        old = hunk.old_start + (hunk.old_count == 0)
        new = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.lines:
            sign = chr(line[0])
            text, _ = text_and_end(line)
            found = pattern.search(text)
            if found is not None:
                number = old if sign == "-" else new
                yield FoundLine(sign, number, text, found.start(), found.end() - found.start())
            old += sign != "+"
            new += sign != "-"
