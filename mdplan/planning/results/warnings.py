"""The warning about a plan that takes much away from a file."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.planning.build import BuiltFile
from mdplan.text.diff.changed_lines import changed_lines
from mdplan.text.lines import LineIndex

_MANY: Final = 100


def large_deletions(built: BuiltFile) -> Problems:
    """LARGE_DELETION where more than 100 lines of a file go, or more than half of them.

    Lines that are replaced by others do not count, nor those that the same plan writes elsewhere, also in
    another file, nor a file that is deleted by name.
    """
    lines = built.base.source.lines
    if built.file.is_deleted or not _is_large(_most_that_go(built), lines.count):
        return ()
    gone = _lines_that_go(built) - _lines_that_leave(built)
    if not _is_large(gone, lines.count):
        return ()
    return (
        Diagnostic.warning(
            Code.LARGE_DELETION,
            f"the file loses {gone} of its {lines.count} lines",
            "look through the diff: all that it removes should be meant to go",
        ).at(file=built.file.path),
    )


def _is_large(gone: int, count: int) -> bool:
    return gone > _MANY or 2 * gone > count


def _most_that_go(built: BuiltFile) -> int:
    """More lines than this cannot go: that many line ends are replaced, and the last line may have none."""
    replaced = (built.base.text_of(edit.span) for edit in built.edits if len(edit.span))
    return 1 + sum(text.count("\n") + text.count("\r") for text in replaced)


def _lines_that_go(built: BuiltFile) -> int:
    base, result = built.base.source.lines, built.result.source.lines
    changes = list(changed_lines(base, built.edits, result))
    shrinking = [change for change in changes if change.shrinks_by > 0]
    growing = [change for change in changes if change.shrinks_by < 0]
    gone = sum(change.shrinks_by for change in shrinking)
    taken = Counter(text for change in shrinking for text in _texts(base, change.old_start, change.old_end))
    given = Counter(text for change in growing for text in _texts(result, change.new_start, change.new_end))
    most_moved = -sum(change.shrinks_by for change in growing)
    return gone - min((taken & given).total(), most_moved, gone)


def _lines_that_leave(built: BuiltFile) -> int:
    """Lines that go to another file."""
    lines = built.base.source.lines
    return sum(
        lines.line_at(span.end) - lines.line_at(span.start)
        for item in built.resolved
        if item.resolution.exported is not None
        for span in item.resolution.deletions
    )


def _texts(lines: LineIndex, start: int, end: int) -> Iterator[tuple[str, bool]]:
    """Lines ``[start, end)``. A blank one goes with the text before it, for blank lines all look alike."""
    text = ""
    for line in range(start, end):
        content = lines.content(line)
        is_blank = not content.strip(" \t")
        text = text if is_blank else content
        yield text, is_blank
