"""Build the sections of a document from its headings."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Final, NamedTuple

from mdplan.markdown.block_tree import BlockTree
from mdplan.markdown.blocks import Block, BlockKind, check_deadline
from mdplan.markdown.headings import (
    PREAMBLE_ID,
    SectionId,
    SlugStyle,
    anchor_line_starts,
    canonical_heading,
    folded,
    heading_title,
    id_of_name,
    render_text,
    text_for_anchor,
)
from mdplan.markdown.parser import (
    HeadingContent,
    attribute_lines,
    id_of_attributes,
    read_content,
    without_attributes,
)
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import Source
from mdplan.values import Struct

# An opening heading tag, after regions that contain no tags.
_OPENING: Final = lazy_pattern(r"<[hH][1-6]\b")
_HTML_HEADING: Final = lazy_pattern(
    r"""<!--.*?(?:-->|\Z)|<[hH](?P<level>[1-6])\b(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.DOTALL
)
_TAG: Final = lazy_pattern(r"<!--.*?-->|<[^<>]*>", re.DOTALL)
_BLANK_LINE: Final = lazy_pattern(r"\n[ \t\r]*\n|\r[ \t]*\r")
_LONGEST: Final = 2_000


class Section(Struct):
    """A heading with its body and subsections; or the preamble (level 0, empty path, no heading).

    - `span`: the whole section, including anchor lines above the heading.
    - `body`: from after the heading and its attribute line to the first subsection.
    - `path`: rendered headings, outermost first.
    - `ordinal` (1-based) and `repeats`: position among, and number of, sections with equal folded paths.
    - `index`: counts top-level sections, 0 for the preamble; `parent` is such an index.

    A nested section is a heading in a quote or list: it has no body and delimits nothing.
    """

    heading: Block | None
    index: int
    level: int
    title: str
    path: tuple[str, ...]
    section_id: SectionId
    ordinal: int
    repeats: int
    anchor: str | None
    span: Span
    body: Span
    first_line: int
    last_line: int
    parent: int | None
    nested: bool = False

    @property
    def heading_start(self) -> int:
        """The start of its heading, after anchor lines; of the preamble itself."""
        return self.span.start if self.heading is None else self.heading.span.start

    @property
    def heading_end(self) -> int:
        """The end of its heading, before an attribute line; for the preamble, its start."""
        return self.span.start if self.heading is None else self.heading.span.end

    @property
    def heading_line(self) -> int:
        """The first line of its heading or of the preamble, 1-based."""
        return self.first_line if self.heading is None else self.heading.first_line

    @property
    def is_root(self) -> bool:
        """True for the preamble, the text before the first heading."""
        return self.level == 0

    @property
    def canonical_path(self) -> tuple[str, ...]:
        """`path` in canonical form."""
        return tuple(canonical_heading(title) for title in self.path)


class HtmlHeading(NamedTuple):
    """A heading in HTML: its offset, rendered text and level."""

    start: int
    text: str
    level: int


def html_headings(tree: BlockTree, text: str) -> tuple[HtmlHeading, ...]:
    """Return the headings in HTML blocks, in order; there may be Markdown between the tags."""
    if not _OPENING.search(text):
        return ()
    # Loaded only if needed.
    from mdplan.markdown.html import unescaped

    headings = []
    # Parts without such a tag stay unparsed.
    for block in tree.containing(_OPENING):
        if block.kind is not BlockKind.HTML:
            continue
        for opening in _HTML_HEADING.finditer(text, block.span.start, block.span.end):
            closing = re.compile(rf"</h{opening['level']}\s*>", re.IGNORECASE) if opening["level"] else None
            end = closing.search(text, opening.end(), opening.end() + _LONGEST) if closing else None
            if end is not None:
                inside = text[opening.end() : end.start()]
                shown = render_text(inside) if _BLANK_LINE.search(inside) else unescaped(_TAG.sub("", inside))
                headings.append(HtmlHeading(opening.start(), shown, int(opening["level"])))
    return tuple(headings)


class SectionNames:
    """Immutable titles, paths, IDs, anchors and the hierarchy, by heading index.

    They depend only on level, depth and content of headings, including those in HTML, so edits of other text
    keep them.

    - `tops`: the top-level headings.
    - `indexes`: section indexes; for a nested heading, that of its enclosing section.
    - `parents`: heading indexes, None at the root; nested headings have no children.
    - `closers`: the headings that end sections: the next top-level one of the same or a higher level, or the
      number of headings.
    - `ordinals` (1-based) and `repeats`: position among, and number of, equal paths.
    """

    def __init__(self, headings: Sequence[Block], slugs: SlugStyle, in_html: Sequence[HtmlHeading]) -> None:
        """Name `headings`, all of a document in order, with anchors in the style `slugs`."""
        self._key = _key(headings, in_html)
        self._slugs = slugs
        self._in_html = [heading.text for heading in in_html]
        # By heading index, the position among all headings including HTML ones.
        before = [bisect_left(in_html, (heading.span.start, "", 0)) for heading in headings]
        self._places = [number + count for number, count in enumerate(before)]
        self._contents = [read_content(heading.content) for heading in headings]
        self.titles = [heading_title(content.text) for content in self._contents]
        self._read_tree(headings)
        self.paths: list[tuple[str, ...]] = []
        for title, parent in zip(self.titles, self.parents, strict=True):
            self.paths.append((title,) if parent is None else (*self.paths[parent], title))

    def _read_tree(self, headings: Sequence[Block]) -> None:
        self.tops = [number for number, heading in enumerate(headings) if not heading.depth]
        self.indexes = list(accumulate(int(not heading.depth) for heading in headings))
        self.parents: list[int | None] = []
        self.closers = [len(headings)] * len(headings)
        # Folded paths as bytes: texts with invalid UTF-8 can be equal as strings.
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
            name = folded(self.titles[number]).encode("utf-8", "surrogateescape")
            names.append(name if parent is None else names[parent] + b"\x1f" + name)
        repeats: Counter[bytes] = Counter()
        self.ordinals = [0] * len(headings)
        nested = (number for number, heading in enumerate(headings) if heading.depth)
        # Count top-level headings first, so that a quoted duplicate changes no ID.
        for number in chain(self.tops, nested):
            repeats[names[number]] += 1
            self.ordinals[number] = repeats[names[number]]
        self.repeats = [repeats[name] for name in names]
        self.ids = [id_of_name(name, ordinal) for name, ordinal in zip(names, self.ordinals, strict=True)]

    def of(self, headings: Sequence[Block], in_html: Sequence[HtmlHeading]) -> "SectionNames":
        """Return the names of other headings; these if nothing relevant differs."""
        is_same = _key(headings, in_html) == self._key
        return self if is_same else SectionNames(headings, self._slugs, in_html)

    def anchors(self, below: Mapping[int, str]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the anchors of headings and of HTML headings; `below` are IDs from attribute lines."""
        return self._make_anchors(below) if below else self._anchors

    @cached_property
    def _anchors(self) -> tuple[Sequence[str], Sequence[str]]:
        return self._make_anchors({})

    def _make_anchors(self, below: Mapping[int, str]) -> tuple[Sequence[str], Sequence[str]]:
        own_ids = [below.get(number) or content.id for number, content in enumerate(self._contents)]
        titles = list(map(self._text, self._contents))
        if not self._in_html:
            return list(self._slugs.anchors(titles, own_ids)), ()
        named = dict(zip(self._places, zip(titles, own_ids, strict=True), strict=True))
        html = iter(self._in_html)
        count = len(titles) + len(self._in_html)
        every = [named.get(place) or (next(html), "") for place in range(count)]
        anchors = list(self._slugs.anchors(*zip(*every, strict=True)))
        return [anchors[place] for place in self._places], [
            anchor for place, anchor in enumerate(anchors) if place not in named
        ]

    def _text(self, content: HeadingContent) -> str:
        """Return the text from which the anchor of a heading is made, without attributes.

        It keeps the space that an adjacent HTML tag leaves, as GitHub does.
        """
        text = self._slugs.prepared(without_attributes(content.text))
        return render_text(text) if self._slugs.has_images else text_for_anchor(text)


def read_sections(
    headings: Sequence[Block], names: SectionNames, source: Source, body: Span
) -> tuple[tuple[Section, ...], Sequence[str]]:
    """Return the preamble and all sections in document order, and the anchors of HTML headings.

    `body` spans from the end of the front matter to the end of the last section.
    """
    lines, text, tops = source.lines, source.text, names.tops
    ends = [heading.span.end for heading in headings]
    # By top-level heading index, the end of the attribute line below it.
    tails = attribute_lines([heading.depth for heading in headings], ends, text)
    below = {number: id_of_attributes(text[ends[number] : end]) for number, end in tails.items()}
    anchors, anchors_of_html = names.anchors(below)
    # Where sections start, and their first lines; finally where the last section ends.
    last_line = lines.line_at(body.end - 1) if body.end else 0
    starts = [*(heading.span.start for heading in headings), body.end]
    first_lines = [*(heading.first_line for heading in headings), last_line + 1]
    # Anchor lines belong to the section below them.
    for index, start in anchor_line_starts(text, [starts[number] for number in tops], body.start).items():
        starts[tops[index]], first_lines[tops[index]] = start, lines.line_at(start)
    end = min(starts[tops[0]], body.end) if tops else body.end
    span = Span(body.start, max(end, body.start))
    first, last = (lines.line_at(offset) if len(span) else 0 for offset in (span.start, span.end - 1))
    sections = [Section(None, 0, 0, "", (), PREAMBLE_ID, 1, 1, None, span, span, first, last, None)]
    for number, heading in enumerate(headings):
        parent, index = names.parents[number], names.indexes[number]
        is_nested = heading.depth > 0
        end = body_end = heading_end = tails.get(number, heading.span.end)
        last_line = heading.last_line + (number in tails)
        closer = names.closers[number]
        # Trailing definitions belong to no section.
        if not is_nested and starts[closer] > end:
            end, last_line = starts[closer], first_lines[closer] - 1
            body_end = starts[tops[index] if index < len(tops) else -1]
        # Positional arguments: keywords take three times as long.
        sections.append(
            Section(
                heading,
                0 if is_nested else index,
                heading.level,
                names.titles[number],
                names.paths[number],
                names.ids[number],
                names.ordinals[number],
                names.repeats[number],
                anchors[number],
                Span(starts[number], end),
                Span(heading_end, body_end),
                first_lines[number],
                last_line,
                0 if parent is None else names.indexes[parent],
                is_nested,
            )
        )
    return tuple(sections), anchors_of_html


def _key(headings: Sequence[Block], in_html: Sequence[HtmlHeading]) -> list[Sequence[object]]:
    named = [(heading.span.start, heading.level, heading.depth, heading.content) for heading in headings]
    return [names[1:] for names in (sorted((*named, *in_html)) if in_html else named)]
