"""Links of a document: counts by kind, local links, labels and definitions."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from mdplan.markdown.blocks import INLINE_KINDS, BlockKind
from mdplan.markdown.inline_node import InlineKind, InlineNode, normalized_label
from mdplan.markdown.outline import Outline
from mdplan.markdown.targets import (
    attributes_in,
    is_resolved,
    nodes_near,
    percent_decoded,
    resolvable_targets,
    whole,
)
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

_FOOTNOTE: Final = lazy_pattern(r"\[\^(?P<label>[^\s\[\]^]+)\]")

# Every link contains one of these (CommonMark 6.3 to 6.5, GFM 6.9).
_LINK_SIGN: Final = lazy_pattern(r"[\[<@]|://|www\.|(?:mailto|xmpp):", re.IGNORECASE)

# The start of a destination that is a fragment, perhaps after unescaping.
_OWN_FRAGMENT: Final = lazy_pattern(r"(?:\]\(|\]:|\[\[)[\s>]*<?[#&\\]")
_LABEL_END: Final = lazy_pattern(r"\]:")
_BRACKET: Final = lazy_pattern(r"\]")
_IN_BRACKETS: Final = lazy_pattern(r"\[((?:[^\[\]\\]|\\.)++)\](?!\[[^\]])", re.DOTALL)
_LINE_BREAK: Final = lazy_pattern(r"[\r\n]+[ \t>]*")
_LABELLED: Final = frozenset({InlineKind.LINK, InlineKind.IMAGE})
_DEFINITION_KINDS: Final = frozenset({InlineKind.DEFINITION, InlineKind.FOOTNOTE_DEFINITION})
_COUNTED: Final = {
    InlineKind.IMAGE: "image",
    InlineKind.AUTOLINK: "autolink",
    InlineKind.WIKI_LINK: "wiki",
    InlineKind.FOOTNOTE_REFERENCE: "footnote",
}
_FOOTNOTE_KINDS: Final = frozenset({InlineKind.FOOTNOTE_REFERENCE, InlineKind.FOOTNOTE_DEFINITION})


class LocalLink(Struct, kw_only=True):
    """A link to an anchor or footnote of the same document, on the 1-based `line`.

    `target` is the parsed ``#fragment`` or ``[^label]``; `span` is what a rewrite would replace: the
    destination as written or the footnote label.
    """

    line: int
    target: str
    span: Span
    resolves: bool


class ReferenceUse(Struct, kw_only=True):
    """A link or image that uses a reference. `label` is normalized, `span` the label without brackets."""

    line: int
    label: str
    span: Span


LINK_KINDS: Final = ("inline", "reference", "autolink", "image", "wiki", "footnote", "html")


def count_links(outline: Outline, span: Span | None = None) -> dict[str, int]:
    """Count the links that overlap `span`, by kind as in `LINK_KINDS`; all links by default.

    Images count only as images, even by reference. `html` counts ``<a href>``, `footnote` the references with
    a definition.
    """
    area = whole(outline) if span is None else span
    kinds = Counter(_kind_of(node) for node in nodes_near(outline, area, _LINK_SIGN))
    kinds["html"] = sum((found.tag, found.name) == ("a", "href") for found in attributes_in(outline, area))
    return {kind: kinds[kind] for kind in LINK_KINDS}


def local_links(outline: Outline, spans: Sequence[Span] | None = None) -> tuple[LocalLink, ...]:
    """Return the links into the same document that overlap `spans` (default: all), in order.

    These are links, definitions, wiki links and HTML links to fragments, and footnote references, even
    undefined ones. A definition counts once, however many links use it.
    """
    areas = [whole(outline)] if spans is None else spans
    line_at = outline.source.lines.line_at
    links = {link.span: link for link in footnote_links(outline, areas)}
    fragments = [fragment for area in areas for fragment in _fragments(outline, area)]
    targets = resolvable_targets(outline) if fragments else frozenset()
    for href, span, is_wiki in fragments:
        fragment = href.rpartition("#")[2] if is_wiki else href[1:]
        resolves = is_resolved(fragment, targets, is_wiki=is_wiki)
        links[span] = LocalLink(line=line_at(span.start), target=href, span=span, resolves=resolves)
    return tuple(links[span] for span in sorted(links))


def footnote_links(outline: Outline, spans: Sequence[Span] | None = None) -> tuple[LocalLink, ...]:
    """Return the footnote references that overlap `spans` (default: all), in order."""
    areas = [whole(outline)] if spans is None else spans
    nodes = (node for area in areas for node in nodes_near(outline, area, _FOOTNOTE))
    resolved = {
        node.label: True
        for node in nodes
        if node.kind is InlineKind.FOOTNOTE_REFERENCE and node.label is not None
    }
    unread = [label for area in areas for label in _unread_footnotes(outline, area)]
    defined = all_definitions(outline) if unread else {}
    resolved |= {label: "^" + normalized(outline, label) in defined for label in unread}
    line_at = outline.source.lines.line_at
    return tuple(
        LocalLink(
            line=line_at(label.start),
            target=f"[^{outline.text_of(label)}]",
            span=label,
            resolves=resolved[label],
        )
        for label in sorted(resolved)
    )


class Definition(Struct, kw_only=True):
    """A link reference definition: `text` as one line of Markdown, `href` parsed, `label` as written."""

    label: str
    text: str
    href: str
    span: Span

    def with_label(self, label: str | None) -> str:
        """Return the text of the definition, optionally with another label."""
        return self.text if label is None else f"[{label}]{self.text.removeprefix(f'[{self.label}]')}"


def definitions(outline: Outline) -> dict[str, Definition]:
    """Return the definitions by normalized label; the first one wins (CommonMark 0.31.2, section 4.7)."""
    by_label: dict[str, Definition] = {}
    for node in nodes_near(outline, whole(outline), _LABEL_END):
        if node.kind is InlineKind.DEFINITION and node.label and node.destination:
            title = f" {_one_line(outline, node.title)}" if node.title else ""
            label, destination = _one_line(outline, node.label), outline.text_of(node.destination)
            by_label.setdefault(
                normalized(outline, node.label),
                Definition(
                    label=label, text=f"[{label}]: {destination}{title}", href=node.href, span=node.span
                ),
            )
    return by_label


def footnotes(outline: Outline) -> dict[str, Span]:
    """Return the lines of each top-level footnote by normalized label; the first one wins."""
    line_at = outline.source.lines.line_at
    blocks = {
        block.first_line: block for block in outline.tree.of_kinds(BlockKind.FOOTNOTE) if not block.depth
    }
    by_label: dict[str, Span] = {}
    for node in nodes_near(outline, whole(outline), _LABEL_END) if blocks else ():
        block = blocks.get(line_at(node.span.start))
        if node.kind is InlineKind.FOOTNOTE_DEFINITION and node.label is not None and block is not None:
            by_label.setdefault(normalized(outline, node.label), block.span)
    return by_label


def footnote_labels(outline: Outline, span: Span) -> Iterator[tuple[str, Span]]:
    """Yield normalized label and span of the footnotes that `span` refers to or defines."""
    for node in nodes_near(outline, span, _FOOTNOTE):
        if node.kind in _FOOTNOTE_KINDS and node.label is not None:
            yield normalized(outline, node.label), node.label


def _one_line(outline: Outline, span: Span) -> str:
    return _LINE_BREAK.sub(" ", outline.text_of(span))


def reference_uses(
    outline: Outline, span: Span | None = None, kinds: frozenset[InlineKind] = _LABELLED
) -> tuple[ReferenceUse, ...]:
    """Return links and images with a defined label that overlap `span` (default: all), in order."""
    line_at = outline.source.lines.line_at
    return tuple(
        ReferenceUse(
            line=line_at(node.label.start), label=_marked_label(outline, node, node.label), span=node.label
        )
        for node in nodes_near(outline, whole(outline) if span is None else span, _BRACKET)
        if node.kind in kinds and node.label is not None
    )


def undefined_uses(outline: Outline, labels: Collection[str]) -> Iterator[ReferenceUse]:
    """Yield bracketed texts that a definition of one of the normalized `labels` would turn into links."""
    line_at = outline.source.lines.line_at
    wanted = frozenset(labels) - all_definitions(outline).keys()
    for match in _IN_BRACKETS.finditer(outline.source.text, outline.body_start) if wanted else ():
        span = Span(*match.span(1))
        label = normalized(outline, span)
        if label in wanted and is_undefined(outline, span):
            yield ReferenceUse(line=line_at(span.start), label=label, span=span)


def is_undefined(outline: Outline, label: Span) -> bool:
    """Return True if the bracketed `label` would be a link if it were defined."""
    text = outline.source.text
    written = normalized(outline, label)
    block = outline.tree.leaf_at(label.start)
    if not written or written.startswith("^") or block is None or block.kind not in INLINE_KINDS:
        return False
    nodes = outline.inline.nodes_in(label)
    is_linked = any(node.kind in _LABELLED and label in (node.label, node.text) for node in nodes)
    others = (node.span for node in nodes if node.kind not in _LABELLED)
    is_inside = any(span.start < label.start and label.end < span.end for span in others)
    return not is_linked and not is_inside and not text[: label.start - 1].endswith("\\")


def label_uses(outline: Outline) -> tuple[ReferenceUse, ...]:
    """Return all links, images and footnotes with a label, as in `all_definitions`, in order."""
    return reference_uses(outline, None, _LABELLED | {InlineKind.FOOTNOTE_REFERENCE})


def _marked_label(outline: Outline, node: InlineNode, label: Span) -> str:
    """Return the normalized `label` of `node`, with ``^`` for footnotes."""
    return ("^" if node.kind in _FOOTNOTE_KINDS else "") + normalized(outline, label)


def first_definitions(outline: Outline) -> dict[str, Span]:
    """Return the effective definition of each label, as in `all_definitions`."""
    return {label: spans[0] for label, spans in all_definitions(outline).items()}


def all_definitions(outline: Outline) -> dict[str, list[Span]]:
    """Return the spans of all definitions by normalized label, in order; of footnotes, the first line.

    Footnote labels start with ``^``.
    """
    by_label: dict[str, list[Span]] = {}
    lines = outline.source.lines
    for node in nodes_near(outline, whole(outline), _LABEL_END):
        if node.label is None or node.kind not in _DEFINITION_KINDS:
            continue
        is_footnote = node.kind is InlineKind.FOOTNOTE_DEFINITION
        line = Span(node.span.start, lines.content_end(lines.line_at(node.span.start)))
        label = _marked_label(outline, node, node.label)
        by_label.setdefault(label, []).append(line if is_footnote else node.span)
    return by_label


def relabelling(outline: Outline, span: Span, new_labels: Mapping[str, str]) -> Iterator[TextEdit]:
    """Yield edits of `span` that rename labels of links, images, footnotes and definitions.

    `new_labels` is keyed as in `all_definitions`. Links keep their text, even if it was also the label.
    """
    for node in nodes_near(outline, span, _BRACKET):
        if node.label is None:
            continue
        new = new_labels.get(_marked_label(outline, node, node.label))
        if new is None:
            continue
        if node.kind in _LABELLED and node.label == node.text:
            is_collapsed = outline.source.text.endswith("[]", node.span.start, node.span.end)
            yield TextEdit.insert(node.span.end - is_collapsed, new if is_collapsed else f"[{new}]")
        else:
            yield TextEdit(node.label, new)


def _kind_of(node: InlineNode) -> str | None:
    """Return the kind of link that `node` is, or None if it is no link."""
    if node.kind is InlineKind.LINK:
        return "inline" if node.label is None else "reference"
    return _COUNTED.get(node.kind)


def _fragments(outline: Outline, area: Span) -> Iterator[tuple[str, Span, bool]]:
    """Yield destinations that start with ``#``, their spans, and True for wiki links."""
    for node in nodes_near(outline, area, _OWN_FRAGMENT):
        if node.kind is not InlineKind.IMAGE and node.destination and node.href.startswith("#"):
            is_wiki = node.kind is InlineKind.WIKI_LINK
            href = percent_decoded(node.href) if outline.slugs.is_vault and not is_wiki else node.href
            yield href, node.destination, is_wiki or outline.slugs.is_vault
    for attribute in attributes_in(outline, area):
        if attribute.tag == "a" and attribute.name == "href" and attribute.value.startswith("#"):
            yield attribute.value, attribute.value_span, False


def _unread_footnotes(outline: Outline, area: Span) -> Iterator[Span]:
    """Yield labels of apparent footnote references that the parser reads as text.

    The parser compares labels case-sensitively; GitHub does not.
    """
    text = outline.source.text
    matches = _FOOTNOTE.finditer(text, area.start, area.end)
    for block, group in groupby(matches, lambda match: outline.tree.leaf_at(match.start())):
        if block is None or block.kind not in INLINE_KINDS:
            continue
        taken = _not_text(outline, block.span)
        for match in group:
            after = bisect_right(taken, match.start(), key=lambda span: span.end)
            is_text = after == len(taken) or taken[after].start >= match.end()
            if is_text and text[max(match.start() - 1, 0) : match.start()] != "\\":
                yield Span(*match.span("label"))


def _not_text(outline: Outline, block: Span) -> list[Span]:
    """Return the sorted, disjoint spans of `block` that are not plain text; link text is plain."""
    nodes = outline.inline.nodes_in(block)
    spans = list(outline.inline.undecided_in(block))
    for node in nodes:
        spans += (node.span,) if node.kind is InlineKind.IMAGE else node.outside_of_text
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def normalized(outline: Outline, label: Span) -> str:
    """Return `label` normalized (CommonMark 0.31.2, 4.7), without container prefixes."""
    # In a table the backslash of an escaped pipe is not part of the label; ignore it everywhere.
    written = _LINE_BREAK.sub(" ", outline.text_of(label)).replace("\\|", "|")
    return normalized_label(written)
