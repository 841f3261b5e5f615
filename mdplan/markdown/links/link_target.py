"""Resolves a link destination to a file of a root.

A path names a file or folder from the folder of the document, one that begins with ``/`` from the root.
Where there is no such file, `a.html` and `a` name the page that is made of `a.md`. A wiki link names a page
by the end of its path, wherever it is: without suffix, without case, with hyphens for spaces. So does a
reference of Hugo that names no file from its folder, nor from the root (Hugo documentation, "Links and
references").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import Protocol

from mdplan.markdown.links.destinations import Destination, DestinationForm
from mdplan.markdown.links.link_path import (
    MARKDOWN_SUFFIXES,
    folder_of,
    followed,
    leads_out,
    page_key,
    without_suffix,
)
from mdplan.markdown.links.site_rules import NAME, NEAR, PLAIN, SITE_FOLDERS, LinkStyle, SiteRules
from mdplan.markdown.links.targets import is_resolved
from mdplan.markdown.outline.slugs import heading_slug


class TargetKind(Enum):
    """The kind of entry at a path: a file, nothing, or something else (a folder, or not readable)."""

    FILE = auto()
    OTHER = auto()
    NOTHING = auto()


class FileTree(Protocol):
    """The files of one root, as links see them. Paths are from the root."""

    def at(self, path: str) -> TargetKind:
        """What is at `path`."""

    def pages(self, key: str) -> Sequence[str]:
        """Markdown files whose `page_key` is `key`, sorted."""

    def spelled(self, path: str) -> str | None:
        """The one path that is `path` but for case; None where there is none, or there are several."""

    @property
    def rules(self) -> SiteRules:
        """How links of the site name its files."""


@dataclass(frozen=True, slots=True)
class LinkedPath:
    """A resolved destination: `path` from the root, and the `style` in which the link names it."""

    path: str
    kind: TargetKind
    style: LinkStyle = PLAIN


def find_target(tree: FileTree, document: str, destination: Destination) -> LinkedPath | None:
    """What `destination` names in the file `document`; None where several files could be meant."""
    if not destination.path:
        return LinkedPath(document, TargetKind.FILE)
    if destination.form is DestinationForm.WIKI:
        return _find_page(tree, document, destination.path)
    found = _find_path(tree, document, destination.path)
    if found.kind is TargetKind.FILE or not destination.is_page_name or destination.is_from_root:
        return found
    from_root = _find_path(tree, document, f"/{destination.path}")
    return from_root if from_root.kind is TargetKind.FILE else _find_page(tree, document, destination.path)


def _find_path(tree: FileTree, document: str, written: str) -> LinkedPath:
    first: LinkedPath | None = None
    for path, style in tree.rules.starts(document, written):
        found = _file_at(tree, path, style, tree.rules)
        if found.kind is TargetKind.FILE:
            return found
        first = first or found
    return first or LinkedPath(followed("", written), TargetKind.OTHER)


def find_near(tree: FileTree, document: str, written: str) -> str | None:
    """The file that the path `written` would name if case, suffix, index or its first folder were others.

    One from the root of the site may lack the folder of its documents, such as that of `document`.
    """
    starts = [followed(folder_of(document), written), followed("", written)]
    starts += [start.partition("/")[2] for start in starts]
    if written.startswith("/"):
        roots = [*accumulate(folder_of(document).split("/"), "{}/{}".format), *SITE_FOLDERS]
        starts += [f"{root}/{start}" for start in (starts[1], starts[3]) if start for root in roots if root]
    for path in dict.fromkeys(starts):
        found = _file_at(tree, path, PLAIN, NEAR) if path else None
        if found is not None and found.kind is TargetKind.FILE:
            return found.path
    return None


def _file_at(tree: FileTree, path: str, style: LinkStyle, rules: SiteRules) -> LinkedPath:
    """The file at `path`, or the one that it names in another form; else what is at `path`."""
    if leads_out(path) or not (path or rules.index_names):
        return LinkedPath(path, TargetKind.OTHER)
    kind = tree.at(path) if path else TargetKind.OTHER
    if kind is TargetKind.FILE:
        return LinkedPath(path, kind, style)
    for form, form_style in ((path, style), *rules.forms(path, style)):
        # A folder is named as such, unless a page stands for it.
        if kind is TargetKind.NOTHING or form_style.is_index:
            if tree.at(form) is TargetKind.FILE:
                return LinkedPath(form, TargetKind.FILE, form_style)
            spelled = tree.spelled(form) if rules.ignores_case else None
            if spelled is not None and tree.at(spelled) is TargetKind.FILE:
                return LinkedPath(spelled, TargetKind.FILE, form_style)
    return LinkedPath(path, kind)


def has_anchor(destination: Destination, anchors: frozenset[str]) -> bool:
    """Whether the fragment of `destination`, if it has one, is among `anchors` (as `target_key` writes them).

    A wiki link may name a heading by its text, or a block (``^id``), which only notes know.
    """
    fragment = destination.fragment
    if fragment is None or is_resolved(fragment, anchors):
        return True
    is_wiki = destination.form is DestinationForm.WIKI
    return is_wiki and (fragment.startswith("^") or heading_slug(fragment) in anchors)


def _find_page(tree: FileTree, document: str, written: str) -> LinkedPath | None:
    wanted = "/" + _wiki_form(written.strip("/"))
    fitting = {
        page: form
        for page in tree.pages(page_key(written))
        if (form := "/" + _wiki_form(page)).endswith(wanted)
    }
    if len(fitting) > 1:
        # The page next to the document is meant, else the one at the root, else no one knows.
        beside = "/" + _wiki_form(folder_of(document) + wanted).lstrip("/")
        fitting = {page: form for page, form in fitting.items() if form == beside} or {
            page: form for page, form in fitting.items() if form == wanted
        }
        if len(fitting) != 1:
            return None
    return next(
        (LinkedPath(page, TargetKind.FILE, NAME) for page in fitting), LinkedPath(written, TargetKind.NOTHING)
    )


def _wiki_form(path: str) -> str:
    return without_suffix(path, MARKDOWN_SUFFIXES).lower().replace(" ", "-")
