"""Links of a folder that a change broke, or that now name another place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from mdplan.checks.label_change import retargeted_labels
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.documents.link_index import LinkIndex
from mdplan.field_names import short_name
from mdplan.markdown.destinations import TargetKind, destinations, find_target
from mdplan.markdown.links import local_links
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, folder_of, page_key
from mdplan.markdown.sections import Section
from mdplan.markdown.targets import resolvable_targets, target_key
from mdplan.reading.broken_tree_links import broken_in_tree
from mdplan.storage.fs.root import Root
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import escape_for_message


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
        self.new = new

    @classmethod
    def of(cls, old: tuple[OutlinedFiles, Root], new: tuple[OutlinedFiles, Root]) -> "LinkCheck":
        """Compare the files of two roots."""
        return cls(LinkIndex(*old), LinkIndex(*new))

    def problems_in(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        """Warnings about links of a changed document: broken ones that were fine or not there before."""
        if document.new is None or document.new.format is not DocumentFormat.MARKDOWN:
            return
        yield from retargeted(document.old, document.new)
        yield from retargeted_labels(document.old, document.new)
        yield from self._newly_broken(document)

    def problems_elsewhere(self, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
        """Warnings about links in unchanged files to a changed one, with the path of each file."""
        documents = list(changed)
        names = frozenset(
            page_key(each.old_path) for each in documents if each.old_path and _may_break_links(each)
        )
        known = {each.path for each in documents}
        for found in self.new.linking_to(names) if names else ():
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
        for found in self.new.linking_to(names) if names else ():
            if isinstance(found, Diagnostic):
                continue
            source, outline = documents.get(found.relative), found.outline
            written = None if source is None else _targets(source.old) if source.old else frozenset[str]()
            for link in destinations(outline, [_whole(outline)]):
                target = find_target(self.new, found.relative, link) if link.path and link.fragment else None
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
        find = broken_in_tree(self.new, self.new.anchors, document.path)
        for link in find(document.new, _whole(document.new)):
            is_new = link.target not in written
            if link.target in known or (is_new and not _names_a_document(link.target)):
                continue
            if is_new and makes_anchors and "#" in link.target:
                continue
            yield broken_link(link.target, link.line)
        yield from self._lost_names(document)

    def _lost_names(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        """Names of pages that led to a file before, and lead to none now."""
        assert document.new is not None
        outline, old_path = document.new, document.old_path or document.path
        for link in destinations(outline, [_whole(outline)]):
            if link.is_page_name:
                was = find_target(self._old, old_path, link)
                now = find_target(self.new, document.path, link)
                is_lost = now is not None and now.kind is TargetKind.NOTHING
                if was is not None and was.kind is TargetKind.FILE and is_lost:
                    line = outline.source.lines.line_at(link.span.start)
                    yield broken_link(escape_for_message(outline.text_of(link.span)), line)


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


# The section that an anchor named, as it is in the new version, if it is; and the one that it names there.
_Shift: TypeAlias = tuple[Section | None, Section]


def _shifted_anchors(old: Outline, new: Outline) -> dict[str, _Shift]:
    """Anchors that name another heading in `new`.

    What has no section of the same path in `new` was renamed, and its anchor with it: that is no shift.
    Sections of equal paths are told apart by their own text; one that is edited has the place that it had.
    """
    found: dict[str, _Shift] = {}
    for heading in old.headings:
        key = target_key(heading.anchor or "")
        was, now = (old.with_anchor(key), new.with_anchor(key)) if key else (None, None)
        if was is None or now is None:
            continue
        if was.path == now.path:
            shift = _shift_of_equals(old, was, new, now) if was.repeats > 1 or now.repeats > 1 else None
        else:
            moved = _same_place(was, new)
            shift = None if moved is None else (moved, now)
        if shift is not None:
            found[key] = shift
    return found


def _shift_of_equals(old: Outline, was: Section, new: Outline, now: Section) -> _Shift | None:
    """The shift of an anchor from `was` to `now`, which have the same path; None for the same section."""
    text, text_now = _own_text(old, was), _own_text(new, now)
    if text == text_now:
        return None
    moved = next((each for each in new.headings if _is(new, each, was.path, text)), None)
    was_elsewhere = any(_is(old, each, was.path, text_now) for each in old.headings)
    return (moved, now) if moved is not None or was_elsewhere else None


def _is(outline: Outline, section: Section, path: tuple[str, ...], text: str) -> bool:
    return section.path == path and _own_text(outline, section) == text


def _own_text(outline: Outline, section: Section) -> str:
    return outline.source.text[section.heading_start : section.body.end].strip()


def _retargeted_link(target: str, line: int, moved: Section | None, now: Section) -> Diagnostic:
    named = "a section that is gone" if moved is None else _shown(moved)
    return Diagnostic.warning(
        Code.LINK_RETARGETED,
        f"the link to `{short_name(target)}` at line {line} named {named}, and now names {_shown(now)}",
        "correct the link" if moved is None else f"link to `#{moved.anchor}` if that is meant",
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
