"""The sections of a document, made of its headings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.heading_attributes import attribute_lines, id_of_attributes
from mdplan.markdown.outline.anchor_lines import lead_starts
from mdplan.markdown.outline.section_names import SectionNames
from mdplan.markdown.section_id import PREAMBLE_ID, SectionId, canonical_heading
from mdplan.text.lines import Span
from mdplan.text.source import Source


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True)
class Section:
    """A heading, its own body, and its subsections; or the preamble (level 0, empty path, no heading).

    `span` is the whole section, with the anchor lines above its heading; `body` is the text between the
    heading, with the line of attributes below it, and the first subsection. A nested section is a heading
    inside a quote or a list: it has no body and delimits nothing.

    `path` holds rendered headings, outermost first. `ordinal` (1-based) counts the sections whose folded
    paths are equal, `repeats` says how many of them there are. `index` counts top-level sections, from 0 for
    the preamble; `parent` is such an index.
    """

    heading: Block | None = field(repr=False, hash=False)
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
        """Where its heading starts, after the anchor lines above it; for the preamble, where that starts."""
        return self.span.start if self.heading is None else self.heading.span.start

    @property
    def heading_end(self) -> int:
        """Where its heading ends, before a line of attributes; for the preamble, where that starts."""
        return self.span.start if self.heading is None else self.heading.span.end

    @property
    def heading_line(self) -> int:
        """The first line of its heading, 1-based; of the preamble, its own."""
        return self.first_line if self.heading is None else self.heading.first_line

    @property
    def is_root(self) -> bool:
        """Whether this is the preamble: the text before the first heading."""
        return self.level == 0

    @property
    def canonical_path(self) -> tuple[str, ...]:
        """`path` in canonical form."""
        return tuple(canonical_heading(title) for title in self.path)


def read_sections(
    headings: Sequence[Block], names: SectionNames, source: Source, body: Span
) -> tuple[Section, ...]:
    """The preamble, and the sections of `headings`, which have `names`, in document order.

    `body` reaches from the end of the front matter to where the last section ends.
    """
    reader = _Reader(headings, names, source, body)
    return (reader.preamble(), *reader.sections())


class _Reader:
    """Makes sections of `headings`; all goes by the number of a heading."""

    def __init__(self, headings: Sequence[Block], names: SectionNames, source: Source, body: Span) -> None:
        self._headings, self._names, self._body, self._lines = headings, names, body, source.lines
        self._tree = tree = names.tree
        text = source.text
        ends = [heading.span.end for heading in headings]
        # By the number of a top-level heading, where the line of attributes below it ends.
        self._tails = attribute_lines([heading.depth for heading in headings], ends, text)
        below = {number: id_of_attributes(text[ends[number] : end]) for number, end in self._tails.items()}
        self._anchors = names.anchors(below)
        # Where sections start, and their first lines; after them, where the last section ends.
        last_line = self._lines.line_at(body.end - 1) if body.end else 0
        self._starts = [*(heading.span.start for heading in headings), body.end]
        self._first_lines = [*(heading.first_line for heading in headings), last_line + 1]
        # Anchor lines belong to the section of the heading below them.
        leads = lead_starts(text, [self._starts[number] for number in tree.tops], body.start)
        for place, start in leads.items():
            number = tree.tops[place]
            self._starts[number], self._first_lines[number] = start, self._lines.line_at(start)

    def preamble(self) -> Section:
        """The text before the first top-level heading."""
        tops = self._tree.tops
        end = min(self._starts[tops[0]], self._body.end) if tops else self._body.end
        span = Span(self._body.start, max(end, self._body.start))
        first, last = (self._lines.line_at(at) if len(span) else 0 for at in (span.start, span.end - 1))
        return Section(None, 0, 0, "", (), PREAMBLE_ID, 1, 1, None, span, span, first, last, None)

    def sections(self) -> Iterator[Section]:
        """Those of all headings, in document order."""
        tree, starts, names = self._tree, self._starts, self._names
        for number, heading in enumerate(self._headings):
            parent, index = tree.parents[number], tree.indexes[number]
            is_nested = heading.depth > 0
            end = body_end = heading_end = self._tails.get(number, heading.span.end)
            last_line = heading.last_line + (number in self._tails)
            closer = tree.closers[number]
            # Definitions at the end of the text can follow on the last heading, and belong to no section.
            if not is_nested and starts[closer] > end:
                end, last_line = starts[closer], self._first_lines[closer] - 1
                body_end = starts[tree.tops[index] if index < len(tree.tops) else -1]
            # By position, since to make one by the names of its fields takes three times as long.
            yield Section(
                heading,
                0 if is_nested else index,
                heading.level,
                names.titles[number],
                names.paths[number],
                tree.ids[number],
                tree.ordinals[number],
                tree.repeats[number],
                self._anchors[number],
                Span(starts[number], end),
                Span(heading_end, body_end),
                self._first_lines[number],
                last_line,
                0 if parent is None else tree.indexes[parent],
                is_nested,
            )
