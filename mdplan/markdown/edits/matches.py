"""Matches of a pattern in a document, without those that lie in excluded nodes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block_structure import BlockKind
from mdplan.markdown.edits.site_markup import SITE_KINDS, site_markup
from mdplan.markdown.edits.soft_breaks import JoinedText, SoftBreak
from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.markdown.inline.inline_nodes import InlineKind, InlineNode
from mdplan.markdown.outline.outline import Outline
from mdplan.text.lines import Span
from mdplan.text.pattern import Pattern, PatternMatch, PatternProblem

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
}
_INLINE_KINDS: Final = frozenset({*_INLINE.values(), NodeKind.LINK_DESTINATIONS, NodeKind.IMAGES})


@dataclass(frozen=True, slots=True)
class Eligible:
    """A match in no excluded node, with its `span` in the source.

    `found` is in the text that was searched: the view with LF line ends, or that with soft breaks as blanks.
    `text` is the text that matched there, and `breaks` are the soft breaks in it.
    """

    span: Span
    found: PatternMatch
    text: str = ""
    breaks: tuple[SoftBreak, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """All matches of a pattern. `excluded` counts the others by node kind, or as ``undecided``."""

    eligible: tuple[Eligible, ...]
    excluded: Mapping[str, int]
    line_ends_normalized: bool


def find_matches(
    outline: Outline,
    pattern: Pattern,
    scope: Span,
    excluded_kinds: frozenset[NodeKind],
    *,
    soft_breaks: bool = False,
) -> Matches | PatternProblem:
    """Matches of `pattern` inside `scope`, which are spans of the source.

    With `soft_breaks` a blank of the pattern also matches a line end inside a paragraph.

    A match is excluded when it lies wholly inside a node of `excluded_kinds` or cuts its edge; one that
    contains the whole node with its delimiters counts. Those of a destination are the brackets around it; a
    bare URL has none and must be part of a longer match. Where inline nodes cannot be proven, a match is
    excluded as undecided.
    """
    view = outline.view
    if soft_breaks:
        return _find_joined(outline, pattern, scope, excluded_kinds)
    found = pattern.find(view.text, view.span_in_view(scope), outline.limits.pattern_seconds)
    if isinstance(found, PatternProblem):
        return found
    end = len(view.text)
    if len(found) > 1 and found[-1].span.start == end and view.text.endswith("\n"):
        # After the last line end is no line: `^` and `$` match there, and no one means that place with them.
        found = found[:-1]
    eligible: list[Eligible] = []
    excluded: Counter[str] = Counter()
    normalized = False
    for match in found:
        span = view.span_in_text(match.span)
        normalized = normalized or len(span) != len(match.span)
        reason = exclusion_of(outline, span, excluded_kinds)
        if reason is None:
            eligible.append(Eligible(span, match))
        else:
            excluded[reason] += 1
    return Matches(eligible=tuple(eligible), excluded=dict(excluded), line_ends_normalized=normalized)


def _find_joined(
    outline: Outline, pattern: Pattern, scope: Span, excluded_kinds: frozenset[NodeKind]
) -> Matches | PatternProblem:
    """Matches in the text with soft breaks as blanks."""
    view, joined = outline.view, JoinedText(outline, scope)
    within = joined.span_of_view(view.span_in_view(scope))
    found = pattern.find(joined.text, within, outline.limits.pattern_seconds)
    if isinstance(found, PatternProblem):
        return found
    eligible: list[Eligible] = []
    excluded: Counter[str] = Counter()
    for match in found:
        span = view.span_in_text(joined.span_in_view(match.span))
        reason = exclusion_of(outline, span, excluded_kinds)
        if reason is not None:
            excluded[reason] += 1
            continue
        text = joined.text[match.span.start : match.span.end]
        eligible.append(Eligible(span, match, text, joined.breaks_in(match.span)))
    return Matches(eligible=tuple(eligible), excluded=dict(excluded), line_ends_normalized=False)


def exclusion_of(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> str | None:
    """What keeps `match` out: the kind of the first protected text that it lies in or cuts, or undecided."""
    found = next((each for each in _protected_blocks(outline, match, kinds) if each.excludes(match)), None)
    if found is None and kinds & _INLINE_KINDS:
        found = next((each for each in _protected_nodes(outline, match, kinds) if each.excludes(match)), None)
    if found is None and kinds & SITE_KINDS:
        around = Span(max(match.start - 1, 0), match.end + 1)
        pieces = (
            _Protected(kind, piece, piece, piece) for kind, piece in site_markup(outline, around, kinds)
        )
        found = next((each for each in pieces if each.excludes(match)), None)
    return found.kind if found else None


@dataclass(frozen=True, slots=True)
class _Protected:
    """Text that a kind of exclusion covers.

    A match that shares a code point with `span`, or an empty one between the edges of `inner` (both
    included), is kept out, but for one that contains `whole`, which is the text with its delimiters. What
    has none, like a bare URL, has no `whole`: there a match must be longer than the text.
    """

    kind: str
    span: Span
    inner: Span
    whole: Span | None

    def excludes(self, match: Span) -> bool:
        if not len(match):
            return self.inner.start <= match.start <= self.inner.end
        if self.whole is None:
            return self.span.overlaps(match) and (match == self.span or not match.contains(self.span))
        return self.span.overlaps(match) and not match.contains(self.whole)


def _protected_blocks(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> Iterator[_Protected]:
    """Excluded blocks that touch `match`. Leaf blocks do not hold each other."""
    front_matter = outline.front_matter
    if front_matter and NodeKind.FRONT_MATTER in kinds:
        yield _lines(outline, NodeKind.FRONT_MATTER, front_matter.span, 0)
    around = Span(max(match.start - 1, 0), match.end + 1)
    for block in outline.tree.leaves_in(around):
        kind = _BLOCKS.get(block.kind)
        if kind in kinds:
            text = outline.source.lines.content(block.first_line)
            # The indentation is what delimits indented code; elsewhere a pattern may leave it out.
            indentation = 0 if block.kind is BlockKind.INDENTED_CODE else len(text) - len(text.lstrip(" \t"))
            yield _lines(outline, kind, block.span, indentation)


def _lines(outline: Outline, kind: NodeKind, span: Span, indentation: int) -> _Protected:
    """Whole lines; a match need not contain the last line end to contain them."""
    content_end = outline.source.lines.content_end(outline.source.lines.line_at(span.end - 1))
    return _Protected(
        kind,
        span,
        Span(span.start, content_end),
        Span(min(span.start + indentation, content_end), content_end),
    )


def _protected_nodes(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> Iterator[_Protected]:
    """Excluded inline nodes that touch `match`, after the stretches in which none can be proven."""
    # What an empty match at the edge of a node would be inserted into is next to it.
    around = match if len(match) else Span(max(match.start - 1, 0), match.end + 1)
    for span in outline.inline.undecided_in(around):
        yield _Protected(UNDECIDED, span, span, span)
    for node in outline.inline.nodes_in(around):
        yield from (part for part in _parts(node) if part.kind in kinds)


def _parts(node: InlineNode) -> Iterator[_Protected]:
    """Parts of `node` that a kind of exclusion covers."""
    if node.kind in _INLINE:
        yield _Protected(
            _INLINE[node.kind], node.span, Span(node.span.start + 1, node.span.end - 1), node.span
        )
        return
    kind = NodeKind.IMAGES if node.kind is InlineKind.IMAGE else NodeKind.LINK_DESTINATIONS
    whole: Span | None = node.span
    if node.destination == node.span:
        whole = None
    elif node.kind in {InlineKind.LINK, InlineKind.IMAGE} and node.text is not None:
        whole = Span(node.text.end + 1, node.span.end)
    for span in (node.destination, node.title):
        if span is not None:
            inner = span if whole is not None else Span(span.start + 1, span.end - 1)
            yield _Protected(kind, span, inner, whole)
