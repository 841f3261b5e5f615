"""New text for a part of a line: what the block of the line lets it be."""

import re
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.outline import Outline
from mdplan.markdown.table_edits import with_escaped_pipes
from mdplan.markdown.tables import prefix_after, with_prefix
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat

_CELL_END: Final = re.compile(r"(?<!\\)\|")
_MARKS: Final = re.compile(r"[ \t]*(?:(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*")
_LEAVES: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING})


def text_in_line(outline: Outline, span: Span, new_text: str) -> str | Diagnostic:
    """`new_text`, with LF line ends, as it can replace the text of `span`.

    In a cell of a table its pipes are escaped. Lines after a break get the marks and the indentation of
    quotes and list items. Where `span` itself has line breaks or whole rows, the text is taken as it is.

    Errors: INVALID_ARGUMENT for a line break inside a cell, or of a heading with text after it.
    """
    if outline.format is not DocumentFormat.MARKDOWN or not ("|" in new_text or "\n" in new_text):
        return new_text
    old = outline.text_of(span)
    leaf = outline.tree.leaf_at(span.start)
    if leaf is None or "\n" in old or "\r" in old:
        return new_text
    lines = outline.source.lines
    line = lines.line_at(span.start)
    if leaf.kind is BlockKind.TABLE:
        return new_text if _CELL_END.search(old) else _in_cell(line, new_text)
    if "\n" not in new_text or leaf.kind not in _LEAVES:
        return new_text
    behind = outline.source.text[span.end : lines.content_end(line)]
    if leaf.kind is BlockKind.HEADING and behind.strip(" \t#") and line == leaf.last_line:
        return _no_break(line, "heading", "end the match at the end of the heading, or use one line")
    return _in_containers(outline, leaf, line, span, new_text)


def _in_cell(line: int, new_text: str) -> str | Diagnostic:
    if "\n" in new_text:
        return _no_break(line, "cell of a table", "write `<br>` for a line break, or replace whole rows")
    return with_escaped_pipes(new_text)


def _no_break(line: int, where: str, hint: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"the new text has a line break, and the match at line {line} is in a {where}", hint
    )


def _in_containers(outline: Outline, leaf: Block, line: int, span: Span, new_text: str) -> str:
    start = outline.source.lines.start(line)
    marks = _MARKS.match(outline.source.text, start, span.start)
    if not leaf.depth or marks is None or marks.end() > span.start:
        return new_text
    prefix = prefix_after(marks[0])
    first, *others = new_text.split("\n")
    return "\n".join([first, *(_behind(prefix, each) for each in others)])


def _behind(prefix: str, line: str) -> str:
    """`line` after `prefix`, unless it has it already."""
    bare = prefix.rstrip(" \t")
    has_it = line.startswith(prefix) or (bare and line.lstrip(" ").startswith(bare.lstrip(" ")))
    return line if has_it else with_prefix(prefix, line)
