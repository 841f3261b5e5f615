"""Find links that lead to nothing in the same document or in other files of the root."""

from collections.abc import Mapping
from typing import Protocol

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.destinations import (
    MARKDOWN_FORMS,
    Destination,
    FileTree,
    TargetKind,
    destinations,
    find_target,
    has_anchor,
)
from mdplan.markdown.links import local_links, target_key
from mdplan.markdown.outline import Outline
from mdplan.reading.inventories import FindBroken
from mdplan.reports.stat import BrokenLink
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import shortened
from mdplan.values import Struct


class LinkedFiles(FileTree, Protocol):
    """The files of a root with their link targets as `target_key`s."""

    def anchors(self, path: str) -> frozenset[str] | None:
        """Return the anchors of the file `path`, or None if unknown."""

    @property
    def labels(self) -> Mapping[str, frozenset[str]]:
        """The labels of each file that any document can link to by fragment."""


class BrokenTarget(Struct, kw_only=True):
    """A link that leads to nothing, at `line`, and its `target` as it is written.

    `destination` is None for a footnote, and for what cannot be split into its parts. What `is_certain` not
    to be there is no route, name or image that only the site knows.
    """

    line: int
    target: str
    destination: Destination | None = None
    is_certain: bool = True


def broken_in_tree(files: LinkedFiles, path: str) -> FindBroken:
    """Return a function that finds the broken links of the document `path` (from the root).

    External URLs, images, paths from the site root (``/…``), paths out of the root, and wiki links to missing
    pages are not checked.
    """

    def find(outline: Outline, area: Span) -> list[BrokenLink]:
        return [
            BrokenLink(line=link.line, target=link.target)
            for link in broken_targets(files, path, outline, area)
            if link.is_certain and not (link.destination and link.destination.is_shown)
        ]

    return find


def broken_targets(files: LinkedFiles, path: str, outline: Outline, area: Span) -> list[BrokenTarget]:
    """Return the links in `area` of the document `path` that lead to nothing, also those that may not."""
    if outline.format is not DocumentFormat.MARKDOWN:
        return []
    written = destinations(outline, [area])
    own = {link.span.start: link for link in written if not link.path}
    broken = [
        BrokenTarget(line=link.line, target=shortened(link.target), destination=own.get(link.span.start))
        for link in local_links(outline, [area])
        if not link.resolves and not _is_label(files, link.target)
    ]
    for destination in written:
        if not destination.path or (certainty := _certainty(files, path, destination)) is None:
            continue
        line = outline.source.lines.line_at(destination.span.start)
        target = shortened(outline.text_of(destination.span))
        broken.append(BrokenTarget(line=line, target=target, destination=destination, is_certain=certainty))
    return sorted(broken, key=lambda link: link.line)


def broken_link(target: str, line: int, hint: str = "", col: int = 1) -> Diagnostic:
    """Return BROKEN_LINK for a link to `target` that leads to nothing; `line` is 1-based."""
    return Code.BROKEN_LINK.warning(
        f"the link to `{short_name(target)}` at line {line} leads to nothing",
        hint or "correct its target, or restore what it named",
        place=Position(line, col),
    )


def _is_label(files: LinkedFiles, target: str) -> bool:
    return target.startswith("#") and any(target_key(target[1:]) in known for known in files.labels.values())


def _certainty(files: LinkedFiles, path: str, destination: Destination) -> bool | None:
    """Return True if `destination` leads to nothing, False if only the site knows, None if it is right."""
    target = find_target(files, path, destination)
    if target is None or target.kind is TargetKind.OTHER:
        return None
    if target.kind is TargetKind.NOTHING:
        is_value = destination.is_shown and destination.form not in MARKDOWN_FORMS
        return not (destination.is_page_name or destination.is_from_root or is_value)
    known = None
    if destination.fragment is not None and not destination.is_shown:
        known = files.anchors(target.path)
    return None if known is None or has_anchor(destination, known) else not destination.is_from_root
