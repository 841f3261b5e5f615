"""Reports on files after a write, so that the next edit needs no new read."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from mdplan.plan import FileChange, Plan
from mdplan.reports.plan import ContextBlock, LineShift, WrittenFile
from mdplan.text.diff import ChangedLines, changed_lines, kept_lines
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source, visible

# How many lines are shown on both sides of the first and of the last line of a change.
_AROUND: Final = 3
# What all files of one report may take: of ranges in line maps, and of characters in context.
_MOST_RANGES: Final = 200
_MOST_CHARACTERS: Final = 4000


def written_files(
    plan: Plan, bases: Sequence[Source], results: Sequence[Source | None] | None = None
) -> tuple[WrittenFile, ...]:
    """The files that `plan` changes, after it was written onto its `bases`; its `results` may be known."""
    ranges_left, characters_left = _MOST_RANGES, _MOST_CHARACTERS
    written: list[WrittenFile] = []
    for index, change in enumerate(plan.files):
        if change.is_no_op or change.result_sha256 is None:
            continue
        if not ranges_left and not characters_left:
            # Of many files the later bases need not be read for that.
            written.append(_left_out(change))
            continue
        base, result = bases[index], results[index] if results else None
        file = _written_file(change, base, result, ranges_left, characters_left)
        ranges_left -= len(file.line_map)
        characters_left -= sum(len(block.text) for block in file.context)
        written.append(file)
    return tuple(written)


def _left_out(change: FileChange) -> WrittenFile:
    return WrittenFile(
        file=change.new_path or change.path,
        line_map=(),
        context=(),
        line_map_truncated=True,
        context_truncated=True,
    )


def _written_file(
    change: FileChange, base: Source, result: Source | None, most_ranges: int, most_characters: int
) -> WrittenFile:
    text = change.edits.apply(base.text) if result is None else result.text
    lines = LineIndex(text) if result is None else result.lines
    changes = list(changed_lines(base.lines, change.edits, lines))
    kept = kept_lines(changes, base.lines.count)
    line_map = tuple(
        LineShift(start_line=start, end_line=end - 1, shift=shift)
        for start, end, shift in islice(kept, most_ranges + 1)
    )
    context, is_cut = _context(text, lines, changes, most_characters)
    return WrittenFile(
        file=change.new_path or change.path,
        line_map=line_map[:most_ranges],
        line_map_truncated=len(line_map) > most_ranges or None,
        context=context,
        context_truncated=is_cut or None,
    )


def _context(
    text: str, lines: LineIndex, changes: Sequence[ChangedLines], most_characters: int
) -> tuple[tuple[ContextBlock, ...], bool]:
    """The lines of `text` around `changes`, in `most_characters`; and whether there are more."""
    blocks: list[ContextBlock] = []
    left = most_characters
    for start, end in _blocks_around(changes, lines.count):
        # A line may be longer than all the room there is; what is cut short need not be made visible.
        span = lines.span(start, end)
        shown = visible(text[span.start : min(span.end, span.start + left + 1)])
        fitting = shown[:left]
        if fitting:
            last = start + LineIndex(fitting).count - 1
            blocks.append(ContextBlock(start_line=start, end_line=last, text=fitting))
        if fitting != shown:
            return tuple(blocks), True
        left -= len(fitting)
    return tuple(blocks), False


def _blocks_around(changes: Sequence[ChangedLines], count: int) -> Iterator[tuple[int, int]]:
    """Inclusive ranges of lines of the result near the edges of `changes`; near ranges are one."""
    current: tuple[int, int] | None = None
    for edge in (at for change in changes for at in (change.new_start, change.new_end)):
        start, end = max(edge - _AROUND, 1), min(edge + _AROUND - 1, count)
        if end < start:
            continue
        if current is not None and start <= current[1] + _AROUND + 1:
            current = (current[0], max(end, current[1]))
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current
