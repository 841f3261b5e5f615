"""A link check independent of mdplan: pages by cmark-gfm, paths by the standard library.

`a.html` counts as the page generated from `a.md`, as in real books.
"""

import html
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from tests.support.pages import Page

_HREF = re.compile(r'<a href="([^"]*)"(?! class="footnote-backref")')
_RAW_HREF = re.compile(r"<a\s[^<>]*?\bhref\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_CODE = re.compile(r"<code[^>]*>.*?</code>", re.DOTALL)
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_PAGE = re.compile(r"\.html\Z")


@dataclass(frozen=True)
class Target:
    """A file and a target in it: a heading number, an explicit anchor, or None for the whole file."""

    file: str
    place: int | str | None = None


@dataclass(frozen=True)
class Site:
    """All Markdown files below `root`, read on first use."""

    root: Path

    @cached_property
    def files(self) -> frozenset[str]:
        """Relative paths of all files."""
        return frozenset(
            path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()
        )

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Rendered Markdown files by path."""
        return {name: Page.of((self.root / name).read_bytes()) for name in self.files if name.endswith(".md")}

    def links(self, name: str) -> list[str]:
        """Return the destinations of all local links of a file, in order; raw HTML last."""
        page = self.pages[name]
        found = [*_HREF.findall(_CODE.sub("", page.body)), *_RAW_HREF.findall(page.text)]
        hrefs = (html.unescape(href) for href in found)
        return [href for href in hrefs if not _EXTERNAL.match(href) and not href.startswith("#fn-")]

    def target(self, name: str, href: str) -> Target | None:
        """Return the target of `href` in the file `name`, or None if it is broken."""
        path, _, fragment = unquote(href).partition("#")
        path = path.partition("?")[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if file not in self.files:
            file = _PAGE.sub(".md", file)
        if file not in self.files:
            is_folder = (self.root / file).is_dir()
            return Target(file) if is_folder else None
        if not fragment or file not in self.pages:
            return Target(file)
        places = self.pages[file].places
        return Target(file, places[fragment.lower()]) if fragment.lower() in places else None
