"""Anchors that links can point to, links within a document, labels and definitions."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.headings import GITHUB_PREFIX, Anchor, heading_slug, other_slug, title_span
from mdplan.markdown.inline_node import InlineKind, InlineNode, normalized_label
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import ATTRIBUTE, marks_behind
from mdplan.markdown.sections import Section
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

if TYPE_CHECKING:
    from mdplan.markdown.html import HtmlAttribute

# How many lines below an anchor may describe it.
_NEAR: Final = 20
_TAG: Final = lazy_pattern(r"<[^<>]*>")
_NUMBER: Final = lazy_pattern(r"_([0-9]+)\Z")
_ALWAYS: Final = frozenset({"", "top"})

_TEXT_FRAGMENT: Final = ":~:"

# The inside of a tag: newlines with container prefixes, and quoted text.
_IN_TAG: Final = r"""(?:[^<>"'\r\n]|[\r\n][ \t>]*+|"[^"]*+"|'[^']*+')*?"""

# Every tag with an anchor matches this.
_ANCHOR_SIGN: Final = lazy_pattern(r"(?:id|name)\s*=", re.IGNORECASE)

# A tag that may have an anchor attribute.
TAG_WITH_ANCHOR: Final = lazy_pattern(rf"<[A-Za-z]{_IN_TAG}\b(?:id|name)\s*=", re.IGNORECASE)

# Anchors without HTML: attributes of any element (Pandoc, Quarto, Kramdown, attr_list), labels and directive
# options (MyST), cell labels (Quarto), mdbook-spec rules, where `r[a]` becomes `#r-a`.
NAME_WITHOUT_TAG: Final = lazy_pattern(
    rf"\{{:?[ \t]*+(?:(?!#){ATTRIBUTE}[ \t]++)*+#(?P<id>[^\s{{}}#\"'<>`]++)(?:[ \t]++{ATTRIBUTE})*+[ \t]*+\}}"
    r"|^[ \t>]*+(?:\((?P<label>[^()\s]++)\)=[ \t]*+$|(?::(?:name|label):|\#\|[ ]label:)[ ](?P<option>\S++)"
    r"|r\[(?P<rule>[\w.-]++)\][ \t]*+$)",
    re.MULTILINE,
)

# Syntax that identifies MyST, whose labels are valid in all documents of a site.
LABEL_SIGN: Final = lazy_pattern(r"^\(\S+\)=|^[ \t]*:(?:label|name): ", re.MULTILINE)
_TAG_WITH_ATTRIBUTE: Final = lazy_pattern(rf"<[A-Za-z]{_IN_TAG}=")


def find_anchors(outline: Outline) -> tuple[Anchor, ...]:
    """Return the anchors in order: of headings, and explicit IDs (for links also names) in HTML."""
    lines = outline.source.lines
    anchors = [
        (section.heading_start, Anchor(section.anchor, section.heading_line, explicit=False))
        for section in (*outline.every_section(), *outline.sections_in_html())
        if section.anchor
    ]
    anchors += (
        (span.start, Anchor(anchor, lines.line_at(span.start), explicit=True))
        for anchor, span in explicit_anchors(outline)
    )
    return tuple(anchor for _, anchor in sorted(anchors, key=lambda start: start[0]))


def places_of_anchors(outline: Outline) -> dict[str, list[int]]:
    """Return the lines of each anchor by `target_key`; a heading and its explicit anchor count once."""
    places: dict[str, dict[int, int]] = {}
    for anchor in sorted(find_anchors(outline), key=lambda anchor: not anchor.explicit):
        sections = places.setdefault(target_key(anchor.id), {})
        section = outline.section_at(outline.source.lines.start(anchor.line)).index
        if anchor.explicit or section not in sections.values():
            sections[anchor.line] = section
    return {key: sorted(sections) for key, sections in places.items()}


def shifted_repeats(old: Outline, new: Outline) -> Iterator[tuple[str, int | None, int]]:
    """Yield duplicate anchors of `old` that lead elsewhere in `new`.

    Browsers go to the first occurrence. Each anchor comes as `target_key` with the line in `new` of the old
    target (None if deleted) and of the new one. Targets are compared by text.
    """
    before = {key: lines for key, lines in places_of_anchors(old).items() if len(lines) > 1}
    after = places_of_anchors(new) if before else {}
    for key in before.keys() & after.keys():
        was = [_text_at(old, line) for line in before[key]]
        now = {_text_at(new, line): line for line in reversed(after[key])}
        first = after[key][0]
        if now.get(was[0]) != first and (was[0] in now or _text_at(new, first) in was):
            yield key, now.get(was[0]), first


def _text_at(outline: Outline, line: int) -> str:
    """Return the first text without tags at or just below `line`."""
    end = min(line + _NEAR, outline.source.lines.count + 1)
    texts = (_TAG.sub("", outline.source.lines.content(number)).strip() for number in range(line, end))
    return next(filter(None, texts), "")


def explicit_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    """Return the explicit anchors (HTML, labels above headings) with their spans, in order."""
    return outline.derived(explicit_anchors_in, whole(outline))


def labels_of(outline: Outline) -> frozenset[str]:
    """Return the `target_key`s of anchors that all documents of a MyST site can link to."""
    is_myst = LABEL_SIGN.search(outline.source.text) is not None
    return frozenset(target_key(label) for label, _ in explicit_anchors(outline)) if is_myst else frozenset()


def explicit_anchors_in(outline: Outline, area: Span) -> tuple[tuple[str, Span], ...]:
    """Return the `explicit_anchors` in `area`, parsing only blocks there."""
    text = outline.source.text
    has_anchors = text.find("<", area.start, area.end) >= 0 and _ANCHOR_SIGN.search(
        text, area.start, area.end
    )
    anchors = {
        attribute.value_span: attribute.value
        for attribute in (attributes_in(outline, area, TAG_WITH_ANCHOR) if has_anchors else ())
        if attribute.value and (attribute.name == "id" or (attribute.name, attribute.tag) == ("name", "a"))
    }
    anchors |= dict(_named_without_html(outline, area))
    return tuple((anchors[span], span) for span in sorted(anchors))


def _named_without_html(outline: Outline, area: Span) -> Iterator[tuple[Span, str]]:
    """Yield explicit anchors without tags in `area`, except those of headings, with their spans."""
    text, tree = outline.source.text, outline.tree
    for match in NAME_WITHOUT_TAG.finditer(text, max(outline.body_start, area.start), area.end):
        span = Span(*match.span(match.lastgroup or 0))
        leaf = tree.leaf_at(span.start)
        kind = None if leaf is None else leaf.kind
        if leaf is not None and kind is BlockKind.FENCE:
            opening = outline.source.lines.content(leaf.first_line)
            is_name = "{" in opening and (
                match["option"] or outline.source.lines.line_at(span.start) == leaf.first_line
            )
        elif kind in INLINE_KINDS:
            nodes = outline.inline.nodes_in(span)
            is_name = kind is not BlockKind.HEADING and not any(
                node.kind is InlineKind.CODE for node in nodes
            )
            section = outline.section_at(span.start)
            is_name = is_name and not section.heading_end <= span.start < section.body.start
        else:
            is_name = kind is None
        if is_name:
            yield span, ("r-" if match["rule"] else "") + match[match.lastgroup or 0]


def resolvable_targets(outline: Outline) -> frozenset[str]:
    """Return all anchors as `target_key`s, block IDs with ``^``, and heading texts as `title_key`s."""
    in_html = [heading.text.strip() for heading in outline.html_headings]
    slugs = (slug for section in outline.headings if (slug := other_slug(section.title)))
    anchors = chain((anchor.id for anchor in find_anchors(outline)), map(heading_slug, in_html), slugs)
    titles = chain((section.title for section in outline.headings), in_html)
    return frozenset(chain(map(target_key, anchors), map(title_key, titles))) | block_ids(outline)


# --- Targets in notes: headings by text, and blocks by trailing ID (Obsidian help, "Internal links")

# The caret comes first because `re` finds a literal 30 times faster than the start of a word.
BLOCK_ID: Final = lazy_pattern(r"(?m)(\^(?<![^ \t\n]\^)[A-Za-z0-9-]+)[ \t]*(?=\r?$)")
_NOT_COMPARED: Final = lazy_pattern(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\r\n]")
_NOT_IN_LINK: Final = lazy_pattern(r"[:#|^\\\r\n\[\]]|%%")


def block_ids(outline: Outline) -> frozenset[str]:
    """Return the block IDs with their ``^``, in lower case."""
    return outline.derived(_block_ids)


def _block_ids(outline: Outline) -> frozenset[str]:
    text, tree = outline.source.text, outline.tree
    matches = BLOCK_ID.finditer(text) if "^" in text else ()
    blocks = ((match[1].lower(), tree.leaf_at(match.start(1))) for match in matches)
    return frozenset(block_id for block_id, block in blocks if block is None or block.kind in INLINE_KINDS)


def heading_named(outline: Outline, names: Sequence[str]) -> Section | None:
    """Return the first heading that matches the last of `names` and whose ancestors match the others."""
    *above, own = map(_compared, names)
    for section in outline.headings:
        parents = map(_compared, section.path[:-1])
        # The iterator is shared: each search continues after the last match.
        if _compared(section.title) == own and all(name in parents for name in above):
            return section
    return None


def name_of_heading(title: str) -> str:
    """Return `title` with spaces for characters that would end a wiki link."""
    return " ".join(_NOT_IN_LINK.sub(" ", title.removesuffix(marks_behind(title))).split())


@lru_cache(maxsize=4096)
def _compared(title: str) -> str:
    return " ".join(_NOT_COMPARED.sub(" ", title.removesuffix(marks_behind(title))).lower().split()) or title


def title_key(title: str) -> str:
    """Return the key of a heading's text; no anchor key starts with ``#``.

    A wiki link can use it whatever the anchor is.
    """
    return f"#{_compared(title)}"


def target_key(fragment: str) -> str:
    """Return `fragment` (without ``#``) as GitHub compares it: decoded, lower case, without its prefix."""
    return percent_decoded(fragment).lower().removeprefix(GITHUB_PREFIX)


def percent_decoded(text: str, errors: str = "replace") -> str:
    """Decode the percent-encoded UTF-8 in `text`; `errors` as in `bytes.decode`."""
    if "%" not in text:
        return text
    # Most documents need no decoding, and the import takes longer than parsing them.
    from urllib.parse import unquote

    return unquote(text, errors=errors)


def is_resolved(fragment: str, targets: frozenset[str], *, is_wiki: bool) -> bool:
    """Return True if `fragment` (without ``#``) is one of `targets` or valid on every page.

    The empty fragment and ``top`` mean the top of the page (HTML standard, section 7.4.6.4); text fragments
    (``:~:text=…``) are up to the browser. A wiki link may use heading text.
    """
    key = target_key(fragment)
    # Several generators number duplicate headings with an underscore.
    forms = {key, _NUMBER.sub(r"-\1", key)}
    if not targets.isdisjoint(forms) or key in _ALWAYS or key.startswith(_TEXT_FRAGMENT):
        return True
    return is_wiki and not targets.isdisjoint((heading_slug(fragment), title_key(fragment)))


def attributes_in(
    outline: Outline, span: Span, mark: re.Pattern[str] = _TAG_WITH_ATTRIBUTE
) -> "Iterator[HtmlAttribute]":
    """Yield the attributes with values of the HTML tags that overlap `span`.

    All tags of an HTML block count. Only blocks that match `mark` are searched.
    """
    text = outline.source.text
    for block in leaves_containing(outline, span, mark):
        # Loaded only if needed.
        from mdplan.markdown.html import html_attributes

        if block.kind is BlockKind.HTML:
            yield from html_attributes(text, block.span)
            continue
        for node in _nodes_of(outline, block, span):
            if node.kind is InlineKind.HTML:
                yield from html_attributes(text, node.span)


def nodes_near(outline: Outline, span: Span, mark: re.Pattern[str]) -> Iterator[InlineNode]:
    """Yield the inline nodes that overlap `span` in blocks matching `mark`, in order."""
    for block in leaves_containing(outline, span, mark):
        yield from _nodes_of(outline, block, span)


def _nodes_of(outline: Outline, block: Block, span: Span) -> tuple[InlineNode, ...]:
    area = Span(max(block.span.start, span.start), min(block.span.end, span.end))
    return outline.inline.nodes_in(area)


def leaves_containing(outline: Outline, span: Span, mark: re.Pattern[str]) -> Iterator[Block]:
    """Yield the leaf blocks that overlap `span` and contain the start of a match of `mark`, in order.

    Searching the text first saves parsing blocks and inline content, the costly part.
    """
    text, tree = outline.source.text, outline.tree
    first = tree.leaf_at(span.start) if span.start else None
    last = tree.leaf_at(max(span.start, span.end - 1)) if span.end < len(text) else None
    at = min(first.span.start, span.start) if first else span.start
    end = max(last.span.end, span.end) if last else span.end
    while (match := mark.search(text, at, end)) is not None:
        block = tree.leaf_at(match.start())
        at = max(block.span.end, match.start() + 1) if block else match.start() + 1
        if block and block.span.overlaps(span):
            yield block


def whole(outline: Outline) -> Span:
    """Return the span of the whole text."""
    return Span(0, len(outline.source.text))


# --- Inline anchors in headings: ``## Odd <a id="notes"></a>``.

_ANCHOR_NAMES: Final = frozenset({"id", "name"})

_ANCHOR_ELEMENT: Final = lazy_pattern(
    r"""(?P<tag><a\b(?:[^<>"']|"[^"]*+"|'[^']*+')*+>)(?P<text>(?:(?!<a\b).)*?)</a[ \t]*>""",
    re.IGNORECASE | re.DOTALL,
)


def with_kept_anchors(outline: Outline, heading: Block, title: str) -> str:
    """Return `title` with the inline anchors of `heading`, each on its side of the text.

    Anchors are ``<a id="…"></a>`` and ``<a name="…"></a>``, also around the text. A `title` with its own
    anchor is returned unchanged.
    """
    if "<" not in heading.content or TAG_WITH_ANCHOR.search(title):
        return title
    span = title_span(outline.source, heading)
    if span is None:
        return title
    name_starts = [
        attribute.value_span.start - span.start
        for attribute in attributes_in(outline, span, TAG_WITH_ANCHOR)
        if attribute.tag == "a" and attribute.name in _ANCHOR_NAMES and span.contains(attribute.value_span)
    ]
    text = outline.text_of(span)
    tags = [
        tag
        for tag in _ANCHOR_ELEMENT.finditer(text)
        if any(tag.start("tag") < start < tag.end("tag") for start in name_starts)
    ]
    if len(tags) == 1 and tags[0]["text"].strip() and tags[0].span() == (0, len(text)):
        return f"{tags[0]['tag']}{title}</a>"
    before = "".join(f"{tag['tag']}</a>" for tag in tags if not text[: tag.start()].strip())
    after = "".join(f"{tag['tag']}</a>" for tag in tags if text[: tag.start()].strip())
    # The space next to an anchor is part of the generated slug.
    gap = " " if tags and before and text[tags[0].end() :][:1].isspace() else ""
    return f"{before}{gap}{title}{' ' if after else ''}{after}"


# --- Links of a document: counts by kind, local links, labels and definitions

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
