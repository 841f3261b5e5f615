"""Convert between paths in links and paths from the root, including site conventions.

Paths from the root have no `.` or empty components. A path out of the root starts with ``../``; it can be
followed as text but is never read.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mdplan.markdown.headings import GITHUB, STYLES, SlugStyle
from mdplan.values import Struct, replace

MARKDOWN_SUFFIXES: Final = (
    ".md",
    ".markdown",
    ".mdown",
    ".mkd",
    ".mdx",
    ".mdc",
    ".mdoc",
    ".qmd",
    ".rmd",
    ".livemd",
)

_PAGE_SUFFIXES: Final = (".html", ".htm")
_OUTSIDE: Final = ".."


def folder_of(path: str) -> str:
    """Return the folder of `path`; empty for the root."""
    return path.rpartition("/")[0]


def followed(folder: str, link: str) -> str:
    """Resolve the path `link` in a file of `folder` to a path from the root."""
    components = [] if link.startswith("/") else folder.split("/") if folder else []
    for component in link.split("/"):
        if component == _OUTSIDE and components and components[-1] != _OUTSIDE:
            components.pop()
        elif component not in {"", "."}:
            components.append(component)
    return "/".join(components)


def leads_out(path: str) -> bool:
    """Return True if `path` leads out of the root."""
    return path == _OUTSIDE or path.startswith("../")


def link_between(folder: str, path: str) -> str:
    """Return the relative link from a file of `folder` to `path`, both from the root."""
    here, there = folder.split("/") if folder else [], path.split("/") if path else []
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common] != _OUTSIDE:
        common += 1
    return "/".join([_OUTSIDE] * (len(here) - common) + there[common:]) or "."


def page_variants(path: str) -> Iterator[str]:
    """Yield source files for the page `path`: `a.html` and `a` are built from `a.md`."""
    if path.lower().endswith(MARKDOWN_SUFFIXES):
        return
    stem = path[: len(path) - len(_page_suffix(path))]
    yield from (stem + markdown for markdown in MARKDOWN_SUFFIXES if stem and not stem.endswith("/"))


def as_variant(path: str, like: str) -> str:
    """Return the Markdown file `path` with the page suffix of `like`."""
    return without_suffix(path, MARKDOWN_SUFFIXES) + _page_suffix(like)


def _page_suffix(path: str) -> str:
    return next((suffix for suffix in _PAGE_SUFFIXES if path.lower().endswith(suffix)), "")


def page_key(path: str) -> str:
    """Return the normalized page name for wiki links: the last component of `path`.

    Lower case, hyphens for spaces, without Markdown or page suffix.
    """
    name = path.rstrip("/").rpartition("/")[2].lower()
    return without_suffix(name, MARKDOWN_SUFFIXES + _PAGE_SUFFIXES).replace(" ", "-")


def has_page_name(path: str) -> bool:
    """Return True if a wiki link can name the file by its bare name."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(MARKDOWN_SUFFIXES) or ("." in name and not _page_suffix(name))


def without_suffix(path: str, suffixes: tuple[str, ...]) -> str:
    """Return `path` without the matching one of `suffixes`, unless nothing would be left."""
    for suffix in suffixes:
        stem = path[: len(path) - len(suffix)]
        if path.lower().endswith(suffix) and stem and not stem.endswith("/"):
            return stem
    return path


# --- Site conventions for links
#
# They describe only links: the file of the resulting path is looked up as usual.


class LinkStyle(Struct):
    """How a link abbreviates or prefixes the path of its file.

    - `prefix`, `folder`: the site root that the link starts with; `locale` precedes the prefix.
    - `is_from_page`: relative to the page of its document, where pages are folders.
    - `is_page`: the link names the page built from the file.
    - `is_index`: the link names the folder of an index file.
    - `is_name`: the link names the page regardless of its folder.
    """

    prefix: str | None = None
    folder: str = ""
    locale: str = ""
    is_from_page: bool = False
    is_page: bool = False
    is_index: bool = False
    is_name: bool = False


PLAIN: Final = LinkStyle()
NAME: Final = LinkStyle(is_name=True)
FROM_PAGE: Final = LinkStyle(is_from_page=True)


class SiteRules(Struct):
    """The link conventions of a site.

    - `roots`: link prefixes (``/docs/``) and their folders, longest first.
    - `index_names`: files (without suffix) that stand for their folder.
    - `locales`: first link components that are not folders.
    - `ignores_case`: paths are compared case-insensitively.
    - `slugs`: the anchor style in `slug_folders` (default: all); elsewhere GitHub's.
    - `has_page_folders`: each page is a folder, the base of relative links without suffix.
    """

    roots: tuple[tuple[str, str], ...] = ()
    index_names: tuple[str, ...] = ()
    locales: tuple[str, ...] = ()
    ignores_case: bool = False
    slugs: SlugStyle = GITHUB
    slug_folders: tuple[str, ...] = ()
    has_page_folders: bool = False

    @classmethod
    def of(
        cls,
        roots: Mapping[str, str],
        index_names: tuple[str, ...] = (),
        locales: tuple[str, ...] = (),
        *,
        ignores_case: bool = False,
        slugs: SlugStyle = GITHUB,
        has_page_folders: bool = False,
    ) -> "SiteRules":
        """Return rules with `roots` as users write them: ``/docs`` and ``docs/`` are equivalent.

        `slugs` apply to headings below the folders of `roots`.
        """
        pairs = {
            f"/{prefix.strip('/')}/".replace("//", "/"): followed("", folder)
            for prefix, folder in roots.items()
        }
        longest_first = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        folders = tuple(dict.fromkeys(folder for _, folder in longest_first))
        return cls(tuple(longest_first), index_names, locales, ignores_case, slugs, folders, has_page_folders)

    def slugs_of(self, path: str) -> SlugStyle:
        """Return the anchor style of the document `path` (from the root)."""
        folders = self.slug_folders or ("",)
        is_page = any(not folder or path.startswith(f"{folder}/") for folder in folders)
        return self.slugs if is_page else GITHUB

    def starts(self, document: str, written: str) -> Iterator[tuple[str, LinkStyle]]:
        """Yield the paths that `written` in `document` may mean, before suffixes are tried."""
        if not written.startswith("/"):
            beside = (followed(folder_of(document), written), PLAIN)
            below_page = (followed(self.page_folder(document), written), FROM_PAGE)
            # A path with a suffix usually names a file, not a page.
            is_file = "." in written.rpartition("/")[2].strip(".")
            pair = (beside, below_page) if is_file else (below_page, beside)
            yield from pair if self.has_page_folders else (beside,)
            return
        locale, _, below = written[1:].partition("/")
        forms = [(written, ""), *([(f"/{below}", locale)] if locale in self.locales else [])]
        for form, before in forms:
            for prefix, folder in self.roots:
                if f"{form}/".startswith(prefix):
                    yield followed(folder, f"./{form[len(prefix) :]}"), LinkStyle(prefix, folder, before)
        if not self.roots:
            yield followed("", written), PLAIN

    def page_folder(self, document: str) -> str:
        """Return the folder that the page of `document` becomes."""
        stem = without_suffix(document, MARKDOWN_SUFFIXES)
        return folder_of(document) if stem.rpartition("/")[2] in self.index_names else stem

    def forms(self, path: str, style: LinkStyle) -> Iterator[tuple[str, LinkStyle]]:
        """Yield the source files for the page `path`."""
        for variant in page_variants(path):
            yield variant, replace(style, is_page=True)
        for name in self.index_names:
            for suffix in MARKDOWN_SUFFIXES:
                index = f"{path}/{name}{suffix}" if path else f"{name}{suffix}"
                yield index, replace(style, is_page=True, is_index=True)

    def written(self, path: str, style: LinkStyle, like: str) -> str | None:
        """Return the link to `path` in `style`, formatted like `like`; None if no root covers it.

        A document-relative link is returned relative to the root, without a leading slash.
        """
        form = self._page(path, style, like) if style.is_page else path
        if style.prefix is None:
            return form
        for prefix, folder in ((style.prefix, style.folder), *self.roots):
            if not folder or form == folder or form.startswith(f"{folder}/"):
                rest = form[len(folder) :].lstrip("/")
                locale = f"/{style.locale}" if style.locale else ""
                slash = "/" if like.endswith("/") and rest else ""
                return f"{locale}{prefix}{rest}{slash}"
        return None

    def _page(self, path: str, style: LinkStyle, like: str) -> str:
        stem = without_suffix(path, MARKDOWN_SUFFIXES)
        is_index = stem.rpartition("/")[2] in self.index_names
        if style.is_index or (is_index and like.endswith("/")):
            return folder_of(path) if is_index else stem
        return as_variant(path, like)


NO_RULES: Final = SiteRules()

# All conventions at once, for near-miss hints but never for edits.
NEAR: Final = SiteRules((), ("index", "README", "_index"), (), ignores_case=True)

# Default content folders of generators.
SITE_FOLDERS: Final = ("docs", "src", "content", "src/content/docs", "src/pages")

PRESETS: Final[Mapping[str, SiteRules]] = {
    "astro": SiteRules.of({"/": "src/content/docs"}, ("index",), has_page_folders=True),
    "docfx": SiteRules.of({"/": ""}, ("index",), ignores_case=True, slugs=STYLES["docfx"]),
    "docusaurus": SiteRules.of(
        {"/docs": "docs", "/blog": "blog", "/": "src/pages"}, ("index", "README"), slugs=STYLES["docusaurus"]
    ),
    "hugo": SiteRules.of({"/": "content"}, ("_index", "index"), slugs=STYLES["hugo"], has_page_folders=True),
    "mkdocs": SiteRules.of({"/": "docs"}, ("index", "README"), slugs=STYLES["python-markdown"]),
    "obsidian": SiteRules.of({}, ignores_case=True, slugs=STYLES["obsidian"]),
    "vitepress": SiteRules.of({"/": "docs"}, ("index",), slugs=STYLES["vitepress"]),
}
