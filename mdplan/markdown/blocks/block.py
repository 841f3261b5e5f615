"""One block of a document."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mdplan.text.lines import Span


class BlockKind(StrEnum):
    """Kinds of blocks (CommonMark 0.31.2, sections 4 and 5; GFM tables; footnotes as on GitHub)."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED_CODE = "indented code"
    HTML = "html"
    TABLE = "table"
    LIST = "list"
    LIST_ITEM = "list item"
    QUOTE = "quote"
    RULE = "thematic break"
    DEFINITION = "definition"
    FOOTNOTE = "footnote definition"


# Kinds whose text is in other blocks.
CONTAINERS: Final = frozenset({BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE, BlockKind.FOOTNOTE})
# Kinds whose text is inline Markdown.
INLINE_KINDS: Final = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TABLE})
# What the text of a task item begins with (GFM, section 5.3).
TASK_BOX: Final = re.compile(r"\[([ xX])\][ \t\n]")


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Block:
    """One block. Lines are 1-based and inclusive; `span` holds those lines with their line ends.

    `depth` counts the containers around it (quotes, lists, list items, footnotes): 0 is the root. `level` is
    that of a heading, else 0. `markup` is the run of ``#``, or ``=`` or ``-``, for headings, the fence, the
    end of the list marker. `content` is the raw inline text of headings and paragraphs, the info string of
    fences. `cells` are the header cells of a table, as inline text: without the backslash of an escaped pipe.
    `code` is the text in a fence, in LF, without the indentation and the marks of the containers around it.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    span: Span
    depth: int
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""

    def moved(self, characters: int, lines: int) -> "Block":
        """The same block, so many characters and lines further on."""
        if not characters and not lines:
            return self
        # `replace` takes five times as long, and an edit moves all headings after it.
        return Block(
            kind=self.kind,
            first_line=self.first_line + lines,
            last_line=self.last_line + lines,
            span=Span(self.span.start + characters, self.span.end + characters),
            depth=self.depth,
            level=self.level,
            markup=self.markup,
            content=self.content,
            cells=self.cells,
            code=self.code,
        )
