"""Unified diffs, changed lines, whole-line edits, and the drift between two versions of a text.

Diffs are built from the known edits, never by comparing whole texts. They are bytes, and their lines end only
at LF, as in git, GNU patch and dulwich: a CR, U+2028 or form feed is part of its line.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, groupby
from typing import Final, NamedTuple, Self, TypeVar

from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineEndView, LineIndex, Span, line_end_around, with_line_ends
from mdplan.text.source import ByteEdit, Source
from mdplan.values import Struct

_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"
_NOWHERE: Final = b"/dev/null"
_SPECIAL: Final = lazy_pattern(rb'[\x00-\x1f"\\\x7f]')
_SPECIAL_OR_BLANK: Final = lazy_pattern(rb'[\x00-\x20"\\\x7f]')
_ESCAPES: Final = dict(zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True))


class Hunk(Struct):
    """Changed lines with context.

    Starts are 1-based line numbers in base and result; with a count of 0, the number of the line before. Each
    of `lines` starts with a space, ``-`` or ``+`` and ends with LF. A line without LF in its file is followed
    by the marker.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]

    def __bytes__(self) -> bytes:
        """Return the hunk with its header, always including the counts."""
        header = b"@@ -%d,%d +%d,%d @@\n" % (self.old_start, self.old_count, self.new_start, self.new_count)
        return header + b"".join(self.lines)


class DiffStat(Struct):
    """The number of lines that a diff adds and removes; a changed line counts as both."""

    added: int
    removed: int

    @classmethod
    def of(cls, hunks: Iterable[Hunk]) -> Self:
        """Count the lines of `hunks`."""
        added = removed = 0
        for hunk in hunks:
            added += len(hunk.lines) - hunk.old_count
            removed += len(hunk.lines) - hunk.new_count
        return cls(added, removed)


class DiffText(Struct):
    """A diff as valid Unicode; `exact` if it encodes back to the same bytes."""

    text: str
    exact: bool

    @classmethod
    def of(cls, diff: bytes) -> Self:
        r"""Decode `diff`, showing invalid UTF-8 as ``\xNN``; the text is then not exact."""
        try:
            return cls(diff.decode("utf-8"), exact=True)
        except UnicodeDecodeError:
            return cls(diff.decode("utf-8", "backslashreplace"), exact=False)


def file_diff(path: str | None, new_path: str | None, hunks: Sequence[Hunk]) -> bytes:
    """Return `hunks` under the headers of a file that is `path` before and `new_path` after.

    None stands for an absent file: the diff creates or deletes it. Different paths are a rename. A file with
    the same path and no hunks returns no bytes.
    """
    if path == new_path and not hunks:
        return b""
    # Without hunks, names appear only in the header, where a space would end them.
    special = _SPECIAL if hunks else _SPECIAL_OR_BLANK
    old = _git_name("a/", path or new_path or "", special)
    new = _git_name("b/", new_path or path or "", special)
    header = b"diff --git %b %b\n" % (old, new)
    if path is None:
        return header + b"new file mode 100644\n" + _body(_NOWHERE, new, hunks)
    if new_path is None:
        return header + b"deleted file mode 100644\n" + _body(old, _NOWHERE, hunks)
    if path != new_path:
        names = _git_name("", path, _SPECIAL), _git_name("", new_path, _SPECIAL)
        header += b"rename from %b\nrename to %b\n" % names
    return header + _body(old, new, hunks)


def find_hunks(base: bytes, edits: Sequence[ByteEdit], *, context: int = 3) -> tuple[Hunk, ...]:
    """Return the hunks from `base` to the result of sorted, disjoint `edits`, with `context` lines."""
    hunks: list[Hunk] = []
    line, counted_to, shift = 1, 0, 0
    for changes in _neighbours(base, line_changes(base, edits), 2 * context):
        start = _back(base, changes[0].start, context)
        end = _forward(base, changes[-1].end, len(base), context)
        lines = _hunk_lines(base, start, end, changes)
        removed = sum(len(change.old) for change in changes)
        added = sum(len(change.new) for change in changes)
        line += base.count(b"\n", counted_to, start)
        counted_to = start
        old_count, new_count = len(lines) - added, len(lines) - removed
        hunks.append(
            Hunk(
                old_start=line - (old_count == 0),
                old_count=old_count,
                new_start=line + shift - (new_count == 0),
                new_count=new_count,
                lines=lines,
            )
        )
        shift += added - removed
    return tuple(hunks)


class LineChange(NamedTuple):
    """Whole lines `old` of the base at bytes ``[start, end)``, and their replacement."""

    start: int
    end: int
    old: list[bytes]
    new: list[bytes]


def _neighbours(base: bytes, changes: Iterable[LineChange], distance: int) -> Iterator[list[LineChange]]:
    """Yield runs of changes with at most `distance` unchanged lines between neighbours."""
    run: list[LineChange] = []
    for change in changes:
        if run and _forward(base, run[-1].end, change.start, distance) < change.start:
            yield run
            run = []
        run.append(change)
    if run:
        yield run


def _hunk_lines(base: bytes, start: int, end: int, changes: list[LineChange]) -> tuple[bytes, ...]:
    """Return the lines of base bytes ``[start, end)`` with `changes` applied, removals before additions."""
    lines: list[bytes] = []
    added: list[bytes] = []
    at = start
    for change in changes:
        if at < change.start:
            lines += added + _marked(b" ", split_lines(base[at : change.start]))
            added = []
        lines += _marked(b"-", change.old)
        added += _marked(b"+", change.new)
        at = change.end
    return (*lines, *added, *_marked(b" ", split_lines(base[at:end])))


def _marked(sign: bytes, lines: Iterable[bytes]) -> list[bytes]:
    """Prefix `lines` with `sign`."""
    return [sign + line if line.endswith(b"\n") else sign + line + _NO_NEWLINE for line in lines]


def _back(base: bytes, at: int, count: int) -> int:
    """Return the start of the line `count` lines before the line start `at`, or 0."""
    for _ in range(count):
        if at == 0:
            break
        at = base.rfind(b"\n", 0, at - 1) + 1
    return at


def _forward(base: bytes, at: int, stop: int, count: int) -> int:
    """Return the start of the line `count` lines after the line start `at`, or `stop`."""
    for _ in range(count):
        if at == stop:
            break
        at = base.find(b"\n", at, stop) + 1 or stop
    return at


def _body(old_name: bytes, new_name: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Return `hunks` under the lines that name both sides, or nothing without hunks."""
    if not hunks:
        return b""
    header = b"--- %b\n+++ %b\n" % (_ended(old_name), _ended(new_name))
    return header + b"".join(bytes(hunk) for hunk in hunks)


def _git_name(side: str, path: str, special: re.Pattern[bytes]) -> bytes:
    """Return the name of one side as git writes it: C-quoted if it contains `special`, else verbatim."""
    name = path.encode("utf-8")
    # unidiff splits the header at its last " b/", and GNU patch drops spaces at the end of a name.
    if b" b/" in name or name.endswith(b" "):
        special = _SPECIAL_OR_BLANK
    name = side.encode() + name
    return b'"%b"' % special.sub(_escape, name) if special.search(name) else name


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[0][0]
    return b"\\%c" % _ESCAPES[code] if code in _ESCAPES else b"\\%03o" % code


def _ended(name: bytes) -> bytes:
    """Return `name` with a TAB if it has a space, where GNU patch would otherwise end it."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


# --- Changed lines, by the line numbers that callers count
#
# Unlike a diff, this uses the lines of `LineIndex`. Lines with equal content are equal, so a line that only
# gets another newline is unchanged.


class ChangedLines(NamedTuple):
    """Lines ``[old_start, old_end)`` of one text that became ``[new_start, new_end)`` of another.

    An empty range is before its line.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def shrinks_by(self) -> int:
        """The decrease in the number of lines."""
        return (self.old_end - self.old_start) - (self.new_end - self.new_start)

    @property
    def comparisons(self) -> int:
        """The number of line pairs to compare."""
        return (self.old_end - self.old_start) * (self.new_end - self.new_start)

    def moved(self, old: int, new: int) -> "ChangedLines":
        """Return the block shifted by `old` and `new` lines."""
        old_start, old_end, new_start, new_end = self
        return ChangedLines(old_start + old, old_end + old, new_start + new, new_end + new)


def changed_lines(base: LineIndex, edits: EditList, result: LineIndex) -> Iterator[ChangedLines]:
    """Yield the changed lines between `base` and `result`, merging adjacent ones.

    Lines are 1-based. The time is proportional to the edits and the lines that they touch.
    """
    comparison = LineComparison()
    current: ChangedLines | None = None
    for region in _text_regions(base, edits, result):
        old = [base.content(line) for line in range(region.old_start, region.old_end)]
        new = [result.content(line) for line in range(region.new_start, region.new_end)]
        for block in comparison.differing(old, new):
            change = block.moved(region.old_start, region.new_start)
            if current is not None and current.old_end == change.old_start:
                change = ChangedLines(current.old_start, change.old_end, current.new_start, change.new_end)
            elif current is not None:
                yield current
            current = change
    if current is not None:
        yield current


def kept_lines(
    changes: Iterable[ChangedLines], count: int, *, start: int = 1
) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of unchanged lines in a text of `count` lines, in order: start, end and shift.

    Lines are numbered from `start`. In the other text they are `shift` lines further down.
    """
    end, shift = start + count, 0
    for change in changes:
        if start < change.old_start:
            yield start, change.old_start, shift
        start, shift = change.old_end, shift - change.shrinks_by
    if start < end:
        yield start, end, shift


def _text_regions(base: LineIndex, edits: EditList, result: LineIndex) -> Iterator[ChangedLines]:
    """Yield the whole lines that `edits` touch, and their result.

    The line after an edit that ends at a line start counts as touched, because the edit may have removed the
    newline before it; so does the line before an edit that follows a CR, which an LF would join.
    """
    growth = 0
    first = last = old_growth = 0
    for edit in edits:
        touched = max(bisect_right(base.starts, edit.span.start), 1)
        if touched > 1 and base.start(touched) == edit.span.start and base.ending(touched - 1) == "\r":
            touched -= 1
        if first and touched > last:
            yield _region(base, result, first, last, old_growth, growth)
            first = 0
        if not first:
            first, old_growth = touched, growth
        last = max(bisect_right(base.starts, edit.span.end), touched)
        growth += len(edit.new_text) - len(edit.span)
    if first:
        yield _region(base, result, first, last, old_growth, growth)


def _region(
    base: LineIndex, result: LineIndex, first: int, last: int, before: int, behind: int
) -> ChangedLines:
    """Return lines `first` to `last` of `base` and their result.

    `before` and `behind` are the growth in characters before and after these lines.
    """
    return ChangedLines(
        old_start=first,
        old_end=min(last, base.count) + 1,
        new_start=bisect_left(result.starts, base.start(first) + before) + 1,
        new_end=bisect_left(result.starts, base.end(last) + behind) + 1,
    )


# --- Changed lines, as a diff has them

_TEXT_LINE: Final = lazy_pattern(r"[^\n]*\n|[^\n]+")
_LINE: Final = lazy_pattern(rb"[^\n]*\n|[^\n]+")


def line_changes(base: bytes, edits: Sequence[ByteEdit]) -> Iterator[LineChange]:
    """Yield the lines of `base` that sorted, disjoint `edits` change, in order.

    The time is proportional to the edits and the lines that they touch, not to `base`.
    """
    comparison = LineComparison()
    for start, end, result in _byte_regions(base, edits):
        old, new = split_lines(base[start:end]), split_lines(result)
        offsets = list(accumulate(map(len, old), initial=start))
        for block in comparison.differing(old, new):
            yield LineChange(
                start=offsets[block.old_start],
                end=offsets[block.old_end],
                old=old[block.old_start : block.old_end],
                new=new[block.new_start : block.new_end],
            )


def split_lines(data: bytes) -> list[bytes]:
    """Split `data` into lines with their LF; the last may have none."""
    return _LINE.findall(data)


def _byte_regions(base: bytes, edits: Sequence[ByteEdit]) -> Iterator[tuple[int, int, bytes]]:
    """Yield byte ranges ``[start, end)`` of the lines that `edits` touch, each with its result.

    The line after an edit that ends at a line start counts as touched, because the edit may have removed the
    newline before it. If the end of the base is touched, everything after it is.
    """
    start = end = at = 0
    pieces: list[bytes] = []
    for edit in edits:
        if pieces and end <= edit.start and end < len(base):
            yield start, end, b"".join((*pieces, base[at:end]))
            pieces = []
        if not pieces:
            start = at = max(end, base.rfind(b"\n", end, edit.start) + 1)
        pieces += (base[at : edit.start], edit.new)
        at = edit.end
        if end <= at:
            end = base.find(b"\n", at) + 1 or len(base)
    if pieces:
        yield start, end, b"".join((*pieces, base[at:end]))


# --- Comparing two lists of lines

# The maximum number of line pairs to compare for a list of edits. difflib takes 0.2 s at this size for a
# pattern of repeated lines; beyond it, lines count as replaced.
_MAX_COMPARISONS: Final = 100_000
Line = TypeVar("Line", bytes, str)


class LineComparison:
    """Compare pairs of line lists within one shared work limit."""

    def __init__(self, comparisons: int = _MAX_COMPARISONS) -> None:
        """Allow `comparisons` of two lines in total."""
        self.comparisons_left = comparisons

    def differing(self, old: list[Line], new: list[Line]) -> Iterator[ChangedLines]:
        """Yield the blocks of `old` and `new` that differ, in order."""
        if len(old) == 1 == len(new):
            # Most edits stay within a line.
            yield from () if old == new else (ChangedLines(0, 1, 0, 1),)
            return
        for gap in _gaps(old, new):
            if 1 < gap.comparisons <= self.comparisons_left:
                self.comparisons_left -= gap.comparisons
                yield from _compare(old, new, gap)
            else:
                yield gap


def _gaps(old: list[Line], new: list[Line]) -> Iterator[ChangedLines]:
    """Yield the differing blocks between lines with a unique counterpart."""
    whole = _trimmed(old, new, ChangedLines(0, len(old), 0, len(new)))
    pairs: list[tuple[int, int]] = _anchors(old, new, whole) if whole.comparisons > 1 else []
    old_at, new_at = whole.old_start, whole.new_start
    for old_line, new_line in (*pairs, (whole.old_end, whole.new_end)):
        gap = _trimmed(old, new, ChangedLines(old_at, old_line, new_at, new_line))
        if gap.old_start < gap.old_end or gap.new_start < gap.new_end:
            yield gap
        old_at, new_at = old_line + 1, new_line + 1


def _trimmed(old: list[Line], new: list[Line], block: ChangedLines) -> ChangedLines:
    """Return `block` without common lines at both ends."""
    old_start, old_end, new_start, new_end = block
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start += 1
        new_start += 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return ChangedLines(old_start, old_end, new_start, new_end)


def _anchors(old: list[Line], new: list[Line], block: ChangedLines) -> list[tuple[int, int]]:
    """Pair lines that occur exactly once on each side: the longest increasing sequence of pairs.

    This is the patience diff. It is as fast as sorting, so it needs no limit.
    """
    old_count = Counter(old[block.old_start : block.old_end])
    new_count = Counter(new[block.new_start : block.new_end])
    new_index = {new[at]: at for at in range(block.new_start, block.new_end) if new_count[new[at]] == 1}
    pairs = [
        (at, new_index[old[at]])
        for at in range(block.old_start, block.old_end)
        if old[at] in new_index and old_count[old[at]] == 1
    ]
    lowest: list[int] = []  # For each length, the lowest line of `new` at which a list that long can end,
    ends: list[int] = []  # and the index of its last pair.
    before: list[int] = []
    for index, (_, new_line) in enumerate(pairs):
        length = bisect_left(lowest, new_line)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [new_line]
        ends[length : length + 1] = [index]
    chosen: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _compare(old: list[Line], new: list[Line], gap: ChangedLines) -> Iterator[ChangedLines]:
    """Yield the blocks in `gap` that differ."""
    matcher = SequenceMatcher(
        None, old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end], autojunk=False
    )
    for tag, *block in matcher.get_opcodes():
        if tag != "equal":
            yield ChangedLines(*block).moved(gap.old_start, gap.new_start)


def replaced_lines(view: LineEndView, lines: LineIndex, new: str) -> Iterator[TextEdit]:
    """Yield the edits of whole lines that make `new` of the text of `view`, with line ends as around them."""
    old_lines, new_lines = (_TEXT_LINE.findall(text) for text in (view.text, new))
    starts = [0, *accumulate(map(len, old_lines))]
    for block in LineComparison().differing(old_lines, new_lines):
        span = view.span_in_text(Span(starts[block.old_start], starts[block.old_end]))
        text = "".join(new_lines[block.new_start : block.new_end])
        yield TextEdit(span, with_line_ends(text, line_end_around(lines, span.start)))


# --- The drift of a text, used to rebase edits


class LineDrift(Struct, dict=True):
    """The changes between two versions of a text, by lines with their newlines.

    `blocks` are 0-based, half-open and in order.
    """

    blocks: tuple[ChangedLines, ...]
    edits: EditList

    @classmethod
    def between(cls, old: str, new: str) -> "LineDrift":
        """Compare the lines of `old` and `new`."""
        old_lines, new_lines = LineIndex(old), LineIndex(new)
        blocks = tuple(LineComparison().differing(old_lines.with_ends, new_lines.with_ends))
        edits = tuple(
            TextEdit(
                Span(old_lines.start(block.old_start + 1), old_lines.start(block.old_end + 1)),
                new[new_lines.start(block.new_start + 1) : new_lines.start(block.new_end + 1)],
            )
            for block in blocks
        )
        return cls(blocks, EditList(edits))

    def block_near(self, lines: LineIndex, span: Span) -> ChangedLines | None:
        """Return the first block that changed a line of `span` or an adjacent line, if any.

        `lines` and `span` refer to the old text. Text before the first or after the last line is adjacent to
        it.
        """
        before, behind = _surroundings(lines, span)
        index = bisect_right(self._ends, before)
        if index < len(self.blocks) and self.blocks[index].old_start + 1 <= behind:
            return self.blocks[index]
        return None

    def carried(self, span: Span) -> Span:
        """Map a `span` of the old text, with no block near it, to the new text."""
        start, end = self.edits.map_offset(span.start), self.edits.map_offset(span.end)
        assert start is not None, "no block is near"
        assert end is not None, "no block is near"
        return Span(start, end)

    @cached_property
    def _ends(self) -> list[int]:
        """The 1-based line after each block."""
        return [block.old_end + 1 for block in self.blocks]


def _surroundings(lines: LineIndex, span: Span) -> tuple[int, int]:
    """Return the 1-based lines around `span`; 0 and ``count + 1`` are the edges of the text."""
    first = lines.line_at(span.start)
    if not len(span):
        has_final_newline = lines.count == 0 or lines.ending(lines.count) != ""
        if span.start == lines.end(lines.count) and has_final_newline:
            return lines.count, lines.count + 1
        if span.start == lines.start(first):
            return first - 1, first
    return first - 1, lines.line_at(max(span.start, span.end - 1)) + 1


# --- Edits of whole lines of plain text
#
# They add no spacing. A text keeps its final newline or the lack of one; an empty text gets one.


def insert_lines(
    source: Source,
    offset: int,
    lines: Sequence[str],
    *,
    blank_before: bool = False,
    blank_after: bool = False,
) -> TextEdit:
    """Insert `lines` at `offset`, a line start or the end of the text.

    `blank_before` and `blank_after` add a blank line next to a neighbour with text.
    """
    text, table = source.text, source.lines
    line_end = _line_end(source, offset, offset)
    is_unfinished = offset > 0 and text[offset - 1] not in "\r\n"
    new_text = line_end.join(lines)
    if blank_before and offset and table.has_text(table.line_at(offset - 1)):
        new_text = line_end + new_text
    if blank_after and offset < len(text) and table.has_text(table.line_at(offset)):
        new_text += line_end
    return TextEdit.insert(offset, line_end + new_text if is_unfinished else new_text + line_end)


def delete_lines(source: Source, numbers: Sequence[int]) -> tuple[TextEdit, ...]:
    """Delete the lines `numbers`, in ascending order."""
    edits: list[TextEdit] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        lines = [number for _, number in run]
        edits.append(TextEdit.delete(_deleted_span(source, lines[0], lines[-1])))
    return tuple(edits)


def replace_lines(source: Source, first: int, last: int, lines: Sequence[str]) -> tuple[TextEdit, ...]:
    """Replace the lines `first` to `last` by `lines`; neither may be empty.

    Equal lines stay untouched. Lines added at the end precede the newline of the last line, and thus later
    insertions there.
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
    """Insert `lines` after `line`, before its newline."""
    end = source.lines.content_end(line)
    line_end = source.lines.ending(line) or line_end_around(source.lines, end)
    return TextEdit.insert(end, "".join(line_end + added for added in lines))


def _deleted_span(source: Source, first: int, last: int) -> Span:
    """Return the lines `first` to `last` with their newlines, or with the newline before them.

    The latter at the end of a text without final newline, and if a CR and an LF would become adjacent.
    """
    text, table = source.text, source.lines
    span = table.span(first, last)
    joins = text[span.start - 1 : span.start] == "\r" and text[span.end : span.end + 1] == "\n"
    if first > 1 and (joins or not table.ending(last)):
        return Span(table.content_end(first - 1), table.content_end(last))
    return span


def _line_end(source: Source, start: int, end: int) -> str:
    """Return the newline for new text from `start` to `end`, but not a CR before an LF."""
    line_end = line_end_around(source.lines, start)
    return "\r\n" if line_end == "\r" and source.text[end : end + 1] == "\n" else line_end
