"""Documents in parts, the blocks of which are made when somebody asks for them."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.event_blocks import event_blocks
from mdplan.markdown.blocks.heading_rows import HeadingTable


class BlockParts(Protocol):
    """A document in parts, each of them some whole root blocks."""

    rows: HeadingTable

    @property
    def starts(self) -> Sequence[int]:
        """Where each part starts, as an offset in the text."""

    def blocks(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index; the same objects are not asked for twice."""

    def may_contain(self, part: int, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern` may be found in the text of that part; False is certain."""


class DocumentParts:
    """A text in parts: each begins with an ATX heading in no container, but for the first one.

    No block reaches from one part into another (CommonMark 0.31.2, section 4.2), so each is parsed alone.
    """

    def __init__(self, text: str, lines_before: int, rows: HeadingTable, starts: list[int]) -> None:
        """Parts of `text` that start at the offsets `starts`; the first one after `lines_before` lines."""
        self.text = text
        self.lines_before = lines_before
        self.rows = rows
        self.starts = starts

    @cached_property
    def first_rows(self) -> list[int]:
        """Index of the first heading of each part, or of the next one; at the end the number of headings."""
        rows = [bisect_left(self.rows.starts, start) for start in self.starts[1:]]
        return [0, *rows, len(self.rows)]

    def blocks(self, part: int) -> tuple[Block, ...]:
        """All blocks of the part with this index."""
        start, end = self._bounds(part)
        return event_blocks(self.text[start:end], start, self.lines_before_part(part))

    def lines_before_part(self, part: int) -> int:
        """How many lines stand before the part with this index."""
        return self.rows.first_lines[self.first_rows[part]] - 1 if part else self.lines_before

    def may_contain(self, part: int, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern` is found in the text of that part."""
        return pattern.search(self.text, *self._bounds(part)) is not None

    def _bounds(self, part: int) -> tuple[int, int]:
        end = self.starts[part + 1] if part + 1 < len(self.starts) else len(self.text)
        return self.starts[part], end


class ReferenceParts:
    """All blocks of a document as one part, made by markdown-it-py."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        """Take `blocks`, in document order."""
        self.starts = [blocks[0].span.start] if blocks else []
        self.rows = HeadingTable()
        self.rows.add_blocks(block for block in blocks if block.kind is BlockKind.HEADING)
        self._blocks = blocks

    def blocks(self, part: int) -> tuple[Block, ...]:
        """All blocks."""
        assert part == 0
        return self._blocks

    def may_contain(self, _part: int, _pattern: re.Pattern[str]) -> bool:
        """True: the text is not known here."""
        return True
