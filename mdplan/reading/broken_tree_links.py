"""Find links that lead to nothing in the same document or in other files of the root."""

from collections.abc import Mapping
from typing import Protocol

from mdplan.markdown.destinations import (
    Destination,
    FileTree,
    TargetKind,
    destinations,
    find_target,
    has_anchor,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.targets import target_key
from mdplan.reading.inventories import FindBroken, broken_in_document
from mdplan.reports.stat import BrokenLink
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import escape_for_message


class LinkedFiles(FileTree, Protocol):
    """The files of a root with their link targets as `target_key`s."""

    def anchors(self, path: str) -> frozenset[str] | None:
        """Return the anchors of the file `path`, or None if unknown."""

    @property
    def labels(self) -> Mapping[str, frozenset[str]]:
        """The labels of each file that any document can link to by fragment."""


def broken_in_tree(files: LinkedFiles, path: str) -> FindBroken:
    """Return a function that finds the broken links of the document `path` (from the root).

    External URLs, images, paths from the site root (``/…``), paths out of the root, and wiki links to missing
    pages are not checked.
    """

    def find(outline: Outline, area: Span) -> list[BrokenLink]:
        if outline.format is not DocumentFormat.MARKDOWN:
            return []
        links = [link for link in broken_in_document(outline, area) if not _is_label(files, link.target)]
        for destination in destinations(outline, [area]):
            if destination.path and not _resolves(files, path, destination):
                line = outline.source.lines.line_at(destination.span.start)
                target = escape_for_message(outline.text_of(destination.span))
                links.append(BrokenLink(line=line, target=target))
        return sorted(links, key=lambda link: link.line)

    return find


def _is_label(files: LinkedFiles, target: str) -> bool:
    return target.startswith("#") and any(target_key(target[1:]) in known for known in files.labels.values())


def _resolves(files: LinkedFiles, path: str, destination: Destination) -> bool:
    if destination.is_shown or destination.is_from_root:
        return True
    target = find_target(files, path, destination)
    if target is None or target.kind is TargetKind.OTHER:
        return True
    if target.kind is TargetKind.NOTHING:
        return destination.is_page_name
    known = files.anchors(target.path) if destination.fragment is not None else None
    return known is None or has_anchor(destination, known)
