"""Know the navigation files of site generators, and how each kind of them names a page.

The name of a file decides its kind. Of programs (`sidebars.js`), of files of other tools (`netlify.toml`,
`_data/menu.yml`) and of `toctree` directives mdplan only knows the text that may name a page.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mdplan.markdown import paths
from mdplan.markdown.destinations import FileTree, TargetKind
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace

if TYPE_CHECKING:
    from mdplan.data.tree import Path


# From the path of the file and what it says to the folder that its entries begin in; None for no such one.
_FolderOf = Callable[[str, Any], str | None]

# The key of a redirect's page.
REDIRECT: Final = "destination"
EXTERNAL: Final = lazy_pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
TAIL: Final = lazy_pattern(r"[#?].*", re.DOTALL)


class NavigationKind(Struct, kw_only=True):
    """One kind of navigation file.

    `names_page` says whether the value at a path may name a page, and `pages_key` the names of keys whose
    lists have pages, None for all of them. `top` is the list that takes pages which go nowhere else.
    `entry` makes an entry of a title and of how the file names the page. Entries are written with the suffix
    of the page where `has_suffix`, and `may_lead_out` of the folder that they begin in. Where `has_ids` they
    have no numbers before names, and a page may give itself another name. `index_names` are pages that an
    entry names by their folder. Where it `has_routes`, values are links, which the rules of the site explain.
    """

    tool: str
    names_page: "Callable[[Path], bool]"
    folder: _FolderOf = lambda path, _: paths.folder_of(path)
    entry: Callable[[str, str], object] | None = None
    top: "Path" = ()
    pages_keys: frozenset[str] | None = None
    has_suffix: bool = True
    may_lead_out: bool = False
    has_ids: bool = False
    index_names: tuple[str, ...] = ()
    has_routes: bool = False


class Navigation(Struct):
    """The navigation file at `path`, of a `kind`, whose entries begin in `folder`."""

    path: str
    kind: NavigationKind
    folder: str

    def page(self, path: "Path", value: object) -> Sequence[str]:
        """Return files that the `value` at `path` may name; none if it names no page."""
        if not isinstance(value, str) or not self.kind.names_page(path) or EXTERNAL.match(value):
            return ()
        named = paths.followed(self.folder, TAIL.sub("", value).lstrip("/"))
        if not named or named.lower().endswith(paths.MARKDOWN_SUFFIXES) or self.kind.has_suffix:
            return (named,)
        stems = (named, *(f"{named}/{name}" for name in self.kind.index_names))
        return tuple(stem + suffix for stem in stems for suffix in paths.MARKDOWN_SUFFIXES)

    def names(self, path: "Path", value: str, page: str, own_id: str = "") -> bool:
        """Return True if the `value` at `path` names the file `page`, which may give itself `own_id`."""
        if page in self.page(path, value):
            return True
        return self.kind.has_ids and self.kind.names_page(path) and value == self.written(page, value, own_id)

    def written(self, page: str, like: str = "", own_id: str = "") -> str | None:
        """Return how the file names the `page`, in the style of the entry `like`; None if it cannot.

        `own_id` is the name that the page gives itself.
        """
        link = paths.link_between(self.folder, page)
        if paths.leads_out(link) and not self.kind.may_lead_out:
            return None
        if self.kind.has_ids:
            folder, _, name = link.rpartition("/")
            name = own_id or _NUMBER.sub("", paths.without_suffix(name, paths.MARKDOWN_SUFFIXES))
            return "/".join([*(_NUMBER.sub("", each) for each in folder.split("/") if each), name])
        body = TAIL.sub("", like)
        has_suffix = body.lower().endswith(paths.MARKDOWN_SUFFIXES) if body else self.kind.has_suffix
        link = (
            link
            if has_suffix or self.kind.has_suffix
            else paths.without_suffix(link, paths.MARKDOWN_SUFFIXES)
        )
        if not has_suffix and link.rpartition("/")[2] in self.kind.index_names:
            link = paths.folder_of(link)
        link += "/" if link and body.endswith("/") else ""
        is_dotted = like.startswith("./") and not paths.leads_out(link)
        start = "/" if like.startswith("/") else "./" if is_dotted else ""
        return start + link + like[len(body) :]


def navigation_of(path: str, values: Any) -> Navigation | None:  # noqa: ANN401 (any value)
    """Return the navigation that the file `path` is, which says `values`; None for another file."""
    kind = _kind_of(path)
    folder = kind.folder(path, values) if kind else None
    return None if kind is None or folder is None else Navigation(path, kind, folder)


def beside_its_pages(
    navigation: Navigation, named: "Iterable[tuple[Path, str]]", tree: FileTree
) -> Navigation:
    """Return `navigation` with entries relative to its own folder, if only then they name files.

    `named` are its strings. A navigation that sets its folder explicitly stays unchanged.
    """
    beside = replace(navigation, folder=paths.folder_of(navigation.path))
    strings = list(named)
    if any(path[-1:] == ("docs_dir",) for path, _ in strings):
        return navigation

    def is_right(candidate: Navigation) -> bool:
        pages = (page for path, value in strings for page in candidate.page(path, value))
        return any(tree.at(page) is TargetKind.FILE for page in pages)

    return beside if not is_right(navigation) and is_right(beside) else navigation


def is_summary(path: str) -> bool:
    """Return True if `path` has the name of a list of pages of a book, as in mdBook."""
    return path.rpartition("/")[2].lower() == "summary.md"


def is_navigation(path: str) -> bool:
    """Return True if a file of the name in `path` lists the pages of a site."""
    return _kind_of(path) is not None or is_only_text(path)


def has_links(path: str) -> bool:
    """Return True if the file `path` has links of a site or vault in place of names of pages."""
    kind = _kind_of(path)
    return kind is not None and kind.has_routes


def is_only_text(path: str) -> bool:
    """Return True if a file of the name in `path` lists pages in a way that mdplan does not change."""
    return _ONLY_TEXT.search(path.lower()) is not None


def entry_names(names: Iterable[str]) -> frozenset[str]:
    """Return `names` of pages as `page_key` writes them, and those without the numbers before them."""
    every = frozenset(names)
    return every | {_NUMBER.sub("", name) for name in every}


def pages_in_text(path: str, text: str, pages: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the `pages` that the `text` of the file `path` may name, with the offset where it does.

    These are the lines of `toctree` directives, or values of data and programs.
    """
    stems = {page: paths.without_suffix(page, paths.MARKDOWN_SUFFIXES) for page in pages}
    for tree in _TOCTREE.finditer(text):
        for match in _TOCTREE_LINE.finditer(text, *tree.span(tree.lastgroup or 0)):
            folder = "" if match[1].startswith("/") else paths.folder_of(path)
            named = paths.without_suffix(match[1].lstrip("/"), paths.MARKDOWN_SUFFIXES)
            target = paths.followed(folder, named)
            yield from ((page, match.start(1)) for page, stem in stems.items() if stem == target)
    is_data = is_only_text(path) and not path.lower().endswith(".rst")
    for match in _VALUE.finditer(text) if is_data else ():
        value = TAIL.sub("", match[1] or match[2]).strip("./")
        value = paths.without_suffix(value, (*paths.MARKDOWN_SUFFIXES, ".html"))
        for page, stem in stems.items():
            # A single word names a page directly in the documents folder.
            is_far = "/" not in value and stem.count("/") > 1
            if value and not is_far and f"/{stem.removesuffix('/index')}".endswith(f"/{value}"):
                yield page, match.start()


def _kind_of(path: str) -> NavigationKind | None:
    name = path.rpartition("/")[2].lower()
    patterns = ((_VERSIONED_SIDEBARS, _SIDEBARS), (_HUGO_FILE, _HUGO), (_CANVAS_FILE, _CANVAS))
    return _KINDS.get(name) or next((kind for pattern, kind in patterns if pattern.fullmatch(name)), None)


def _configured_folder(*key: str) -> _FolderOf:
    def folder(path: str, values: Any) -> str | None:  # noqa: ANN401 (any value)
        from mdplan.data.tree import value_at

        name = value_at(values, key)
        return paths.followed(paths.folder_of(path), name if isinstance(name, str) else "docs")

    return folder


def _sidebars_folder(path: str, _values: object) -> str | None:
    folder, _, name = path.rpartition("/")
    version = _VERSIONED_SIDEBARS.fullmatch(name.lower())
    if version is None:
        return paths.followed(folder, "docs")
    return paths.followed(paths.folder_of(folder), f"versioned_docs/{name[: version.end(1)]}")


def _docs_above(path: str, _values: object) -> str | None:
    """Return the folder of the documents that `path` is in, of a version where it is of one."""
    components = paths.folder_of(path).split("/")
    for at in range(len(components) - 1, -1, -1):
        if components[at] == "docs":
            return "/".join(components[: at + 1])
        if components[at] == "versioned_docs" and at + 1 < len(components):
            return "/".join(components[: at + 2])
    return None


def _hugo_folder(path: str, values: Any) -> str | None:  # noqa: ANN401 (any value)
    from mdplan.data.tree import value_at

    folder = paths.folder_of(path)
    above, _, name = folder.rpartition("config/")
    root = above.rstrip("/") if name and "/" not in name else folder
    content = value_at(values, ("contentDir",))
    return paths.followed(root, content if isinstance(content, str) else "content")


def is_redirect(path: "Path") -> bool:
    """Return True if the value at `path` is the page that an old address leads to."""
    return path[-1] in {REDIRECT, "redirect_url"} or "redirect_maps" in path


def _below(*start: str) -> "Callable[[Path], bool]":
    return lambda path: path[: len(start)] == start


def _at_key(*names: str) -> "Callable[[Path], bool]":
    return lambda path: bool(path) and path[-1] in names


_MKDOCS: Final = NavigationKind(
    tool="MkDocs",
    folder=_configured_folder("docs_dir"),
    names_page=lambda path: path[:1] == ("nav",) or "redirect_maps" in path,
    entry=lambda title, page: {title: page},
    top=("nav",),
)

# Of the plugins awesome-pages and awesome-nav.
_AWESOME: Final = NavigationKind(
    tool="MkDocs",
    names_page=lambda path: path[:1] in {("nav",), ("arrange",)},
    entry=lambda title, page: {title: page},
    top=("nav",),
)

_ZENSICAL: Final = NavigationKind(
    tool="Zensical",
    folder=_configured_folder("project", "docs_dir"),
    names_page=_below("project", "nav"),
    entry=lambda title, page: {title: page},
    top=("project", "nav"),
)

_MINTLIFY: Final = NavigationKind(
    tool="Mintlify",
    names_page=lambda path: path[:1] == ("navigation",) or path[-1:] == (REDIRECT,),
    entry=lambda _, page: page,
    top=("navigation", "pages"),
    pages_keys=frozenset({"pages"}),
    has_suffix=False,
)

_DOCFX: Final = NavigationKind(
    tool="docfx",
    names_page=_at_key("href", "topicHref", "homepage", "tocHref"),
    entry=lambda title, page: {"name": title, "href": page},
    may_lead_out=True,
)

_JUPYTER_BOOK: Final = NavigationKind(
    tool="Jupyter Book",
    names_page=_at_key("file", "root"),
    entry=lambda _, page: {"file": page},
    top=("chapters",),
    pages_keys=frozenset({"chapters", "sections"}),
    has_suffix=False,
)

_MYST: Final = NavigationKind(
    tool="MyST",
    names_page=_at_key("file"),
    entry=lambda _, page: {"file": page},
    top=("project", "toc"),
    pages_keys=frozenset({"toc", "children"}),
)

_QUARTO: Final = NavigationKind(
    tool="Quarto",
    names_page=lambda path: path[:1] in {("book",), ("website",)},
    entry=lambda _, page: page,
    top=("book", "chapters"),
    pages_keys=frozenset({"chapters", "contents", "appendices"}),
)

_VERSIONED_SIDEBARS: Final = lazy_pattern(r"(version-.*)-sidebars\.json")

_SIDEBARS: Final = NavigationKind(
    tool="Docusaurus",
    folder=_sidebars_folder,
    names_page=lambda path: path[-1:] == ("id",) or (bool(path) and isinstance(path[-1], int)),
    entry=lambda _, page: page,
    has_suffix=False,
    has_ids=True,
)

_CATEGORY: Final = NavigationKind(
    tool="Docusaurus", folder=_docs_above, names_page=_at_key("id"), has_suffix=False, has_ids=True
)

# Numbers before names, but no dates and versions, as Docusaurus takes them off.
_NUMBER: Final = lazy_pattern(r"\A\d+\s*[-_.]+\s*(?=[^-_.\s\d])")

_HUGO_FILE: Final = lazy_pattern(r"(?:hugo|config|menus?(?:\.[a-z-]+)?)\.(?:toml|ya?ml|json)")

_HUGO: Final = NavigationKind(
    tool="Hugo",
    folder=_hugo_folder,
    names_page=_at_key("url", "pageRef", "pageref"),
    has_suffix=False,
    index_names=("_index", "index"),
)

_CANVAS_FILE: Final = lazy_pattern(r".+\.canvas")

_CANVAS: Final = NavigationKind(
    tool="Obsidian",
    folder=lambda *_: "",
    names_page=lambda path: path[:1] == ("nodes",) and path[-1] == "file",
    has_routes=True,
)

# Redirects of Microsoft Learn; the addresses begin where `[links]` says.
_DOCFX_REDIRECTS: Final = NavigationKind(
    tool="docfx redirects",
    names_page=_at_key("redirect_url"),
    has_suffix=False,
    index_names=("index",),
    has_routes=True,
)

# Redirects of Netlify and others, a line for each.
_REDIRECT_LINES: Final = NavigationKind(tool="_redirects", names_page=lambda _: False, has_routes=True)
REDIRECT_LINE: Final = lazy_pattern(r"^[ \t]*(?P<source>/\S*)[ \t]+(?P<target>\S+)", re.MULTILINE)

# The pages in the header of the theme Minima.
_JEKYLL: Final = NavigationKind(tool="Jekyll", names_page=_below("header_pages"), entry=lambda _, page: page)

_ONLY_TEXT: Final = lazy_pattern(
    r"(?:\A|/)(?:(?:sidebars|(?:docusaurus|astro)\.config|\.vitepress/config(?:/[^/]*)?)\.[cm]?[jt]s"
    r"|book\.toml|netlify\.toml|vercel\.json|_data/(?:[^/]*/)*[^/]*\.(?:ya?ml|json|toml)|[^/]*\.rst)\Z"
)
# A quoted text, or one value of a line of YAML.
_VALUE: Final = lazy_pattern(
    r"""["'`]([^"'`\r\n]{1,255})["'`]|^[ \t]*(?:- +(?:\w+: +)?|\w+: +)([^\s"'`:#]{1,255})[ \t]*$""",
    re.MULTILINE,
)
TOCTREE: Final = "toctree"
_TOCTREE: Final = lazy_pattern(
    r"^([ \t]*)\.\. toctree::.*\n(?P<rst>(?:[ \t]*\n|\1[ \t]+.*\n?)*)"
    r"|^[ \t]*(`{3,}|:{3,})\{toctree\}.*\n(?P<myst>(?:(?![ \t]*\3).*\n)*)",
    re.MULTILINE,
)
_TOCTREE_LINE: Final = lazy_pattern(
    r"^[ \t]*(?:[^<>:\n][^<>\n]*<)?([^<>:\s][^<>\n]*?)>?[ \t]*$", re.MULTILINE
)

_KINDS: Final[Mapping[str, NavigationKind]] = {
    **dict.fromkeys(("mkdocs.yml", "mkdocs.yaml"), _MKDOCS),
    **dict.fromkeys((".pages", ".nav.yml", ".nav.yaml"), _AWESOME),
    "zensical.toml": _ZENSICAL,
    ".openpublishing.redirection.json": _DOCFX_REDIRECTS,
    "_config.yml": _JEKYLL,
    "_redirects": _REDIRECT_LINES,
    **dict.fromkeys(("docs.json", "mint.json"), _MINTLIFY),
    **dict.fromkeys(("toc.yml", "toc.yaml"), _DOCFX),
    "_toc.yml": _JUPYTER_BOOK,
    "myst.yml": _MYST,
    **dict.fromkeys(("_quarto.yml", "_quarto.yaml"), _QUARTO),
    "sidebars.json": _SIDEBARS,
    **dict.fromkeys(("_category_.json", "_category_.yml", "_category_.yaml"), _CATEGORY),
}
