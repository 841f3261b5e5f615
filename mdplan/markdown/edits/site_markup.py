"""Text that site generators and browsers read as code, and Markdown as text: templates, math, MDX."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind
from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.markdown.inline.inline_node import InlineKind
from mdplan.markdown.outline.outline import Outline
from mdplan.text.lines import Span

SITE_KINDS: Final = frozenset({NodeKind.TEMPLATES, NodeKind.MATH, NodeKind.MDX})
_SIGNS: Final = {
    NodeKind.TEMPLATES: re.compile(r"\{\{|\{%"),
    NodeKind.MATH: re.compile(r"\$"),
    NodeKind.MDX: re.compile(r"\{|^(?:import|export)\b", re.MULTILINE),
}
_CLOSING: Final = {"{{": "}}", "{%": "%}"}
# Pandoc manual, "Math", and GitHub: no blanks inside single marks, and no letters outside.
_MATH: Final = re.compile(
    r"(?<![\\$\w])\$\$(?P<display>[^$]++)\$\$|(?<![\\$\w])\$(?=[^\s$])[^$\n\r]*+(?<=[^\s\\])\$(?![\w$])"
)
# MDX documentation, "ESM": a paragraph that begins so.
_MODULE: Final = re.compile(
    r"import\b[^\n\r]*?(?:from[ \t]+)?[\"'][^\"'\n\r]+[\"']"
    r"|export[ \t]+(?:default|const|let|var|function|async|class|\{|\*)"
)
_MODULE_LINE: Final = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_EXPRESSION: Final = re.compile(r"\{[^{}]*+\}")
_LEAVES: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE, BlockKind.HTML})


def site_markup(outline: Outline, span: Span, kinds: frozenset[NodeKind]) -> Iterator[tuple[NodeKind, Span]]:
    """Pieces of such markup of `kinds` that touch `span`, with their delimiters."""
    for block in outline.tree.leaves_in(span):
        if block.kind not in _LEAVES:
            continue
        for kind in kinds & SITE_KINDS:
            pieces = outline.derived(_pieces_of, block, kind)
            at = bisect_left(pieces, span.start, key=lambda piece: piece.end)
            while at < len(pieces) and pieces[at].start <= span.end:
                yield kind, pieces[at]
                at += 1


def _pieces_of(outline: Outline, block: Block, kind: NodeKind) -> tuple[Span, ...]:
    """Pieces of `kind` in `block`, in order and apart from each other."""
    has_sign = _SIGNS[kind].search(outline.source.text, *_bounds(block))
    return tuple(_PIECES[kind](outline, block)) if has_sign else ()


def _templates(outline: Outline, block: Block) -> Iterator[Span]:
    text, at, end = outline.source.text, block.span.start, block.span.end
    while (found := _SIGNS[NodeKind.TEMPLATES].search(text, at, end)) is not None:
        close = text.find(_CLOSING[found[0]], found.end(), end)
        if close < 0:
            return
        at = close + 2
        yield Span(found.start(), at)


def _math(outline: Outline, block: Block) -> Iterator[Span]:
    code = [node.span for node in outline.inline.nodes_in(block.span) if node.kind is InlineKind.CODE]
    for found in _MATH.finditer(outline.source.text, block.span.start, block.span.end):
        piece = Span(*found.span())
        if not any(each.overlaps(piece) and not piece.contains(each) for each in code):
            yield piece


def _mdx(outline: Outline, block: Block) -> Iterator[Span]:
    """A paragraph of modules; expressions, in a document that has such a paragraph."""
    text = outline.source.text
    if block.kind is BlockKind.PARAGRAPH and not block.depth and _MODULE.match(text, block.span.start):
        yield block.span
    elif (found := [*_EXPRESSION.finditer(text, *_bounds(block))]) and _is_mdx(outline):
        yield from (Span(*each.span()) for each in found)


def _bounds(block: Block) -> tuple[int, int]:
    return block.span.start, block.span.end


def _is_mdx(outline: Outline) -> bool:
    """Whether its name says so, or the first paragraphs import or export modules, or a comment is of MDX."""
    text = outline.source.text
    if outline.is_mdx or "{/*" in text:
        return True
    found = _MODULE_LINE.search(text, outline.body_start)
    at = found.start() if found else 0
    leaf = outline.tree.leaf_at(at) if found else None
    return bool(
        leaf and leaf.kind is BlockKind.PARAGRAPH and leaf.span.start == at and _MODULE.match(text, at)
    )


_PIECES: Final = {NodeKind.TEMPLATES: _templates, NodeKind.MATH: _math, NodeKind.MDX: _mdx}
