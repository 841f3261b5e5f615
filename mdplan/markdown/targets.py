"""Anchors that links can point to, and how GitHub compares fragments with them."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.headings import GITHUB_PREFIX, Anchor, heading_slug, other_slug, title_span
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import ATTRIBUTE, marks_behind
from mdplan.markdown.sections import Section
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span

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
    return outline.derived(_explicit_anchors)


def labels_of(outline: Outline) -> frozenset[str]:
    """Return the `target_key`s of anchors that all documents of a MyST site can link to."""
    is_myst = LABEL_SIGN.search(outline.source.text) is not None
    return frozenset(target_key(label) for label, _ in explicit_anchors(outline)) if is_myst else frozenset()


def _explicit_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    return explicit_anchors_in(outline, whole(outline))


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
