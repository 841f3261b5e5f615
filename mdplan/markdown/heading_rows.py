"""The headings of a document in columns, of which outlines have thousands before anybody looks at one."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from mdplan.markdown.block import Block, BlockKind
from mdplan.markdown.rendered_text import one_line, render_text
from mdplan.markdown.section_id import folded
from mdplan.text.span import Span

# Looking up a member of an enumeration takes its time.
_HEADING: Final = BlockKind.HEADING


class HeadingText(NamedTuple):
    """What a heading says, wherever it stands.

    `level`, `depth`, `markup` and `content` are those of its block. `rendered` is its text as `render_text`
    gives it, `title` the same in one line, and `folded` as section IDs compare it.
    """

    level: int
    depth: int
    markup: str
    content: str
    rendered: str
    title: str
    folded: str


def heading_text(level: int, depth: int, markup: str, content: str) -> HeadingText:
    """That of a heading with the raw inline text `content`."""
    rendered = render_text(content)
    title = one_line(rendered)
    return HeadingText(level, depth, markup, content, rendered, title, folded(title))


class HeadingRows:
    """Headings of every depth, in document order. It grows while it is made, and then never changes.

    `starts` and `ends` are those of their lines, with line ends; lines are 1-based and inclusive.
    """

    __slots__ = ("ends", "first_lines", "last_lines", "starts", "texts")

    def __init__(self) -> None:
        self.texts: list[HeadingText] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.first_lines: list[int] = []
        self.last_lines: list[int] = []

    def block(self, number: int) -> Block:
        """The heading with this number, as the tree of blocks has it."""
        text = self.texts[number]
        return Block(
            kind=_HEADING,
            first_line=self.first_lines[number],
            last_line=self.last_lines[number],
            span=Span(self.starts[number], self.ends[number]),
            depth=text.depth,
            level=text.level,
            markup=text.markup,
            content=text.content,
        )

    def add(self, text: HeadingText, start: int, end: int, line: int) -> None:
        """Add a heading of one line."""
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)
        self.first_lines.append(line)
        self.last_lines.append(line)

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        """Add `blocks` that are headings."""
        for block in blocks:
            self.texts.append(heading_text(block.level, block.depth, block.markup, block.content))
            self.starts.append(block.span.start)
            self.ends.append(block.span.end)
            self.first_lines.append(block.first_line)
            self.last_lines.append(block.last_line)

    def add_rows(self, other: "HeadingRows", rows: slice, characters: int, lines: int) -> None:
        """Add those `rows` of `other`, so many characters and lines further behind."""
        self.texts += other.texts[rows]
        for own, known, distance in (
            (self.starts, other.starts, characters),
            (self.ends, other.ends, characters),
            (self.first_lines, other.first_lines, lines),
            (self.last_lines, other.last_lines, lines),
        ):
            own.extend([place + distance for place in known[rows]] if distance else known[rows])
