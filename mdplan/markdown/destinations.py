"""Destinations of links in a document: find them, resolve them to files, rewrite them.

A destination is the target of a link, an image, a definition, a wiki link or an HTML attribute. Autolinks
have a scheme and never name a file, so they do not count.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import accumulate, chain
from typing import Final, Protocol
from urllib.parse import quote, unquote

from mdplan.markdown import paths
from mdplan.markdown.blocks import INLINE_KINDS, BlockKind
from mdplan.markdown.headings import GITHUB_PREFIX
from mdplan.markdown.html import HtmlAttribute, unescaped
from mdplan.markdown.inline_node import WIKI_LINK, InlineKind, unescape
from mdplan.markdown.links import attributes_in, is_resolved, leaves_containing, nodes_near, percent_decoded
from mdplan.markdown.outline import Outline
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct, replace

_MOST_ROOTS: Final = 8
ANY_LINK: Final = lazy_pattern(r"\]\(|\]:|\[\[|\{\{[<%]")

# A Hugo link: `{{< ref "a.md" >}}`, `{{% relref "a.md#b" %}}`.
REF_SHORTCODE: Final = lazy_pattern(r"""\{\{[<%][ \t]*(?:rel)?ref[ \t]+(?P<quote>["`])(?P<ref>[^"`\r\n]+)""")

# Front matter keys of VitePress and Starlight whose `link` is a path or route.
_ROUTE_OWNERS: Final = frozenset({"hero", "features", "prev", "next"})
_EXTERNAL: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\")

# A fragment's ``#``, not a numeric character reference.
_HASH: Final = lazy_pattern(r"(?<!&)#")
_SOURCES: Final = frozenset({"src", "poster"})
_CANDIDATE: Final = lazy_pattern(r"[\s,]*([^\s,]+)(?:\s[^,]*)?")
_FOLLOWED_TAGS: Final = frozenset({"a", "area"})
_KINDS: Final = frozenset({InlineKind.LINK, InlineKind.IMAGE, InlineKind.DEFINITION, InlineKind.WIKI_LINK})


# An MDX tag: HTML names are not mixed-case.
_COMPONENT: Final = lazy_pattern(r"<[A-Z][\w.]*[a-z][\w.]*(?=[\s/>])[^<>]*>?")
_COMPONENT_LINK: Final = lazy_pattern(
    r"""(?<=\s)(?:href|to|link)\s*=\s*(?:\{\s*)?(?P<quote>["'`])(?P<quoted>[^"'`{}\r\n]+)(?P=quote)"""
)
_COMPONENT_OR_LINK: Final = lazy_pattern(rf"{_COMPONENT.pattern}|\]\(")
_FENCE: Final = lazy_pattern(
    r"(?ms)^[ \t>]*+(?:(?:[-+*]|[0-9]+[.)])[ \t]++)*+(?P<mark>~{3,}+|`{3,}+(?=[^`\n]*$))"
    r".*?(?:^[ \t>]*+(?P=mark)[`~]*+[ \t\r]*$|\Z)"
)
_LINK_IN_COMPONENT: Final = lazy_pattern(r"\]\(\s*(?:<(?P<angle>[^<>\r\n]+)>|(?P<bare>[^\s()<>]+))")


class DestinationForm(Enum):
    """The syntax of a destination: Markdown, HTML quoted or unquoted, wiki link, Hugo shortcode."""

    BARE = auto()
    ANGLE = auto()
    QUOTED = auto()
    UNQUOTED = auto()
    WIKI = auto()
    SHORTCODE = auto()


# In these, all paths are relative to the file; what HTML and components mean, a site may know better.
MARKDOWN_FORMS: Final = frozenset({DestinationForm.BARE, DestinationForm.ANGLE})


class Destination(Struct, kw_only=True):
    """A destination without scheme and host, so it may name a file of this root.

    - `span`: the text without angle brackets or quotes.
    - `path_span`, `fragment_span`: the path without query, and the fragment without ``#`` (or None).
    - `path`, `fragment`: these parts unescaped, the path also percent-decoded; empty for this document.
    - `is_shown`: an image or video, displayed rather than followed.
    - `parents`: the parent headings in a wiki link, as in `[[page#Part#Chapter]]`.
    - `is_code`: code to MDX but not to CommonMark.
    - `is_wiki`: names a page by the end of its path, and headings by their text: a wiki link, and any link
      of Markdown in a vault, where the fragment is percent-decoded too.
    """

    span: Span
    form: DestinationForm
    path: str
    fragment: str | None
    path_span: Span
    fragment_span: Span | None
    is_shown: bool
    parents: tuple[str, ...] = ()
    is_code: bool = False
    is_wiki: bool = False

    @property
    def is_page_name(self) -> bool:
        """True if the site searches all folders for the page, so only the site knows that it is missing."""
        is_wiki_name = self.is_wiki and not self.path.startswith(("./", "../"))
        return is_wiki_name or self.form is DestinationForm.SHORTCODE

    @property
    def is_from_root(self) -> bool:
        """True if the path starts at the site root; `@site/` is from Docusaurus."""
        return self.path.startswith(("/", "@site/"))


def destinations(
    outline: Outline, areas: Sequence[Span], mark: re.Pattern[str] = ANY_LINK, *, in_code: bool = False
) -> tuple[Destination, ...]:
    """Return the destinations that overlap `areas`, in document order, deduplicated.

    Only blocks that match `mark` are searched, except for HTML. Destinations that cannot be split reliably
    are omitted, and so is code in MDX unless `in_code`.
    """
    fences = outline.derived(_fences_of_mdx) if outline.is_mdx else ()
    by_span: dict[Span, Destination] = {}
    for area in areas:
        for destination in chain(
            _of_nodes(outline, area, mark),
            _of_attributes(outline, area),
            _of_shortcodes(outline, area),
            _of_properties(outline, area),
            _of_components(outline, area),
        ):
            if destination is None or not destination.span.overlaps(area):
                continue
            is_code = any(fence.contains(destination.span) for fence in fences)
            if in_code or not is_code:
                by_span[destination.span] = replace(destination, is_code=is_code)
    return tuple(by_span[span] for span in sorted(by_span))


def is_external(href: str) -> bool:
    """Return True if `href` has a scheme or host, so it cannot name a file of this root."""
    return _EXTERNAL.match(href) is not None


def unescaped_destination(written: str, form: DestinationForm) -> str:
    """Resolve escapes and entities in `written`; percent-encoding stays."""
    match form:
        case DestinationForm.BARE | DestinationForm.ANGLE:
            return unescape(written)
        case DestinationForm.QUOTED | DestinationForm.UNQUOTED:
            return unescaped(written)
        case DestinationForm.WIKI | DestinationForm.SHORTCODE:
            return written


def _of_nodes(outline: Outline, area: Span, mark: re.Pattern[str]) -> Iterator[Destination | None]:
    for node in nodes_near(outline, area, mark):
        is_reference = node.label is not None and node.kind is not InlineKind.DEFINITION
        if node.kind not in _KINDS or node.destination is None or is_reference:
            continue
        if node.kind is InlineKind.WIKI_LINK:
            yield _split(outline, node.destination, node.href, DestinationForm.WIKI, is_shown=False)
        else:
            in_angles = outline.source.text.startswith("<", node.destination.start)
            span = Span(node.destination.start + in_angles, node.destination.end - in_angles)
            form = DestinationForm.ANGLE if in_angles else DestinationForm.BARE
            yield _split(outline, span, node.href, form, is_shown=node.kind is InlineKind.IMAGE)


def _of_attributes(outline: Outline, area: Span) -> Iterator[Destination | None]:
    for attribute in attributes_in(outline, area):
        is_followed = attribute.name == "href" and attribute.tag in _FOLLOWED_TAGS
        if is_followed or attribute.name in _SOURCES:
            before = outline.source.text[attribute.value_span.start - 1]
            form = DestinationForm.QUOTED if before in "\"'" else DestinationForm.UNQUOTED
            yield _split(outline, attribute.value_span, attribute.value, form, is_shown=not is_followed)
        elif attribute.name == "srcset":
            yield from _of_srcset(outline, attribute)


def _of_shortcodes(outline: Outline, area: Span) -> Iterator[Destination | None]:
    """Yield targets of Hugo's `ref` and `relref` outside code.

    Hugo also searches all pages by name, so a missing file is not always an error.
    """
    for block in leaves_containing(outline, area, REF_SHORTCODE):
        matches = REF_SHORTCODE.finditer(outline.source.text, block.span.start, block.span.end)
        for match in matches if block.kind in INLINE_KINDS else ():
            span = Span(*match.span("ref"))
            if any(node.kind is InlineKind.CODE for node in outline.inline.nodes_in(span)):
                continue
            yield _split(outline, span, match["ref"], DestinationForm.SHORTCODE, is_shown=False)


def _of_components(outline: Outline, area: Span) -> Iterator[Destination | None]:
    """Yield links in components: their attributes, and Markdown directly below their tags.

    CommonMark reads that Markdown as HTML, and some tags as text. MDX has no indented code.
    """
    text = outline.source.text
    for block in leaves_containing(outline, area, _COMPONENT_OR_LINK if outline.is_mdx else _COMPONENT):
        start, end = block.span.start, block.span.end
        fences = () if outline.is_mdx else _FENCE.finditer(text, start, end)
        code = [Span(*fence.span()) for fence in fences]
        is_markdown = outline.is_mdx and block.kind in {BlockKind.HTML, BlockKind.INDENTED_CODE}
        tags = list(_COMPONENT.finditer(text, start, end))
        if block.kind is BlockKind.HTML and tags and "<" not in text[start : tags[0].start()]:
            is_markdown = True
        if not (is_markdown or block.kind is BlockKind.HTML or block.kind in INLINE_KINDS):
            continue
        matches = [match for tag in tags for match in _COMPONENT_LINK.finditer(text, *tag.span())]
        matches += _LINK_IN_COMPONENT.finditer(text, start, end) if is_markdown else ()
        for match in matches:
            nodes = outline.inline.nodes_in(Span(*match.span()))
            code += (node.span for node in nodes if node.kind is InlineKind.CODE)
            line = text.rfind("\n", 0, match.start()) + 1
            is_code = any(span.overlaps(Span(*match.span())) for span in code)
            if is_code or text.count("`", line, match.start()) % 2:
                continue
            group = match.lastgroup or ""
            form = DestinationForm[group.upper()]
            href = unescaped_destination(match[group], form)
            # Only the component knows what its attribute means.
            is_attribute = form is DestinationForm.QUOTED
            yield _split(outline, Span(*match.span(group)), href, form, is_shown=is_attribute)


def _fences_of_mdx(outline: Outline) -> tuple[Span, ...]:
    """Return MDX fences that CommonMark reads as indented code, HTML or text."""
    text, at = outline.source.text, outline.body_start
    fences: list[Span] = []
    while (match := _FENCE.search(text, at)) is not None:
        leaf = outline.tree.leaf_at(match.start("mark"))
        if leaf is not None and leaf.kind is BlockKind.FENCE:
            at = leaf.span.end
        else:
            fences.append(Span(*match.span()))
            at = match.end()
    return tuple(fences)


def _of_properties(outline: Outline, area: Span) -> Iterator[Destination | None]:
    """Yield the targets in front matter strings: wiki links and page routes."""
    front_matter = outline.front_matter
    if front_matter is None or not front_matter.span.overlaps(area):
        return
    text, span = outline.source.text, front_matter.content
    wiki_links = list(WIKI_LINK.finditer(text, span.start, span.end))
    # Few documents have these, and the data modules load slowly.
    may_have_some = wiki_links or text.find("link", span.start, span.end) >= 0
    content = outline.front_matter_content if may_have_some else None
    if content is None:
        return
    from mdplan.data.content import DataContent
    from mdplan.data.tree import strings_of

    if not isinstance(content, DataContent):
        return

    strings = list(strings_of(content.values))
    for match in wiki_links:
        # Unquoted it is a nested list, and in a comment it means nothing.
        if any(match[0] in value for _, value in strings):
            target = Span(*match.span("target"))
            yield _split(outline, target, match["target"], DestinationForm.WIKI, is_shown=False)
    for path, value in strings:
        place = content.places.get(path) if path[0] in _ROUTE_OWNERS and path[-1] == "link" else None
        at = -1 if place is None else text.rfind(value, span.start + place.start, span.start + place.end)
        if at >= 0:
            # Only the site knows what the route means.
            target = Span(at, at + len(value))
            yield _split(outline, target, value, DestinationForm.QUOTED, is_shown=True)


def _of_srcset(outline: Outline, attribute: HtmlAttribute) -> Iterator[Destination | None]:
    """Yield the image URLs of a `srcset` (HTML standard, section 4.8.4.2.1)."""
    written = outline.text_of(attribute.value_span)
    # Character references would shift the offsets.
    for image in _CANDIDATE.finditer(written) if written == attribute.value else ():
        start = attribute.value_span.start
        span = Span(start + image.start(1), start + image.end(1))
        # Treat it as an unquoted value: a space would end it.
        yield _split(outline, span, image[1], DestinationForm.UNQUOTED, is_shown=True)


def _split(
    outline: Outline, span: Span, href: str, form: DestinationForm, *, is_shown: bool
) -> Destination | None:
    """Return the destination `href` at `span`; None if it is external or cannot be split reliably."""
    written = outline.source.text[span.start : span.end]
    if not written or is_external(href) or (form is not DestinationForm.WIKI and is_external(written)):
        return None
    head, fragment_at = _cut(written, href, form)
    if fragment_at is None and "#" in href:
        return None
    path_end = head if form is DestinationForm.WIKI else len(written[:head].partition("?")[0])
    if "plain=1" in written[path_end:head]:
        # GitHub shows the source; the fragment is a line number.
        fragment_at = None
    path = unescaped_destination(written[:path_end], form)
    fragment = None if fragment_at is None else unescaped_destination(written[fragment_at:], form)
    is_wiki = form is DestinationForm.WIKI or (outline.slugs.is_vault and form in MARKDOWN_FORMS)
    parents: list[str] = []
    if fragment is not None and is_wiki:
        *parents, fragment = fragment.split("#")
        if form is not DestinationForm.WIKI:
            *parents, fragment = map(percent_decoded, (*parents, fragment))
    return Destination(
        span=span,
        form=form,
        path=path if form is DestinationForm.WIKI else percent_decoded(path, errors="surrogateescape"),
        fragment=fragment,
        path_span=Span(span.start, span.start + path_end),
        fragment_span=None if fragment_at is None else Span(span.start + fragment_at, span.end),
        is_shown=is_shown,
        parents=tuple(filter(None, parents)),
        is_wiki=is_wiki,
    )


def _cut(written: str, href: str, form: DestinationForm) -> tuple[int, int | None]:
    """Return the end of the path and the start of the fragment in `written`, both verified."""
    path, sign, fragment = href.partition("#")
    match = _HASH.search(written) if sign else None
    if match is None or unescaped_destination(written[match.end() :], form) != fragment:
        return len(written), None
    for end in (match.start(), match.start() - 1):
        # The ``#`` may be escaped.
        if end >= 0 and unescaped_destination(written[:end], form) == path:
            return end, match.end()
    return len(written), None


# --- New paths and fragments in the style of the old destination: percent-encoding (RFC 3986, section 2.1)
# only where the old text used it or the syntax requires it. The new text is parsed again to verify its
# meaning.

_ENCODED_BEYOND_ASCII: Final = lazy_pattern(r"%[89A-Fa-f][0-9A-Fa-f]")
_SAFE: Final = "-._~!$'()*+,;=:@/"
_BALANCED: Final = lazy_pattern(r"[^()]*(?:\([^()]*\)[^()]*)*")
_NOT_IN_WIKI: Final = lazy_pattern(r"[\[\]|#^\\\r\n]")

# At the end of a path, the fragment's ``#`` may follow.
_ENTITY: Final = lazy_pattern(r"&(?=[A-Za-z#]|\Z)")
_UNICODE: Final = frozenset({"utf-8", "utf-16-le", "utf-16-be"})


def with_path(outline: Outline, old: Destination, path: str) -> TextEdit | None:
    """Return the edit that changes the path of `old` to `path` (empty: the document itself), or None."""
    if old.form is DestinationForm.WIKI:
        return TextEdit(old.path_span, path) if _fits_wiki_link(path, outline, old) else None
    # Without it, a colon in the first component would look like a scheme.
    before = "./" if ":" in path.partition("/")[0] else ""
    return _proven(outline, old, old.path_span, before + path)


def with_fragment(outline: Outline, old: Destination, anchor: str) -> TextEdit | None:
    """Return the edit that changes the fragment of `old` to `anchor`; None if it cannot be written.

    For a link that `is_wiki`, `anchor` is heading text, with parents, or a block ID.
    """
    assert old.fragment_span is not None
    assert old.fragment is not None
    if old.form is DestinationForm.WIKI:
        fits = _fits_wiki_link(anchor.removeprefix("^").replace("#", ""), outline, old)
        return TextEdit(old.fragment_span, anchor) if fits else None
    prefix = GITHUB_PREFIX if old.fragment.lower().startswith(GITHUB_PREFIX) else ""
    return _proven(outline, old, old.fragment_span, prefix + anchor)


def _proven(outline: Outline, old: Destination, span: Span, text: str) -> TextEdit | None:
    """Return the edit that makes `span` of `old` mean `text`; None if that cannot be written."""
    # In a vault `#` and `^` lead to headings below one another, and to blocks.
    also = "#^" if old.is_wiki and span == old.fragment_span else ""
    new = _encoded(text, outline.text_of(span), old.form, outline, also)
    means = unquote(unescaped_destination(new, old.form), errors="surrogateescape")
    return TextEdit(span, new) if means == text else None


def wiki_pages(written: str, old_path: str, path: str) -> Iterator[str]:
    """Yield names of the page `path` for a wiki link `written` for `old_path`: first with as many folders.

    Of a link that had the whole path only that. Spaces replace hyphens if the old link did so.
    """
    name = written.rpartition("/")[2]
    page = path
    if paths.without_suffix(name, (".md",)) == name:
        page = paths.without_suffix(page, paths.MARKDOWN_SUFFIXES)
    old_name = paths.without_suffix(old_path.rpartition("/")[2], paths.MARKDOWN_SUFFIXES)
    if " " in name and "-" not in name and " " not in old_name:
        page = page.replace("-", " ")
    parts, count = page.split("/"), written.strip("/").count("/")
    is_whole = written.startswith("/") or (count and count == old_path.count("/"))
    start = "/" if written.startswith("/") else ""
    for first in range(0 if is_whole else max(len(parts) - 1 - count, 0), -1, -1):
        yield start + "/".join(parts[first:])


def _fits_wiki_link(text: str, outline: Outline, old: Destination) -> bool:
    """Return True if the wiki link `old` can hold `text` unencoded."""
    source = outline.source
    before = source.text[: old.span.start].rpartition("\n")[2] if old.span.start < outline.body_start else ""
    # It must not end a front matter string.
    is_end = before and (": " in text or '"' in text or ("'" in text and "'" in before))
    if _NOT_IN_WIKI.search(text) or is_end:
        return False
    try:
        text.encode("ascii" if source.invalid_bytes else source.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: str, written: str, form: DestinationForm, outline: Outline, also: str = "") -> str:
    """Return `text` encoded in the style of `written`; the signs `also` stay."""
    source = outline.source
    beyond_ascii = (
        not _ENCODED_BEYOND_ASCII.search(written) and source.encoding in _UNICODE and not source.invalid_bytes
    )
    keeps_spaces = form is DestinationForm.ANGLE and "%20" not in written
    safe = _SAFE + also
    if form is DestinationForm.BARE and not _BALANCED.fullmatch(text):
        safe = safe.replace("(", "").replace(")", "")
    if form in {DestinationForm.QUOTED, DestinationForm.UNQUOTED, DestinationForm.SHORTCODE}:
        safe = safe.replace("'", "").replace("=", "")
    if not _ENTITY.search(text):
        safe += "&"
    pieces = []
    for character in text:
        is_kept = (character == " " and keeps_spaces) or (
            beyond_ascii and not character.isascii() and character.isprintable()
        )
        pieces.append(character if is_kept else quote(character, safe=safe, errors="surrogateescape"))
    return "".join(pieces)


# --- The file that a destination names: a path is relative to the folder of the document, or to the root if
# it starts with ``/``. If no such file exists, `a.html` and `a` name the page built from `a.md`. A wiki link
# matches the end of a page's path anywhere, ignoring case and suffix, with hyphens equal to spaces. So does a
# Hugo reference that matches no file (Hugo documentation, "Links and references").


class TargetKind(Enum):
    """What is at a path: a file, nothing, or something else (a folder, an unreadable entry)."""

    FILE = auto()
    OTHER = auto()
    NOTHING = auto()


class FileTree(Protocol):
    """The files of a root as links see them. All paths are relative to the root."""

    def at(self, path: str) -> TargetKind:
        """Return the kind of entry at `path`."""

    def pages(self, key: str) -> Sequence[str]:
        """Return the sorted pages whose `page_key` is `key`."""

    def spelled(self, path: str) -> str | None:
        """Return the path that equals `path` except for case; None unless it is unique."""

    @property
    def rules(self) -> paths.SiteRules:
        """The rules by which site links name files."""


class LinkedPath(Struct):
    """A resolved destination: `path` from the root, and the `style` of the link."""

    path: str
    kind: TargetKind
    style: paths.LinkStyle = paths.PLAIN


def find_target(tree: FileTree, document: str, destination: Destination) -> LinkedPath | None:
    """Return the target of `destination` in `document`; None if it is ambiguous."""
    if not destination.path:
        return LinkedPath(document, TargetKind.FILE)
    if destination.is_wiki and destination.is_page_name:
        page = _find_page(tree, document, destination.path)
        if destination.form is DestinationForm.WIKI or page is None or page.kind is not TargetKind.FILE:
            return page
        # A path that is right for other programs too stays one.
        linked = _find_path(tree, document, destination.path)
        return linked if linked.path == page.path else page
    linked = _find_path(tree, document, destination.path)
    if linked.kind is TargetKind.FILE or not destination.is_page_name or destination.is_from_root:
        return linked
    from_root = _find_path(tree, document, f"/{destination.path}")
    return from_root if from_root.kind is TargetKind.FILE else _find_page(tree, document, destination.path)


def _find_path(tree: FileTree, document: str, written: str) -> LinkedPath:
    candidates: list[LinkedPath] = []
    for path, style in tree.rules.starts(document, written):
        candidates.append(_file_at(tree, path, style, tree.rules))
        if candidates[-1].kind is TargetKind.FILE:
            return candidates[-1]
    is_there = (linked for linked in candidates if linked.kind is not TargetKind.NOTHING)
    return next(chain(is_there, candidates), LinkedPath(paths.followed("", written), TargetKind.OTHER))


def find_near(tree: FileTree, document: str, written: str) -> str | None:
    """Return the file that `written` names after correcting case, suffix, index or first folder.

    A link from the site root may omit the content folder, such as the one around `document`.
    """
    starts = [paths.followed(paths.folder_of(document), written), paths.followed("", written)]
    starts += [start.partition("/")[2] for start in starts]
    if written.startswith("/"):
        # Content folders are at most this deep.
        above = paths.folder_of(document).split("/", _MOST_ROOTS)[:_MOST_ROOTS]
        roots = [*accumulate(above, "{}/{}".format), *paths.SITE_FOLDERS]
        starts += [f"{root}/{start}" for start in (starts[1], starts[3]) if start for root in roots if root]
    for path in dict.fromkeys(starts):
        linked = _file_at(tree, path, paths.PLAIN, paths.NEAR) if path else None
        if linked is not None and linked.kind is TargetKind.FILE:
            return linked.path
    return None


def _file_at(tree: FileTree, path: str, style: paths.LinkStyle, rules: paths.SiteRules) -> LinkedPath:
    """Return the file at `path` or at one of its site forms; else the entry at `path`."""
    if paths.leads_out(path) or not (path or rules.index_names):
        return LinkedPath(path, TargetKind.OTHER)
    kind = tree.at(path) if path else TargetKind.OTHER
    if kind is TargetKind.FILE:
        return LinkedPath(path, kind, style)
    for form, form_style in ((path, style), *rules.forms(path, style)):
        # A folder keeps its name unless an index page stands for it.
        if kind is TargetKind.NOTHING or form_style.is_index:
            if tree.at(form) is TargetKind.FILE:
                return LinkedPath(form, TargetKind.FILE, form_style)
            spelled = tree.spelled(form) if rules.ignores_case else None
            if spelled is not None and tree.at(spelled) is TargetKind.FILE:
                return LinkedPath(spelled, TargetKind.FILE, form_style)
    return LinkedPath(path, kind, style)


def has_anchor(destination: Destination, anchors: frozenset[str]) -> bool:
    """Return True if `destination` has no fragment or `anchors` contains it; see `is_resolved`."""
    fragment = destination.fragment
    return fragment is None or is_resolved(fragment, anchors, is_wiki=destination.is_wiki)


def pages_named(tree: FileTree, written: str) -> Mapping[str, str]:
    """Return the pages that `written` may name, each with its normalized form."""
    form_of_link = "/" + _wiki_form(written.strip("/"), tree)
    return {
        page: form
        for page in tree.pages(paths.page_key(written))
        if (form := "/" + _wiki_form(page, tree)).endswith(form_of_link)
    }


def _find_page(tree: FileTree, document: str, written: str) -> LinkedPath | None:
    form_of_link = "/" + _wiki_form(written.strip("/"), tree)
    fitting = pages_named(tree, written)
    folder = paths.folder_of(document)
    if tree.rules.slugs.is_vault:
        # The path from the vault wins, then a page below the folder of the document, then the shortest path.
        below = f"/{folder}/".replace("//", "/").lower()
        if form_of_link in fitting.values() or written.startswith("/"):
            fitting = {page: form for page, form in fitting.items() if form == form_of_link}
        fitting = {page: form for page, form in fitting.items() if form.startswith(below)} or fitting
        length = min(map(len, fitting), default=0)
        fitting = {page: form for page, form in fitting.items() if len(page) == length}
        if len(fitting) > 1:
            return None
    elif len(fitting) > 1:
        # A page in the same folder wins, then one at the root; otherwise it is ambiguous.
        beside = "/" + _wiki_form(folder + form_of_link, tree).lstrip("/")
        fitting = {page: form for page, form in fitting.items() if form == beside} or {
            page: form for page, form in fitting.items() if form == form_of_link
        }
        if len(fitting) != 1:
            return None
    return next(
        (LinkedPath(page, TargetKind.FILE, paths.NAME) for page in fitting),
        LinkedPath(written, TargetKind.NOTHING),
    )


def _wiki_form(path: str, tree: FileTree) -> str:
    name = paths.without_suffix(path, paths.MARKDOWN_SUFFIXES).lower()
    return name if tree.rules.slugs.is_vault else name.replace(" ", "-")
