"""Which files list the pages of a site, and how each kind of them names a page.

A kind is known by the name of its file. Files that are programs (`sidebars.js`, `config.ts`) are no data.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mdplan.markdown import paths
from mdplan.markdown.destinations import FileTree, TargetKind
from mdplan.text.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from mdplan.data.tree import Path


# From the path of the file and what it says to the folder that its entries begin in; None for no such one.
_FolderOf = Callable[[str, Any], str | None]

# The key of a redirect's page.
REDIRECT: Final = "destination"

EXTERNAL: Final = lazy_pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")

TAIL: Final = lazy_pattern(r"[#?].*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationKind:
    """One kind of navigation file.

    `names_page` says whether the value at a path may name a page, and `pages_key` the names of keys whose
    lists have pages, None for all of them. `top` is the list that takes pages which go nowhere else.
    `entry` makes an entry of a title and of how the file names the page. Entries are written with the suffix
    of the page where `has_suffix`, and `may_lead_out` of the folder that they begin in.
    """

    tool: str
    folder: _FolderOf
    names_page: "Callable[[Path], bool]"
    entry: Callable[[str, str], object] | None
    top: "Path" = ()
    pages_keys: frozenset[str] | None = None
    has_suffix: bool = True
    may_lead_out: bool = False


@dataclass(frozen=True, slots=True)
class Navigation:
    """The navigation file at `path`, of a `kind`, whose entries begin in `folder`."""

    path: str
    kind: NavigationKind
    folder: str

    def page(self, path: "Path", value: object) -> Sequence[str]:
        """Files that the `value` at `path` may name; none where it names no page."""
        if not isinstance(value, str) or not self.kind.names_page(path) or EXTERNAL.match(value):
            return ()
        named = paths.followed(self.folder, TAIL.sub("", value).lstrip("/"))
        if not named or named.lower().endswith(paths.MARKDOWN_SUFFIXES) or self.kind.has_suffix:
            return (named,)
        return tuple(named + suffix for suffix in paths.MARKDOWN_SUFFIXES)

    def written(self, page: str, like: str = "") -> str | None:
        """How the file names the `page`, in the style of the entry `like`; None where it cannot."""
        link = paths.link_between(self.folder, page)
        if paths.leads_out(link) and not self.kind.may_lead_out:
            return None
        body = TAIL.sub("", like)
        has_suffix = body.lower().endswith(paths.MARKDOWN_SUFFIXES) if body else self.kind.has_suffix
        link = (
            link
            if has_suffix or self.kind.has_suffix
            else paths.without_suffix(link, paths.MARKDOWN_SUFFIXES)
        )
        is_dotted = like.startswith("./") and not paths.leads_out(link)
        start = "/" if like.startswith("/") else "./" if is_dotted else ""
        return start + link + like[len(body) :]


def navigation_of(path: str, values: Any) -> Navigation | None:  # noqa: ANN401 (any value)
    """The navigation that the file `path` is, which says `values`; None for another file."""
    kind = _kind_of(path)
    folder = kind.folder(path, values) if kind else None
    return None if kind is None or folder is None else Navigation(path, kind, folder)


def beside_its_pages(
    navigation: Navigation, named: "Iterable[tuple[Path, str]]", tree: FileTree
) -> Navigation:
    """`navigation`, whose strings are `named`, with its own folder as the start of entries where these do so.

    They do where the folder that the tool looks in is a default, none of them is a file below it, and one is
    next to the navigation.
    """
    beside = replace(navigation, folder=paths.folder_of(navigation.path))
    strings = list(named)
    if any(path[-1:] == ("docs_dir",) for path, _ in strings):
        return navigation

    def is_right(each: Navigation) -> bool:
        pages = (page for path, value in strings for page in each.page(path, value))
        return any(tree.at(page) is TargetKind.FILE for page in pages)

    return beside if not is_right(navigation) and is_right(beside) else navigation


def is_summary(path: str) -> bool:
    """Whether a Markdown file of the name in `path` is a list of the pages of a book, as for mdBook."""
    return path.rpartition("/")[2].lower() == "summary.md"


def is_navigation(path: str) -> bool:
    """Whether a file of the name in `path` lists the pages of a site."""
    return _kind_of(path) is not None


def _kind_of(path: str) -> NavigationKind | None:
    name = path.rpartition("/")[2].lower()
    return _KINDS.get(name) or (_SIDEBARS if _VERSIONED_SIDEBARS.fullmatch(name) else None)


def _own_folder(path: str, values: object) -> str | None:
    del values
    return paths.folder_of(path)


def _mkdocs_folder(path: str, values: Any) -> str | None:  # noqa: ANN401 (any value)
    from mdplan.data.tree import value_at

    given = value_at(values, ("docs_dir",))
    return paths.followed(paths.folder_of(path), given if isinstance(given, str) else "docs")


def _zensical_folder(path: str, values: Any) -> str | None:  # noqa: ANN401 (any value)
    from mdplan.data.tree import value_at

    given = value_at(values, ("project", "docs_dir"))
    return paths.followed(paths.folder_of(path), given if isinstance(given, str) else "docs")


def _sidebars_folder(path: str, values: object) -> str | None:
    del values
    folder, _, name = path.rpartition("/")
    version = _VERSIONED_SIDEBARS.fullmatch(name.lower())
    if version is None:
        return paths.followed(folder, "docs")
    return paths.followed(paths.folder_of(folder), f"versioned_docs/{name[: version.end(1)]}")


def _docs_above(path: str, values: object) -> str | None:
    """The folder of the documents that `path` is in, of a version where it is of one."""
    del values
    components = paths.folder_of(path).split("/")
    for at in range(len(components) - 1, -1, -1):
        if components[at] == "docs":
            return "/".join(components[: at + 1])
        if components[at] == "versioned_docs" and at + 1 < len(components):
            return "/".join(components[: at + 2])
    return None


def _below(*start: str) -> "Callable[[Path], bool]":
    return lambda path: path[: len(start)] == start


def _at_key(*names: str) -> "Callable[[Path], bool]":
    return lambda path: bool(path) and path[-1] in names


def _titled(title: str, page: str) -> object:
    return {title: page}


def _bare(title: str, page: str) -> object:
    del title
    return page


def _named_href(title: str, page: str) -> object:
    return {"name": title, "href": page}


def _file(title: str, page: str) -> object:
    del title
    return {"file": page}


_MKDOCS: Final = NavigationKind(
    tool="MkDocs", folder=_mkdocs_folder, names_page=_below("nav"), entry=_titled, top=("nav",)
)

_ZENSICAL: Final = NavigationKind(
    tool="Zensical",
    folder=_zensical_folder,
    names_page=_below("project", "nav"),
    entry=_titled,
    top=("project", "nav"),
)

_MINTLIFY: Final = NavigationKind(
    tool="Mintlify",
    folder=_own_folder,
    names_page=lambda path: path[:1] == ("navigation",) or path[-1:] == (REDIRECT,),
    entry=_bare,
    top=("navigation", "pages"),
    pages_keys=frozenset({"pages"}),
    has_suffix=False,
)

_DOCFX: Final = NavigationKind(
    tool="docfx",
    folder=_own_folder,
    names_page=_at_key("href", "topicHref", "homepage", "tocHref"),
    entry=_named_href,
    may_lead_out=True,
)

_JUPYTER_BOOK: Final = NavigationKind(
    tool="Jupyter Book",
    folder=_own_folder,
    names_page=_at_key("file", "root"),
    entry=_file,
    top=("chapters",),
    pages_keys=frozenset({"chapters", "sections"}),
    has_suffix=False,
)

_MYST: Final = NavigationKind(
    tool="MyST",
    folder=_own_folder,
    names_page=_at_key("file"),
    entry=_file,
    top=("project", "toc"),
    pages_keys=frozenset({"toc", "children"}),
)

_QUARTO: Final = NavigationKind(
    tool="Quarto",
    folder=_own_folder,
    names_page=_below("book"),
    entry=_bare,
    top=("book", "chapters"),
    pages_keys=frozenset({"chapters", "contents", "appendices"}),
)

_VERSIONED_SIDEBARS: Final = lazy_pattern(r"(version-.*)-sidebars\.json")

_SIDEBARS: Final = NavigationKind(
    tool="Docusaurus",
    folder=_sidebars_folder,
    names_page=lambda path: path[-1:] == ("id",) or (bool(path) and isinstance(path[-1], int)),
    entry=_bare,
    has_suffix=False,
)

_CATEGORY: Final = NavigationKind(
    tool="Docusaurus", folder=_docs_above, names_page=_at_key("id"), entry=None, has_suffix=False
)

_KINDS: Final[Mapping[str, NavigationKind]] = {
    **dict.fromkeys(("mkdocs.yml", "mkdocs.yaml"), _MKDOCS),
    "zensical.toml": _ZENSICAL,
    **dict.fromkeys(("docs.json", "mint.json"), _MINTLIFY),
    **dict.fromkeys(("toc.yml", "toc.yaml"), _DOCFX),
    "_toc.yml": _JUPYTER_BOOK,
    "myst.yml": _MYST,
    **dict.fromkeys(("_quarto.yml", "_quarto.yaml"), _QUARTO),
    "sidebars.json": _SIDEBARS,
    **dict.fromkeys(("_category_.json", "_category_.yml", "_category_.yaml"), _CATEGORY),
}
