"""Sections, made of the headings of a document."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from mdplan.markdown.anchors import heading_anchors
from mdplan.markdown.block import Block
from mdplan.markdown.parse_time import look_at_time
from mdplan.markdown.rendered_text import one_line, render_text
from mdplan.markdown.section import Section
from mdplan.markdown.section_id import folded, id_of_name, section_id
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span
from mdplan.text.value import value

# Sections that are made between looks at the time.
_BETWEEN_LOOKS: Final = 256


@value(frozen=True, slots=True)
class Sections:
    """The preamble and the top-level headings, in order; and headings inside of quotes and lists."""

    top: tuple[Section, ...]
    nested: tuple[Section, ...]


def read_sections(headings: Sequence[Block], lines: LineIndex, body: Span) -> Sections:
    """Sections of the `headings` of a document, in order.

    `body` reaches from the end of the front matter to where the last section ends.
    """
    rendered = [render_text(block.content) for block in headings]
    # GitHub keeps in an anchor the space that an HTML tag beside the text leaves.
    anchors = heading_anchors(rendered)
    tree = _Tree(headings, [one_line(text) for text in rendered])
    ordinals, repeats = tree.ordinals()
    ends = tree.ends()
    first = next((block for block in headings if not block.depth), None)
    top = [_preamble(lines, body, first)]
    nested: list[Section] = []
    index = 0
    for number, (block, anchor) in enumerate(zip(headings, anchors, strict=True)):
        if not number % _BETWEEN_LOOKS:
            look_at_time()
        parent = tree.parents[number]
        start, end = block.span.start, block.span.end
        is_nested = block.depth > 0
        body_end, last_line = end, block.last_line
        if not is_nested:
            index += 1
            behind, follower = ends[number], tree.followers[number]
            # A section ends where a heading starts, or where all of them do.
            if behind is None:
                last_line = lines.line_at(body.end - 1) if body.end else last_line
            else:
                last_line = behind.first_line - 1
            end = max(body.end if behind is None else behind.span.start, block.span.end)
            body_end = max(min(end, body.end if follower is None else follower.span.start), body_end)
        section = Section(
            index=0 if is_nested else index,
            level=block.level,
            heading=block,
            title=tree.titles[number],
            path=tree.paths[number],
            section_id=id_of_name(tree.names[number], ordinals[number]),
            ordinal=ordinals[number],
            repeats=repeats[number],
            anchor=anchor,
            span=Span(start, end),
            body=Span(block.span.end, body_end),
            first_line=block.first_line,
            last_line=max(last_line, block.last_line),
            parent=0 if parent is None else tree.indexes[parent],
            nested=is_nested,
        )
        (nested if is_nested else top).append(section)
    return Sections(tuple(top), tuple(nested))


class _Tree:
    """Which heading stands below which. By the number of a heading among all of them.

    `paths` hold titles, outermost first, and `names` the same in one string, as section IDs compare them.
    `parents` are numbers of headings; nested headings have no children. `indexes` count top-level headings,
    from 1. `followers` are the top-level headings behind each.
    """

    def __init__(self, headings: Sequence[Block], titles: Sequence[str]) -> None:
        self.headings = headings
        self.titles = titles
        self.paths: list[tuple[str, ...]] = []
        self.names: list[str] = []
        self.parents: list[int | None] = []
        self.indexes: list[int] = []
        self.followers: list[Block | None] = [None] * len(headings)
        self._closed_by: dict[int, Block] = {}
        open_headings: list[int] = []
        before: int | None = None
        index = 0
        for number, (block, title) in enumerate(zip(headings, titles, strict=True)):
            if not block.depth:
                index += 1
                while open_headings and headings[open_headings[-1]].level >= block.level:
                    self._closed_by[open_headings.pop()] = block
                if before is not None:
                    self.followers[before] = block
                before = number
            parent = open_headings[-1] if open_headings else None
            self.parents.append(parent)
            self.indexes.append(index)
            if parent is None:
                self.paths.append((title,))
                self.names.append(folded(title))
            else:
                self.paths.append((*self.paths[parent], title))
                self.names.append(f"{self.names[parent]}\x1f{folded(title)}")
            if not block.depth:
                open_headings.append(number)

    def ends(self) -> list[Block | None]:
        """The heading at which each section ends: the next top-level one of the same or a higher level."""
        return [self._closed_by.get(number) for number in range(len(self.headings))]

    def ordinals(self) -> tuple[list[int], list[int]]:
        """Ordinal of each heading among those of equal name, and how many they are.

        Top-level headings are counted before nested ones, so that a quoted look-alike changes no ID.
        """
        ordinals = [0] * len(self.names)
        seen: dict[str, int] = {}
        nested = [number for number, block in enumerate(self.headings) if block.depth]
        top = range(len(self.names))
        for number in (
            chain((each for each in top if not self.headings[each].depth), nested) if nested else top
        ):
            name = self.names[number]
            ordinals[number] = seen[name] = seen.get(name, 0) + 1
        return ordinals, [seen[name] for name in self.names]


def _preamble(lines: LineIndex, body: Span, first: Block | None) -> Section:
    """Text before the first top-level heading."""
    end = min(first.span.start, body.end) if first else body.end
    span = Span(body.start, max(end, body.start))
    return Section(
        index=0,
        level=0,
        heading=None,
        title="",
        path=(),
        section_id=section_id(()),
        ordinal=1,
        repeats=1,
        anchor=None,
        span=span,
        body=span,
        first_line=_first_line(lines, span.start) if len(span) else 0,
        last_line=_last_line(lines, span.end, first) if len(span) else 0,
        parent=None,
    )


def _first_line(lines: LineIndex, start: int) -> int:
    return lines.line_at(start) if start else 1


def _last_line(lines: LineIndex, end: int, first: Block | None) -> int:
    return first.first_line - 1 if first and first.span.start == end else lines.line_at(end - 1)
