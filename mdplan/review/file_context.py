"""The lines of a file that stay as they are: those around changes, and those between the hunks."""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.review.file_sides import FileSides
from mdplan.review.plan_review import Gap, ReviewedLine
from mdplan.review.word_marks import MarkedText
from mdplan.text.source import visible

_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"
_LF: Final = b"\n"


def gaps_of(sides: FileSides) -> Iterator[Gap]:
    """The lines before each hunk of `sides`, and those after the last one."""
    start, shift = 1, 0
    for hunk in sides.hunks:
        # With a count of 0 the number is that of the line before.
        first = hunk.new_start + (hunk.new_count == 0)
        yield Gap(start, first - 1, shift)
        start, shift = first + hunk.new_count, shift + hunk.new_count - hunk.old_count
    data = sides.result_view.data
    yield Gap(start, data.count(_LF) + bool(data and not data.endswith(_LF)), shift)


def unchanged_lines(sides: FileSides, first: int, last: int) -> list[ReviewedLine]:
    """The lines `first` to `last` of the result of `sides` that no hunk shows."""
    *ended, last_line = sides.result_view.data.split(_LF)
    lines = [*(b" %b\n" % line for line in ended), b" %b%b" % (last_line, _NO_NEWLINE)]
    shown: list[ReviewedLine] = []
    for gap in gaps_of(sides):
        start, end = max(first, gap.start), min(last, gap.end)
        if start <= end:
            shown += same_lines(lines[start - 1 : end], start - gap.shift, start)
    return shown


def same_lines(lines: Sequence[bytes], old: int, new: int) -> list[ReviewedLine]:
    """Lines of a hunk that stay, the first of which has those numbers."""
    made = []
    for number, line in enumerate(lines):
        text, line_end = text_and_end(line)
        pieces = (MarkedText(text, changed=False),) if text else ()
        made.append(
            ReviewedLine(
                sign=" ", pieces=pieces, line_end=line_end, old_line=old + number, new_line=new + number
            )
        )
    return made


def text_and_end(line: bytes) -> tuple[str, str]:
    """Text of a line of a hunk, and its line end."""
    content = line[1:].removesuffix(_NO_NEWLINE)
    text = visible(content.decode("utf-8", "surrogateescape"))
    for line_end in ("\r\n", "\n"):
        if text.endswith(line_end) and not line.endswith(_NO_NEWLINE):
            return text.removesuffix(line_end), line_end
    return text, ""
