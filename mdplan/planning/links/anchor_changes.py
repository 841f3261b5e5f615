"""Anchors of a file before and after a batch."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from mdplan.markdown.headings import folded
from mdplan.markdown.sections import Section
from mdplan.markdown.targets import explicit_anchors, target_key, with_anchor
from mdplan.planning.build import BuiltFile
from mdplan.planning.links.link_names import keys_in_html
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat


@dataclass(frozen=True, slots=True)
class AnchorPlace:
    """A place of the result that has an anchor. `path` is from the root, `title` that of its heading."""

    path: str
    anchor: str
    title: str | None = None


AnchorChanges = Mapping[str, AnchorPlace | None]


def changed_anchors(built: BuiltFile, arrived: Mapping[int, BuiltFile]) -> AnchorChanges:
    """By `target_key` of an anchor of the base, where what had it is now; None where it is gone.

    Anchors that still name what they named are omitted. A heading is the same while something of its line
    stays or its title alone is rewritten, when an edit moves it, and when an edit writes a heading of the
    same text in the place of what it takes. `arrived` has, by the index of an edit that moves a section to
    another file, that file.
    """
    if not built.edits or built.base.format is not DocumentFormat.MARKDOWN or built.file.is_deleted:
        return {}
    path = built.file.result_path
    places: dict[int, tuple[str, AnchorPlace | None]] = {}
    for section, now in _headings(built):
        if section.anchor and (now is None or now.anchor != section.anchor):
            place = None if now is None else AnchorPlace(path, now.anchor or "", now.title)
            places[section.heading_start] = (section.anchor, place)
    places |= dict(_departed(built, arrived))
    keys = {target_key(anchor) for anchor, _ in places.values()}
    # Of equal anchors the first counts. Slugs of headings are keys, but for what a prefix can hide.
    found_by_key = (built.base.with_anchor(key) for key in keys)
    for heading in (*filter(None, found_by_key), *built.base.with_prefix):
        anchor = heading.anchor or ""
        places.setdefault(heading.heading_start, (anchor, AnchorPlace(path, anchor)))
    explicit = explicit_anchors(built.base) if _may_have_explicit(built, keys) else ()
    for (anchor, span), found in zip(explicit, _explicit_now(built, explicit), strict=True):
        if found is not None or span.start not in places:
            places[span.start] = (anchor, None if found is None else AnchorPlace(path, found))
    changes: dict[str, AnchorPlace | None] = {}
    for start in sorted(places):
        anchor, place = places[start]
        changes.setdefault(target_key(anchor), place)
    return {
        key: place
        for key, place in changes.items()
        if place is None or place.path != path or target_key(place.anchor) != key
    }


def _may_have_explicit(built: BuiltFile, keys: AbstractSet[str]) -> bool:
    """Whether anchors that HTML names may change, or are before those of headings that do, with `keys`."""
    if built.changed is None:
        return True
    base, result = built.base.source.text, built.result.source.text
    for old, new in built.changed:
        if with_anchor().search(base, old.start, old.end) or with_anchor().search(result, new.start, new.end):
            return True
    return bool(keys) and not keys.isdisjoint(keys_in_html(base))


def _explicit_now(built: BuiltFile, explicit: Sequence[tuple[str, Span]]) -> Iterator[str | None]:
    """What the anchors `explicit` of the base, which HTML names, are called now; None for one that is gone.

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
    """Where `tag` of the base is in the result, whose tags begin at `starts`; None where an edit takes it."""
    start = built.edits.map_offset(tag.start)
    if start is not None:
        return start
    spans = built.edits.result_spans
    index = bisect_right(built.edits.edits, tag.start, key=lambda edit: edit.span.start) - 1
    replaced = built.base.text_of(built.edits.edits[index].span)
    if "<" in replaced or ">" in replaced:
        return None
    found = next(iter(starts[bisect_left(starts, spans[index].start) :]), None)
    return found if found is not None and found < spans[index].end else None


def _headings(built: BuiltFile) -> Iterator[tuple[Section, Section | None]]:
    """The headings of the base with themselves in the result; None where they are gone.

    Left out are headings with the same anchor outside what the edits touch.
    """
    base, fresh = _touched(built)
    yield from _renumbered(built)
    now: dict[int, Section] = {}
    for item in built.resolved:
        now |= dict(_moved(built, item))
    for section in base:
        start = built.edits.map_offset(section.heading_start, after=True)
        found = built.result.heading_at(start)
        if section.heading_start not in now and found is not None:
            now[section.heading_start] = found
    taken = {section.heading_start for section in now.values()}
    for section in base:
        found = _retitled(built, section) if section.heading_start not in now else None
        if found is not None and found.span.start not in taken:
            now[section.heading_start] = found
    lost = [section for section in base if section.heading_start not in now]
    now |= dict(_reappeared(lost, fresh, now.values()))
    yield from ((section, now.get(section.heading_start)) for section in base)


def _touched(built: BuiltFile) -> tuple[Sequence[Section], Sequence[Section]]:
    """Headings of base and result around the edits, or all where nobody knows what these are."""
    base, result = built.base, built.result
    if built.changed is None:
        return base.headings, result.headings
    return (
        [section for old, _ in built.changed for section in base.headings_in(old)],
        [section for _, new in built.changed for section in result.headings_in(new)],
    )


def _renumbered(built: BuiltFile) -> Iterator[tuple[Section, Section]]:
    """The other headings of which the anchor is another one: it counts those of equal text before it."""
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


def _retitled(built: BuiltFile, section: Section) -> Section | None:
    """The heading that was written in place of that of `section`, and of nothing else."""
    start = built.edits.map_offset(section.heading_start)
    if start is None or built.edits.map_offset(section.body.start) is None:
        return None
    return built.result.heading_at(start)


def _moved(built: BuiltFile, item: ResolvedEdit) -> Iterator[tuple[int, Section]]:
    """The headings that `item` moves inside the file, by where they started."""
    if item.resolution.destination is None or item.outline is not built.base:
        return
    section = item.resolution.section
    written = built.written.get(item.index, ())
    if section is None or len(written) == 0:
        return
    old = built.base.headings_in(section.span)
    new = [heading for span in written for heading in built.result.headings_in(span)]
    if len(old) == len(new):
        yield from ((before.heading_start, after) for before, after in zip(old, new, strict=True))


def _departed(
    built: BuiltFile, arrived: Mapping[int, BuiltFile]
) -> Iterator[tuple[int, tuple[str, AnchorPlace | None]]]:
    """The headings and explicit anchors that went to another file, by where they started."""
    for item in built.resolved:
        there, section = arrived.get(item.index), item.resolution.section
        if there is None or section is None:
            continue
        path, written = there.file.result_path, there.written.get(item.index, ())
        old = built.base.headings_in(section.span)
        new = [heading for span in written for heading in there.result.headings_in(span)]
        if len(old) == len(new):
            for before, after in zip(old, new, strict=True):
                place = AnchorPlace(path, after.anchor or "", after.title)
                yield before.heading_start, (before.anchor or "", place)
        now = {anchor for anchor, span in explicit_anchors(there.result) if any(map(span.overlaps, written))}
        for anchor, span in explicit_anchors(built.base):
            if section.span.contains(span) and anchor in now:
                yield span.start, (anchor, AnchorPlace(path, anchor))


def _reappeared(
    lost: list[Section], found: Iterable[Section], known: Iterable[Section]
) -> Iterator[tuple[int, Section]]:
    """`lost` headings with those `found` of the same text, where it is clear which is which."""
    if not lost:
        return
    taken = {section.heading_start for section in known}
    fresh: defaultdict[str, list[Section]] = defaultdict(list)
    for section in found:
        if section.heading_start not in taken:
            fresh[folded(section.title)].append(section)
    gone: defaultdict[str, list[Section]] = defaultdict(list)
    for section in lost:
        gone[folded(section.title)].append(section)
    for title, sections in gone.items():
        if len(sections) == len(fresh[title]):
            pairs = zip(sections, fresh[title], strict=True)
            yield from ((before.heading_start, after) for before, after in pairs)
