"""Destinations as a document writes them, with the places of their parts.

A destination is what a link, an image, a definition, a wiki link or an HTML attribute points to. An autolink
has a scheme and never names a file, so it is none of them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mdplan.markdown.blocks.block_structure import INLINE_KINDS, BlockKind
from mdplan.markdown.inline.html_attributes import HtmlAttribute, unescaped
from mdplan.markdown.inline.inline_node import InlineKind
from mdplan.markdown.inline.link_parts import unescape
from mdplan.markdown.links.targets import attributes_in, leaves_containing, nodes_near, percent_decoded
from mdplan.markdown.outline.outline import Outline
from mdplan.text.lines import Span

ANY_LINK: Final = re.compile(r"\]\(|\]:|\[\[|\{\{[<%]")
# A link of Hugo: `{{< ref "a.md" >}}`, `{{% relref "a.md#b" %}}`.
REF_SHORTCODE: Final = re.compile(r"""\{\{[<%][ \t]*(?:rel)?ref[ \t]+(?P<quote>["`])(?P<ref>[^"`\r\n]+)""")

_EXTERNAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\")
# The sign of a fragment, and not that of a numeric character reference.
_HASH: Final = re.compile(r"(?<!&)#")
_SOURCES: Final = frozenset({"src", "poster"})
_CANDIDATE: Final = re.compile(r"[\s,]*([^\s,]+)(?:\s[^,]*)?")
_FOLLOWED_TAGS: Final = frozenset({"a", "area"})
_KINDS: Final = frozenset({InlineKind.LINK, InlineKind.IMAGE, InlineKind.DEFINITION, InlineKind.WIKI_LINK})


class DestinationForm(Enum):
    """How a destination is written: in Markdown, in HTML with or without quotes, as a wiki link, for Hugo."""

    BARE = auto()
    ANGLE = auto()
    QUOTED = auto()
    UNQUOTED = auto()
    WIKI = auto()
    SHORTCODE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One destination that names a place of this root, or might: it has no scheme and no host.

    `span` is what is written, without angle brackets and quotes; `path_span` what of it is the path without
    query, and `fragment_span` the fragment without ``#``, None where there is none. `path` and `fragment`
    are these as the parser understood them, the path also percent-decoded. The path of this document is
    empty. `is_shown` says that a reader sees what is there and does not follow it: an image, a video.
    """

    span: Span
    form: DestinationForm
    path: str
    fragment: str | None
    path_span: Span
    fragment_span: Span | None
    is_shown: bool

    @property
    def is_page_name(self) -> bool:
        """Whether the site looks for its page in all folders: only the site knows that there is none."""
        return self.form in {DestinationForm.WIKI, DestinationForm.SHORTCODE}

    @property
    def is_from_root(self) -> bool:
        """Whether the path starts at the root of the site, wherever that is."""
        return self.path.startswith("/")


def destinations(
    outline: Outline, areas: Sequence[Span], mark: re.Pattern[str] = ANY_LINK
) -> tuple[Destination, ...]:
    """Destinations that share a code point with one of `areas`, in document order, each once.

    Only blocks that hold `mark` are examined for those that are not HTML. What cannot be split into its
    parts beyond doubt is omitted, and so is a wiki link in a heading, whose text it would change.
    """
    found: dict[Span, Destination] = {}
    for area in areas:
        for destination in _found_in(outline, area, mark):
            if destination.span.overlaps(area):
                found[destination.span] = destination
    return tuple(found[span] for span in sorted(found))


def _found_in(outline: Outline, area: Span, mark: re.Pattern[str]) -> Iterator[Destination]:
    yield from _of_nodes(outline, area, mark)
    yield from _of_attributes(outline, area)
    yield from _of_shortcodes(outline, area)


def is_external(href: str) -> bool:
    """Whether `href` has a scheme or a host, so that it names no file of this root."""
    return _EXTERNAL.match(href) is not None


def unescaped_destination(written: str, form: DestinationForm) -> str:
    """What `written` means in `form`, with escapes and entities resolved, but not percent-decoded."""
    match form:
        case DestinationForm.BARE | DestinationForm.ANGLE:
            return unescape(written)
        case DestinationForm.QUOTED | DestinationForm.UNQUOTED:
            return unescaped(written)
        case DestinationForm.WIKI | DestinationForm.SHORTCODE:
            return written


def _of_nodes(outline: Outline, area: Span, mark: re.Pattern[str]) -> Iterator[Destination]:
    for node in nodes_near(outline, area, mark):
        is_reference = node.label is not None and node.kind is not InlineKind.DEFINITION
        if node.kind not in _KINDS or node.destination is None or is_reference:
            continue
        if node.kind is InlineKind.WIKI_LINK:
            block = outline.tree.leaf_at(node.span.start)
            if block is not None and block.kind is BlockKind.HEADING:
                continue
            split = _split(outline, node.destination, node.href, DestinationForm.WIKI, is_shown=False)
        else:
            in_angles = outline.source.text.startswith("<", node.destination.start)
            span = (
                Span(node.destination.start + 1, node.destination.end - 1) if in_angles else node.destination
            )
            form = DestinationForm.ANGLE if in_angles else DestinationForm.BARE
            split = _split(outline, span, node.href, form, is_shown=node.kind is InlineKind.IMAGE)
        if split is not None:
            yield split


def _of_attributes(outline: Outline, area: Span) -> Iterator[Destination]:
    for attribute in attributes_in(outline, area):
        is_followed = attribute.name == "href" and attribute.tag in _FOLLOWED_TAGS
        if is_followed or attribute.name in _SOURCES:
            form = _form_of(outline, attribute)
            split = _split(outline, attribute.value_span, attribute.value, form, is_shown=not is_followed)
            if split is not None:
                yield split
        elif attribute.name == "srcset":
            yield from _of_srcset(outline, attribute)


def _of_shortcodes(outline: Outline, area: Span) -> Iterator[Destination]:
    """What Hugo's `ref` and `relref` name, outside code.

    Hugo also finds a page by its name alone, so that one which names no file may be right.
    """
    for block in leaves_containing(outline, area, REF_SHORTCODE):
        matches = REF_SHORTCODE.finditer(outline.source.text, block.span.start, block.span.end)
        for match in matches if block.kind in INLINE_KINDS else ():
            span = Span(*match.span("ref"))
            is_code = any(node.kind is InlineKind.CODE for node in outline.inline.nodes_in(span))
            split = (
                None
                if is_code
                else _split(outline, span, match["ref"], DestinationForm.SHORTCODE, is_shown=False)
            )
            if split is not None:
                yield split


def _of_srcset(outline: Outline, attribute: HtmlAttribute) -> Iterator[Destination]:
    """The images of a `srcset` (HTML standard, section 4.8.4.2.1), each before a blank or a comma."""
    written = outline.text_of(attribute.value_span)
    # With character references places are not those of the value.
    for found in _CANDIDATE.finditer(written) if written == attribute.value else ():
        start = attribute.value_span.start
        span = Span(start + found.start(1), start + found.end(1))
        # As a value without quotes it has no blanks, which would end it.
        split = _split(outline, span, found[1], DestinationForm.UNQUOTED, is_shown=True)
        if split is not None:
            yield split


def _form_of(outline: Outline, attribute: HtmlAttribute) -> DestinationForm:
    before = outline.source.text[attribute.value_span.start - 1]
    return DestinationForm.QUOTED if before in "\"'" else DestinationForm.UNQUOTED


def _split(
    outline: Outline, span: Span, href: str, form: DestinationForm, *, is_shown: bool
) -> Destination | None:
    """The destination at `span`, which means `href`; None for one of another site, or without proof."""
    written = outline.source.text[span.start : span.end]
    if not written or is_external(href) or (form is not DestinationForm.WIKI and is_external(written)):
        return None
    head, fragment_at = _cut(written, href, form)
    if fragment_at is not None and form is DestinationForm.WIKI:
        # `page#Part#Chapter` names a heading below another one; the last of them is the place.
        fragment_at = written.rindex("#") + 1
    if fragment_at is None and "#" in href:
        return None
    path_end = head if form is DestinationForm.WIKI else _before_query(written[:head])
    path = unescaped_destination(written[:path_end], form)
    fragment = None if fragment_at is None else unescaped_destination(written[fragment_at:], form)
    return Destination(
        span=span,
        form=form,
        path=path if form is DestinationForm.WIKI else percent_decoded(path, errors="surrogateescape"),
        fragment=fragment,
        path_span=Span(span.start, span.start + path_end),
        fragment_span=None if fragment_at is None else Span(span.start + fragment_at, span.end),
        is_shown=is_shown,
    )


def _cut(written: str, href: str, form: DestinationForm) -> tuple[int, int | None]:
    """Where the part before the fragment ends, and where the fragment starts; proven by reading both."""
    path, sign, fragment = href.partition("#")
    match = _HASH.search(written) if sign else None
    if match is None or unescaped_destination(written[match.end() :], form) != fragment:
        return len(written), None
    for end in (match.start(), match.start() - 1):
        # The sign may be after a backslash.
        if end >= 0 and unescaped_destination(written[:end], form) == path:
            return end, match.end()
    return len(written), None


def _before_query(written: str) -> int:
    query = written.find("?")
    return len(written) if query < 0 else query
