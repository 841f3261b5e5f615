"""Which heading stands below which, and what that makes of their names; wherever they stand."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from typing import Final
from unicodedata import normalize

from mdplan.markdown.blocks.heading_rows import HeadingTexts
from mdplan.markdown.blocks.parse_time import check_deadline_often
from mdplan.markdown.blocks.rendered_text import heading_title
from mdplan.markdown.outline.anchors import GITHUB_PREFIX, heading_anchors
from mdplan.markdown.section_id import ID_PREFIX, SectionId, canonical_heading, id_of_name

# Headings that are looked at between looks at the time.
_BETWEEN_LOOKS: Final = 256


class HeadingTree:
    """The tree of headings of the given texts. Everything goes by the number of a heading among all of them.

    `tops` and `nested` are the numbers of top-level and nested headings. `indexes` count the former, from 1:
    of a nested heading, those before it. `parents` are numbers, None at the root; nested headings have no
    children. `closers` are the headings at which sections end: the next top-level one of the same or a higher
    level, or the number of all headings where there is none. `anchors` are those that the headings generate.
    `ordinals` (1-based) count the headings of equal paths.
    """

    def __init__(self, texts: HeadingTexts, ids: Mapping[int, str]) -> None:
        """Go through `texts` once; `ids` are those that the lines below headings give them, by number."""
        count = len(texts)
        self.texts = texts
        self.ids = ids
        self.tops: list[int] = []
        self.nested: list[int] = []
        self.indexes: list[int] = []
        self.parents: list[int | None] = []
        self.closers = [count] * count
        # GitHub keeps in an anchor the space that an HTML tag beside the text leaves.
        own_ids = [ids.get(number, own) for number, own in enumerate(texts.ids)] if ids else texts.ids
        self.anchors = list(heading_anchors(texts.anchor_texts, own_ids))
        # Folded titles of the path, in one string, as section IDs compare them.
        self._names: list[str] = []
        self.ordinals: list[int] = []
        self._repeats: dict[str, int] = {}
        self._ids: list[SectionId | None] = [None] * count
        # Of headings that have others below them.
        self._paths: dict[int, tuple[str, ...]] = {}
        self._read()

    def _read(self) -> None:
        levels, names, repeats = self.texts.levels, self._names, self._repeats
        open_headings: list[int] = []
        rows = zip(levels, self.texts.depths, self.texts.folded, strict=True)
        for number, (level, depth, name) in enumerate(rows):
            if not number % _BETWEEN_LOOKS:
                check_deadline_often()
            if not depth:
                while open_headings and levels[open_headings[-1]] >= level:
                    self.closers[open_headings.pop()] = number
                self.tops.append(number)
            parent = open_headings[-1] if open_headings else None
            whole = name if parent is None else f"{names[parent]}\x1f{name}"
            if depth:
                self.nested.append(number)
                self.ordinals.append(0)
            else:
                open_headings.append(number)
                repeats[whole] = ordinal = repeats.get(whole, 0) + 1
                self.ordinals.append(ordinal)
            self.indexes.append(len(self.tops))
            self.parents.append(parent)
            names.append(whole)
        # Top-level headings are counted before nested ones, so that a quoted look-alike changes no ID.
        for number in self.nested:
            repeats[names[number]] = self.ordinals[number] = repeats.get(names[number], 0) + 1

    def path(self, number: int) -> tuple[str, ...]:
        """Titles from the outermost heading to this one."""
        parent, title = self.parents[number], self.texts.titles[number]
        if parent is None:
            return (title,)
        above = self._paths.get(parent)
        if above is None:
            self._paths[parent] = above = self.path(parent)
        return (*above, title)

    @cached_property
    def repeats(self) -> list[int]:
        """How many headings have the path of each."""
        return [self._repeats[name] for name in self._names]

    def repeated(self) -> list[int]:
        """Headings of equal paths, all of them."""
        if len(self._repeats) == len(self.texts):
            return []
        return [number for number, name in enumerate(self._names) if self._repeats[name] > 1]

    @cached_property
    def repeated_paths(self) -> dict[str, int]:
        """Folded paths that several top-level headings have, each with how many of these."""
        names, ordinals = self._names, self.ordinals
        # The last one of equal paths counts all of them.
        return {names[number]: ordinals[number] for number in self.tops if ordinals[number] > 1}

    def with_digits(self, prefix: str) -> list[int]:
        """Headings whose section IDs begin with the hex digits `prefix`; nested ones behind others."""
        name = ID_PREFIX + prefix
        if name in self._by_id:
            return [self._by_id[name]]
        first, end = bisect_left(self._sorted_ids, name), bisect_left(self._sorted_ids, name + "g")
        found = (self._by_id[section_id] for section_id in self._sorted_ids[first:end])
        return sorted(found, key=lambda number: (self.texts.depths[number] > 0, number))

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {self.section_id(number): number for number in range(len(self.texts))}

    @cached_property
    def _sorted_ids(self) -> list[str]:
        return sorted(self._by_id)

    @cached_property
    def by_heading(self) -> dict[tuple[str | None, str], list[int]]:
        """Headings by their canonical form: under (None, heading), and under (parent's, heading).

        Nested ones stand behind others.
        """
        index: defaultdict[tuple[str | None, str], list[int]] = defaultdict(list)
        for number in chain(self.tops, self.nested):
            parent = self.parents[number]
            leaf = canonical_heading(self.texts.titles[number])
            index[None, leaf].append(number)
            if parent is not None:
                index[canonical_heading(self.texts.titles[parent]), leaf].append(number)
        return dict(index)

    @cached_property
    def by_anchor(self) -> dict[str, int]:
        """Headings by the anchor that they generate."""
        # Of equal ones, which headings give themselves, the first counts.
        numbered = reversed(list(enumerate(self.anchors)))
        return {anchor: number for number, anchor in numbered if anchor}

    @cached_property
    def by_composed_anchor(self) -> dict[str, int]:
        """The same with each anchor in normal form C (Unicode Standard Annex 15)."""
        return {normalize("NFC", anchor): number for anchor, number in reversed(self.by_anchor.items())}

    def with_former_digits(self, prefix: str) -> list[int]:
        """Headings whose section IDs began with `prefix` while attributes counted as text of headings."""
        if not any(self.texts.ids):
            return []
        former = HeadingTexts()
        for level, depth, content in zip(
            self.texts.levels, self.texts.depths, self.texts.contents, strict=True
        ):
            former.add_titled(level, depth, heading_title(content))
        return HeadingTree(former, {}).with_digits(prefix)

    @cached_property
    def with_prefix(self) -> list[int]:
        """Headings of which the anchor begins as GitHub's own prefix does."""
        return [number for number, anchor in enumerate(self.anchors) if anchor.startswith(GITHUB_PREFIX)]

    def section_id(self, number: int) -> SectionId:
        """ID of its section; made once."""
        found = self._ids[number]
        if found is None:
            self._ids[number] = found = id_of_name(self._names[number], self.ordinals[number])
        return found

    def follower(self, number: int) -> int:
        """The top-level heading behind a top-level one; the number of all headings behind the last one."""
        index = self.indexes[number]
        return self.tops[index] if index < len(self.tops) else len(self.texts)
