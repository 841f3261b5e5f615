"""Changes of link targets: paths and anchors that a batch renames, moves or deletes."""

import codecs
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from html import unescape
from typing import Final
from urllib.parse import unquote

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown import destinations
from mdplan.markdown.headings import folded, heading_slug, other_slug
from mdplan.markdown.links import (
    NAME_WITHOUT_TAG,
    block_ids,
    definitions,
    explicit_anchors,
    explicit_anchors_in,
    first_definitions,
    footnote_links,
    heading_named,
    is_undefined,
    label_uses,
    normalized,
    reference_uses,
    shifted_repeats,
    target_key,
    title_key,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import NEAR, SiteRules, folder_of, has_page_name, page_key
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile, headings_now
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, common_edges, overlapping
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, field, replace


class AnchorPlace(Struct):
    """A place of the result that has an anchor. `path` is from the root, `title` that of its heading."""

    path: str
    anchor: str
    title: str | None = None


class CurrentTarget(Struct):
    """Where what a destination named is in the result.

    `path` is None for a file that is gone. `place` is the new place of an anchor that changed;
    `is_removed` says that it has none.
    """

    path: str | None
    place: AnchorPlace | None = None
    is_removed: bool = False


AnchorChanges = Mapping[str, AnchorPlace | None]


# --- The files of a root as a batch leaves them


class ResultTree(Struct, dict=True):
    """The tree `base` with other `paths`: by the old path of a file its new one, None for one that is gone.

    `created` are the paths of new files. Paths are from the root.
    """

    base: destinations.FileTree
    paths: Mapping[str, str | None]
    created: frozenset[str] = frozenset()

    @classmethod
    def of(cls, base: destinations.FileTree, built_files: Iterable[BuiltFile]) -> "ResultTree":
        """Return what `built_files` make of `base`."""
        files = [built.file for built in built_files]
        return cls(
            base,
            {
                file.relative: None if file.is_deleted else file.result_path
                for file in files
                if file.is_deleted or file.new_relative is not None
            },
            frozenset(file.relative for file in files if not file.exists),
        )

    def at(self, path: str) -> destinations.TargetKind:
        """Return what is at `path`."""
        if path in self.new_paths:
            return destinations.TargetKind.FILE
        if path in self._folders:
            return destinations.TargetKind.OTHER
        return destinations.TargetKind.NOTHING if path in self.paths else self.base.at(path)

    def pages(self, key: str) -> Sequence[str]:
        """Return the files with a page name whose `page_key` is `key`, sorted."""
        stay = (path for path in self.base.pages(key) if path not in self.paths)
        new = (path for path in self.new_paths if page_key(path) == key and has_page_name(path))
        return sorted({*stay, *new})

    def spelled(self, path: str) -> str | None:
        """Return the only path that equals `path` apart from case; None if there is none, or several."""
        folded = path.casefold()
        new = {each for each in self.new_paths if each.casefold() == folded}
        old = self.base.spelled(path)
        paths = new if old is None or old in self.paths else {*new, old}
        return next(iter(paths)) if len(paths) == 1 else None

    @property
    def rules(self) -> SiteRules:
        """How links of the site name its files."""
        return self.base.rules

    @cached_property
    def new_paths(self) -> frozenset[str]:
        """Paths where a file is now, and none was, or another one."""
        return self.created | {path for path in self.paths.values() if path is not None}

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Folders of the new files, which may be new too."""
        components = (path.split("/") for path in self.new_paths)
        return frozenset("/".join(each[:depth]) for each in components for depth in range(1, len(each)))


class LinkChanges(Struct, dict=True):
    """Files and anchors that a batch changes; paths are from the root, those of files as they were.

    `outlines` are those of the base, `results` of the result, by new paths.
    """

    before: destinations.FileTree
    after: ResultTree
    anchors: Mapping[str, AnchorChanges]
    outlines: Mapping[str, Outline] = field(default_factory=dict)
    results: Mapping[str, Outline] = field(default_factory=dict)

    @classmethod
    def of(cls, built_files: Sequence[BuiltFile], tree: destinations.FileTree) -> "LinkChanges":
        """Return what `built_files` do to the files of `tree`."""
        arrived = {item.index: built for built in built_files for item in built.arriving_edits}
        anchors = {built.file.relative: changed_anchors(built, arrived) for built in built_files}
        return cls(
            tree,
            ResultTree.of(tree, built_files),
            {path: changes for path, changes in anchors.items() if changes},
            {built.file.relative: built.base for built in built_files},
            {built.file.result_path: built.result for built in built_files},
        )

    @property
    def entry_names(self) -> frozenset[str]:
        """What entries of navigation files may call the affected files."""
        return self.names | {page_key(own_id) for own_id in self.own_ids.values()}

    @cached_property
    def own_ids(self) -> Mapping[str, str]:
        """Names that pages which move or go give themselves in their front matter, by their old paths."""
        values = {
            path: getattr(outline.front_matter_content, "values", {}).get("id")
            for path, outline in self.outlines.items()
            if path in self.after.paths and outline.front_matter is not None
        }
        return {path: str(own_id) for path, own_id in values.items() if own_id}

    @cached_property
    def affected(self) -> frozenset[str]:
        """Files whose path or anchors change, so that links to them may have to change."""
        return frozenset(self.after.paths) | frozenset(self.anchors)

    @cached_property
    def names(self) -> frozenset[str]:
        """The `page_key` of each affected file, as it was and as it is."""
        return frozenset(self.places)

    @cached_property
    def places(self) -> Mapping[str, frozenset[str] | None]:
        """Keys of changed anchors by the `page_key` of their file; None where the path changed.

        A file with a new path may make the names of other pages ambiguous.
        """
        indexes = {name.lower() for name in (*self.before.rules.index_names, *NEAR.index_names)}
        places: dict[str, frozenset[str] | None] = {}
        for path in self.affected:
            keys = None if path in self.after.paths else frozenset(self.anchors[path])
            name, folder = page_key(path), folder_of(path)
            for key in (name, page_key(folder)) if name in indexes and folder else (name,):
                known = places.get(key, frozenset())
                places[key] = None if keys is None or known is None else keys | known
        return {**places, **dict.fromkeys(map(page_key, self.after.new_paths))}

    def target(
        self, document: str, destination: destinations.Destination, *, is_moved: bool
    ) -> destinations.LinkedPath | None:
        """Return what `destination` named in the file `document` of the base; None if unknown.

        Of all names of pages only those may be looked up that can mean an affected file, or that `is_moved`
        to another folder, from which a name may mean another page.
        """
        if not destination.path:
            return destinations.LinkedPath(document, destinations.TargetKind.FILE)
        is_name = destination.is_wiki and destination.is_page_name
        if is_name and not is_moved and page_key(destination.path) not in self.names:
            return None
        return destinations.find_target(self.before, document, destination)

    def near(self, document: str, destination: destinations.Destination) -> str | None:
        """Return the affected file that `destination` may mean, though no rule says so; else None.

        The file moves or goes, or the anchor that `destination` names in it changes. A destination that
        names a file as it is written means that file.
        """
        if not destination.path or not self.affected:
            return None
        if destination.is_page_name:
            is_unclear = page_key(destination.path) in self.names and (
                destinations.find_target(self.before, document, destination) is None
            )
            pages = destinations.pages_named(self.before, destination.path) if is_unclear else ()
            return next((page for page in pages if page in self.affected), None)
        near = destinations.find_near(self.before, document, destination.path)
        if near is None or (
            near not in self.after.paths and self.key(destination, self.anchors.get(near, {})) is None
        ):
            return None
        target = destinations.find_target(self.before, document, destination)
        return near if target is not None and target.kind is not destinations.TargetKind.FILE else None

    def now(self, target: destinations.LinkedPath, destination: destinations.Destination) -> CurrentTarget:
        """Return where `target`, with the fragment of `destination`, is in the result."""
        path = self.after.paths.get(target.path, target.path)
        changes = self.anchors.get(target.path, {})
        key = self.key(destination, changes)
        if destination.is_wiki and destination.fragment and changes:
            section = heading_named(self.outlines[target.path], (*destination.parents, destination.fragment))
            if section is not None and section.anchor:
                # It names the heading by its text, which may change while its anchor stays.
                same = AnchorPlace(path or "", section.anchor, section.title)
                place = changes.get(target_key(section.anchor), same)
                if place is None or path is None:
                    return CurrentTarget(path, is_removed=True)
                return CurrentTarget(place.path, place)
            if key is not None and (place := changes[key]) is not None:
                return CurrentTarget(place.path, replace(place, title=None))
        if key is None:
            return CurrentTarget(path, is_removed=path is None)
        anchor = changes[key]
        return CurrentTarget(path, is_removed=True) if anchor is None else CurrentTarget(anchor.path, anchor)

    def file_now(self, document: str, destination: destinations.Destination) -> str | None:
        """Return the file that `destination` names in the file `document` of the result; None for no file."""
        target = destinations.find_target(self.after, document, destination)
        return target.path if target is not None and target.kind is destinations.TargetKind.FILE else None

    def key(self, destination: destinations.Destination, changes: AnchorChanges) -> str | None:
        """Return the key in `changes` of the fragment of `destination`; None if it did not change."""
        if not destination.fragment:
            return None
        keys = [target_key(destination.fragment)]
        if destination.is_wiki:
            keys.append(heading_slug(destination.fragment))
        return next((key for key in keys if key in changes), None)


# --- Footnotes and labels that a plan breaks, in the same file

_FOOTNOTE: Final = "[^"
_LABEL_END: Final = "]:"


def label_warnings(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield warnings about labels and footnotes that no longer name what they named; lines are the result's.

    BROKEN_LINK for those that resolved in the base and no longer do, and for written footnotes that are not
    defined; LINK_RETARGETED for those that another definition defines now. Inline nodes are costly, so the
    whole document is examined only when a definition or footnote of the base is gone or changed.
    """
    if built.edits and built.base.format is DocumentFormat.MARKDOWN:
        yield from _broken_footnotes(built)
        yield from _undefined_labels(built)
        yield from _retargeted_labels(built)


def _broken_footnotes(built: BuiltFile) -> Iterator[Diagnostic]:
    lines, text_of = built.result.source.lines, built.result.text_of
    written = [span for span in built.edits.result_spans if len(span)]
    # An edit may write a part of a label.
    areas = {lines.span(lines.line_at(span.start), lines.line_at(span.end)) for span in written}
    near = [area for area in areas if _FOOTNOTE in text_of(area)]
    links = footnote_links(built.result, near) if near else ()
    broken = {
        link.span.start: link
        for link in links
        if not link.resolves and overlapping(written, link.span) is not None
    }
    if any(_touches_footnote(built.base, edit.span) for edit in built.edits):
        resolved = {
            built.edits.map_offset(link.span.start, after=True)
            for link in footnote_links(built.base)
            if link.resolves
        }
        links = footnote_links(built.result)
        broken |= {
            link.span.start: link for link in links if not link.resolves and link.span.start in resolved
        }
    for start in sorted(broken):
        place = lines.position(start)
        yield Code.BROKEN_LINK.warning(
            f"the footnote `{short_name(broken[start].target)}` at line {place.line} has no definition",
            "write its definition in the same batch, or delete the reference",
            place=place,
        )


def _touches_footnote(outline: Outline, span: Span) -> bool:
    """Return True if `span` has a footnote, or a part of the label of one."""
    text, lines = outline.source.text, outline.source.lines
    label = text.rfind(_FOOTNOTE, lines.start(lines.line_at(span.start)), span.end)
    return label >= 0 and text.find("]", label, span.start) < 0


def _retargeted_labels(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield LINK_RETARGETED for uses of a label or footnote that another definition defines now.

    The first definition of a label counts. One that an edit changes in its place is meant: its uses follow.
    """
    base, result = built.base, built.result
    if not any(_LABEL_END in base.text_of(edit.span) + edit.new_text for edit in built.edits):
        return
    before, after = first_definitions(base), first_definitions(result)
    other = {
        label
        for label, was in before.items()
        if label in after
        and built.edits.map_offset(was.start, after=True) != after[label].start
        and base.text_of(was).strip() != result.text_of(after[label]).strip()
    }
    # Text that moves is not new.
    items = [item for item in built.resolved if not item.operation.moves_text]
    written = [span for item in items for span in built.written.get(item.index, ())]
    lines = result.source.lines
    for use in label_uses(result) if other else ():
        if use.label in other and not any(span.overlaps(use.span) for span in written):
            yield Code.LINK_RETARGETED.warning(
                f"`{short_name(result.text_of(use.span))}` at line {use.line} named the definition of line "
                f"{base.source.lines.line_at(before[use.label].start)} before the plan, and now names "
                f"another one, at line {lines.line_at(after[use.label].start)}",
                "give the new definition another label",
                place=lines.position(use.span.start),
            )


def changed_anchors(built: BuiltFile, arrived: Mapping[int, BuiltFile]) -> AnchorChanges:
    """Return the new places of anchors of the base, by their `target_key`; None for one that is gone.

    Headings also have their `title_key`. Anchors that still name what they named are omitted. A heading is
    the same while something of its line stays or its title alone is rewritten, when an edit moves it, and
    when an edit writes a heading of the same text in the place of what it takes. `arrived` has, by the index
    of an edit that moves a section to another file, that file.
    """
    is_markdown = built.base.format is DocumentFormat.MARKDOWN
    if not built.changed_areas or not is_markdown or built.file.is_deleted:
        return {}
    path = built.file.result_path
    places: dict[int, tuple[str, AnchorPlace | None]] = {}
    for section, now in _headings_now(built):
        is_hidden = now is not None and _is_hidden(built, section, now)
        is_same = now is not None and (now.anchor, now.title) == (section.anchor, section.title)
        if section.anchor and (is_hidden or not is_same):
            place = None if now is None or is_hidden else AnchorPlace(path, now.anchor or "", now.title)
            places[section.heading_start] = (section.anchor, place)
    places |= dict(_moved_away(built, arrived))
    keys = {target_key(anchor) for anchor, _ in places.values()}
    # Of equal anchors the first counts. Slugs of headings are keys, but for what a prefix can hide.
    named_headings = (built.base.with_anchor(key) for key in keys)
    for heading in (*filter(None, named_headings), *built.base.with_prefix):
        anchor = heading.anchor or ""
        places.setdefault(heading.heading_start, (anchor, AnchorPlace(path, anchor)))
    explicit = explicit_anchors(built.base) if _may_have_explicit(built, keys) else ()
    for (anchor, span), anchor_now in zip(explicit, _explicit_now(built, explicit), strict=True):
        if anchor_now is not None or span.start not in places:
            places[span.start] = (anchor, None if anchor_now is None else AnchorPlace(path, anchor_now))
    changes: dict[str, AnchorPlace | None] = dict(_moved_blocks(built, arrived))
    for start in sorted(places):
        anchor, place = places[start]
        changes.setdefault(target_key(anchor), place)
        named = built.base.heading_at(start)
        if named is not None and named.anchor == anchor and (place is None or place.title is not None):
            changes.setdefault(title_key(named.title), place)
            slug = heading_slug(named.title)
            if slug != anchor and built.base.with_anchor(slug) in {None, named}:
                # People also link to the text of a heading that has an anchor of its own.
                new_slug = other_slug(place.title or "") if place else None
                changes.setdefault(slug, replace(place, anchor=new_slug) if place and new_slug else None)
    repeated = {key for key, _, _ in shifted_repeats(built.base, built.result)} if explicit else ()
    return {
        key: None if place is not None and key in repeated and place.path == path else place
        for key, place in changes.items()
        if place is None or place.path != path or target_key(place.anchor) != key or key in repeated
    }


def _is_hidden(built: BuiltFile, section: Section, now: Section) -> bool:
    """Return True if another heading has the ID of `section` in the result, before where that is `now`."""
    if not section.anchor or now.anchor != section.anchor:
        return False
    first = built.result.with_anchor(section.anchor)
    return built.base.with_anchor(section.anchor) == section and first != now


def _moved_blocks(
    built: BuiltFile, arrived: Mapping[int, BuiltFile]
) -> Iterator[tuple[str, AnchorPlace | None]]:
    """Yield the IDs of blocks that are no longer in the file, with where they went, None for nowhere.

    In a file that had the ID already it names another block.
    """
    others = [arrived[item.index] for item in built.resolved if item.index in arrived]
    for block_id in block_ids(built.base) - block_ids(built.result):
        there = (
            other.file.result_path
            for other in others
            if block_id in block_ids(other.result) - block_ids(other.base)
        )
        yield block_id, next((AnchorPlace(path, block_id) for path in there), None)


def _may_have_explicit(built: BuiltFile, keys: AbstractSet[str]) -> bool:
    """Return True if explicit anchors change, or share a name with a changed one, such as one of `keys`."""
    if built.changed is None:
        return True
    before, after = (
        [
            target_key(anchor)
            for pair in built.changed
            for anchor, _ in explicit_anchors_in(outline, pair[side])
        ]
        for side, outline in enumerate((built.base, built.result))
    )
    if before != after or not (keys or before):
        return before != after
    named = Counter(keys_in_html(built.base.source.text))
    return any(named[key] for key in keys) or any(
        named[key] > 1 or built.base.with_anchor(key) or built.result.with_anchor(key) for key in before
    )


def _explicit_now(built: BuiltFile, explicit: Sequence[tuple[str, Span]]) -> Iterator[str | None]:
    """Yield the current names of the HTML anchors `explicit` of the base; None for one that is gone.

    A tag is the same while no edit takes its brackets, and when edits write one of the same name in its place
    or elsewhere, as those of a section that moves.
    """
    in_result = {span.start: anchor for anchor, span in explicit_anchors(built.result)} if explicit else {}
    starts = sorted(in_result)
    places = [_place_of_tag(built, span, starts) for _, span in explicit]
    fresh = Counter(anchor for start, anchor in in_result.items() if start not in places)
    lost = Counter(
        anchor for (anchor, _), start in zip(explicit, places, strict=True) if start not in in_result
    )
    for (anchor, _), start in zip(explicit, places, strict=True):
        if start in in_result:
            yield in_result[start]
        else:
            yield anchor if lost[anchor] == fresh[anchor] else None


def _place_of_tag(built: BuiltFile, tag: Span, starts: Sequence[int]) -> int | None:
    """Return where `tag` of the base is in the result, whose tags begin at `starts`; None if it is gone."""
    start = built.edits.map_offset(tag.start)
    if start is not None:
        return start
    spans = built.edits.result_spans
    index = bisect_right(built.edits.edits, tag.start, key=lambda edit: edit.span.start) - 1
    replaced = built.base.text_of(built.edits.edits[index].span)
    if "<" in replaced or ">" in replaced:
        return None
    place = next(iter(starts[bisect_left(starts, spans[index].start) :]), None)
    return place if place is not None and place < spans[index].end else None


def _headings_now(built: BuiltFile) -> Iterator[tuple[Section, Section | None]]:
    """Yield headings of the base with themselves in the result; None if they are gone.

    Leaves out headings with the same anchor outside what the edits touch.
    """
    base, fresh = _touched_headings(built)
    yield from _renumbered(built)
    now = headings_now(built, base)
    lost = [section for section in base if section.heading_start not in now]
    now |= dict(_reappeared(lost, fresh, now.values()))
    yield from ((section, now.get(section.heading_start)) for section in base)


def _touched_headings(built: BuiltFile) -> tuple[Sequence[Section], Sequence[Section]]:
    """Return headings of base and result around the edits, or all if what changed is unknown."""
    base, result = built.base, built.result
    if built.changed is None:
        return base.headings, result.headings
    return (
        [section for old, _ in built.changed for section in base.headings_in(old)],
        [section for _, new in built.changed for section in result.headings_in(new)],
    )


def _renumbered(built: BuiltFile) -> Iterator[tuple[Section, Section]]:
    """Yield headings whose anchor got another number, because an equal heading came or went."""
    base, result = built.base, built.result
    pieces = built.changed
    first = first_now = 0
    for old, new in (*pieces, (None, None)) if pieces is not None else ():
        stop = len(base.headings) if old is None else bisect_left(base.heading_starts, old.start)
        here, now = slice(first, stop), slice(first_now, first_now + stop - first)
        pairs = zip(base.headings[here], result.headings[now], strict=True)
        yield from ((before, after) for before, after in pairs if before.anchor != after.anchor)
        if old is not None and new is not None:
            first = bisect_left(base.heading_starts, old.end)
            first_now = bisect_left(result.heading_starts, new.end)


def _moved_away(
    built: BuiltFile, arrived: Mapping[int, BuiltFile]
) -> Iterator[tuple[int, tuple[str, AnchorPlace | None]]]:
    """Yield the headings and explicit anchors that went to another file, by where they started."""
    for item in built.resolved:
        there, section = arrived.get(item.index), item.resolution.section
        if there is None or section is None:
            continue
        path, written = there.file.result_path, there.written.get(item.index, ())
        for before, after in there.moved_headings(built.base, (section.span,), item.index):
            place = AnchorPlace(path, after.anchor or "", after.title)
            yield before.heading_start, (before.anchor or "", place)
        now = {anchor for anchor, span in explicit_anchors(there.result) if any(map(span.overlaps, written))}
        for anchor, span in explicit_anchors(built.base):
            if section.span.contains(span) and anchor in now:
                yield span.start, (anchor, AnchorPlace(path, anchor))


def _reappeared(
    lost: list[Section], candidates: Iterable[Section], known: Iterable[Section]
) -> Iterator[tuple[int, Section]]:
    """Pair `lost` headings with `candidates` of the same text, if it is clear which is which."""
    if not lost:
        return
    taken = {section.heading_start for section in known}
    fresh: defaultdict[str, list[Section]] = defaultdict(list)
    for section in candidates:
        if section.heading_start not in taken:
            fresh[folded(section.title)].append(section)
    gone: defaultdict[str, list[Section]] = defaultdict(list)
    for section in lost:
        gone[folded(section.title)].append(section)
    for title, sections in gone.items():
        if len(sections) == len(fresh[title]):
            pairs = zip(sections, fresh[title], strict=True)
            yield from ((before.heading_start, after) for before, after in pairs)


_LONGEST_TRIMMED: Final = 10_000


def _undefined_labels(built: BuiltFile) -> Iterator[Diagnostic]:
    """Yield BROKEN_LINK for links and images that had a definition in the base, and have none now.

    The parser of the result reads them as text. A link whose brackets an edit replaced is another link.
    """
    base, result = built.base, built.result
    if _LABEL_END not in base.source.text:
        return
    edits = EditList(tuple(_trimmed(edit, base.source.text) for edit in built.edits))
    near = [Span(max(edit.span.start - 1, 0), edit.span.end + 1) for edit in edits]
    is_lost = not _definitions(base) <= _definitions(result)
    uses = {use.span: use for area in ([None] if is_lost else near) for use in reference_uses(base, area)}
    before, after = (definitions(base), definitions(result)) if uses else ({}, {})
    now = {definition.span.start: definition.label for definition in after.values()}
    for use in uses.values():
        # The brackets must be what they were.
        opening, closing = (
            edits.map_offset(offset, after=True) for offset in (use.span.start - 1, use.span.end)
        )
        span = None if opening is None or closing is None else Span(opening + 1, closing)
        if span is None or normalized(result, span) in after or not is_undefined(result, span):
            continue
        place = result.source.lines.position(span.start)
        renamed = now.get(edits.map_offset(before[use.label].span.start, after=True) or 0)
        hint = "give the link and its definition the same label"
        if normalized(result, span) != use.label:
            change = f"was {_label_name(base.text_of(use.span))}"
        elif renamed is not None:
            change = f"now {_label_name(renamed)}"
        else:
            change, hint = "was deleted", "keep the definition, or change the link too"
        yield Code.BROKEN_LINK.warning(
            f"line {place.line}: no definition of {_label_name(result.text_of(span))} ({change})",
            hint,
            place=place,
        )


def _definitions(outline: Outline) -> set[str]:
    return {outline.text_of(block.span).strip() for block in outline.tree.definitions}


def _label_name(label: str) -> str:
    """Format `label` for a message; a label with code in it gets no backquotes."""
    return short_name(label) if "`" in label else f"`{short_name(label)}`"


def _trimmed(edit: TextEdit, text: str) -> TextEdit:
    """Return `edit` without the common start and end of its old and new text, if both are short."""
    old, new = text[edit.span.start : edit.span.end], edit.new_text
    if max(len(old), len(new)) > _LONGEST_TRIMMED:
        return edit
    head, tail = common_edges(old, new)
    return TextEdit(Span(edit.span.start + head, edit.span.end - tail), new[head : len(new) - tail])


# --- Which files a text may link to, found without parsing it

# What comes before a destination, and the destination itself in a lookahead: matches may overlap.
# A bare destination ends at whitespace, or before the next one; `_readings` handles what else ends it.
_DESTINATION: Final = lazy_pattern(
    r"\][(:][\s>]*+(?=<(?P<angle>[^<>\r\n]*+)|(?P<bare>(?:[^\s<\]]++|\](?!\())++))"
)

_PAGE: Final = lazy_pattern(r"\[\[(?=(?P<wiki>[^\[\]|\r\n]*+))")

# After the sign of equality of an attribute.
_VALUE: Final = lazy_pattern(r"""\s*(?:\{\s*)?["'`]?(?P<html>[^"'`<>\r\n]*)""")

# A route in front matter; in other lines it does no harm.
_ROUTE: Final = lazy_pattern(r"""\blink["']?[ \t]*[:=][ \t]*["']?(?P<html>[^"'\r\n,}]+)""")
_LONGEST_NAME: Final = 6
_FEW: Final = 8

# What a fragment begins with; the `#` may be written as an escape or an entity.
_FRAGMENT_STARTS: Final = frozenset("#&\\")

# A destination with one of these must be parsed to know what it means.
_MEANS_MORE: Final = lazy_pattern(r"[\\&%]")
_ESCAPE: Final = lazy_pattern(r"\\([!-/:-@\[-`{-~])")
_END_OF_PATH: Final = lazy_pattern(r"[#?|]")
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def linked_places(text: str, places: Mapping[str, frozenset[str] | None]) -> frozenset[str]:
    """Return the names of `places` (as of `page_key`) that `text` may link to, and some that it does not.

    For a name with keys (as of `target_key`) only links to one of these fragments count, for None all links.
    Takes one pass over the text.
    """
    return frozenset(
        name
        for match in possible_links(text)
        for name, written in _named(match)
        if name in places and ((keys := places[name]) is None or not keys.isdisjoint(_fragments(written)))
    )


def may_list(text: str, names: frozenset[str]) -> bool:
    """Return True if `text`, a file of keys, may name one of `names`, as `page_key` writes them."""
    plain = text.lower().replace(" ", "-")
    return "\\" in text or any(name in plain for name in names)


def may_name(links: Iterable[re.Match[str]], names: frozenset[str]) -> bool:
    """Return True if one of `links` may lead to one of `names`, as `page_key` writes them."""
    # After a name is a suffix, or what ends a path.
    few = rf"/(?:{'|'.join(map(re.escape, names))})(?![^\W_])" if len(names) <= _FEW else ""
    may_hold_one = re.compile(few).search
    for match in links:
        written = match[match.lastgroup or 0]
        # A plain spelling contains the name: searching for that costs less than making the name of each link.
        may_be_one = may_hold_one(f"/{written.lower().replace(' ', '-')}") or not _is_plain(written)
        if may_be_one and not names.isdisjoint(name for name, _ in _named(match)):
            return True
    return False


def _is_plain(written: str) -> bool:
    return _MEANS_MORE.search(written) is None and not written[:1].isspace()


def places_of_fragments(links: Iterable[re.Match[str]], keys: Container[str]) -> Iterator[int]:
    """Yield where `links` may lead to a fragment of their own text that is one of `keys` (`target_key`).

    Omits fragments of several lines, which no heading has.
    """
    for match in links:
        written = match[match.lastgroup or 0]
        if match.lastgroup == "wiki":
            is_meant = "#" in written
        else:
            is_meant = written[:1] in _FRAGMENT_STARTS and any(
                _may_be_own(reading, keys) for reading in _readings(match)
            )
        if is_meant:
            yield match.start(match.lastgroup or 0)


def keys_in_html(text: str) -> list[str]:
    """Return the explicit anchors without quotes that `text` may have, as `target_key` writes them."""
    values = _attribute_values(text, ("id", "name"))
    names = [unescape(written) for match in values for written in _readings(match)]
    names += (match[match.lastgroup or 0] for match in NAME_WITHOUT_TAG.finditer(text))
    return [target_key(name) for name in names]


def possible_links(text: str) -> Iterator[re.Match[str]]:
    """Yield what may be a destination: those of Markdown, wiki links, Hugo, HTML and front matter."""
    yield from _DESTINATION.finditer(text)
    yield from _PAGE.finditer(text)
    yield from destinations.REF_SHORTCODE.finditer(text)
    yield from _attribute_values(text, ("href", "src", "poster", "to", "link"))
    if text.startswith(("---", "\ufeff---", "+++")):
        yield from _ROUTE.finditer(text)


def _attribute_values(text: str, names: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Yield values of what may be attributes with these names, or with names that end so."""
    at = text.find("=")
    while at >= 0:
        end = at
        while end and text[end - 1].isspace():
            end -= 1
        if text[max(end - _LONGEST_NAME, 0) : end].lower().endswith(names):
            value = _VALUE.match(text, at + 1)
            assert value is not None
            yield value
        at = text.find("=", at + 1)


def text_of_bytes(data: bytes) -> str:
    """Decode a file well enough to look for names in it."""
    return data.decode(
        _UTF_16.get(data[:2], "utf-8"), "surrogateescape" if data[:2] not in _UTF_16 else "replace"
    )


def _may_be_own(written: str, keys: Container[str]) -> bool:
    """Return True if `written`, which begins with one of `_FRAGMENT_STARTS`, may be a fragment in `keys`."""
    means_more = written[0] != "#" or _MEANS_MORE.search(written) is not None
    return means_more or any(key in keys for key in _fragments(written))


def _named(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that `match` may mean, each with the text that it was read from."""
    for written in _readings(match):
        if match.lastgroup == "wiki" or not destinations.is_external(written):
            yield _page_name(written), written


def _fragments(written: str) -> Iterator[str]:
    """Yield keys of the fragment of `written`, whichever form of link it is."""
    for text in (written, unescape(_ESCAPE.sub(r"\1", written))):
        # A wiki link names headings above that of its place, too.
        for fragment in (text.partition("#")[2], *text.split("#")[1:]):
            yield target_key(fragment)
            yield heading_slug(fragment)
            yield title_key(fragment)


def _readings(match: re.Match[str]) -> Iterator[str]:
    """Yield what the destination in `match` may be: all of it, or what comes before its possible end."""
    written = match[match.lastgroup or 0]
    yield written
    if match.lastgroup == "bare":
        yield _within_parentheses(written)
    elif match.lastgroup == "html":
        yield from written.split(maxsplit=1)[:1]


def _page_name(written: str) -> str:
    # In a table, the pipe of a wiki link has a backslash before it.
    path = _END_OF_PATH.split(unescape(_ESCAPE.sub(r"\1", written.rstrip("\\"))), maxsplit=1)[0]
    return page_key(unquote(path, errors="surrogateescape").rstrip())


def _within_parentheses(written: str) -> str:
    """Return `written` up to its first unmatched closing parenthesis (CommonMark 0.31.2, section 6.3)."""
    if "(" not in written:
        return written.partition(")")[0]
    depth = 0
    for index, character in enumerate(written):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return written[:index]
    return written
