"""Headings at another level, as edits of their marks."""

from collections.abc import Sequence
from typing import Final

from mdplan.markdown.blocks.block_structure import Block
from mdplan.markdown.blocks.heading_source import atx_heading, title_span
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import Source

_SETEXT_MARKS: Final = "=-"


def with_level(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Edits that bring `heading` to `level` and leave its text alone; None where its text cannot be found.

    A setext heading below level 2 becomes ATX.
    """
    if level == heading.level:
        return ()
    if heading.markup.startswith("#"):
        start = source.text.index("#" * heading.level, source.lines.start(heading.first_line))
        if level > heading.level:
            return (TextEdit.insert(start, "#" * (level - heading.level)),)
        return (TextEdit.delete(Span(start, start + heading.level - level)),)
    underline = _underline(source, heading)
    if level <= len(_SETEXT_MARKS):
        return (TextEdit(underline, _SETEXT_MARKS[level - 1] * len(underline)),)
    return _as_atx(source, heading, level)


def shift_levels(source: Source, headings: Sequence[Block], shift: int) -> tuple[TextEdit, ...] | Block:
    """Edits that add `shift` to the level of every heading; the first heading for which there is no way."""
    edits: list[TextEdit] = []
    for heading in headings:
        found = with_level(source, heading, heading.level + shift)
        if found is None:
            return heading
        edits += found
    return tuple(edits)


def _underline(source: Source, heading: Block) -> Span:
    """Span of the run of marks below a setext heading."""
    start, end = source.lines.start(heading.last_line), source.lines.content_end(heading.last_line)
    line = source.text[start:end]
    marks = line.strip(" \t")
    at = start + line.index(marks)
    return Span(at, at + len(marks))


def _as_atx(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Edits that make an ATX heading of the setext `heading`; None for one of several lines."""
    title = title_span(source, heading)
    if title is None or heading.first_line != heading.last_line - 1:
        return None
    raw = source.text[title.start : title.end]
    as_atx, marks = atx_heading(level, raw), "#" * level + " "
    if as_atx is None:
        return None
    closing = as_atx.removeprefix(marks + raw)
    line_end = title.end if closing else source.lines.content_end(heading.first_line)
    return (
        TextEdit(Span(source.lines.start(heading.first_line), title.start), marks),
        TextEdit(Span(line_end, source.lines.content_end(heading.last_line)), closing),
    )
