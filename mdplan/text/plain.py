"""Outline plain text: sections by marker lines, comment blocks, blank lines."""

from itertools import groupby, pairwise
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import Source

_MARKER: Final = lazy_pattern(r"\[[^\[\]]+\](?=[ \t]*(?:\Z|[;#]))")

# Two dashes start a comment in some languages, but a row of dashes is a rule.
_COMMENT: Final = lazy_pattern(r"[ \t]*(#|;|//|--(?=[ \t]))")


class TextOutline:
    """The parts of a plain text, in order, each with its first and last line, 1-based and inclusive.

    - `sections`: from a bracketed name to the line before the next; with the name.
    - `comment_blocks`: successive lines with the same comment marker, possibly indented; with the marker.
    - `blank_lines`: successive blank lines.
    """

    def __init__(self, source: Source) -> None:
        lines, numbers = source.lines, range(1, source.lines.count + 1)
        markers = [(line, marker[0]) for line in numbers if (marker := _MARKER.match(lines.content(line)))]
        self.sections = [
            (marker, line, following - 1)
            for (line, marker), (following, _) in pairwise([*markers, (lines.count + 1, "")])
        ]
        self.comment_blocks: list[tuple[str, int, int]] = []
        self.blank_lines: list[tuple[int, int]] = []
        for kind, run in groupby(numbers, lambda line: _kind(lines.content(line))):
            first, *others = run
            last = others[-1] if others else first
            if kind:
                self.comment_blocks.append((kind, first, last))
            elif kind is not None:
                self.blank_lines.append((first, last))


def _kind(line: str) -> str | None:
    """Return the comment marker of `line`, an empty string for a blank line, else None."""
    comment = _COMMENT.match(line)
    if comment is not None:
        return comment[1]
    return None if line.strip(" \t") else ""
