"""Matches of a pattern in a document, without those that lie in excluded nodes."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.inline_nodes import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.text.pattern import Found, Pattern, PatternProblem
from mdplan.text.span import Span


class NodeKind(StrEnum):
    """Kinds of nodes that a match operation can leave alone; the values are the keys on the wire."""

    CODE_BLOCKS = "codeBlocks"
    INLINE_CODE = "inlineCode"
    LINK_DESTINATIONS = "linkDestinations"
    IMAGES = "images"
    FRONT_MATTER = "frontMatter"
    HTML = "html"
    TABLES = "tables"
    HEADINGS = "headings"


EXCLUDED_BY_DEFAULT: Final = frozenset(NodeKind) - {NodeKind.TABLES, NodeKind.HEADINGS}
UNDECIDED: Final = "undecided"

_BLOCKS: Final = {
    BlockKind.FENCE: NodeKind.CODE_BLOCKS,
    BlockKind.INDENTED_CODE: NodeKind.CODE_BLOCKS,
    BlockKind.HTML: NodeKind.HTML,
    BlockKind.TABLE: NodeKind.TABLES,
    BlockKind.HEADING: NodeKind.HEADINGS,
}
_INLINE: Final = {
    InlineKind.CODE: NodeKind.INLINE_CODE,
    InlineKind.HTML: NodeKind.HTML,
    InlineKind.IMAGE: NodeKind.IMAGES,
}
_INLINE_KINDS: Final = frozenset(_INLINE.values()) | {NodeKind.LINK_DESTINATIONS}


@dataclass(frozen=True, slots=True)
class Eligible:
    """A match in no excluded node. `span` is in the source, `found` in the view with LF line ends."""

    span: Span
    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """All matches of a pattern. `excluded` counts the others by node kind, or as ``undecided``."""

    eligible: tuple[Eligible, ...]
    excluded: Mapping[str, int]
    line_ends_normalized: bool


def find_matches(
    outline: Outline, pattern: Pattern, scope: Span, excluded_kinds: frozenset[NodeKind]
) -> Matches | PatternProblem:
    """Matches of `pattern` inside of `scope`, which are spans of the source.

    A match is excluded when it lies wholly inside of a node of `excluded_kinds` or cuts its edge; one that
    contains the whole node counts. Where inline nodes cannot be proven, a match is excluded as undecided.
    """
    view = outline.view
    found = pattern.find(view.text, view.span_in_view(scope))
    if isinstance(found, PatternProblem):
        return found
    eligible: list[Eligible] = []
    excluded: Counter[str] = Counter()
    normalized = False
    for match in found:
        span = view.span_in_text(match.span)
        normalized = normalized or len(span) != len(match.span)
        reason = _excluded_by_block(outline, span, excluded_kinds) or _excluded_by_inline(
            outline, span, excluded_kinds
        )
        if reason is None:
            eligible.append(Eligible(span, match))
        else:
            excluded[reason] += 1
    return Matches(eligible=tuple(eligible), excluded=dict(excluded), line_ends_normalized=normalized)


def _keeps_out(node: Span, match: Span) -> bool:
    if match.contains(node):
        return False
    if len(match) == 0:
        return node.start < match.start < node.end
    return node.overlaps(match)


def _excluded_by_block(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> NodeKind | None:
    """Kind of the first excluded leaf block that keeps `match` out. Leaf blocks do not hold each other."""
    front_matter = outline.front_matter
    if front_matter and NodeKind.FRONT_MATTER in kinds and _keeps_out(front_matter.span, match):
        return NodeKind.FRONT_MATTER
    leaves = outline.tree.leaves
    index = bisect_left(leaves, match.start, key=lambda block: block.span.end)
    while index < len(leaves) and leaves[index].span.start <= match.end:
        kind = _BLOCKS.get(leaves[index].kind)
        if kind in kinds and _keeps_out(leaves[index].span, match):
            return kind
        index += 1
    return None


def _excluded_by_inline(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> str | None:
    if not kinds & _INLINE_KINDS:
        return None
    if any(_keeps_out(span, match) for span in outline.inline.undecided_in(match)):
        return UNDECIDED
    for node in outline.inline.nodes_in(match):
        for span, kind in _protected(node):
            if kind in kinds and _keeps_out(span, match):
                return kind
    return None


def _protected(node: InlineNode) -> list[tuple[Span, NodeKind]]:
    """Parts of `node` that a kind of exclusion covers."""
    if node.kind in {InlineKind.CODE, InlineKind.HTML}:
        return [(node.span, _INLINE[node.kind])]
    kind = NodeKind.IMAGES if node.kind is InlineKind.IMAGE else NodeKind.LINK_DESTINATIONS
    return [(span, kind) for span in (node.destination, node.title) if span is not None]
