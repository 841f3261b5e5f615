"""Edits that format whole lines of a document, if they change nothing but the way it is written."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks.block_structure import BlockKind, parse_blocks
from mdplan.markdown.blocks.rendered_text import heading_title
from mdplan.markdown.edits.formatter import NOT_INSTALLED, FormattedBlock, format_blocks
from mdplan.markdown.inline.reference_inline import rendered_html
from mdplan.markdown.outline.outline import Outline
from mdplan.text.diff import replace_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source


def format_lines(outline: Outline, span: Span) -> tuple[TextEdit, ...] | Diagnostic:
    """Edits that format the whole lines of `span`, which holds whole root blocks; blank ones at its end stay.

    Errors: FORMATTER_FAILED where mdformat is not installed, or stops, or the HTML would be another one.
    """
    line = outline.source.lines.line_at(span.start)
    text, definitions = to_lf(outline.text_of(span)), outline.inline.definitions
    if outline.tree.nesting_limit:
        return _failed(line, "the file is nested deeper than the parser goes")
    blocks = format_blocks(text, definitions)
    if isinstance(blocks, str):
        return _NOT_INSTALLED if blocks == NOT_INSTALLED else _failed(line, blocks)
    edits = EditList.of(_edits(outline.source, line - 1, blocks))
    assert isinstance(edits, EditList), "blocks do not overlap"
    around = _with_neighbours(outline, span)
    moved = EditList(tuple(TextEdit(_moved(edit.span, -around.start), edit.new_text) for edit in edits))
    shown = outline.text_of(around)
    before, after = to_lf(shown), to_lf(moved.apply(shown))
    if _headings(before) != _headings(after):
        return _failed(line, "its headings would not be the same")
    try:
        is_same = rendered_html(before, definitions) == rendered_html(after, definitions)
        other = None if is_same else _first_other(text, blocks, definitions)
    except RecursionError:
        other = 1
    if other is not None:
        return _failed(line + other - 1, "it would not be rendered as it is now")
    return edits.edits


def _edits(source: Source, lines_before: int, blocks: Sequence[FormattedBlock]) -> Iterator[TextEdit]:
    """Edits of `blocks`, which are after `lines_before` lines, and of the blank lines between them.

    A blank line that is missing is put to the block before it, so that a heading after it still starts where
    the next line does.
    """
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.lines is None:
            continue
        is_spaced = following is not None and following.lines is not None
        gap = range(block.last_line + 1, following.first_line) if is_spaced else range(0)
        lines = (*block.lines, "") if is_spaced and not gap else block.lines
        yield from replace_lines(
            source, lines_before + block.first_line, lines_before + block.last_line, lines
        )
        if gap:
            yield from replace_lines(source, lines_before + gap[0], lines_before + gap[-1], [""])


def _with_neighbours(outline: Outline, span: Span) -> Span:
    """`span` with what its look depends on.

    That is the root block after it, of which an item at its end may take what it is indented by; and text
    before it that may go on into it, where that has footnotes, which the outline does not know.
    """
    following = outline.tree.root_at(span.end)
    end = span.end if following is None else following.span.end
    start = _start_of_open(outline, span.start)
    has_footnotes = outline.source.text.find("[^", start, span.start) >= 0
    return Span(start if has_footnotes else span.start, end)


def _start_of_open(outline: Outline, start: int) -> int:
    """Where the block at `start`, or one before it, begins at the margin and after a blank line.

    There nothing goes on for any parser, but for fences, comments and the like, which all of them know.
    """
    text, lines = outline.source.text, outline.source.lines
    for at in chain([start], (root.span.start for root in outline.tree.roots_backwards(start))):
        line = lines.line_at(at)
        before = lines.span(line - 1, line - 1) if line > 1 else Span(0, 0)
        if not text.startswith((" ", "\t"), at) and not outline.text_of(before).strip(" \t\r\n"):
            return at
    return outline.body_start


def _headings(text: str) -> list[tuple[int, str]]:
    """Levels and titles of all headings, by the parser of the outline, which knows no footnotes."""
    blocks = parse_blocks(text, LineIndex(text)).blocks
    return [
        (block.level, heading_title(block.content)) for block in blocks if block.kind is BlockKind.HEADING
    ]


def _first_other(text: str, blocks: Sequence[FormattedBlock], definitions: Mapping[str, object]) -> int:
    """Line of the first of `blocks` in `text` that would be shown in another way.

    Where only all blocks together tell, it is the first line.
    """
    lines = text.split("\n")
    for block in blocks:
        old = "\n".join(lines[block.first_line - 1 : block.last_line])
        if block.lines is not None and rendered_html(old, definitions) != rendered_html(
            "\n".join(block.lines), definitions
        ):
            return block.first_line
    return 1


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


def _failed(line: int, reason: str) -> Diagnostic:
    return Diagnostic(
        code=Code.FORMATTER_FAILED,
        message=f"the text at line {line} cannot be formatted: {reason}",
        hint="format other sections, or edit this one by replace_section",
    )


_NOT_INSTALLED: Final = Diagnostic(
    code=Code.FORMATTER_FAILED,
    message="mdformat is not installed, or its GFM plugin is not",
    hint='install the extra: `pip install "mdplan[mdformat]"`',
)
