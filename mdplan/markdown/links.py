"""Links of a document: their kinds, those that point into the document itself, and the labels they use."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Final

from mdplan.markdown.blocks import INLINE_KINDS, BlockKind
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.inline_node import InlineKind, InlineNode, normalized_label
from mdplan.markdown.outline import Outline
from mdplan.markdown.targets import attributes_in, is_resolved, nodes_near, resolvable_targets, whole
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span

_FOOTNOTE: Final = lazy_pattern(r"\[\^(?P<label>[^\s\[\]^]+)\]")

# Without one of these no text is a link (CommonMark 6.3 to 6.5, GFM 6.9).
_LINK_SIGN: Final = lazy_pattern(r"[\[<@]|://|www\.|(?:mailto|xmpp):", re.IGNORECASE)

# Where a destination may begin that is a fragment, or becomes one when escapes and entities are resolved.
_OWN_FRAGMENT: Final = lazy_pattern(r"(?:\]\(|\]:|\[\[)[\s>]*<?[#&\\]")

_LABEL_END: Final = lazy_pattern(r"\]:")

_BRACKET: Final = lazy_pattern(r"\]")

_LINE_BREAK: Final = lazy_pattern(r"[\r\n]+[ \t>]*")

_LABELLED: Final = frozenset({InlineKind.LINK, InlineKind.IMAGE})

_FOOTNOTE_KINDS: Final = frozenset({InlineKind.FOOTNOTE_REFERENCE, InlineKind.FOOTNOTE_DEFINITION})


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLink:
    """A link from a document into itself: to an anchor, or to a footnote.

    `target` is ``#fragment`` as the parser understood it, or ``[^label]``. `span` is what would be rewritten:
    the destination as written, or the label of the footnote. `line` is that of its start, 1-based.
    """

    line: int
    target: str
    span: Span
    resolves: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceUse:
    """A link or image by label. `label` is normalized, `span` is the label as written without brackets."""

    line: int
    label: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCount:
    """Links by kind. An image counts as an image alone, however its destination is written.

    `html` counts ``<a href>``; `footnote` the references that have a definition.
    """

    inline: int = 0
    reference: int = 0
    autolink: int = 0
    image: int = 0
    wiki: int = 0
    footnote: int = 0
    html: int = 0


def count_links(outline: Outline, span: Span | None = None) -> LinkCount:
    """Links that share a code point with `span`, or all."""
    area = whole(outline) if span is None else span
    kinds = Counter(_kind_of(node) for node in nodes_near(outline, area, _LINK_SIGN))
    kinds["html"] = sum((each.tag, each.name) == ("a", "href") for each in attributes_in(outline, area))
    return LinkCount(**{kind.name: kinds[kind.name] for kind in fields(LinkCount)})


def local_links(outline: Outline, spans: Sequence[Span] | None = None) -> tuple[LocalLink, ...]:
    """Links of the document into itself that share a code point with one of `spans`, or all; in order.

    They are links, definitions, wiki links and HTML links whose destination is a fragment, and footnote
    references, those without a definition too. A definition counts once, and not each link that uses it.
    """
    areas = [whole(outline)] if spans is None else spans
    line_at = outline.source.lines.line_at
    found = {link.span: link for link in footnote_links(outline, areas)}
    fragments = [fragment for area in areas for fragment in _fragments(outline, area)]
    targets = resolvable_targets(outline) if fragments else frozenset()
    for href, place, is_wiki in fragments:
        resolves = is_resolved(href[1:], targets) or (is_wiki and _names_heading(href, targets))
        found[place] = LocalLink(line=line_at(place.start), target=href, span=place, resolves=resolves)
    return tuple(found[place] for place in sorted(found))


def footnote_links(outline: Outline, spans: Sequence[Span] | None = None) -> tuple[LocalLink, ...]:
    """Footnote references that share a code point with one of `spans`, or all; in document order."""
    areas = [whole(outline)] if spans is None else spans
    line_at = outline.source.lines.line_at
    found = {
        place: LocalLink(line=line_at(place.start), target=f"[^{label}]", span=place, resolves=resolves)
        for label, place, resolves in _footnotes(outline, areas)
    }
    return tuple(found[place] for place in sorted(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A link reference definition. `text` is one line of Markdown, `href` the destination as understood.

    `label` is as written.
    """

    label: str
    text: str
    href: str
    span: Span

    def with_label(self, label: str | None) -> str:
        """Its text with another label, if one is given."""
        return self.text if label is None else f"[{label}]{self.text.removeprefix(f'[{self.label}]')}"


def definitions(outline: Outline) -> dict[str, Definition]:
    """The definition of each label, normalized; the first counts (CommonMark 0.31.2, section 4.7)."""
    found: dict[str, Definition] = {}
    for node in nodes_near(outline, whole(outline), _LABEL_END):
        if node.kind is InlineKind.DEFINITION and node.label and node.destination:
            title = f" {_one_line(outline, node.title)}" if node.title else ""
            label, destination = _one_line(outline, node.label), outline.text_of(node.destination)
            found.setdefault(
                normalized(outline, node.label),
                Definition(
                    label=label, text=f"[{label}]: {destination}{title}", href=node.href, span=node.span
                ),
            )
    return found


def footnotes(outline: Outline) -> dict[str, Span]:
    """The whole lines of each footnote at top level, by its label, normalized; the first counts."""
    line_at = outline.source.lines.line_at
    blocks = {
        block.first_line: block for block in outline.tree.of_kinds(BlockKind.FOOTNOTE) if not block.depth
    }
    found: dict[str, Span] = {}
    for node in nodes_near(outline, whole(outline), _LABEL_END) if blocks else ():
        block = blocks.get(line_at(node.span.start))
        if node.kind is InlineKind.FOOTNOTE_DEFINITION and node.label is not None and block is not None:
            found.setdefault(normalized(outline, node.label), block.span)
    return found


def footnote_labels(outline: Outline, span: Span) -> Iterator[tuple[str, Span]]:
    """Labels, normalized, of the footnotes that `span` refers to or defines, and their places, in order."""
    for node in nodes_near(outline, span, _FOOTNOTE):
        if node.kind in _FOOTNOTE_KINDS and node.label is not None:
            yield normalized(outline, node.label), node.label


def _one_line(outline: Outline, span: Span) -> str:
    return _LINE_BREAK.sub(" ", outline.text_of(span))


def reference_uses(outline: Outline, span: Span | None = None) -> tuple[ReferenceUse, ...]:
    """Links and images by a defined label that share a code point with `span`, or all, in document order."""
    return tuple(
        ReferenceUse(
            line=outline.source.lines.line_at(node.label.start),
            label=normalized(outline, node.label),
            span=node.label,
        )
        for node in nodes_near(outline, whole(outline) if span is None else span, _BRACKET)
        if node.kind in _LABELLED and node.label is not None
    )


def first_definitions(outline: Outline) -> dict[str, Span]:
    """The definition that counts for each label, by normalized label."""
    return {label: spans[0] for label, spans in all_definitions(outline).items()}


def all_definitions(outline: Outline) -> dict[str, list[Span]]:
    """Where the definitions of each label are, in order: of a link its block, of a footnote its line.

    Labels of footnotes begin with ``^``; all are normalized.
    """
    found: dict[str, list[Span]] = {}
    lines = outline.source.lines
    for node in nodes_near(outline, whole(outline), _LABEL_END):
        if node.label is None:
            continue
        if node.kind is InlineKind.DEFINITION:
            found.setdefault(normalized(outline, node.label), []).append(node.span)
        elif node.kind is InlineKind.FOOTNOTE_DEFINITION:
            line = Span(node.span.start, lines.content_end(lines.line_at(node.span.start)))
            found.setdefault("^" + normalized(outline, node.label), []).append(line)
    return found


def label_uses(outline: Outline) -> Iterator[ReferenceUse]:
    """Links, images and footnotes by a label, as `first_definitions` writes these, in document order."""
    for node in nodes_near(outline, whole(outline), _BRACKET):
        if node.label is not None and node.kind in {*_LABELLED, InlineKind.FOOTNOTE_REFERENCE}:
            mark = "^" if node.kind is InlineKind.FOOTNOTE_REFERENCE else ""
            line = outline.source.lines.line_at(node.label.start)
            yield ReferenceUse(line=line, label=mark + normalized(outline, node.label), span=node.label)


def relabelling(outline: Outline, span: Span, new_labels: Mapping[str, str]) -> Iterator[TextEdit]:
    """Edits of `span` that give `new_labels` to links, images, footnotes and definitions.

    They are by the old ones, as `all_definitions` writes these. A link keeps its text, also where that was
    its label.
    """
    for node in nodes_near(outline, span, _BRACKET):
        if node.label is None:
            continue
        mark = "^" if node.kind in _FOOTNOTE_KINDS else ""
        new = new_labels.get(mark + normalized(outline, node.label))
        if new is None:
            continue
        if node.kind in _LABELLED and node.label == node.text:
            is_collapsed = outline.source.text.endswith("[]", node.span.start, node.span.end)
            yield TextEdit.insert(node.span.end - is_collapsed, new if is_collapsed else f"[{new}]")
        else:
            yield TextEdit(node.label, new)


def _kind_of(node: InlineNode) -> str | None:
    """Field of `LinkCount` that counts `node`; None for what is not a link."""
    match node.kind:
        case InlineKind.LINK:
            return "inline" if node.label is None else "reference"
        case InlineKind.IMAGE:
            return "image"
        case InlineKind.AUTOLINK:
            return "autolink"
        case InlineKind.WIKI_LINK:
            return "wiki"
        case InlineKind.FOOTNOTE_REFERENCE:
            return "footnote"
        case InlineKind.CODE | InlineKind.HTML | InlineKind.DEFINITION | InlineKind.FOOTNOTE_DEFINITION:
            return None


def _fragments(outline: Outline, area: Span) -> Iterator[tuple[str, Span, bool]]:
    """Destinations that begin with ``#``, where they are written, and whether a wiki link has them."""
    for node in nodes_near(outline, area, _OWN_FRAGMENT):
        if node.kind is not InlineKind.IMAGE and node.destination and node.href.startswith("#"):
            yield node.href, node.destination, node.kind is InlineKind.WIKI_LINK
    for attribute in attributes_in(outline, area):
        if attribute.tag == "a" and attribute.name == "href" and attribute.value.startswith("#"):
            yield attribute.value, attribute.value_span, False


def _names_heading(href: str, targets: frozenset[str]) -> bool:
    """Whether the fragment of a wiki link names a heading by its text, or a block, which only notes know."""
    name = href.rpartition("#")[2]
    return name.startswith("^") or heading_slug(name) in targets


def _footnotes(outline: Outline, areas: Sequence[Span]) -> Iterator[tuple[str, Span, bool]]:
    """Labels of footnote references, where they are, and whether the footnote is defined."""
    text = outline.source.text
    for area in areas:
        for node in nodes_near(outline, area, _FOOTNOTE):
            if node.kind is InlineKind.FOOTNOTE_REFERENCE and node.label is not None:
                yield text[node.label.start : node.label.end], node.label, True
    unread = [label for area in areas for label in _unread_footnotes(outline, area)]
    defined = _labels(outline, InlineKind.FOOTNOTE_DEFINITION) if unread else frozenset()
    for label in unread:
        yield text[label.start : label.end], label, normalized(outline, label) in defined


def _unread_footnotes(outline: Outline, area: Span) -> Iterator[Span]:
    """Labels of what looks like a footnote reference, and the parser took as text for want of a definition.

    It also compares labels by case, which GitHub does not.
    """
    text = outline.source.text
    matches = _FOOTNOTE.finditer(text, area.start, area.end)
    for block, group in groupby(matches, lambda match: outline.tree.leaf_at(match.start())):
        if block is None or block.kind not in INLINE_KINDS:
            continue
        taken = _not_text(outline, block.span)
        ends = [span.end for span in taken]
        for match in group:
            behind = bisect_right(ends, match.start())
            is_text = behind == len(taken) or taken[behind].start >= match.end()
            if is_text and text[max(match.start() - 1, 0) : match.start()] != "\\":
                yield Span(*match.span("label"))


def _not_text(outline: Outline, block: Span) -> list[Span]:
    """Where `block` has no ordinary text, sorted and disjoint; the text of a link is ordinary."""
    spans = list(outline.inline.undecided_in(block))
    for node in outline.inline.nodes_in(block):
        if node.kind is InlineKind.LINK and node.text is not None:
            spans += (Span(node.span.start, node.text.start), Span(node.text.end, node.span.end))
        else:
            spans.append(node.span)
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _labels(outline: Outline, kind: InlineKind) -> frozenset[str]:
    """Labels, normalized, of the definitions of one kind."""
    return frozenset(
        normalized(outline, node.label)
        for node in nodes_near(outline, whole(outline), _LABEL_END)
        if node.kind is kind and node.label is not None
    )


def normalized(outline: Outline, label: Span) -> str:
    """`label` as labels are compared (CommonMark 0.31.2, 4.7), without what begins its further lines."""
    # The backslash of an escaped pipe belongs to the table; elsewhere all labels lose it alike.
    written = _LINE_BREAK.sub(" ", outline.source.text[label.start : label.end]).replace("\\|", "|")
    return normalized_label(written)
