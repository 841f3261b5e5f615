"""One section of a document."""

from dataclasses import dataclass, field

from mdplan.markdown.blocks.block import Block
from mdplan.markdown.blocks.heading_rows import HeadingTable
from mdplan.markdown.section_id import SectionId, canonical_heading
from mdplan.text.span import Span


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True)
class Section:
    """A heading, its own body, and its subsections; or the preamble (level 0, empty path).

    `number` counts its heading among those in `rows`, from 0, and is None for the preamble. `span` is the
    whole section, with the anchor lines above its heading; `body` is the text between the heading, with the
    line of attributes below it, and the first subsection. A nested section is a heading inside of a quote or
    a list: it has no body and delimits nothing.

    `path` holds rendered headings, outermost first. `ordinal` (1-based) counts the sections whose folded
    paths are equal, `repeats` says how many of them there are. `parent` is an index into
    `Outline.sections`.
    """

    rows: HeadingTable = field(repr=False, compare=False)
    number: int | None
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
    def heading(self) -> Block | None:
        """Its heading; None for the preamble only."""
        return None if self.number is None else self.rows.block(self.number)

    @property
    def heading_start(self) -> int:
        """Where its heading starts, behind the anchor lines above it; for the preamble, where that starts."""
        return self.span.start if self.number is None else self.rows.starts[self.number]

    @property
    def heading_end(self) -> int:
        """Where its heading ends, before a line of attributes; for the preamble, where that starts."""
        return self.span.start if self.number is None else self.rows.ends[self.number]

    @property
    def heading_line(self) -> int:
        """The first line of its heading, 1-based; of the preamble, its own."""
        return self.first_line if self.number is None else self.rows.first_lines[self.number]

    @property
    def is_root(self) -> bool:
        """Whether this is the preamble: the text before the first heading."""
        return self.level == 0

    @property
    def canonical_path(self) -> tuple[str, ...]:
        """`path` in canonical form."""
        return tuple(canonical_heading(title) for title in self.path)
