"""Places of a document that links can point to, and how GitHub compares a link with them."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from mdplan.markdown.anchors import Anchor
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.html_attributes import HtmlAttribute, html_attributes
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.text.span import Span

_ALWAYS: Final = frozenset({"", "top"})
_TEXT_FRAGMENT: Final = ":~:"
_WITH_ATTRIBUTE: Final = re.compile(r"<[A-Za-z][^<>]*=")


def find_anchors(outline: Outline) -> tuple[Anchor, ...]:
    """Anchors in document order: generated from headings, and explicit ids (of links also names) in HTML."""
    lines = outline.source.lines
    found = [
        (section.span.start, Anchor(section.anchor, section.first_line, explicit=False))
        for section in outline.every_section()
        if section.anchor
    ]
    found += (
        (span.start, Anchor(anchor, lines.line_at(span.start), explicit=True))
        for anchor, span in explicit_anchors(outline)
    )
    return tuple(anchor for _, anchor in sorted(found, key=lambda place: place[0]))


def explicit_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    """Anchors that HTML names, in document order, each with the place of its name."""
    found = {
        attribute.value_span: attribute.value
        for attribute in attributes_in(outline, whole(outline))
        if attribute.value and (attribute.name == "id" or (attribute.name, attribute.tag) == ("name", "a"))
    }
    return tuple((found[span], span) for span in sorted(found))


def resolvable_targets(outline: Outline) -> frozenset[str]:
    """Every anchor of the document, as `target_key` writes it."""
    return frozenset(target_key(anchor.id) for anchor in find_anchors(outline))


def target_key(fragment: str) -> str:
    """`fragment` (without ``#``) as GitHub compares it: percent-decoded, without case and its own prefix."""
    return unquote(fragment).lower().removeprefix("user-content-")


def is_resolved(fragment: str, targets: frozenset[str]) -> bool:
    """Whether `fragment` (without ``#``) is one of `targets`, or a place that every page has.

    The top of a page is the empty fragment or ``top`` (HTML standard, section 7.4.6.4); a text fragment
    (``:~:text=…``) is for the browser to find.
    """
    key = target_key(fragment)
    return key in targets or key in _ALWAYS or key.startswith(_TEXT_FRAGMENT)


def attributes_in(outline: Outline, span: Span) -> Iterator[HtmlAttribute]:
    """Attributes with values of the HTML tags that share a code point with `span`, those of blocks first.

    Of a block of HTML, they are those of all its tags.
    """
    text = outline.source.text
    for block in outline.tree.leaves_in(span):
        if block.kind is BlockKind.HTML:
            yield from html_attributes(text, block.span)
    for node in nodes_near(outline, span, _WITH_ATTRIBUTE):
        if node.kind is InlineKind.HTML:
            yield from html_attributes(text, node.span)


def nodes_near(outline: Outline, span: Span, mark: re.Pattern[str]) -> Iterator[InlineNode]:
    """Inline nodes that share a code point with `span`, in document order, of blocks that hold `mark`.

    Inline parsing is the costly part of a document, and most blocks do not hold what a question is about.
    """
    text = outline.source.text
    for block in outline.tree.leaves_in(span):
        if mark.search(text, block.span.start, block.span.end):
            area = Span(max(block.span.start, span.start), min(block.span.end, span.end))
            yield from outline.inline.nodes_in(area)


def whole(outline: Outline) -> Span:
    """Span of the whole text."""
    return Span(0, len(outline.source.text))
