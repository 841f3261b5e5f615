"""Outline plain text: sections by marker lines, comment blocks, blank lines."""

from itertools import groupby, pairwise
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source
from mdplan.values import Struct

_MARKER: Final = lazy_pattern(r"\[[^\[\]]+\](?=[ \t]*(?:\Z|[;#]))")

# Two dashes start a comment in some languages, but a row of dashes is a rule.
_COMMENT: Final = lazy_pattern(r"[ \t]*(#|;|//|--(?=[ \t]))")


class MarkedSection(Struct, kw_only=True):
    """The lines from a bracketed name to the line before the next; 1-based and inclusive."""

    marker: str
    first_line: int
    last_line: int


class CommentBlock(Struct, kw_only=True):
    """Successive lines that start with the same comment marker `prefix`, possibly indented."""

    prefix: str
    first_line: int
    last_line: int


class BlankLines(Struct, kw_only=True):
    """Successive blank lines."""

    first_line: int
    last_line: int


class TextOutline:
    """The parts of a plain text, in order. Immutable."""

    def __init__(self, source: Source) -> None:
        lines = source.lines
        self.comment_blocks: tuple[CommentBlock, ...]
        self.blank_lines: tuple[BlankLines, ...]
        self.comment_blocks, self.blank_lines = _runs(lines)
        self.sections: tuple[MarkedSection, ...] = _sections(lines)


def _sections(lines: LineIndex) -> tuple[MarkedSection, ...]:
    markers = [
        (line, marker[0])
        for line in range(1, lines.count + 1)
        if (marker := _MARKER.match(lines.content(line))) is not None
    ]
    return tuple(
        MarkedSection(marker=marker, first_line=line, last_line=next_line - 1)
        for (line, marker), (next_line, _) in pairwise([*markers, (lines.count + 1, "")])
    )


def _runs(lines: LineIndex) -> tuple[tuple[CommentBlock, ...], tuple[BlankLines, ...]]:
    comments: list[CommentBlock] = []
    blanks: list[BlankLines] = []
    for kind, numbers in groupby(range(1, lines.count + 1), lambda line: _kind(lines.content(line))):
        first, *others = numbers
        last = others[-1] if others else first
        if kind == "":
            blanks.append(BlankLines(first_line=first, last_line=last))
        elif kind is not None:
            comments.append(CommentBlock(prefix=kind, first_line=first, last_line=last))
    return tuple(comments), tuple(blanks)


def _kind(line: str) -> str | None:
    """Return the comment marker of `line`, an empty string for a blank line, else None."""
    comment = _COMMENT.match(line)
    if comment is not None:
        return comment[1]
    return None if line.strip(" \t") else ""
