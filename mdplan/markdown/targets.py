"""Places of a document that links can point to, and how GitHub compares a link with them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import GITHUB_PREFIX, Anchor, anchors_without_html, title_span
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span

if TYPE_CHECKING:
    from mdplan.markdown.html import HtmlAttribute


_ALWAYS: Final = frozenset({"", "top"})

_TEXT_FRAGMENT: Final = ":~:"

# What a tag can hold: line ends with what containers put before the next line, and quoted text.
_IN_TAG: Final = r"""(?:[^<>"'\r\n]|[\r\n][ \t>]*+|"[^"]*+"|'[^']*+')*?"""

# Without one of these no tag names an anchor.
_ANCHOR_SIGN: Final = lazy_pattern(r"(?:id|name)\s*=", re.IGNORECASE)


def find_anchors(outline: Outline) -> tuple[Anchor, ...]:
    """Anchors in document order: generated from headings, and explicit ids (of links also names) in HTML."""
    lines = outline.source.lines
    found = [
        (section.heading_start, Anchor(section.anchor, section.heading_line, explicit=False))
        for section in outline.every_section()
        if section.anchor
    ]
    found += (
        (span.start, Anchor(anchor, lines.line_at(span.start), explicit=True))
        for anchor, span in explicit_anchors(outline)
    )
    return tuple(anchor for _, anchor in sorted(found, key=lambda place: place[0]))


def explicit_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    """Anchors that HTML or a label above a heading names, in document order, each with its place."""
    return outline.derived(_explicit_anchors)


def _explicit_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    text = outline.source.text
    mark = with_anchor() if "<" in text and _ANCHOR_SIGN.search(text) else None
    found = {
        attribute.value_span: attribute.value
        for attribute in (attributes_in(outline, whole(outline), mark) if mark else ())
        if attribute.value and (attribute.name == "id" or (attribute.name, attribute.tag) == ("name", "a"))
    }
    for lead in outline.lead_spans:
        for anchor, place in anchors_without_html(outline.text_of(lead)):
            found[Span(lead.start + place.start, lead.start + place.end)] = anchor
    return tuple((found[span], span) for span in sorted(found))


def resolvable_targets(outline: Outline) -> frozenset[str]:
    """Every anchor of the document, as `target_key` writes it."""
    return frozenset(target_key(anchor.id) for anchor in find_anchors(outline))


def target_key(fragment: str) -> str:
    """`fragment` (without ``#``) as GitHub compares it: percent-decoded, without case and its own prefix."""
    return percent_decoded(fragment).lower().removeprefix(GITHUB_PREFIX)


def percent_decoded(text: str, errors: str = "replace") -> str:
    """`text` with its percent-encoded bytes as the UTF-8 that they are; `errors` says what of other bytes."""
    if "%" not in text:
        return text
    # Most documents have none, and this takes longer to load than they take to be read.
    from urllib.parse import unquote

    return unquote(text, errors=errors)


def is_resolved(fragment: str, targets: frozenset[str]) -> bool:
    """Whether `fragment` (without ``#``) is one of `targets`, or a place that every page has.

    The top of a page is the empty fragment or ``top`` (HTML standard, section 7.4.6.4); a text fragment
    (``:~:text=…``) is for the browser to find.
    """
    key = target_key(fragment)
    return key in targets or key in _ALWAYS or key.startswith(_TEXT_FRAGMENT)


@cache
def with_anchor() -> re.Pattern[str]:
    """Tags that may have an attribute which names an anchor."""
    return re.compile(rf"<[A-Za-z]{_IN_TAG}\b(?:id|name)\s*=", re.IGNORECASE)


@cache
def _with_attribute() -> re.Pattern[str]:
    return re.compile(rf"<[A-Za-z]{_IN_TAG}=")


def attributes_in(
    outline: Outline, span: Span, mark: re.Pattern[str] | None = None
) -> "Iterator[HtmlAttribute]":
    """Attributes with values of the HTML tags that share a code point with `span`.

    Of a block of HTML, they are those of all its tags. Only blocks that hold `mark` are examined, which is
    that of a tag with an attribute if none is given.
    """
    text, mark = outline.source.text, mark or _with_attribute()
    for block in leaves_containing(outline, span, mark):
        # Loaded where there is a tag.
        from mdplan.markdown.html import html_attributes

        if block.kind is BlockKind.HTML:
            yield from html_attributes(text, block.span)
            continue
        for node in _nodes_of(outline, block, span):
            if node.kind is InlineKind.HTML:
                yield from html_attributes(text, node.span)


def nodes_near(outline: Outline, span: Span, mark: re.Pattern[str]) -> Iterator[InlineNode]:
    """Inline nodes that share a code point with `span`, in document order, of blocks that hold `mark`."""
    for block in leaves_containing(outline, span, mark):
        yield from _nodes_of(outline, block, span)


def _nodes_of(outline: Outline, block: Block, span: Span) -> tuple[InlineNode, ...]:
    area = Span(max(block.span.start, span.start), min(block.span.end, span.end))
    return outline.inline.nodes_in(area)


def leaves_containing(outline: Outline, span: Span, mark: re.Pattern[str]) -> Iterator[Block]:
    """Leaf blocks that share a code point with `span` and hold `mark`, or its beginning, in document order.

    Blocks and their inline content are the costly part of a document, and most blocks do not hold what a
    question is about: so the text is searched first.
    """
    text, tree = outline.source.text, outline.tree
    first = tree.leaf_at(span.start) if span.start else None
    last = tree.leaf_at(max(span.start, span.end - 1)) if span.end < len(text) else None
    at = min(first.span.start, span.start) if first else span.start
    end = max(last.span.end, span.end) if last else span.end
    while (found := mark.search(text, at, end)) is not None:
        block = tree.leaf_at(found.start())
        at = max(block.span.end, found.start() + 1) if block else found.start() + 1
        if block and block.span.overlaps(span):
            yield block


def whole(outline: Outline) -> Span:
    """Span of the whole text."""
    return Span(0, len(outline.source.text))


# --- Anchors that HTML within a heading names: ``## Odd <a id="notes"></a>``.

_ANCHOR_NAMES: Final = frozenset({"id", "name"})


def with_kept_anchors(outline: Outline, heading: Block, title: str) -> str:
    """`title` with the inline anchors of `heading`, each at its side of the text.

    They are ``<a id="…"></a>`` and ``<a name="…"></a>``, also around the text. A `title` with an anchor of
    its own is returned as it is.
    """
    if "<" not in heading.content or with_anchor().search(title):
        return title
    span = title_span(outline.source, heading)
    if span is None:
        return title
    named = [
        attribute.value_span.start
        for attribute in attributes_in(outline, span, with_anchor())
        if attribute.tag == "a" and attribute.name in _ANCHOR_NAMES and span.contains(attribute.value_span)
    ]
    text = outline.text_of(span)
    tags = [
        found
        for found in _anchor_elements().finditer(text)
        if any(found.start("tag") < place - span.start < found.end("tag") for place in named)
    ]
    if len(tags) == 1 and tags[0]["text"].strip() and tags[0].span() == (0, len(text)):
        return f"{tags[0]['tag']}{title}</a>"
    before = "".join(f"{found['tag']}</a>" for found in tags if not text[: found.start()].strip())
    after = "".join(f"{found['tag']}</a>" for found in tags if text[: found.start()].strip())
    # The blank between an anchor and the text is a part of the generated anchor of the heading.
    gap = " " if tags and before and text[tags[0].end() :][:1].isspace() else ""
    return f"{before}{gap}{title}{' ' if after else ''}{after}"


@cache
def _anchor_elements() -> re.Pattern[str]:
    return re.compile(
        r"""(?P<tag><a\b(?:[^<>"']|"[^"]*+"|'[^']*+')*+>)(?P<text>(?:(?!<a\b).)*?)</a[ \t]*>""",
        re.IGNORECASE | re.DOTALL,
    )
