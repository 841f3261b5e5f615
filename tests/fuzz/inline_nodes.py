"""Target: the adapter of the parser, its ranges, its time limit, and the resulting inline nodes."""

from itertools import accumulate
from time import process_time
from typing import Final
from zlib import crc32

from mdplan.markdown.blocks import ParseTimeout, parse_time
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import ParserFailure, PreparedText, event_batches, is_nested_too_deep
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.fuzz.mutation import mutated_text
from tests.fuzz.seeds import documents
from tests.fuzz.target import Target

# So many inputs are parsed once until the time limit is tried with one, made as long as this.
TIMED_EVERY = 500
LONG = 1_000_000
SECONDS = 0.5
# How much later than the limit a parse may end: the parser's block pass cannot be interrupted.
LATE = 1.0
MARKS = {
    InlineKind.LINK: ("[", ("]", ")")),
    InlineKind.IMAGE: ("![", ("]", ")")),
    InlineKind.CODE: ("`", ("`",)),
    InlineKind.HTML: ("<", (">",)),
    InlineKind.WIKI_LINK: ("[[", ("]]",)),
    InlineKind.FOOTNOTE_REFERENCE: ("[^", ("]",)),
    InlineKind.FOOTNOTE_DEFINITION: ("[^", ("]:",)),
}


def check(data: bytes) -> None:
    """Ranges are in the text and on code points, nodes have their marks, and parsing ends in time."""
    source = Source.decode(data)
    if not isinstance(source, Source):
        return
    text = source.text
    _check_ranges(text)
    nodes = Outline(source).inline
    for node in nodes.nodes_in(Span(0, len(text))):
        _check_node(text, node)
    assert all(span.end <= len(text) for span in nodes.undecided_in(Span(0, len(text))))
    if data and not crc32(data) % TIMED_EVERY:
        check_time(data * (LONG // len(data) + 1))


def _check_ranges(text: str) -> None:
    if is_nested_too_deep(text):
        return
    prepared = PreparedText(text)
    encoded = prepared.text.encode()
    edges = set(accumulate((len(sign.encode()) for sign in prepared.text), initial=0))
    try:
        for _, place in (event for batch in event_batches(prepared.text) for event in batch):
            assert place["start"] <= place["end"] <= len(encoded)
            assert place["start"] in edges, "a range starts inside of a code point"
            assert place["end"] in edges, "a range ends inside of a code point"
    except ParserFailure:
        # The other parser reads such texts.
        return


def _check_node(text: str, node: InlineNode) -> None:
    assert node.span.end <= len(text)
    written = text[node.span.start : node.span.end]
    opening, closings = MARKS.get(node.kind, ("", ("",)))
    assert written.startswith(opening), f"{node.kind} {written!r}"
    assert written.endswith(closings), f"{node.kind} {written!r}"
    parts = (node.text, node.label, node.destination, node.title)
    assert all(node.span.contains(part) for part in parts if part is not None)


def check_time(data: bytes) -> None:
    """Parsing `data` ends within a second of its limit."""
    source = Source.decode(data)
    if not isinstance(source, Source):
        return
    started = process_time()
    try:
        with parse_time(SECONDS, process_time):
            Outline(source).inline.nodes_in(Span(0, len(source.text)))
    except ParseTimeout:
        pass
    late = process_time() - started - SECONDS
    assert late < LATE, f"{late:.1f} s late"


TARGET: Final = Target(
    name="inline_nodes", check=check, seeds=documents, mutated=mutated_text, most_bytes=600
)
