"""Which files a text may link to, found without parsing it."""

import codecs
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from html import unescape
from typing import Final
from urllib.parse import unquote

from mdplan.markdown.destinations import REF_SHORTCODE, is_external
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.paths import page_key
from mdplan.markdown.targets import target_key

# What is before a destination, and what that may be: one may be within what only reads like another's.
# A bare one ends at white space, or before the next one: what else ends it is sorted out below.
_DESTINATION: Final = re.compile(
    r"\][(:][\s>]*+(?=<(?P<angle>[^<>\r\n]*+)|(?P<bare>(?:[^\s<\]]++|\](?!\())++))"
)
_PAGE: Final = re.compile(r"\[\[(?=(?P<wiki>[^\[\]|\r\n]*+))")
# After the sign of equality of an attribute.
_VALUE: Final = re.compile(r"""\s*["']?(?P<html>[^"'<>\r\n]*)""")
# A route in front matter; in other lines it does no harm.
_ROUTE: Final = re.compile(r"""^[ \t-]*link:[ \t]*["']?(?P<html>[^"'#\r\n]+)""", re.MULTILINE)
_LONGEST_NAME: Final = 6
_FEW: Final = 8
# What a fragment begins with; an escape or an entity can be its sign.
_OWN: Final = frozenset("#&\\")
# Of a destination with one of these no one knows what it means before it is parsed.
_MEANS_MORE: Final = re.compile(r"[\\&%]")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_END_OF_PATH: Final = re.compile(r"[#?|]")
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def linked_places(text: str, places: Mapping[str, frozenset[str] | None]) -> frozenset[str]:
    """Names of `places` (as `page_key` writes them) that `text` may link to, and some that it does not.

    Of a name with keys (as of `target_key`) only links to one of these fragments count, of None all links.
    It costs one pass over the text.
    """
    return frozenset(
        name
        for match in _destinations(text)
        for name, written in _named(match)
        if name in places and ((keys := places[name]) is None or not keys.isdisjoint(_fragments(written)))
    )


def may_link_to(text: str, names: frozenset[str]) -> bool:
    """Whether `text` may link to one of `names`, as `page_key` writes them."""
    return may_name(_destinations(text), names)


def may_list(text: str, names: frozenset[str]) -> bool:
    """Whether `text`, a file of keys, may name one of `names`, as `page_key` writes them."""
    plain = text.lower().replace(" ", "-")
    return "\\" in text or any(name in plain for name in names)


def possible_links(text: str) -> list[re.Match[str]]:
    """Everything in `text` that may be a destination, for several questions about all of it."""
    return list(_destinations(text))


def may_name(links: Iterable[re.Match[str]], names: frozenset[str]) -> bool:
    """As `may_link_to`, of `possible_links`."""
    # After a name is a suffix, or what ends a path.
    few = rf"/(?:{'|'.join(map(re.escape, names))})(?![^\W_])" if len(names) <= _FEW else ""
    may_hold_one = re.compile(few).search
    for match in links:
        written = match[match.lastgroup or 0]
        # What is spelled plainly holds the name, and looking for it costs less than making one of it.
        may_be_one = may_hold_one(f"/{written.lower().replace(' ', '-')}") or not _is_plain(written)
        if may_be_one and not names.isdisjoint(_names(match)):
            return True
    return False


def _is_plain(written: str) -> bool:
    return _MEANS_MORE.search(written) is None and not written[:1].isspace()


def places_of_fragments(links: Iterable[re.Match[str]], keys: Container[str]) -> Iterator[int]:
    """Where `links` may lead to a fragment of their own text that is one of `keys` (as of `target_key`).

    Fragments of several lines, which no heading has, are omitted.
    """
    for match in links:
        written = match[match.lastgroup or 0]
        if match.lastgroup == "wiki":
            is_meant = "#" in written
        else:
            is_meant = written[:1] in _OWN and any(_may_be_own(each, keys) for each in _readings(match))
        if is_meant:
            yield match.start(match.lastgroup or 0)


def keys_in_html(text: str) -> frozenset[str]:
    """Anchors that HTML in `text` may name, as `target_key` writes them; of those without quotes in them."""
    values = _attribute_values(text, ("id", "name"))
    return frozenset(target_key(unescape(written)) for match in values for written in _readings(match))


def _destinations(text: str) -> Iterator[re.Match[str]]:
    """Everything that may be a destination: those of Markdown, wiki links, Hugo, HTML and front matter."""
    yield from _DESTINATION.finditer(text)
    yield from _PAGE.finditer(text)
    yield from REF_SHORTCODE.finditer(text)
    yield from _attribute_values(text, ("href", "src", "poster"))
    if text.startswith(("---", "\ufeff---")):
        yield from _ROUTE.finditer(text)


def _attribute_values(text: str, names: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Values of what may be attributes with these names, or with names that end so."""
    at = text.find("=")
    while at >= 0:
        end = at
        while end and text[end - 1].isspace():
            end -= 1
        if text[max(end - _LONGEST_NAME, 0) : end].lower().endswith(names):
            value = _VALUE.match(text, at + 1)
            assert value is not None
            yield value
        at = text.find("=", at + 1)


def text_of_bytes(data: bytes) -> str:
    """The text of a file, near enough to look for names in it."""
    return data.decode(
        _UTF_16.get(data[:2], "utf-8"), "surrogateescape" if data[:2] not in _UTF_16 else "replace"
    )


def _may_be_own(written: str, keys: Container[str]) -> bool:
    """Whether `written`, which begins with one of `_OWN`, may be a fragment that is one of `keys`."""
    means_more = written[0] != "#" or _MEANS_MORE.search(written) is not None
    return means_more or target_key(written[1:]) in keys


def _names(match: re.Match[str]) -> Iterator[str]:
    return (name for name, _ in _named(match))


def _named(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Names that `match` may mean, each with the text that it was read from."""
    for written in _readings(match):
        if match.lastgroup == "wiki" or not is_external(written):
            yield _name(written), written


def _fragments(written: str) -> Iterator[str]:
    """Keys of the fragment of `written`, whichever form of link it is."""
    for text in (written, unescape(_ESCAPE.sub(r"\1", written))):
        # A heading path of a wiki link ends with the heading.
        for fragment in (text.partition("#")[2], text.rpartition("#")[2]):
            yield target_key(fragment)
            yield heading_slug(fragment)


def _readings(match: re.Match[str]) -> Iterator[str]:
    """What the text of `match` may be: all of it, or what is before a sign that may end it."""
    written = match[match.lastgroup or 0]
    yield written
    if match.lastgroup == "bare":
        yield _within_parentheses(written)
    elif match.lastgroup == "html":
        yield from written.split(maxsplit=1)[:1]


def _name(written: str) -> str:
    path = _END_OF_PATH.split(unescape(_ESCAPE.sub(r"\1", written)), maxsplit=1)[0]
    return page_key(unquote(path, errors="surrogateescape").rstrip())


def _within_parentheses(written: str) -> str:
    """`written` up to the first parenthesis that closes none of its own (CommonMark 0.31.2, section 6.3)."""
    if "(" not in written:
        return written.partition(")")[0]
    depth = 0
    for index, character in enumerate(written):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return written[:index]
    return written
