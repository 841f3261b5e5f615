"""The text edits of a batch, and which of its edits wrote what in them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import delete_blocks, end_of_text_before, place_blocks
from mdplan.operations.base import BlockInsertion
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.edit import TextEdit
from mdplan.text.lines import BY_PLACE, LineIndex, Span


@dataclass(frozen=True, slots=True)
class AttributedEdit:
    """A text edit, and where the new text of which batch edits is in it."""

    edit: TextEdit
    pieces: tuple[tuple[int, Span], ...]


@dataclass(frozen=True, slots=True)
class _Gap:
    """Whole lines that go, and the indexes of the edits that delete them."""

    span: Span
    indexes: list[int]


_Insertion = tuple[BlockInsertion, int]


def parts_of(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[AttributedEdit]:
    """Text edits of all edits.

    What is inserted at one place, and what is deleted there, is one text edit, so that the blank lines
    between what then is together are made once. Changes of keys are not among them.
    """
    parts = _edits_of(item for item in resolved if not item.resolution.comes_last)
    insertions = sorted(
        ((insertion, item.index) for item in resolved for insertion in item.resolution.insertions),
        key=lambda found: (found[0].offset, found[0].order, found[1]),
    )
    offsets = [insertion.offset for insertion, _ in insertions]
    at = 0
    for gap in _gaps(outline, resolved):
        first = bisect_left(offsets, _reach(outline, gap.span))
        behind = bisect_left(offsets, gap.span.end + 1)
        parts += _inserted(outline, insertions[at:first])
        parts.append(_filled(outline, gap, insertions[first:behind]))
        at = behind
    parts += _inserted(outline, insertions[at:])
    return parts + _edits_of(item for item in resolved if item.resolution.comes_last)


def _edits_of(resolved: Iterable[ResolvedEdit]) -> list[AttributedEdit]:
    return [
        AttributedEdit(edit, ((item.index, Span(0, len(edit.new_text))),))
        for item in resolved
        if item.resolution.data is None
        for edit in item.resolution.edits
    ]


def _gaps(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[_Gap]:
    """What is deleted, in order; deletions with nothing but blank lines between them are one."""
    gaps: list[_Gap] = []
    for span, index in sorted((span, item.index) for item in resolved for span in item.resolution.deletions):
        last = gaps[-1] if gaps else None
        if last is not None and not outline.source.text[last.span.end : span.start].strip(" \t\r\n"):
            gaps[-1] = _Gap(Span(last.span.start, max(last.span.end, span.end)), last.indexes)
            last.indexes.append(index)
        else:
            gaps.append(_Gap(span, [index]))
    return gaps


def _reach(outline: Outline, gap: Span) -> int:
    """First offset of insertions into `gap`; at the end of the file it takes the blank lines before it."""
    ends_file = gap.end == len(outline.source.text)
    return end_of_text_before(outline, gap.start) if ends_file else gap.start


def _filled(outline: Outline, gap: _Gap, insertions: Sequence[_Insertion]) -> AttributedEdit:
    """The edit that deletes the lines of `gap`, with what is inserted there in their place."""
    gone = tuple((index, Span(0, 0)) for index in gap.indexes)
    if not insertions:
        return AttributedEdit(delete_blocks(outline, gap.span), gone)
    start = min(gap.span.start, insertions[0][0].offset)
    placed = place_blocks(outline, Span(start, gap.span.end), [each.payload for each, _ in insertions])
    return AttributedEdit(placed.edit, (*_pieces(insertions, placed.spans), *gone))


def _inserted(outline: Outline, insertions: Sequence[_Insertion]) -> Iterator[AttributedEdit]:
    """One text edit for all blocks that go to one place; `insertions` are in order."""
    at = 0
    while at < len(insertions):
        offset = insertions[at][0].offset
        end = at
        while end < len(insertions) and insertions[end][0].offset == offset:
            end += 1
        here = insertions[at:end]
        placed = place_blocks(outline, Span(offset, offset), [each.payload for each, _ in here])
        yield AttributedEdit(placed.edit, _pieces(here, placed.spans))
        at = end


def _pieces(insertions: Sequence[_Insertion], spans: Sequence[Span]) -> tuple[tuple[int, Span], ...]:
    return tuple((index, span) for (_, index), span in zip(insertions, spans, strict=True))


def without_joins(text: str, lines: LineIndex, parts: Sequence[AttributedEdit]) -> list[AttributedEdit]:
    """`parts` of edits of `text`, in order; where one would leave a CR just before an LF it adds an LF.

    `lines` is the index of the text. So the line end before becomes CRLF, and the line after keeps its own.
    """
    ordered = sorted(parts, key=lambda part: BY_PLACE(part.edit.span))
    if not lines.has_cr and not any("\r" in part.edit.new_text for part in ordered):
        return ordered
    last = AttributedEdit(TextEdit.insert(len(text) + 1, ""), ())
    kept: list[AttributedEdit] = []
    before = ""
    end = 0
    for part, following in pairwise([*ordered, last]):
        span, new_text = part.edit.span, part.edit.new_text
        if span.start > end:
            before = text[span.start - 1]
        before = new_text[-1:] or before
        end = span.end
        is_joined = before == "\r" and text[end : end + 1] == "\n" and following.edit.span.start > end
        # Between the CR and the LF of one line end nothing is lost: they were together before.
        if is_joined and not _is_inside_line_end(text, span):
            kept.append(replace(part, edit=TextEdit(span, new_text + "\n")))
            before = "\n"
        else:
            kept.append(part)
    return kept


def _is_inside_line_end(text: str, span: Span) -> bool:
    """Whether the last line end of `span` is cut in two."""
    return text[span.end - 1 : span.end + 1] == "\r\n"
