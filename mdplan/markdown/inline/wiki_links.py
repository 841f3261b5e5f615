"""Wiki links, ``[[page#anchor|text]]``: no part of CommonMark, but wikis and notes use them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mdplan.markdown.inline.inline_node import InlineKind, InlineNode
from mdplan.text.lines import Span

# In a table the pipe is written with a backslash, which some programs write everywhere.
_WIKI_LINK: Final = re.compile(
    r"\[\[(?P<target>[^\s\[\]|\\][^\[\]|\\\r\n]*)(?:\\?\|(?P<text>[^\[\]\r\n]*))?\]\]"
)


def wiki_links(
    text: str, places: Iterable[tuple[int, int]], nodes: Iterable[InlineNode], undecided: Sequence[Span]
) -> Iterator[InlineNode]:
    """Wiki links in ordinary text or in the text of a link.

    `places` are the offsets of ``[[`` in the inline content of `text`, each with the end of that content;
    `nodes` are the other inline nodes: CommonMark's own links come before wiki links.
    """
    taken = sorted([*undecided, *(span for node in nodes for span in _outside_of_text(node))])
    ends = [span.end for span in taken]
    last = 0
    for start, stop in places:
        match = _WIKI_LINK.match(text, start, stop) if start >= last else None
        if match is None:
            continue
        span = Span(*match.span())
        behind = bisect_right(ends, span.start)
        if behind < len(taken) and taken[behind].start < span.end:
            continue
        if is_escaped(text, span.start):
            continue
        last = span.end
        shown = match.span("text")
        yield InlineNode(
            kind=InlineKind.WIKI_LINK,
            span=span,
            destination=Span(*match.span("target")),
            text=None if shown[0] < 0 else Span(*shown),
            href=match["target"],
        )


def is_escaped(text: str, at: int) -> bool:
    """Whether an odd number of backslashes is before `at`."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _outside_of_text(node: InlineNode) -> Iterator[Span]:
    if node.kind in {InlineKind.LINK, InlineKind.IMAGE} and node.text is not None:
        yield Span(node.span.start, node.text.start)
        yield Span(node.text.end, node.span.end)
    else:
        yield node.span
