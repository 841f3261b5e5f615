"""Edits of whole lines of a text without blocks: nothing is spaced that was not asked for.

The final newline is left as it was, and an empty file is ended by a line end (DESIGN section 4).
"""

from collections.abc import Iterator, Sequence

from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source
from mdplan.text.span import Span


def insert_lines(
    source: Source,
    offset: int,
    lines: Sequence[str],
    *,
    blank_before: bool = False,
    blank_after: bool = False,
) -> TextEdit:
    """Insertion of `lines` at `offset`, which is a line start or the end of the text.

    A blank line is put before or after them where that is asked for and another line with text is there.
    """
    text, table = source.text, source.lines
    line_end = _line_end(source, offset, offset)
    is_unfinished = offset > 0 and text[offset - 1] not in "\r\n"
    new_text = line_end.join(lines)
    if blank_before and offset and _has_text(table, table.line_at(offset - 1)):
        new_text = line_end + new_text
    if blank_after and offset < len(text) and _has_text(table, table.line_at(offset)):
        new_text += line_end
    return TextEdit.insert(offset, line_end + new_text if is_unfinished else new_text + line_end)


def delete_lines(source: Source, numbers: Sequence[int]) -> tuple[TextEdit, ...]:
    """Deletion of the lines `numbers`, which ascend."""
    return tuple(TextEdit.delete(_whole(source, first, last)) for first, last in _runs(numbers))


def replace_lines(source: Source, first: int, last: int, lines: Sequence[str]) -> tuple[TextEdit, ...]:
    """Edits that put `lines`, which are some, in place of the lines `first` to `last`, which are some too.

    Lines that stay the same, but for their line ends, are not touched. What is added at the end is before
    the line end of the last line, so that it goes before whatever else is inserted after that.
    """
    table = source.lines
    old = [table.content(line) for line in range(first, last + 1)]
    edits: list[TextEdit] = []
    for block in LineComparison().differing(old, list(lines)):
        start, end = first + block.old_start, first + block.old_end - 1
        new = lines[block.new_start : block.new_end]
        if not new:
            edits += delete_lines(source, range(start, end + 1))
        elif start <= end:
            span = Span(table.start(start), table.content_end(end))
            edits.append(TextEdit(span, _line_end(source, span.start, span.end).join(new)))
        elif start <= last:
            edits.append(insert_lines(source, table.start(start), new))
        else:
            edits.append(_append_lines(source, last, new))
    return tuple(edits)


def _append_lines(source: Source, line: int, lines: Sequence[str]) -> TextEdit:
    """Insertion of `lines` after `line`, before the line end of that."""
    end = source.lines.content_end(line)
    line_end = source.lines.ending(line) or line_end_around(source.lines, end)
    return TextEdit.insert(end, "".join(line_end + each for each in lines))


def _whole(source: Source, first: int, last: int) -> Span:
    """The lines `first` to `last` with their line ends, or with the line end before in place of the last one.

    That is so at the end of a text without final newline, and where CR and LF would come to be together.
    """
    text, table = source.text, source.lines
    span = table.span(first, last)
    joins = text[span.start - 1 : span.start] == "\r" and text[span.end : span.end + 1] == "\n"
    if first > 1 and (joins or not table.ending(last)):
        return Span(table.content_end(first - 1), table.content_end(last))
    return span


def _line_end(source: Source, start: int, end: int) -> str:
    """Line end for new text from `start` to `end`; not CR where LF follows, which would make one of two."""
    line_end = line_end_around(source.lines, start)
    return "\r\n" if line_end == "\r" and source.text[end : end + 1] == "\n" else line_end


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of successive `numbers`."""
    first = last = None
    for number in numbers:
        if first is None or last is None or number != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def _has_text(table: LineIndex, line: int) -> bool:
    return bool(table.content(line).strip(" \t"))
