"""New paths and fragments in the style of the destination that they go into.

Percent-encoding (RFC 3986, section 2.1) is used where the old text used it, and where the form of the
destination cannot hold a character otherwise. What is written is read again: it must mean what was wanted.
"""

import re
from typing import Final
from urllib.parse import quote, unquote

from mdplan.markdown.links.destinations import Destination, DestinationForm, unescaped_destination
from mdplan.markdown.links.link_path import MARKDOWN_SUFFIXES, page_key, without_suffix
from mdplan.markdown.outline.anchors import GITHUB_PREFIX
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import TextEdit
from mdplan.text.source import Source

_ENCODED_BEYOND_ASCII: Final = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_SAFE: Final = "-._~!$'()*+,;=:@/"
_BALANCED: Final = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_NOT_IN_WIKI: Final = re.compile(r"[\[\]|#^\\\r\n]")
# At the end of a path the sign of a fragment may follow.
_ENTITY: Final = re.compile(r"&(?=[A-Za-z#]|\Z)")
_UNICODE: Final = frozenset({"utf-8", "utf-16-le", "utf-16-be"})


def with_path(outline: Outline, old: Destination, path: str) -> TextEdit | None:
    """Edit that makes `path` the path of the destination `old` of `outline`; None where it cannot be written.

    An empty path represents the document itself.
    """
    written = outline.text_of(old.path_span)
    if old.form is DestinationForm.WIKI:
        return TextEdit(old.path_span, path) if _fits_wiki_link(path, outline.source) else None
    if ":" in path.partition("/")[0]:
        # Else the first component would be read as a scheme.
        path = "./" + path
    new = _encoded(path, written, old.form, outline)
    if unquote(unescaped_destination(new, old.form), errors="surrogateescape") != path:
        return None
    return TextEdit(old.path_span, new)


def with_fragment(outline: Outline, old: Destination, anchor: str, title: str | None) -> TextEdit | None:
    """Edit that makes the fragment of `old` name the place that has `anchor`; None where it cannot.

    `title` is that of its heading, if it is one: a wiki link that names headings by their text goes on so.
    """
    assert old.fragment_span is not None
    assert old.fragment is not None
    written = outline.text_of(old.fragment_span)
    if old.form is DestinationForm.WIKI:
        is_slug = old.fragment == old.fragment.lower() and " " not in old.fragment
        names = [anchor] if title is None or is_slug else [title, anchor]
        fitting = (name for name in names if _fits_wiki_link(name, outline.source))
        return next((TextEdit(old.fragment_span, name) for name in fitting), None)
    prefix = GITHUB_PREFIX if old.fragment.lower().startswith(GITHUB_PREFIX) else ""
    new = _encoded(prefix + anchor, written, old.form, outline)
    if unquote(unescaped_destination(new, old.form), errors="surrogateescape") != prefix + anchor:
        return None
    return TextEdit(old.fragment_span, new)


def wiki_page(written: str, path: str, *, is_path: bool) -> str:
    """How a wiki link that was `written` names the page `path`: as a path or by its name, with its suffix."""
    page = path if is_path else path.rpartition("/")[2]
    name = written.rpartition("/")[2]
    if without_suffix(name, (".md",)) == name:
        page = without_suffix(page, MARKDOWN_SUFFIXES)
    if " " in name and "-" not in name and page_key(name) != name.lower():
        page = page.replace("-", " ")
    return page


def _fits_wiki_link(text: str, source: Source) -> bool:
    """Whether a wiki link in `source` can hold `text`: it has no way to encode characters."""
    if _NOT_IN_WIKI.search(text):
        return False
    try:
        text.encode("ascii" if source.invalid_bytes else source.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: str, written: str, form: DestinationForm, outline: Outline) -> str:
    """`text` as it can be in place of `written`."""
    source = outline.source
    beyond_ascii = (
        not _ENCODED_BEYOND_ASCII.search(written) and source.encoding in _UNICODE and not source.invalid_bytes
    )
    keeps_spaces = form is DestinationForm.ANGLE and "%20" not in written
    safe = _SAFE
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
