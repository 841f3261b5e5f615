"""Inventory of a document besides its sections: code blocks, tables and tasks."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mdplan.markdown.blocks.block import TASK_BOX, Block, BlockKind
from mdplan.markdown.outline.outline import Outline

_LANGUAGE: Final = re.compile(r"\{?[.=]?([^\s{},:\[]+)")
_SPACES: Final = re.compile(r"[ \t]+")
_BOX: Final = re.compile(r"\[[ xX]\]")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One code block, fenced or indented; the lines of `block` include the fences.

    `index` (0-based) counts the fenced blocks of every depth; indented ones have none. `language` is the
    first word of the info string, escapes and entities resolved; None where there is none.
    """

    block: Block
    index: int | None
    language: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """One GFM table. `index` (0-based) counts the tables of every depth.

    `columns` are the header cells, as inline Markdown. `rows` counts the lines below the delimiter row.
    """

    block: Block
    index: int
    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Task:
    """One task list item (GFM, section 5.3): the list item `block`, and whether its box is checked."""

    block: Block
    done: bool


def find_code_blocks(outline: Outline) -> tuple[CodeBlock, ...]:
    """All code blocks in document order."""
    found: list[CodeBlock] = []
    fences = 0
    for block in outline.tree.of_kinds(BlockKind.FENCE, BlockKind.INDENTED_CODE):
        if block.kind is BlockKind.FENCE:
            found.append(CodeBlock(block, fences, fence_language(block)))
            fences += 1
        else:
            found.append(CodeBlock(block, None, None))
    return tuple(found)


def find_tables(outline: Outline) -> tuple[Table, ...]:
    """All tables in document order."""
    tables = outline.tree.of_kinds(BlockKind.TABLE)
    return tuple(
        Table(block, index, block.cells, block.last_line - block.first_line - 1)
        for index, block in enumerate(tables)
    )


def find_tasks(outline: Outline) -> tuple[Task, ...]:
    """All task list items in document order: items that begin with a paragraph that begins with a box."""
    found: list[Task] = []
    for item, first in pairwise(outline.tree.containing(_BOX)):
        if (
            item.kind is BlockKind.LIST_ITEM
            and first.kind is BlockKind.PARAGRAPH
            and first.depth == item.depth + 1
            and (box := TASK_BOX.match(first.content))
        ):
            found.append(Task(item, box[1] != " "))
    return tuple(found)


def fence_language(fence: Block) -> str | None:
    """First word of the info string of `fence` (CommonMark 0.31.2, section 4.5)."""
    info = fence.content.strip(" \t")
    if "\\" in info or "&" in info:
        from markdown_it.common.utils import unescapeAll

        info = unescapeAll(info)
    return _SPACES.split(info, maxsplit=1)[0] or None


def has_language(language: str | None, wanted: str) -> bool:
    """Whether the `language` of a fence is `wanted`: as written, or without case and attributes.

    Attributes are those of Docusaurus and VuePress (`js{1,2}`), R Markdown and Quarto (`{r}`, `{r, echo=F}`),
    and Pandoc (`{.r}`).
    """
    if language is None or language == wanted:
        return language == wanted
    return _plain_language(language) == _plain_language(wanted)


def _plain_language(language: str) -> str:
    found = _LANGUAGE.match(language)
    return found[1].casefold() if found else language.casefold()
