"""Paths as links write them: from the folder of a file, to a path from the root, and back.

A path from the root has no `.` and no empty components. One that leads out of the root begins with ``../``:
as text it can still be followed, though no one looks there.
"""

from collections.abc import Iterator
from typing import Final

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
    """Folder of the file `path`; empty for the root."""
    return path.rpartition("/")[0]


def followed(folder: str, link: str) -> str:
    """The path from the root that the path `link` means in a file of `folder`."""
    components = [] if link.startswith("/") else folder.split("/") if folder else []
    for component in link.split("/"):
        if component == _OUTSIDE and components and components[-1] != _OUTSIDE:
            components.pop()
        elif component not in {"", "."}:
            components.append(component)
    return "/".join(components)


def leads_out(path: str) -> bool:
    """Whether `path`, from the root, is outside it."""
    return path == _OUTSIDE or path.startswith("../")


def link_between(folder: str, path: str) -> str:
    """The relative path by which a file of `folder` links to `path`; both are from the root."""
    here, there = folder.split("/") if folder else [], path.split("/") if path else []
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common] != _OUTSIDE:
        common += 1
    return "/".join([_OUTSIDE] * (len(here) - common) + there[common:]) or "."


def page_variants(path: str) -> Iterator[str]:
    """Files that a page generator would make the page `path` of: `a.html` and `a` are made of `a.md`."""
    name = path.rpartition("/")[2]
    suffix = next((suffix for suffix in _PAGE_SUFFIXES if name.lower().endswith(suffix)), "")
    if suffix or "." not in name:
        stem = path[: len(path) - len(suffix)]
        yield from (stem + markdown for markdown in MARKDOWN_SUFFIXES if stem and not stem.endswith("/"))


def as_variant(path: str, like: str) -> str:
    """`path`, which is a Markdown file, with the suffix that the page `like` has in its place."""
    name = like.rpartition("/")[2]
    suffix = next((suffix for suffix in _PAGE_SUFFIXES if name.lower().endswith(suffix)), "")
    return without_suffix(path, MARKDOWN_SUFFIXES) + suffix


def page_key(path: str) -> str:
    """What names a page in a wiki link, and is the same in every link to a file: its last component.

    Without the suffix of a Markdown file or page, in lower case, with hyphens for spaces.
    """
    name = path.rstrip("/").rpartition("/")[2].lower()
    return without_suffix(name, MARKDOWN_SUFFIXES + _PAGE_SUFFIXES).replace(" ", "-")


def without_suffix(path: str, suffixes: tuple[str, ...]) -> str:
    """`path` without the one of `suffixes` that it ends in; a name that is nothing else keeps it."""
    for suffix in suffixes:
        stem = path[: len(path) - len(suffix)]
        if path.lower().endswith(suffix) and stem and not stem.endswith("/"):
            return stem
    return path
