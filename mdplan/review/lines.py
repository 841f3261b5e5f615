"""Find the edits behind each changed line of a plan, and mark its changed words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, Final, NamedTuple

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import EditResult, FileChange
from mdplan.planning.replay import replay_file
from mdplan.planning.results import MOST_MATCHES
from mdplan.text.diff import ChangedLines, Hunk, LineComparison, find_hunks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import ByteEdit, EncodeProblem, Source, sha256_hex, visible
from mdplan.text.visible import shortened
from mdplan.values import Struct

# --- Attributing text edits of a plan to edits of a batch
#
# The plan does not record this. It has text edits per file and, for each edit, the places claimed in the base
# and the lines written in the result; both are matched here. If several edits remain, all are named. Text
# edits without an edit are the engine's, such as updated links.

Owners = tuple[int, ...]


class EditedLines(NamedTuple):
    """A half-open character range of an edit."""

    start: int
    end: int
    edit: int


class EditPlaces(Struct):
    """The `owners` of each text edit, ascending, or nobody for the engine's.

    `claimed` ranges in the base and `written` ranges in the result, sorted, distinguish several owners of a
    text edit.
    """

    owners: Sequence[Owners]
    claimed: Sequence[EditedLines] = ()
    written: Sequence[EditedLines] = ()


class FileSides(Struct, dict=True):
    """A `change` of a plan and its `base` (empty for a new file)."""

    change: FileChange
    base: Source

    @classmethod
    def of(cls, change: FileChange, base: Source) -> "FileSides | Diagnostic":
        """Return both sides, verified. Errors: PLAN_TAMPERED."""
        replayed = replay_file(change, base)
        return replayed if isinstance(replayed, Diagnostic) else cls(change, base)

    @cached_property
    def edits(self) -> EditList:
        """Its text edits; a deletion removes the whole text."""
        if self.change.result_sha256 is not None:
            return self.change.edits
        text = self.base.text
        return EditList((TextEdit.delete(Span(0, len(text))),) if text else ())

    @cached_property
    def result_text(self) -> str:
        """The result text, with lone surrogates for undecodable bytes (see `Source`)."""
        return self.edits.apply(self.base.text)

    @cached_property
    def result_lines(self) -> LineIndex:
        """The line table of the result."""
        return LineIndex(self.result_text)

    @cached_property
    def base_outline(self) -> Outline:
        """The outline of the base."""
        return self._outline(self.base)

    @cached_property
    def result_outline(self) -> Outline:
        """The outline of the result."""
        return self._outline(self.result_view) if self.edits.edits else self.base_outline

    @cached_property
    def view(self) -> Source:
        """The base as UTF-8: hunks split at LF bytes, which other encodings have inside characters."""
        return as_utf8(self.base.text)

    @cached_property
    def result_view(self) -> Source:
        """The result as UTF-8."""
        return as_utf8(self.result_text)

    @cached_property
    def byte_edits(self) -> tuple[ByteEdit, ...]:
        """The text edits as byte edits of `view`, one each."""
        byte_edits = self.view.planned_byte_edits(self.edits)
        assert not isinstance(byte_edits, EncodeProblem), "UTF-8 can encode all that a plan writes"
        return byte_edits

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The hunks of the diff, as bytes of `view`."""
        return find_hunks(self.view.data, self.byte_edits)

    def _outline(self, source: Source) -> Outline:
        change = self.change
        return Outline(source, document_format(change.new_path or change.path, source.text, change.format))


class LinePlaces(Struct, dict=True):
    """The text edits of `sides` and their authors. Line positions are bytes of the UTF-8 view."""

    sides: FileSides
    made: EditPlaces

    def of_old(self, start: int, end: int) -> Owners:
        """Return the edits that removed the line at bytes ``[start, end)`` of the base."""
        return self._owners(_ranges_in(*self._old, start, end), self._claimed, start, end)

    def of_new(self, start: int, end: int) -> Owners:
        """Return the edits that wrote the line at bytes ``[start, end)`` of the result."""
        return self._owners(_ranges_in(*self._new, start, end), self._written, start, end)

    def is_derived(self, start: int, end: int) -> bool:
        """Return True if the engine's own edits touch bytes ``[start, end)`` of the base."""
        owners = self.made.owners
        return any(not owners[index] for index in _ranges_in(*self._old, start, end))

    def section(self, old: tuple[int, int], new: tuple[int, int]) -> tuple[str, ...]:
        """Return the heading path of the first change in these bytes of base and result.

        It refers to the result, or to the base for a pure removal. Empty for INI and plain text.
        """
        sides = self.sides
        index = next(_ranges_in(*self._old, *old), None)
        index = next(_ranges_in(*self._new, *new), 0) if index is None else index
        edit = sides.edits.edits[index]
        written = edit.new_text.lstrip()
        if written:
            # Newlines before an inserted heading belong to the previous section.
            lead = len(edit.new_text) - len(written)
            path = sides.result_outline.section_at(sides.edits.result_spans[index].start + lead).path
        else:
            path = sides.base_outline.section_at(edit.span.start).path
        return tuple(map(visible, path))

    @cached_property
    def old_lines(self) -> list[int]:
        """The line starts of the base, and its end."""
        return _line_starts(self.sides.view.data)

    @cached_property
    def new_lines(self) -> list[int]:
        """The line starts of the result, and its end."""
        return _line_starts(self.sides.result_view.data)

    def _owners(self, indexes: Iterator[int], places: "_Places", start: int, end: int) -> Owners:
        """Return the owners of the text edits at `indexes`, preferring those with `places` on the line."""
        owners = {edit for index in indexes for edit in self.made.owners[index]}
        near = owners & places.edits_in(start, end) if len(owners) > 1 else owners
        return tuple(sorted(near or owners))

    @cached_property
    def _claimed(self) -> "_Places":
        return _Places.of(self.made.claimed, self.sides.view)

    @cached_property
    def _written(self) -> "_Places":
        return _Places.of(self.made.written, self.sides.result_view)

    @cached_property
    def _old(self) -> tuple[list[int], list[int]]:
        """The starts and ends of the text edits in the base."""
        edits = self.sides.byte_edits
        return [edit.start for edit in edits], [edit.end for edit in edits]

    @cached_property
    def _new(self) -> tuple[list[int], list[int]]:
        """The starts and ends of their new text in the result."""
        edits = self.sides.byte_edits
        shifts = accumulate((len(edit.new) - (edit.end - edit.start) for edit in edits), initial=0)
        starts = [edit.start + shift for edit, shift in zip(edits, shifts, strict=False)]
        return starts, [start + len(edit.new) for start, edit in zip(starts, edits, strict=True)]


class _Places(Struct):
    """Sorted byte ranges of edits; `latest` is the running maximum of ends."""

    places: Sequence[EditedLines]
    starts: Sequence[int]
    latest: Sequence[int]

    @classmethod
    def of(cls, places: Sequence[EditedLines], view: Source) -> "_Places":
        """Convert `places` in the text of `view` to bytes."""
        offsets = sorted({at for place in places for at in place[:2]})
        bytes_at = dict(zip(offsets, view.byte_offsets(offsets), strict=True))
        in_bytes = [EditedLines(bytes_at[place.start], bytes_at[place.end], place.edit) for place in places]
        latest = list(accumulate((place.end for place in in_bytes), max))
        return cls(in_bytes, [place.start for place in in_bytes], latest)

    def edits_in(self, start: int, end: int) -> set[int]:
        """Return the edits with a range that overlaps bytes ``[start, end)``."""
        first, last = bisect_right(self.latest, start), bisect_left(self.starts, end)
        return {place.edit for place in self.places[first:last] if place.end > start}


def _ranges_in(starts: Sequence[int], ends: Sequence[int], start: int, end: int) -> Iterator[int]:
    """Yield indexes of the ranges that overlap ``[start, end)``, or else touch it.

    Next to an equal line, a diff may show the old line as the new one.
    """
    first = bisect_left(ends, start)
    last = bisect_right(starts, end)
    sharing = [index for index in range(first, last) if starts[index] < end and ends[index] > start]
    yield from sharing or range(first, last)


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    if starts[-1] != len(data):
        starts.append(len(data))
    return starts


def places_of(sides: FileSides, results: Sequence[EditResult], *, sequential: bool) -> EditPlaces:
    """Attribute the text edits of `sides` to edits.

    `results` are the plan's. In a `sequential` plan claims refer to intermediate documents, so only written
    lines count.
    """
    change = sides.change
    own = [result for result in results if change.path in (result.file, result.to_file) and not result.no_op]
    only: Owners = (own[0].edit_index,) if len(own) == 1 else ()
    if only and not change.references_updated:
        return EditPlaces((only,) * len(sides.edits))
    claimed = [] if sequential else sorted(_claimed(own, change.path, sides.base.lines))
    by_claim = _touching([edit.span for edit in sides.edits], claimed)
    written = sorted(_written(own, change.path, sides.result_lines))
    by_lines = list(_touching(sides.edits.result_spans, written))
    owners = [
        _owners_of(edit.span, claims, lines)
        for edit, claims, lines in zip(sides.edits, by_claim, by_lines, strict=True)
    ]
    # One edit's removal and another's insertion there form a single text edit.
    missed = {result.edit_index for result in own}.difference(*owners)
    all_owners = [
        tuple(sorted({*owner, *(place.edit for place in lines if place.edit in missed)}))
        for owner, lines in zip(owners, by_lines, strict=True)
    ]
    # Reports with this many places may be truncated.
    uncertain = only or tuple(
        result.edit_index
        for result in own
        if sequential or MOST_MATCHES in (len(result.ranges), len(result.result_lines))
    )
    nobody: Owners = () if change.references_updated else uncertain
    return EditPlaces([owner or nobody for owner in all_owners], claimed, written)


def _claimed(results: Sequence[EditResult], path: str, lines: LineIndex) -> Iterator[EditedLines]:
    for result in results:
        for place in result.ranges if result.file == path else ():
            start, end = lines.offset(place.start), lines.offset(place.end)
            if start is not None and end is not None:
                yield EditedLines(start, end, result.edit_index)


def _written(results: Sequence[EditResult], path: str, lines: LineIndex) -> Iterator[EditedLines]:
    for result in results:
        for place in result.result_lines if (result.to_file or result.file) == path else ():
            yield EditedLines(lines.start(place.start), lines.end(place.end), result.edit_index)


def _owners_of(span: Span, claims: Sequence[EditedLines], lines: Sequence[EditedLines]) -> Owners:
    """Return the owners of a text edit at `span`, given the claims and lines that it touches."""
    inside = {place.edit for place in claims if place.start < span.end and span.start < place.end}
    at = {place.edit for place in claims if place.start == place.end == span.start}
    wrote = {place.edit for place in lines}
    near = {place.edit for place in claims}
    # Take the first non-empty choice: certain evidence before proximity.
    choices = (inside & wrote, at & wrote, inside, wrote & near, wrote, at, near)
    return tuple(sorted(next((choice for choice in choices if choice), set())))


def _touching(spans: Sequence[Span], places: Sequence[EditedLines]) -> Iterator[list[EditedLines]]:
    """Yield, for each of the sorted `spans`, the sorted `places` that touch it."""
    active: list[EditedLines] = []
    added = 0
    for span in spans:
        while added < len(places) and places[added].start <= span.end:
            active.append(places[added])
            added += 1
        active = [place for place in active if place.end >= span.start]
        yield [place for place in active if place.start <= span.end]


# --- Short description of an edit: its target, as its author named it

_MOST_CHARACTERS: Final = 120

# Fields that name a target, in natural order; only the first of a row counts.
_ROWS: Final = (
    ("headingPath", "heading", "anchor", "sectionId"),
    ("lines",),
    ("line",),
    ("range",),
    ("table",),
    ("list",),
    ("codeBlock",),
    ("region",),
    ("pattern", "expectedText"),
    ("key",),
    ("item",),
    ("level", "newTitle", "toFile", "newFile"),
    ("toHeadingPath", "toSectionId"),
)

_WORDS: Final = {
    "line": "line {}",
    "table": "table {}",
    "list": "list {}",
    "codeBlock": "code block {}",
    "region": "region {}",
    "pattern": '"{}"',
    "expectedText": '"{}"',
    "level": "to level {}",
    "newTitle": 'to "{}"',
    "toFile": "to {}",
    "newFile": "to {}",
    "toHeadingPath": "to {}",
    "toSectionId": "to {}",
}


def place_in_words(requested: Mapping[str, Any]) -> str:
    """Return the target and search text of an edit in one line: ``Guide / Install, "nightly"``.

    `requested` is the edit as stored in the plan. The result may contain text of the file, truncated.
    """
    parts = []
    for row in _ROWS:
        name = next((name for name in row if requested.get(name) not in (None, "", [])), None)
        if name is not None:
            parts.append(_WORDS.get(name, "{}").format(_value(requested[name])))
    text = visible(", ".join(parts))
    return shortened(text, _MOST_CHARACTERS)


def _value(value: Any) -> str:  # noqa: ANN401 (any JSON)
    match value:
        case list() | tuple():
            return " / ".join(map(str, value))
        case {"start": {"line": line, "col": col}, "end": {"line": end_line, "col": end_col}}:
            return f"{line}:{col}-{end_line}:{end_col}"
        case {"start": start, "end": end}:
            return f"line {start}" if start == end else f"lines {start}-{end}"
        case {"index": index}:
            return str(index)
        case {"language": language}:
            return str(language)
        case _:
            return str(value)


# --- Changed words of changed lines
#
# Marks are exact: unmarked text is equal on both sides, in the same order. A block is compared as one text,
# so that a rewrapped paragraph shows only changed words.

# Limits for comparing the words of a file and of a block, in word pairs. Beyond them, everything between
# unique common words is marked.
_MOST_OF_A_FILE: Final = 400_000
_MOST_OF_A_BLOCK: Final = 40_000

# Blocks that share less are different texts; marks would be noise.
_LEAST_SHARED: Final = 0.25
_LINE_END: Final = "\n"

# Scripts without spaces between words: each character is a word.
_WITHOUT_BLANKS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Characters that join the one before: accents, joiners, variation selectors.
_JOINED: Final = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f]"

_WORD: Final = lazy_pattern(
    rf"[{_WITHOUT_BLANKS}]{_JOINED}*|(?:[^\W{_WITHOUT_BLANKS}]{_JOINED}*)+|[ \t]+{_JOINED}*|.{_JOINED}*",
    re.DOTALL,
)


class MarkedText(Struct):
    """Part of a line; `changed` if it has no counterpart on the other side."""

    text: str
    changed: bool


Pieces = tuple[MarkedText, ...]


class WordMarks:
    """Word marks for the changed lines of a file, within one shared work limit."""

    def __init__(self) -> None:
        self._left = _MOST_OF_A_FILE

    def of(self, old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Pieces, ...], tuple[Pieces, ...]]:
        """Return the pieces of the lines `old` and `new`, given without newlines.

        Joined pieces equal their line; an empty line has no pieces.
        """
        old_words, new_words = _words(old), _words(new)
        comparison = LineComparison(min(self._left, _MOST_OF_A_BLOCK))
        before = comparison.comparisons_left
        blocks = list(comparison.differing(old_words, new_words)) if old and new else []
        self._left -= before - comparison.comparisons_left
        if not (old and new) or not _is_similar(old_words, new_words, blocks):
            blocks = [ChangedLines(0, len(old_words), 0, len(new_words))]
        old_marks = _marked(old_words, [(block.old_start, block.old_end) for block in blocks])
        new_marks = _marked(new_words, [(block.new_start, block.new_end) for block in blocks])
        return tuple(_lines(old_words, old_marks, len(old))), tuple(_lines(new_words, new_marks, len(new)))


def _words(lines: Sequence[str]) -> list[str]:
    """Return the words of `lines`, with newlines in between."""
    return [word for line in lines for word in (_LINE_END, *_WORD.findall(line))][1:]


def _is_similar(old: Sequence[str], new: Sequence[str], blocks: Sequence[ChangedLines]) -> bool:
    letters = max(_letters(old), _letters(new))
    changed = max(
        sum(_letters(old[block.old_start : block.old_end]) for block in blocks),
        sum(_letters(new[block.new_start : block.new_end]) for block in blocks),
    )
    return letters - changed >= letters * _LEAST_SHARED


def _letters(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _marked(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> list[bool]:
    marks = [False] * len(words)
    for start, end in ranges:
        marks[start:end] = [True] * (end - start)
    return marks


def _lines(words: Sequence[str], marks: Sequence[bool], count: int) -> Iterator[Pieces]:
    """Yield the pieces of `count` lines, merging neighbours of one kind."""
    line: list[tuple[str, bool]] = []
    for word, mark in zip(words, marks, strict=True):
        if word == _LINE_END:
            yield _joined(line)
            line = []
        else:
            line.append((word, mark))
    if count:
        yield _joined(line)


def _joined(line: Sequence[tuple[str, bool]]) -> Pieces:
    runs = groupby(line, key=lambda word: word[1])
    return tuple(MarkedText("".join(text for text, _ in run), changed) for changed, run in runs)


def as_utf8(text: str) -> Source:
    """Return `text` as a UTF-8 source without BOM."""
    data = text.encode("utf-8", "surrogateescape")
    return Source(data=data, text=text, encoding="utf-8", bom=b"", sha256=sha256_hex(data), invalid_bytes=0)
