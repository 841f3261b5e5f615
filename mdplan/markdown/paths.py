"""Paths as links write them: from the folder of a file, to a path from the root, and back.

A path from the root has no `.` and no empty components. One that leads out of the root begins with ``../``:
as text it can still be followed, though no one looks there.
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
    """Return the folder of the file `path`; empty for the root."""
    return path.rpartition("/")[0]


def followed(folder: str, link: str) -> str:
    """Return the path from the root that the path `link` means in a file of `folder`."""
    components = [] if link.startswith("/") else folder.split("/") if folder else []
    for component in link.split("/"):
        if component == _OUTSIDE and components and components[-1] != _OUTSIDE:
            components.pop()
        elif component not in {"", "."}:
            components.append(component)
    return "/".join(components)


def leads_out(path: str) -> bool:
    """Return True if `path`, from the root, is outside it."""
    return path == _OUTSIDE or path.startswith("../")


def link_between(folder: str, path: str) -> str:
    """Return the relative path by which a file of `folder` links to `path`; both are from the root."""
    here, there = folder.split("/") if folder else [], path.split("/") if path else []
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common] != _OUTSIDE:
        common += 1
    return "/".join([_OUTSIDE] * (len(here) - common) + there[common:]) or "."


def page_variants(path: str) -> Iterator[str]:
    """Yield files that a generator would make the page `path` of: `a.html` and `a` are made of `a.md`."""
    if path.lower().endswith(MARKDOWN_SUFFIXES):
        return
    stem = path[: len(path) - len(_page_suffix(path))]
    yield from (stem + markdown for markdown in MARKDOWN_SUFFIXES if stem and not stem.endswith("/"))


def as_variant(path: str, like: str) -> str:
    """Return `path`, which is a Markdown file, with the suffix that the page `like` has in its place."""
    return without_suffix(path, MARKDOWN_SUFFIXES) + _page_suffix(like)


def _page_suffix(path: str) -> str:
    return next((suffix for suffix in _PAGE_SUFFIXES if path.lower().endswith(suffix)), "")


def page_key(path: str) -> str:
    """Return what names a page in a wiki link, and is the same in every link to a file: its last component.

    Without the suffix of a Markdown file or page, in lower case, with hyphens for spaces.
    """
    name = path.rstrip("/").rpartition("/")[2].lower()
    return without_suffix(name, MARKDOWN_SUFFIXES + _PAGE_SUFFIXES).replace(" ", "-")


def has_page_name(path: str) -> bool:
    """Return True if notes can name the file `path` alone: a page, or a file with its suffix."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(MARKDOWN_SUFFIXES) or ("." in name and not _page_suffix(name))


def without_suffix(path: str, suffixes: tuple[str, ...]) -> str:
    """Return `path` without the one of `suffixes` that it ends in; a name that is nothing else keeps it."""
    for suffix in suffixes:
        stem = path[: len(path) - len(suffix)]
        if path.lower().endswith(suffix) and stem and not stem.endswith("/"):
            return stem
    return path


# --- How the links of a site name its files: what its generator does to paths
#
# Rules describe only links: the path of a file that they lead to is looked up as any other path is.


class LinkStyle(Struct):
    """How a link abbreviates or prefixes the path of its file.

    `prefix` and `folder` are those of the root that it begins with; `locale` comes before the prefix.
    `is_from_page` says that it is relative to the page of its document, which is a folder. `is_page` says
    that it names the page that is made of the file, `is_index` that it names its folder, and `is_name` that
    it names the page wherever it is.
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
    """The rules of one site.

    `roots` are prefixes of links (``/docs/``) with the folders that they mean, the longest first.
    `index_names` are files (without suffix) that a link to their folder names. `locales` are first
    components of a link that name no folder. With `ignores_case` paths are compared without case. `slugs` are
    those of headings of documents in one of `slug_folders`, of all without any; elsewhere they are GitHub's.
    With `has_page_folders` each page is a folder, from which relative links without suffix lead.
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
        """Return the rules with `roots` as people write them: ``/docs`` and ``docs/`` do as well.

        Headings below the folders of `roots` have `slugs`.
        """
        pairs = {
            f"/{prefix.strip('/')}/".replace("//", "/"): followed("", folder)
            for prefix, folder in roots.items()
        }
        longest_first = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        folders = tuple(dict.fromkeys(folder for _, folder in longest_first))
        return cls(tuple(longest_first), index_names, locales, ignores_case, slugs, folders, has_page_folders)

    def slugs_of(self, path: str) -> SlugStyle:
        """Return how anchors of headings of the document `path`, from the root, are made."""
        folders = self.slug_folders or ("",)
        is_page = any(not folder or path.startswith(f"{folder}/") for folder in folders)
        return self.slugs if is_page else GITHUB

    def starts(self, document: str, written: str) -> Iterator[tuple[str, LinkStyle]]:
        """Yield paths from the root that `written` in the file `document` may mean, before suffixes."""
        if not written.startswith("/"):
            beside = (followed(folder_of(document), written), PLAIN)
            below_page = (followed(self.page_folder(document), written), FROM_PAGE)
            # With a suffix it mostly names a file, and not a page.
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
        """Return the folder that the page of the file `document` is, where pages are folders."""
        stem = without_suffix(document, MARKDOWN_SUFFIXES)
        return folder_of(document) if stem.rpartition("/")[2] in self.index_names else stem

    def forms(self, path: str, style: LinkStyle) -> Iterator[tuple[str, LinkStyle]]:
        """Yield the files that `path`, which is none itself, may name: those of which its page is made."""
        for variant in page_variants(path):
            yield variant, replace(style, is_page=True)
        for name in self.index_names:
            for suffix in MARKDOWN_SUFFIXES:
                index = f"{path}/{name}{suffix}" if path else f"{name}{suffix}"
                yield index, replace(style, is_page=True, is_index=True)

    def written(self, path: str, style: LinkStyle, like: str) -> str | None:
        """Return the link to the file `path` in the `style` of the link `like`; None where no root covers it.

        A link that is relative to its document is given from the root, without the slash before.
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

# Every way in which a link can be near to a file: for hints, and never for edits.
NEAR: Final = SiteRules((), ("index", "README", "_index"), (), ignores_case=True)

# Where generators look for the documents that links from the root name.
SITE_FOLDERS: Final = ("docs", "src", "content", "src/content/docs", "src/pages")

PRESETS: Final[Mapping[str, SiteRules]] = {
    "astro": SiteRules.of({"/": "src/content/docs"}, ("index",), has_page_folders=True),
    "docfx": SiteRules.of({"/": ""}, ("index",), ignores_case=True, slugs=STYLES["docfx"]),
    "docusaurus": SiteRules.of(
        {"/docs": "docs", "/blog": "blog", "/": "src/pages"}, ("index", "README"), slugs=STYLES["docusaurus"]
    ),
    "hugo": SiteRules.of({"/": "content"}, ("_index", "index"), slugs=STYLES["hugo"], has_page_folders=True),
    "mkdocs": SiteRules.of({"/": "docs"}, ("index", "README"), slugs=STYLES["python-markdown"]),
    "vitepress": SiteRules.of({"/": "docs"}, ("index",), slugs=STYLES["vitepress"]),
}
