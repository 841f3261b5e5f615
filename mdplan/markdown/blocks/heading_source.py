"""The source of one heading: where its text is, and how to write another one."""

import re
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind, parse_blocks
from mdplan.text.edit import TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source

# What may be before the marks of a heading: indentation, and the markers of quotes and lists.
_CONTAINERS: Final = r"(?P<before>(?:[ \t>+*-]|[0-9]{1,9}[.)])*?)"
_CLOSING: Final = r"(?P<closing>[ \t]+\#+)?[ \t]*"


def title_span(source: Source, heading: Block) -> Span | None:
    """Span of the raw text of `heading`, without marks and closing marks; None where it cannot be proven.

    For an ATX heading without text it is empty and is after the marks.
    """
    if not heading.markup.startswith("#"):
        return _setext_span(source, heading)
    line = source.lines.content(heading.first_line).replace("\0", "\ufffd")
    pattern = (
        rf"{_CONTAINERS}\#{{{heading.level}}}(?P<gap>[ \t]*)(?P<title>{re.escape(heading.content)}){_CLOSING}"
    )
    match = re.fullmatch(pattern, line)
    if match is None or (heading.content and not match["gap"]):
        return None
    start = source.lines.start(heading.first_line)
    at = match.start("gap") if not heading.content else match.start("title")
    return Span(start + at, start + at + len(heading.content))


def with_title(source: Source, heading: Block, title: str) -> TextEdit | None:
    """Edit that makes `title` (one line of Markdown) the text of `heading`; None where it cannot be done.

    A setext heading that cannot carry the title becomes ATX; an ATX heading whose title would be taken for
    closing marks gets closing marks.
    """
    span = title_span(source, heading)
    if span is None:
        return None
    if not heading.markup.startswith("#"):
        return _setext_edit(source, heading, span, title)
    gap = "" if heading.content else " "
    if _reads_as(f"{'#' * heading.level} {title}", heading.level, title) or _has_closing(
        source, heading, span
    ):
        return TextEdit(span, gap + title)
    if _reads_as(f"{'#' * heading.level} {title} #", heading.level, title):
        return TextEdit(span, f"{gap}{title} #")
    return None


def atx_heading(level: int, title: str) -> str | None:
    """Source of an ATX heading with the raw text `title`; None where no heading says that.

    A title that ends in marks gets closing marks, for its own would be taken for them.
    """
    marks = "#" * level
    return next(
        (text for text in (f"{marks} {title}", f"{marks} {title} #") if _reads_as(text, level, title)), None
    )


def _setext_span(source: Source, heading: Block) -> Span | None:
    first, last = heading.first_line, heading.last_line - 1
    line = source.lines.content(first)
    start = source.lines.start(first) + len(line) - len(line.lstrip(" \t>"))
    end = source.lines.start(last) + len(source.lines.content(last).rstrip(" \t"))
    if heading.depth:
        # In a container only the one line that the content proves.
        line = line.rstrip(" \t")
        if first != last or not heading.content or not line.endswith(heading.content):
            return None
        start = end - len(heading.content)
    return Span(start, end)


def _setext_edit(source: Source, heading: Block, span: Span, title: str) -> TextEdit | None:
    if _reads_as(f"{title}\n{heading.markup * 3}", heading.level, title):
        return TextEdit(span, title)
    text = atx_heading(heading.level, title)
    if heading.depth or text is None:
        return None
    end = source.lines.content_end(heading.last_line)
    return TextEdit(Span(source.lines.start(heading.first_line), end), text)


def _has_closing(source: Source, heading: Block, span: Span) -> bool:
    line_end = source.lines.content_end(heading.first_line)
    return source.text[span.end : line_end].strip(" \t") != ""


def _reads_as(markdown: str, level: int, title: str) -> bool:
    """Whether `markdown` is one heading of that level and raw text."""
    roots = parse_blocks(markdown, LineIndex(markdown)).roots
    return (
        len(roots) == 1
        and roots[0].kind is BlockKind.HEADING
        and roots[0].level == level
        and roots[0].content == title
    )
