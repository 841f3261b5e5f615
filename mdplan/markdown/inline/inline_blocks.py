"""The blocks that hold inline content or define labels: the block pass with what it knows of columns.

Footnote definitions are containers here, as they are on GitHub.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from mdplan.markdown.blocks.parse_time import timed
from mdplan.markdown.blocks.parser import MAX_NESTING, SAFE_NESTING, column_parser

if TYPE_CHECKING:
    from markdown_it.token import Token


class BlockShape(Enum):
    """How the content of a block stands in its lines."""

    PARAGRAPH = auto()
    HEADING = auto()
    ROW = auto()
    DEFINITION = auto()
    FOOTNOTE_DEFINITION = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineBlock:
    """Lines with inline content or a definition. Lines are 1-based and inclusive.

    A paragraph or setext heading (without its underline) and an ATX heading have one content, a table row
    one for each cell. Definitions have the label as written, the destination and the title, those of
    footnotes the label alone. `columns` has the 0-based column at which the text of each line starts, for
    rows and definitions; for footnote definitions that of the mark.
    """

    shape: BlockShape
    first_line: int
    last_line: int
    contents: tuple[str, ...]
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InlineBlocks:
    """All such blocks in document order, and the labels that inline parsing needs.

    From line `unparsed_from` on, text was nested deeper than the parser goes; None when there is none.
    """

    blocks: tuple[InlineBlock, ...]
    environment: dict[str, object]
    unparsed_from: int | None


@timed
def parse_inline_blocks(body: str, lines_before: int) -> InlineBlocks:
    """Blocks of `body`, root blocks of a document, which follow after `lines_before` lines."""
    # As in the block pass for the outline: without a final line end the parser loses lines.
    environment: dict[str, object] = {}
    try:
        tokens = column_parser(MAX_NESTING).parse(body + "\n", environment)
        limit = MAX_NESTING
    except RecursionError:
        environment = {}
        tokens = column_parser(SAFE_NESTING).parse(body + "\n", environment)
        limit = SAFE_NESTING
    deep = (token.map[0] for token in tokens if token.level >= limit - 1 and token.map)
    first_deep = next(deep, None)
    return InlineBlocks(
        tuple(_blocks(tokens, lines_before + 1)),
        environment,
        None if first_deep is None else first_deep + lines_before + 1,
    )


def merged_environments(environments: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the pieces of a document define, in document order: the first definition of a label counts."""
    merged: dict[str, Any] = {}
    for environment in environments:
        for label, meaning in environment.get("references", {}).items():
            merged.setdefault("references", {}).setdefault(label, meaning)
        if "footnotes" in environment:
            footnotes = merged.setdefault("footnotes", {"refs": {}, "list": {}})
            footnotes["refs"] |= environment["footnotes"]["refs"]
    return merged


def _blocks(tokens: "list[Token]", first: int) -> Iterator[InlineBlock]:
    """Blocks of the tokens; `first` is the number of their line 0."""
    table_line = 0
    table_columns: tuple[int, ...] = ()
    row: list[int] = [0, 1]
    cells: list[str] = []
    for index, token in enumerate(tokens):
        if token.type == "table_open" and token.map:
            table_line, table_columns = token.map[0], token.meta["columns"]
        elif token.type == "tr_open":
            cells = []
        elif token.type == "tr_close":
            yield _block(BlockShape.ROW, row, first, tuple(cells), (table_columns[row[0] - table_line],))
        elif token.type == "inline" and token.map:
            opener = tokens[index - 1]
            if opener.type in {"th_open", "td_open"}:
                row = token.map
                cells.append(token.content)
            elif opener.type == "heading_open" and opener.markup.startswith("#"):
                yield _block(BlockShape.HEADING, token.map, first, (token.content,))
            else:
                yield _block(BlockShape.PARAGRAPH, token.map, first, (token.content,))
        elif token.type == "definition" and token.map:
            meta = token.meta
            contents = (meta["label"], meta["url"], meta["title"])
            yield _block(BlockShape.DEFINITION, token.map, first, contents, meta["columns"])
        elif token.type == "footnote_reference_open" and token.map:
            mark = [token.map[0], token.map[0] + 1]
            label = (token.meta["label"],)
            yield _block(BlockShape.FOOTNOTE_DEFINITION, mark, first, label, token.meta["columns"][:1])


def _block(
    shape: BlockShape, lines: list[int], first: int, contents: tuple[str, ...], columns: tuple[int, ...] = ()
) -> InlineBlock:
    return InlineBlock(
        shape=shape,
        first_line=lines[0] + first,
        last_line=lines[1] + first - 1,
        contents=contents,
        columns=columns,
    )
