"""The headings of a document in columns, of which outlines have thousands before anybody looks at one."""

import re
from collections.abc import Iterable
from typing import Final

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.heading_attributes import read_content
from mdplan.markdown.blocks.rendered_text import heading_title, text_for_anchor
from mdplan.markdown.section_id import folded
from mdplan.text.span import Span

# Inline text whose words stand one blank apart, with no markup but code spans of one backtick on either side,
# and no blank at their ends: the text without the backticks is what is rendered.
_PLAIN_CONTENT: Final = re.compile(r"(?:(?:[^\s\\`*_~\[<&]++|`[^\s`]++(?: [^\s`]++)*+`(?!`))++ ?)*+")
# CommonMark 0.31.2, section 4.2: closing marks stand behind a blank.
_CLOSING_MARKS: Final = re.compile(r"[ \t]#+\Z")


class HeadingTexts:
    """What headings say, wherever they stand; each list has one entry for each of them.

    `levels`, `depths`, `markups` and `contents` are those of the blocks. `titles` are the texts as
    `render_text` gives them, in one line and without the attributes that name an ID, and `folded` the same as
    section IDs compare it. Anchors are made of `anchor_texts`, where `ids` has no other name.
    """

    __slots__ = ("anchor_texts", "contents", "depths", "folded", "ids", "levels", "markups", "titles")

    def __init__(self) -> None:
        self.levels: list[int] = []
        self.depths: list[int] = []
        self.markups: list[str] = []
        self.contents: list[str] = []
        self.anchor_texts: list[str] = []
        self.ids: list[str] = []
        self.titles: list[str] = []
        self.folded: list[str] = []

    def __len__(self) -> int:
        return len(self.levels)

    def is_like(self, other: "HeadingTexts") -> bool:
        """Whether `other` says the same."""
        return (self.levels, self.depths, self.markups, self.contents) == (
            other.levels,
            other.depths,
            other.markups,
            other.contents,
        )

    def add(self, level: int, depth: int, markup: str, content: str) -> None:
        """Add a heading with the raw inline text `content`."""
        own_id = ""
        text = content
        if content.endswith("}"):
            read = read_content(content)
            text, own_id = read.text, read.id
        if _PLAIN_CONTENT.fullmatch(text):
            rendered = title = text.replace("`", "")
            name = title.casefold()
        else:
            title = heading_title(text)
            rendered = text_for_anchor(text)
            name = folded(title)
        self.levels.append(level)
        self.depths.append(depth)
        self.markups.append(markup)
        self.contents.append(content)
        self.anchor_texts.append(rendered)
        self.ids.append(own_id)
        self.titles.append(title)
        self.folded.append(name)

    def add_titled(self, level: int, depth: int, title: str) -> None:
        """Add a heading of which nothing but the rendered `title` counts."""
        self.levels.append(level)
        self.depths.append(depth)
        self.titles.append(title)
        self.anchor_texts.append("")
        self.ids.append("")
        self.folded.append(folded(title))

    def add_some(self, other: "HeadingTexts", rows: slice) -> None:
        """Add those `rows` of `other`."""
        self.levels += other.levels[rows]
        self.depths += other.depths[rows]
        self.markups += other.markups[rows]
        self.contents += other.contents[rows]
        self.anchor_texts += other.anchor_texts[rows]
        self.ids += other.ids[rows]
        self.titles += other.titles[rows]
        self.folded += other.folded[rows]


class HeadingTable:
    """Headings of every depth, in document order. It grows while it is made, and then never changes.

    `starts` and `ends` are those of their lines, with line ends; lines are 1-based and inclusive.
    """

    __slots__ = ("ends", "first_lines", "last_lines", "starts", "texts")

    def __init__(self) -> None:
        self.texts = HeadingTexts()
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.first_lines: list[int] = []
        self.last_lines: list[int] = []

    def __len__(self) -> int:
        return len(self.starts)

    def block(self, number: int) -> Block:
        """The heading with this number, as the tree of blocks has it."""
        texts = self.texts
        return Block(
            kind=BlockKind.HEADING,
            first_line=self.first_lines[number],
            last_line=self.last_lines[number],
            span=Span(self.starts[number], self.ends[number]),
            depth=texts.depths[number],
            level=texts.levels[number],
            markup=texts.markups[number],
            content=texts.contents[number],
        )

    def add(self, source: str, depth: int, place: Span, first_line: int) -> None:
        """Add a heading: its lines without marks of containers, their span, and the number of the first."""
        level, markup, content = read_heading(source)
        self.texts.add(level, depth, markup, content)
        self.starts.append(place.start)
        self.ends.append(place.end)
        self.first_lines.append(first_line)
        self.last_lines.append(first_line + source.count("\n"))

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        """Add those of `blocks` that are headings."""
        for block in blocks:
            if block.kind is BlockKind.HEADING:
                self.texts.add(block.level, block.depth, block.markup, block.content)
                self.starts.append(block.span.start)
                self.ends.append(block.span.end)
                self.first_lines.append(block.first_line)
                self.last_lines.append(block.last_line)

    def add_rows(self, other: "HeadingTable", rows: slice, characters: int, lines: int) -> None:
        """Add those `rows` of `other`, so many characters and lines further behind."""
        self.texts.add_some(other.texts, rows)
        for own, known, distance in (
            (self.starts, other.starts, characters),
            (self.ends, other.ends, characters),
            (self.first_lines, other.first_lines, lines),
            (self.last_lines, other.last_lines, lines),
        ):
            own.extend([place + distance for place in known[rows]] if distance else known[rows])


def read_heading(source: str) -> tuple[int, str, str]:
    """Level, markup and raw inline text of the heading that `source` is (CommonMark 0.31.2, 4.2 and 4.3)."""
    if "\n" in source:
        content, _, underline = source.rpartition("\n")
        mark = underline.strip(" \t")[0]
        return 1 if mark == "=" else 2, mark, content.strip(" \t\n")
    line = source.strip(" \t")
    title = line.lstrip("#")
    level = len(line) - len(title)
    if title.endswith("#"):
        title = _CLOSING_MARKS.sub("", title)
    return level, line[:level], title.strip(" \t\n")
