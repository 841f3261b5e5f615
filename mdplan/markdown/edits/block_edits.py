"""Edits that replace or delete blocks, and the blank lines that these leave."""

from mdplan.markdown.blocks.blocks import Block, BlockKind
from mdplan.markdown.edits.payload import Payload
from mdplan.markdown.edits.spacing import line_before_has_text, line_has_text, place_blocks
from mdplan.markdown.outline.outline import Outline
from mdplan.text.diff.common_edges import common_edges
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span


def replace_blocks(outline: Outline, span: Span, payload: Payload) -> tuple[TextEdit, ...]:
    """Edits that make the text of `payload` of the whole lines of `span`.

    `span` ends behind text, not behind blank lines. Lines at its start and end that stay the same, but for
    their line ends, are not touched. A block of the kind that stood there stands as close to its neighbour;
    between others a blank line is added where there is none. An empty span becomes an insertion.
    """
    old = outline.text_of(span)
    if not old:
        return (place_blocks(outline, Span(span.start, span.start), [payload]).edit,)
    first, last = _lines_of(old), _lines_of(payload.text)
    ends_file = old[-1] not in "\r\n"
    if not ends_file:
        last[-1] += "\n"
    prefix, suffix = common_edges([to_lf(line) for line in first], [to_lf(line) for line in last])
    kept, gone = sum(map(len, first[:prefix])), sum(map(len, first[: len(first) - suffix]))
    new = "".join(last[prefix : len(last) - suffix])
    if kept == gone and not new:
        return ()
    tree, blocks = outline.tree, payload.tree.roots or (None,)
    if new and not prefix and span.start and line_before_has_text(outline, span.start):
        new = new if _are_alike(tree.root_at(span.start), blocks[0]) else "\n" + new
    if new and not suffix and span.end < len(outline.source.text) and line_has_text(outline, span.end):
        new = new if _are_alike(tree.root_at(span.end - 1), blocks[-1]) else new + "\n"
    line_end = line_end_around(outline.source.lines, span.start + kept)
    return (TextEdit(Span(span.start + kept, span.start + gone), with_line_ends(new, line_end)),)


def _are_alike(old: Block | None, new: Block | None) -> bool:
    """Whether `new` can stand where `old` stood, as close to its neighbours.

    HTML cannot: some of it ends at a blank line only, and some of it cannot follow text.
    """
    if old is None or new is None or new.kind is BlockKind.HTML:
        return False
    return (old.kind, old.markup[:1]) == (new.kind, new.markup[:1])


def delete_blocks(outline: Outline, span: Span) -> TextEdit:
    """Edit that removes the whole lines of `span`, which are not none, and the blank lines behind them.

    One blank line stays, or is put, between what it joins. At the end of the file the blank lines before
    `span` go as well, and the final newline is left as it was. Where `span` is a part of a list, table or
    quote of which something stays, the rest stands as that block did.
    """
    text, lines = outline.source.text, outline.source.lines
    first, last = outline.tree.root_at(span.start), outline.tree.root_at(span.end - 1)
    keeps_behind = last is not None and last.span.end > span.end
    if keeps_behind:
        return TextEdit.delete(span)
    if first is not None and first.span.start < span.start:
        return _delete_tail(outline, span)
    behind = span.end
    while behind < len(text) and not line_has_text(outline, behind):
        behind = lines.end(lines.line_at(behind))
    if behind == len(text):
        start = end_of_text_before(outline, span.start)
        if text[-1] not in "\r\n" and start:
            start = lines.content_end(lines.line_at(start - 1))
        return TextEdit.delete(Span(start, behind))
    if span.start > outline.body_start and line_before_has_text(outline, span.start):
        joins = behind == span.end
        return TextEdit(span, line_end_around(lines, span.start) if joins else "")
    return TextEdit.delete(Span(span.start, behind))


def _delete_tail(outline: Outline, span: Span) -> TextEdit:
    """Edit that removes the last lines of a block, and blank lines before them if others follow."""
    text, lines = outline.source.text, outline.source.lines
    start, ends_file = span.start, span.end == len(text)
    if ends_file or not line_has_text(outline, span.end):
        start = end_of_text_before(outline, start)
    if ends_file and text[-1] not in "\r\n":
        start = lines.content_end(lines.line_at(start - 1))
    return TextEdit.delete(Span(start, span.end))


def end_of_text_before(outline: Outline, offset: int) -> int:
    """Offset behind the last line before the line start `offset` that is not blank; front matter is text."""
    lines = outline.source.lines
    while offset > outline.body_start and not line_before_has_text(outline, offset):
        offset = lines.start(lines.line_at(offset - 1))
    return offset


def _lines_of(text: str) -> list[str]:
    """Lines of `text` with their line ends, which are LF, CRLF or CR."""
    lines = LineIndex(text)
    return [text[lines.start(line) : lines.end(line)] for line in range(1, lines.count + 1)]
