"""What a change did to the links of a folder: those that broke, and those that name another place now."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.documents.links import LinkIndex
from mdplan.field_names import short_name
from mdplan.markdown.links.destinations import destinations
from mdplan.markdown.links.link_path import MARKDOWN_SUFFIXES, folder_of, page_key
from mdplan.markdown.links.link_target import find_target
from mdplan.markdown.links.links import local_links
from mdplan.markdown.links.targets import resolvable_targets, target_key
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section
from mdplan.reading.broken_tree_links import broken_in_tree
from mdplan.reading.shown import escape_for_message
from mdplan.storage.fs.root import Root
from mdplan.text.document_format import DocumentFormat
from mdplan.text.span import Position, Span


@dataclass(frozen=True)
class ChangedDocument:
    """A document before and after; None where it did not exist, or does not any more.

    Paths are from the root; `old_path` is None for a new file.
    """

    path: str
    old_path: str | None
    old: Outline | None
    new: Outline | None


class LinkCheck:
    """The links of one root before and after a change of some of its files."""

    def __init__(self, old: LinkIndex, new: LinkIndex) -> None:
        """Compare the files `old` with the files `new`."""
        self._old = old
        self._new = new

    @classmethod
    def of(cls, old: tuple[OutlinedFiles, Root], new: tuple[OutlinedFiles, Root]) -> "LinkCheck":
        """Compare the files of two roots."""
        return cls(LinkIndex(*old), LinkIndex(*new))

    def problems_in(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        """Warnings about links of a changed document: broken ones that were fine or not there before."""
        if document.new is None or document.new.format is not DocumentFormat.MARKDOWN:
            return
        yield from retargeted(document.old, document.new)
        yield from self._newly_broken(document)

    def problems_elsewhere(self, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
        """The same of files that did not change, but link to one that did, with their paths."""
        documents = list(changed)
        names = frozenset(
            page_key(each.old_path) for each in documents if each.old_path and _may_break_links(each)
        )
        known = {each.path for each in documents}
        for found in self._new.linking_to(names) if names else ():
            if isinstance(found, Diagnostic) or found.relative in known:
                continue
            same = ChangedDocument(found.relative, found.relative, found.outline, found.outline)
            yield from ((found.relative, problem) for problem in self._newly_broken(same))

    def retargeted_elsewhere(self, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
        """Links from one file to a heading of another that name another heading there now, with their files.

        A link that is new in its file means what it names now.
        """
        documents = {each.path: each for each in changed}
        shifted = {
            path: anchors
            for path, each in documents.items()
            if each.old is not None and each.new is not None
            if (anchors := _shifted_anchors(each.old, each.new))
        }
        names = frozenset(page_key(name) for path in shifted for name in (path, folder_of(path)) if name)
        for found in self._new.linking_to(names) if names else ():
            if isinstance(found, Diagnostic):
                continue
            source, outline = documents.get(found.relative), found.outline
            written = None if source is None else _targets(source.old) if source.old else frozenset[str]()
            for link in destinations(outline, [_whole(outline)]):
                target = find_target(self._new, found.relative, link) if link.path and link.fragment else None
                pair = shifted.get(target.path, {}).get(target_key(link.fragment or "")) if target else None
                shown = escape_for_message(outline.text_of(link.span))
                if pair is not None and (written is None or shown in written):
                    line = outline.source.lines.line_at(link.span.start)
                    yield found.relative, _retargeted_link(shown, line, *pair)

    def _newly_broken(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        assert document.new is not None
        known: frozenset[str] = frozenset()
        written: frozenset[str] = frozenset()
        if document.old is not None and document.old_path is not None:
            find = broken_in_tree(self._old, self._old.anchors, document.old_path)
            known = frozenset(link.target for link in find(document.old, _whole(document.old)))
            written = _targets(document.old) - known
        # Where targets of a kind led to nothing before, the site makes them: mdplan does not see those.
        makes_anchors = any("#" in target for target in known)
        find = broken_in_tree(self._new, self._new.anchors, document.path)
        for link in find(document.new, _whole(document.new)):
            is_new = link.target not in written
            if link.target in known or (is_new and not _names_a_document(link.target)):
                continue
            if is_new and makes_anchors and "#" in link.target:
                continue
            yield broken_link(link.target, link.line)


def retargeted(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    """Links of a document into itself that name another heading than the same link did before."""
    if old is None:
        return
    before = {link.target for link in local_links(old) if link.target.startswith("#")}
    shifted = _shifted_anchors(old, new) if before else {}
    for link in local_links(new) if shifted else ():
        pair = shifted.get(target_key(link.target[1:])) if link.target in before else None
        if pair is not None:
            yield _retargeted_link(link.target, link.line, *pair)


def _shifted_anchors(old: Outline, new: Outline) -> dict[str, tuple[Section, Section]]:
    """Anchors that name another heading in `new`: the section they named, as it is there, and that one.

    What has no section of the same path in `new` was renamed, and its anchor with it: that is no shift.
    """
    found: dict[str, tuple[Section, Section]] = {}
    for heading in old.headings:
        if not heading.anchor:
            continue
        key = target_key(heading.anchor)
        was, now = old.with_anchor(key), new.with_anchor(key)
        if was is not None and now is not None and was.path != now.path:
            moved = _same_place(was, new)
            if moved is not None:
                found[key] = moved, now
    return found


def _retargeted_link(target: str, line: int, moved: Section, now: Section) -> Diagnostic:
    return Diagnostic.warning(
        Code.LINK_RETARGETED,
        f"the link to `{short_name(target)}` at line {line} named "
        f"{_shown(moved)}, and now names {_shown(now)}",
        f"link to `#{moved.anchor}` if that is meant",
        place=Position(line, 1),
    )


def _same_place(was: Section, new: Outline) -> Section | None:
    """The section of `new` that has the path of `was`, under another anchor; None where there is none."""
    return next((each for each in new.headings if each.path == was.path and each.anchor != was.anchor), None)


def _shown(section: Section) -> str:
    return f'"{short_name(" > ".join(section.path))}" (line {section.heading_line})'


def broken_link(target: str, line: int) -> Diagnostic:
    """BROKEN_LINK for a link to `target` that leads to nothing; `line` is 1-based."""
    return Diagnostic.warning(
        Code.BROKEN_LINK,
        f"the link to `{short_name(target)}` at line {line} leads to nothing",
        "correct its target, or restore what it named",
        place=Position(line, 1),
    )


def _targets(outline: Outline) -> frozenset[str]:
    """The destinations of `outline`, as they are written and shown."""
    return frozenset(
        escape_for_message(outline.text_of(each.span)) for each in destinations(outline, [_whole(outline)])
    ) | {escape_for_message(link.target) for link in local_links(outline)}


def _names_a_document(target: str) -> bool:
    """Whether `target` can mean nothing but a place of this document or a Markdown file.

    What else a new link names, such as a route, the site decides when it is built.
    """
    path = target.partition("#")[0].partition("?")[0].lower()
    return not path or path.endswith(MARKDOWN_SUFFIXES)


def _may_break_links(document: ChangedDocument) -> bool:
    """Whether links from elsewhere to the old file may lead to nothing now."""
    if document.old_path is None or document.old is None:
        return False
    if document.new is None or document.old_path != document.path:
        return True
    return not resolvable_targets(document.old) <= resolvable_targets(document.new)


def _whole(outline: Outline) -> Span:
    return Span(0, len(outline.source.text))
