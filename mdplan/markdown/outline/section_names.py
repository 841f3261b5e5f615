"""Names of sections, computed from all headings of a document."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.deadline import check_deadline
from mdplan.markdown.blocks.heading_attributes import HeadingContent, read_content
from mdplan.markdown.blocks.rendered_text import heading_title, render_text, text_for_anchor
from mdplan.markdown.outline.slugs import SlugStyle
from mdplan.markdown.section_id import folded, id_of_name


class SectionNames:
    """Titles, paths, IDs and anchors of headings, by the number of a heading.

    They depend on the level, depth and content of each heading alone, so that an edit of other text keeps
    them. Never changes.
    """

    def __init__(self, headings: Sequence[Block], slugs: SlugStyle) -> None:
        """Name `headings`, which are all of a document, in order; their anchors are in the style `slugs`."""
        self._key = _key(headings)
        self._slugs = slugs
        self._contents = [read_content(heading.content) for heading in headings]
        self.titles = [heading_title(content.text) for content in self._contents]
        self.tree = _Tree(headings, self.titles)
        self.paths: list[tuple[str, ...]] = []
        for title, parent in zip(self.titles, self.tree.parents, strict=True):
            self.paths.append((title,) if parent is None else (*self.paths[parent], title))

    def of(self, headings: Sequence[Block]) -> "SectionNames":
        """The names of other `headings`: these, where nothing differs that they depend on."""
        return self if _key(headings) == self._key else SectionNames(headings, self._slugs)

    def anchors(self, below: Mapping[int, str]) -> Sequence[str]:
        """Anchors; `below` are IDs that attributes on the lines below headings name."""
        return self._make_anchors(below) if below else self._anchors

    @cached_property
    def _anchors(self) -> Sequence[str]:
        return self._make_anchors({})

    def _make_anchors(self, below: Mapping[int, str]) -> Sequence[str]:
        own_ids = (below.get(number) or content.id for number, content in enumerate(self._contents))
        return list(self._slugs.anchors(map(self._text, self._contents), own_ids))

    def _text(self, content: HeadingContent) -> str:
        """The text of a heading that its anchor is made of.

        It keeps the space that an HTML tag next to the text leaves, as GitHub does.
        """
        text = self._slugs.prepared(content.text)
        return render_text(text) if self._slugs.has_images else text_for_anchor(text)


class _Tree:
    """Which heading is below which, and what that makes of their names; all by the number of a heading.

    `tops` are the numbers of top-level headings. `indexes` are those of the sections that headings begin; of
    a nested heading, that of the section around it. `parents` are numbers, None at the root; nested headings
    have no children. `closers` are the headings at which sections end: the next top-level one of the same or
    a higher level, or the number of all headings where there is none. `ordinals` (1-based) count the headings
    of equal paths; `repeats` are how many there are.
    """

    def __init__(self, headings: Sequence[Block], titles: Sequence[str]) -> None:
        self.tops = [number for number, heading in enumerate(headings) if not heading.depth]
        self.indexes = list(accumulate(int(not heading.depth) for heading in headings))
        self.parents: list[int | None] = []
        self.closers = [len(headings)] * len(headings)
        # Folded titles of the path, as section IDs compare them; in bytes, because two texts with bytes that
        # are no UTF-8 can have the same.
        names: list[bytes] = []
        open_headings: list[int] = []
        for number, heading in enumerate(headings):
            check_deadline()
            if not heading.depth:
                while open_headings and headings[open_headings[-1]].level >= heading.level:
                    self.closers[open_headings.pop()] = number
            parent = open_headings[-1] if open_headings else None
            if not heading.depth:
                open_headings.append(number)
            self.parents.append(parent)
            name = folded(titles[number]).encode("utf-8", "surrogateescape")
            names.append(name if parent is None else names[parent] + b"\x1f" + name)
        repeats: Counter[bytes] = Counter()
        self.ordinals = [0] * len(headings)
        nested = (number for number, heading in enumerate(headings) if heading.depth)
        # Top-level headings are counted before nested ones, so that a quoted look-alike changes no ID.
        for number in chain(self.tops, nested):
            repeats[names[number]] += 1
            self.ordinals[number] = repeats[names[number]]
        self.repeats = [repeats[name] for name in names]
        self.ids = [id_of_name(name, ordinal) for name, ordinal in zip(names, self.ordinals, strict=True)]


def _key(headings: Sequence[Block]) -> list[tuple[int, int, str]]:
    return [(heading.level, heading.depth, heading.content) for heading in headings]
