"""Documents rendered by cmark-gfm: what a reader of the page sees, according to another parser."""

import ctypes
import html
import re
from dataclasses import dataclass
from functools import cached_property

from cmarkgfm import _cmark, cmark
from cmarkgfm.cmark import Options

_OPTIONS = Options.CMARK_OPT_SOURCEPOS | Options.CMARK_OPT_FOOTNOTES
_EXTENSIONS = ("table", "autolink", "strikethrough", "tasklist")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_SOURCE_PLACE = re.compile(r' data-sourcepos="(\d+):[^"]*"')
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)

# An explicit ID after a title, as in VuePress and kramdown, stays with the heading.
_ATTRIBUTES = re.compile(r" *\{#[^{}]*\}\Z")
_HEADING_LINE = re.compile(r'<h[1-6] data-sourcepos="(\d+):')
_TAG = re.compile(r"<[^>]*>")
_IMAGE = re.compile(r'<img [^>]*?alt="([^"]*)"[^>]*>')
_FRAGMENT = re.compile(r'<a href="#([^"]*)"(?! class="footnote-backref")')
_EXPLICIT = re.compile(r"<[a-z][^<>]*?\b(?:id|name)\s*=\s*[\"']?([^\s\"'>]+)", re.IGNORECASE)
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Page:
    """A rendered document; `body` is its HTML without source positions and raw HTML."""

    text: str
    body: str
    heading_lines: tuple[int, ...]

    @classmethod
    def of(cls, data: bytes) -> "Page":
        """Render a UTF-8 Markdown file, with front matter as blank lines."""
        text = data.decode("utf-8").removeprefix("\ufeff")
        front_matter = _FRONT_MATTER.match(text)
        if front_matter:
            text = "\n" * front_matter[0].count("\n") + text[front_matter.end() :]
        rendered = _render(text)
        lines = tuple(int(match[1]) for match in _HEADING_LINE.finditer(rendered))
        return cls(text, _SOURCE_PLACE.sub("", rendered), lines)

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        """Level and HTML of every heading, in order."""
        return [(int(match[1]), match[2]) for match in _HEADING.finditer(self.body)]

    def with_titles(self, titles: dict[int, str]) -> str:
        """Return `body` with other titles for some headings, by 0-based number."""
        pieces: list[str] = []
        at = 0
        for number, match in enumerate(_HEADING.finditer(self.body)):
            if number in titles:
                kept = _ATTRIBUTES.search(match[2])
                pieces += (self.body[at : match.start(2)], titles[number], kept[0] if kept else "")
                at = match.end(2)
        return "".join([*pieces, self.body[at:]])

    @cached_property
    def unresolved(self) -> list[str]:
        """Broken fragments of links to the page itself, in order."""
        places = {*self.slugs, *_EXPLICIT.findall(self.text), "", "top"}
        folded = {place.lower() for place in places}
        return [fragment for fragment in self.fragments if html.unescape(fragment).lower() not in folded]

    @cached_property
    def places(self) -> dict[str, int | str]:
        """The target of each lower-case fragment: a 0-based heading number, or an explicit anchor."""
        explicit = {anchor.lower(): anchor for anchor in _EXPLICIT.findall(self.text)}
        return {**explicit, **{anchor.lower(): number for number, anchor in enumerate(self.slugs)}}

    @cached_property
    def fragments(self) -> list[str]:
        """Fragments of all links to the page itself, except footnotes."""
        return [found for found in _FRAGMENT.findall(self.body) if not found.startswith("fn-")]

    @cached_property
    def slugs(self) -> list[str]:
        """GitHub's anchors of the headings."""
        taken: dict[str, None] = {}
        for _, rendered in self.headings:
            text = html.unescape(_TAG.sub("", _IMAGE.sub(r"\1", rendered))).strip().lower()
            slug = _NOT_IN_SLUG.sub("", text).replace(" ", "-")
            anchor, number = slug, 0
            while anchor in taken:
                number += 1
                anchor = f"{slug}-{number}"
            taken[anchor] = None
        return list(taken)


def _render(text: str) -> str:
    """Render `text` as HTML. The package never frees its output, and we render gigabytes, so we do."""
    library, ffi = _cmark.lib, _cmark.ffi
    cmark.core_extensions_ensure_registered()
    parser = cmark.parser_new(options=_OPTIONS)
    for name in _EXTENSIONS:
        cmark.parser_attach_syntax_extension(parser, cmark.find_syntax_extension(name))
    cmark.parser_feed(parser, text)
    root = cmark.parser_finish(parser)
    rendered = library.cmark_render_html(root, _OPTIONS, cmark.parser_get_syntax_extensions(parser))
    try:
        return str(ffi.string(rendered).decode("utf-8"))
    finally:
        _free("cmark_node_free", root)
        _free("free", rendered)
        cmark.parser_free(parser)


def _free(function: str, pointer: object) -> None:
    loaded = ctypes.CDLL(_cmark.__file__ if function != "free" else None)
    getattr(loaded, function)(ctypes.c_void_p(int(_cmark.ffi.cast("uintptr_t", pointer))))
