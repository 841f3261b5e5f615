"""Edits of a result: what is made after the edits of a batch, of what they made."""

from collections.abc import Mapping
from dataclasses import replace

from mdplan.planning.build import BuiltFile, result_source
from mdplan.text.edit import EditList, compose
from mdplan.text.lines import Span
from mdplan.text.source import EncodeProblem, Source

Written = Mapping[int, tuple[Span, ...]]


def with_post_edits(
    built: BuiltFile, edits: EditList, writers: Mapping[int, int] | None = None
) -> BuiltFile | None:
    """`built` with further `edits` of its result; None where its encoding cannot hold them.

    `writers` maps positions in `edits` to the indexes of the batch edits that write them; others are written
    by none.
    """
    if not edits:
        return built
    base = built.base.source
    composed = compose(built.edits, edits, len(base.text))
    byte_edits = base.byte_edits(composed)
    result = (
        None if isinstance(byte_edits, EncodeProblem) else result_source(built.file, composed, byte_edits)
    )
    if isinstance(byte_edits, EncodeProblem) or not isinstance(result, Source):
        return None
    written = moved_spans(built.written, edits)
    spans = edits.result_spans
    for position, index in (writers or {}).items():
        written[index] = (*written.get(index, ()), spans[position])
    lengths = {item.index: len(item.outline.source.text) for item in built.resolved}
    return replace(
        built,
        edits=composed,
        byte_edits=byte_edits,
        result=built.result.edited(edits, result),
        changed=None,
        written=written,
        later={index: compose(later, edits, lengths[index]) for index, later in built.later.items()},
    )


def moved_spans(written: Written, edits: EditList) -> dict[int, tuple[Span, ...]]:
    """What is left after `edits` of the places in which earlier edits, by their index, wrote something."""
    return {
        index: tuple(moved for span in spans if (moved := _moved_span(span, edits)) is not None)
        for index, spans in written.items()
    }


def _moved_span(span: Span, edits: EditList) -> Span | None:
    start = edits.map_offset(span.start, after=True)
    end = edits.map_offset(span.end)
    if start is None or end is None or end < start:
        return None
    return Span(start, end)
