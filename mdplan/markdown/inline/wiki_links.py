"""Wiki links, ``[[page#anchor|text]]``: no part of CommonMark, but wikis and notes live by them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mdplan.markdown.inline.inline_node import InlineKind, InlineNode
from mdplan.text.span import Span

# In a table the pipe is written with a backslash, which some programs write everywhere.
_WIKI_LINK: Final = re.compile(r"\[\[(?P<target>[^\s\[\]|\\][^\[\]|\\\n]*)(?:\\?\|(?P<text>[^\[\]\n]*))?\]\]")


def wiki_links(content: str, nodes: Iterable[InlineNode], undecided: Sequence[Span]) -> Iterator[InlineNode]:
    """Wiki links in `content` that stand in ordinary text or in the text of a link.

    `nodes` are the other inline nodes of the content; CommonMark's own links come before wiki links.
    """
    if "[[" not in content:
        return
    taken = sorted([*undecided, *(span for node in nodes for span in _outside_of_text(node))])
    ends = [span.end for span in taken]
    for match in _WIKI_LINK.finditer(content):
        span = Span(*match.span())
        behind = bisect_right(ends, span.start)
        if behind < len(taken) and taken[behind].start < span.end:
            continue
        if _is_escaped(content, span.start):
            continue
        text = match.span("text")
        yield InlineNode(
            kind=InlineKind.WIKI_LINK,
            span=span,
            destination=Span(*match.span("target")),
            text=None if text[0] < 0 else Span(*text),
            href=match["target"],
        )


def _outside_of_text(node: InlineNode) -> Iterator[Span]:
    if node.kind in {InlineKind.LINK, InlineKind.IMAGE} and node.text is not None:
        yield Span(node.span.start, node.text.start)
        yield Span(node.text.end, node.span.end)
    else:
        yield node.span


def _is_escaped(content: str, at: int) -> bool:
    first = at
    while first and content[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1
