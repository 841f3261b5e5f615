"""Find matches of a pattern in a document, except in excluded nodes."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.enclosure_search import SITE_KINDS, site_markup
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import NodeKind
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.pattern import MatchType, Pattern, PatternFailure, PatternMatch, PatternProblem
from mdplan.values import Struct
from mdplan.words import say

EXCLUDED_BY_DEFAULT: Final = frozenset(NodeKind) - {NodeKind.TABLES, NodeKind.HEADINGS}
UNDECIDED: Final = "undecided"

_BLOCKS: Final = {
    BlockKind.FENCE: NodeKind.CODE_BLOCKS,
    BlockKind.INDENTED_CODE: NodeKind.CODE_BLOCKS,
    BlockKind.HTML: NodeKind.HTML,
    BlockKind.TABLE: NodeKind.TABLES,
    BlockKind.HEADING: NodeKind.HEADINGS,
}

_INLINE: Final = {InlineKind.CODE: NodeKind.INLINE_CODE, InlineKind.HTML: NodeKind.HTML}
_INLINE_KINDS: Final = frozenset({*_INLINE.values(), NodeKind.LINK_DESTINATIONS, NodeKind.IMAGES})


class SoftBreak(Struct):
    """A soft line break, shown as a space at index `at`; `text` is its source with LF."""

    at: int
    text: str


class Eligible(Struct):
    """A match outside excluded nodes; `span` is in the source.

    `found` is in the searched text: the LF view, with soft breaks as spaces if requested. `text` is the
    matched text there, and `breaks` are its soft breaks.
    """

    span: Span
    found: PatternMatch
    text: str = ""
    breaks: tuple[SoftBreak, ...] = ()


class Matches(Struct, kw_only=True):
    """All matches of a pattern; `excluded` counts the others by node kind or as ``undecided``."""

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
    """Return the matches of `pattern` in the source span `scope`.

    With `soft_breaks`, a space in the pattern also matches a newline in a paragraph.

    A match is excluded if it lies in a node of `excluded_kinds` or crosses its edge, but not if it contains
    the node with its delimiters: for a destination the brackets around it. A bare URL has no delimiters, so
    the match must be longer. Matches on undecided nodes are excluded as such.
    """
    view = outline.view
    text, within = view.text, view.span_in_view(scope)
    joined = JoinedText(outline, scope, pattern) if soft_breaks else None
    if joined is not None:
        text, within = joined.text, joined.span_of_view(within)
    matches = pattern.find(text, within, outline.limits.pattern_seconds)
    if isinstance(matches, PatternProblem):
        return matches
    is_at_end = len(matches) > 1 and matches[-1].span.start == len(text) and text.endswith("\n")
    if is_at_end and joined is None:
        # `^` and `$` also match after the last newline, which is never intended.
        matches = matches[:-1]
    eligible: list[Eligible] = []
    excluded: Counter[str] = Counter()
    normalized = False
    for match in matches:
        span = view.span_in_text(match.span if joined is None else joined.span_in_view(match.span))
        normalized = normalized or (joined is None and len(span) != len(match.span))
        reason = exclusion_of(outline, span, excluded_kinds)
        if reason is not None:
            excluded[reason] += 1
        elif joined is None:
            eligible.append(Eligible(span, match))
        else:
            matched = text[match.span.start : match.span.end]
            eligible.append(Eligible(span, match, matched, joined.breaks_in(match.span)))
    return Matches(eligible=tuple(eligible), excluded=dict(excluded), line_ends_normalized=normalized)


def exclusion_of(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> str | None:
    """Return the kind of the first excluded text that `match` is in or crosses; else None."""
    # An empty match at the edge of a node inserts next to it.
    around = Span(max(match.start - 1, 0), match.end + 1)
    markup = site_markup(outline, around, kinds) if kinds & SITE_KINDS else ()
    protected = chain(
        _protected_blocks(outline, match, kinds),
        _protected_nodes(outline, match, kinds) if kinds & _INLINE_KINDS else (),
        (_Protected(kind, piece, piece, piece) for kind, piece in markup),
    )
    return next((text.kind for text in protected if text.excludes(match)), None)


class _Protected(Struct):
    """Text that an excluded kind covers.

    A match that overlaps `span`, or an empty match within `inner` (edges included), is excluded unless it
    contains `whole`, the text with delimiters. Without `whole`, as for a bare URL, the match must be longer
    than the text.
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
    """Yield the excluded blocks that touch `match`; leaf blocks are disjoint."""
    front_matter = outline.front_matter
    if front_matter and NodeKind.FRONT_MATTER in kinds:
        yield _lines(outline, NodeKind.FRONT_MATTER, front_matter.span, 0)
    around = Span(max(match.start - 1, 0), match.end + 1)
    for block in outline.tree.leaves_in(around):
        kind = _BLOCKS.get(block.kind)
        if kind in kinds:
            text = outline.source.lines.content(block.first_line)
            # Indentation delimits indented code; elsewhere a match may omit it.
            indentation = 0 if block.kind is BlockKind.INDENTED_CODE else len(text) - len(text.lstrip(" \t"))
            yield _lines(outline, kind, block.span, indentation)


def _lines(outline: Outline, kind: NodeKind, span: Span, indentation: int) -> _Protected:
    """Protect the lines of `span`; a match may omit the last newline to contain them."""
    content_end = outline.source.lines.content_end(outline.source.lines.line_at(span.end - 1))
    return _Protected(
        kind,
        span,
        Span(span.start, content_end),
        Span(min(span.start + indentation, content_end), content_end),
    )


def _protected_nodes(outline: Outline, match: Span, kinds: frozenset[NodeKind]) -> Iterator[_Protected]:
    """Yield the excluded inline nodes that touch `match`, undecided spans first."""
    # An empty match at the edge of a node inserts next to it.
    around = match if len(match) else Span(max(match.start - 1, 0), match.end + 1)
    for span in outline.inline.undecided_in(around):
        yield _Protected(UNDECIDED, span, span, span)
    for node in outline.inline.nodes_in(around):
        yield from (part for part in _parts(node) if part.kind in kinds)


def _parts(node: InlineNode) -> Iterator[_Protected]:
    """Yield the parts of `node` that an excluded kind covers."""
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


# --- Soft line breaks in paragraphs: spaces for the search, kept on replacement

# A newline with the prefix and indentation of the next line, before more text of the paragraph.
_BREAK: Final = lazy_pattern(r"[ \t]*\n[ \t]*(?:>[ \t]*)*(?=[^\s>])")

# A hard break (CommonMark 0.31.2, section 6.7).
_HARD: Final = lazy_pattern(r"(?:  |\\)\n")

# A line that would start another block instead of continuing the paragraph.
_BLOCK_START: Final = lazy_pattern(r"(?:[-+*>]|#{1,6}|\d{1,9}[.)]|=+|-+|(?:`{3}|~{3}).*)(?:\s|$)")
_BLANK: Final = " "

# Matches a space of a pattern: spaces, or a newline with the prefix of the next line.
_BLANKS: Final = r"[ \t\n>]+"
_WRAPPED: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.HTML})


class JoinedText:
    """The view of a document with each soft break that `pattern` may match as one space.

    Only breaks in the source span `within` count.
    """

    def __init__(self, outline: Outline, within: Span, pattern: Pattern) -> None:
        view = outline.view.text
        self.breaks = _soft_breaks(outline, within, pattern)
        starts = [*(span.start for span in self.breaks), len(view)]
        ends = [0, *(span.end for span in self.breaks)]
        pieces = [view[end:start] for end, start in zip(ends, starts, strict=True)]
        self.text = _BLANK.join(pieces)
        # Characters saved after each number of breaks.
        self._shorter = [0, *accumulate(len(span) - 1 for span in self.breaks)]
        self._blanks = [span.start - less for span, less in zip(self.breaks, self._shorter, strict=False)]
        self._view = view

    def span_of_view(self, span: Span) -> Span:
        """Convert a span of the view to this text."""
        return Span(self._of_view(span.start), self._of_view(span.end))

    def span_in_view(self, span: Span) -> Span:
        """Convert a span of this text to the view."""
        return Span(self._in_view(span.start), self._in_view(span.end))

    def breaks_in(self, span: Span) -> tuple[SoftBreak, ...]:
        """Return the soft breaks in `span`, relative to its start."""
        first, stop = bisect_left(self._blanks, span.start), bisect_left(self._blanks, span.end)
        return tuple(
            SoftBreak(self._blanks[number] - span.start, self._view[line_end.start : line_end.end])
            for number, line_end in enumerate(self.breaks[first:stop], first)
        )

    def _in_view(self, offset: int) -> int:
        return offset + self._shorter[bisect_left(self._blanks, offset)]

    def _of_view(self, offset: int) -> int:
        before = bisect_right([span.end for span in self.breaks], offset)
        inside = before < len(self.breaks) and self.breaks[before].start < offset
        return self._blanks[before] + 1 if inside else offset - self._shorter[before]


def with_breaks(new_text: str, old_text: str, breaks: Sequence[SoftBreak]) -> tuple[str, SoftBreak | None]:
    """Return `new_text` with the soft breaks of `old_text` at the same, or nearest, spaces.

    Also return the first break for which no space is left.
    """
    blanks = [
        match.start()
        for match in re.finditer(_BLANK, new_text)
        if not _BLOCK_START.match(new_text, match.end())
    ]
    placed: list[tuple[int, SoftBreak]] = []
    left: SoftBreak | None = None
    free = 0
    for soft_break in breaks:
        number = min(old_text.count(_BLANK, 0, soft_break.at), len(blanks) - 1)
        if free < len(blanks):
            free = max(free, number)
            placed.append((blanks[free], soft_break))
            free += 1
        elif left is None:
            left = soft_break
    for at, soft_break in reversed(placed):
        new_text = new_text[:at] + soft_break.text + new_text[at + 1 :]
    return new_text, left


def _soft_breaks(outline: Outline, within: Span, pattern: Pattern) -> list[Span]:
    """Return the soft breaks of blocks in which `pattern` may match a break, as view spans.

    Only paragraphs, headings and HTML have soft breaks.
    """
    view = outline.view
    leaves = {
        leaf.span.start: leaf
        for lines in _wrapped(outline, within, pattern)
        for leaf in outline.tree.leaves_in(lines)
        if leaf.kind in _WRAPPED and leaf.last_line > leaf.first_line
    }
    breaks: list[Span] = []
    for start in sorted(leaves):
        lines = view.span_in_view(leaves[start].span)
        breaks += (
            Span(*match.span())
            for match in _BREAK.finditer(view.text, lines.start, lines.end)
            if not _HARD.search(view.text, max(match.start() - 1, 0), match.end())
        )
    return breaks


def _wrapped(outline: Outline, within: Span, pattern: Pattern) -> Iterator[Span]:
    """Yield source spans in which `pattern` may match across lines; for a regex, all of `within`.

    Searching for the words of a literal first saves parsing blocks, the costly part.
    """
    if pattern.match_type is MatchType.REGEX or not pattern.case_sensitive:
        yield within
        return
    view = outline.view
    words = map(re.escape, re.split(" +", pattern.text))
    over_lines = re.compile(_BLANKS.join(words))
    area = view.span_in_view(within)
    at = area.start
    while match := over_lines.search(view.text, at, area.end):
        if "\n" in match[0]:
            yield view.span_in_text(Span(*match.span()))
        # Matches may overlap.
        at = match.start() + 1


# --- Diagnostics for unusable patterns

_PROBLEMS: Final = {
    PatternFailure.INVALID: (
        Code.INVALID_REGEX,
        "put a backslash before a character that means itself, or search for literal text",
    ),
    PatternFailure.TIMEOUT: (
        Code.REGEX_TIMEOUT,
        say("avoid nested repetition or look in less text, or raise {--max-regex-seconds}"),
    ),
    PatternFailure.TOO_MANY: (Code.BATCH_TOO_LARGE, "use a longer pattern, or look in less text"),
}


def pattern_problem(problem: PatternProblem) -> Diagnostic:
    """Return INVALID_REGEX, REGEX_TIMEOUT or BATCH_TOO_LARGE for `problem`."""
    code, hint = _PROBLEMS[problem.failure]
    return code.problem(f"the pattern cannot be used: {problem.reason}", hint)
