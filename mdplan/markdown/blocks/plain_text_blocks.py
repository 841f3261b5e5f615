"""Definitions and tables at the root that need no parser to be told, and paragraphs that look like them.

A link reference definition (CommonMark 0.31.2, section 4.7) that stands in one line, and a table (GFM, tables
extension) whose rows all look like rows, are exactly what the reference pass gives.
"""

import re
from typing import Final

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.scanner_lines import BLANK, DELIMITER_ROW, START, TRIMMED
from mdplan.text.lines import LineIndex, LinesOfPart

# Text that begins with a bracket and no definition: the first label has another one in it, or no colon.
NO_DEFINITION: Final = re.compile(r"\[(?:[^\[\]\\]|\\[^\n])*+(?:\[|\](?!:)|\Z)")
# A definition in one line.
DEFINITION: Final = re.compile(
    r" {0,3}\[(?P<label>[^\[\]\\\n]*[^\[\]\\\s][^\[\]\\\n]*)\]: *"
    r"(?P<destination><[^<>\\\n]*>|[^\x00-\x20\x7f<()\\][^\x00-\x20\x7f()\\]*)"
    r"""(?: +(?:"[^"\\\n]*"|'[^'\\\n]*'|\([^()\\\n]*\)))? *"""
)
_ROW: Final = re.compile(r" {0,3}[|A-Za-z`(\"'!]")
_DELIMITER: Final = re.compile(r":?-+:?\Z")
_MOST_CELLS: Final = 10_000


def plain_text_blocks(
    text: str, lines: LineIndex | LinesOfPart, lines_before: int
) -> tuple[Block, ...] | None:
    """Blocks of `text`: a table, definitions, or a paragraph that begins with a bracket.

    `text` is in LF: the lines after the first `lines_before` of `lines`, or some of them. None where only the
    reference pass can tell them.
    """
    chunk = text.rstrip(" \t\n")
    rows = chunk.split("\n")
    if BLANK.search(f"\n{chunk}\n") or START.search(f"\n{chunk}\n"):
        return None
    places, kind = [(0, len(rows) - 1)], BlockKind.PARAGRAPH
    cells: tuple[str, ...] = ()
    if rows[0].lstrip(" ").startswith("["):
        if all(map(DEFINITION.fullmatch, rows)):
            places, kind = [(index, index) for index in range(len(rows))], BlockKind.DEFINITION
        elif NO_DEFINITION.match(chunk.lstrip(" ")) is None or any(map(_may_be_delimiters, rows)):
            return None
    else:
        kind, cells = BlockKind.TABLE, _header(rows)
        if not cells:
            return None
    found = []
    for first, last in places:
        numbers = first + lines_before + 1, min(last + lines_before + 1, lines.count)
        found.append(
            Block(
                kind=kind,
                first_line=numbers[0],
                last_line=numbers[1],
                span=lines.span(*numbers),
                depth=0,
                content=chunk.strip(TRIMMED) if kind is BlockKind.PARAGRAPH else "",
                cells=cells,
            )
        )
    return tuple(found)


def cells_of(row: str) -> list[str]:
    """Cells of a row of a table that has no escaped pipe, without the white space around them."""
    cells = row.strip(TRIMMED).split("|")
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [cell.strip(TRIMMED) for cell in cells]


def _may_be_delimiters(line: str) -> bool:
    return line.strip(" \t")[:1] in {"|", ":", "-"}


def _header(lines: list[str]) -> tuple[str, ...]:
    """Header cells of the table that is all of `lines`; none where that is not certain."""
    if len(lines) < 2 or "|" not in lines[0] or "\\|" in lines[0]:
        return ()
    if DELIMITER_ROW.match(f"\n{lines[1]}\n") is None or lines[1].lstrip(" ").startswith("- "):
        return ()
    delimiters = lines[1].strip(" ").split("|")
    inner = [cell.strip(" ") for cell in delimiters]
    if not inner[0]:
        inner.pop(0)
    if inner and not inner[-1]:
        inner.pop()
    cells = cells_of(lines[0])
    rows = [lines[0], *lines[2:]]
    if (
        len(cells) != len(inner)
        or not cells
        or len(cells) * len(lines) > _MOST_CELLS
        or not all(map(_DELIMITER.match, inner))
        or not all(_ROW.match(row) and row.strip() != "|" for row in rows)
    ):
        return ()
    return tuple(cells)
