"""Laws of tables and lists: a document that is read again shows what was asked for, and nothing else new."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.lists import MarkdownList, PlacedItem
from mdplan.markdown.outline import Outline
from mdplan.markdown.table_edits import cell_source
from mdplan.markdown.tables import unescaped
from mdplan.planning.build import BuiltFile
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.edit_trials import Document

MANY = settings(max_examples=5000 if FULL else 20, deadline=None)
Edit = dict[str, Any]


def outline_of(text: str) -> Outline:
    return Outline(Source.from_text(text))


# Tables.

VALUES = [
    "",
    "x",
    "long value",
    "a|b",
    "a\\|b",
    "`p|q`",
    "end\\",
    "\\\\|",
    "# x",
    "- x",
    "> x",
    "```",
    "日本",
    "*k*",
]
CELLS = ["", " ", "1", " 1 ", " two words ", "k", " k  ", "`k`", "\\|", " a\\|b ", "x\\\\ ", "  9"]
PREFIXES = ["", "", "", "> ", "- ", "1. ", "> > ", "- > "]
BEHIND = ["", "\n", "\ntext\n", "# H\n", "> quote\n", "- item\n", "```\ncode\n```\n"]


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A document with one table, in quotes or lists, with or without outer pipes, and with ragged rows."""
    count = draw(st.integers(1, 4))
    leads, trails = draw(st.booleans()), draw(st.booleans())
    leads = leads or (count == 1 and not trails)
    names = [f"c{number}" for number in range(count)]

    def row(cells: Sequence[str]) -> str:
        return ("|" if leads else "") + "|".join(cells) + ("|" if trails else "")

    pad = draw(st.sampled_from(["", " "]))
    rows = [row([f"{pad}{name}{pad}" for name in names])]
    rows.append(
        row(
            draw(
                st.lists(
                    st.sampled_from(["---", ":--", "--:", " :-: ", "-----"]), min_size=count, max_size=count
                )
            )
        )
    )
    bodies = st.lists(st.sampled_from(CELLS), min_size=1, max_size=count + 1)
    rows += map(row, draw(st.lists(bodies, max_size=4)))
    first = draw(st.sampled_from(PREFIXES))
    rest = "".join(mark if mark in "> " else " " for mark in first)
    body = "\n".join([first + rows[0], *(rest + each for each in rows[1:])])
    before = draw(st.sampled_from(["", "text\n\n", "| z |\n|---|\n| 1 |\n\n"]))
    text = before + body + "\n" + draw(st.sampled_from(BEHIND))
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


def cells_of(outline: Outline) -> list[list[list[str]]]:
    """Cells of all body rows of all tables, as many as there are columns."""
    return [
        [[table.text_in(row, at) for at in range(len(table.columns))] for row in table.rows]
        for table in outline.tables
    ]


@pytest.mark.requirement("blocks-2")
@MANY
@given(tables(), st.data())
def test_upserted_row_reads_back_and_other_rows_stay(text: str, data: st.DataObject) -> None:
    document = Document("a.md", text.encode())
    index = max((each.index for each in document.outline.tables if each.columns[0] == "c0"), default=None)
    assume(index is not None)
    table = document.outline.tables[index]
    assert table.is_proven
    note(repr(text))
    keys = data.draw(st.integers(0, len(table.columns) - 1))
    key = data.draw(st.sampled_from([value for value in [*VALUES, "k", "1", "|"] if value.strip()]))
    names = st.sampled_from([name for at, name in enumerate(table.columns) if at != keys] or [None])
    row = data.draw(st.dictionaries(names, st.sampled_from(VALUES)))
    row.pop(None, None)
    edit = {"op": "upsert_table_row", "table": {"index": index}, "keyColumn": table.columns[keys], "key": key}
    note(repr(edit | {"row": row}))
    built = document.plan(edit | {"row": row})
    found = table.rows_with(keys, key)
    if not isinstance(built, BuiltFile):
        event("refused")
        assert [problem.code for problem in built] == [Code.MATCH_COUNT_MISMATCH], built
        assert len(found) > 1
        return

    expected = cells_of(document.outline)
    asked = {table.columns.index(name): unescaped(cell_source(value)) for name, value in row.items()}
    if found:
        event("changed")
        position = table.rows.index(found[0])
    else:
        event("added")
        expected[index].append([""] * len(table.columns))
        position, asked = -1, {keys: unescaped(cell_source(key))} | asked
    for column, value in asked.items():
        expected[index][position][column] = value
    assert cells_of(built.result) == expected
    old, new = lines_of(document.outline), lines_of(built.result)
    line = found[0].line if found else table.block.last_line + 1
    assert new[: line - 1] + new[line:] == old[: line - 1] + old[line - (not found) :]
    assert forest(built.result, skip=BlockKind.TABLE) == forest(document.outline, skip=BlockKind.TABLE)
    again = Document("a.md", built.result.source.data).plan(edit | {"row": row})
    assert isinstance(again, BuiltFile)
    assert not again.edits
    if not found:
        deleted = Document("a.md", built.result.source.data).plan(edit | {"op": "delete_table_row"})
        assert isinstance(deleted, BuiltFile)
        assert deleted.result.source.text == text


def lines_of(outline: Outline) -> list[str]:
    lines = outline.source.lines
    return [lines.content(line) for line in range(1, lines.count + 1)]


@MANY
@given(tables(), st.data())
def test_deleted_row_is_gone_and_other_rows_stay(text: str, data: st.DataObject) -> None:
    document = Document("a.md", text.encode())
    rows = [
        (table, row, column)
        for table in document.outline.tables
        for row in table.rows
        for column in range(len(table.columns))
        if len(table.rows_with(column, table.text_in(row, column))) == 1 and table.text_in(row, column)
    ]
    assume(rows)
    note(repr(text))
    table, row, column = data.draw(st.sampled_from(rows))
    edit = {"op": "delete_table_row", "table": {"index": table.index}, "keyColumn": table.columns[column]}
    built = document.plan(edit | {"key": table.text_in(row, column)})
    assert isinstance(built, BuiltFile), built

    expected = cells_of(document.outline)
    del expected[table.index][table.rows.index(row)]
    assert cells_of(built.result) == expected
    old = lines_of(document.outline)
    assert lines_of(built.result) == old[: row.line - 1] + old[row.line :]


# Lists.

LINES = [
    *["- a", "- b", "- c", "  - d", "  - e", "    - f"],
    *["* g", "+ h", "1. i", "2. j", "7) k", "8) l", "1. m", "   1. n"],
    *["- [ ] o", "- [x] p", "-\tq", "-", "- - r", "- > - s", "> - t", "> - u", ">", "> 1. v", "> text"],
    *[
        "",
        "",
        "",
        "text",
        "  text",
        "   more",
        "lazy",
        "- # w",
        "- ```",
        "  ```",
        "  code",
        "<!-- x -->",
        "---",
    ],
    *[
        "# H",
        "- | y | z |",
        "  |---|---|",
        "  | 1 | 2 |",
        "    code",
        "- x\\",
        "  [ ] late",
        "- *em*",
        "0. zero",
    ],
]


@st.composite
def lists(draw: st.DrawFn) -> str:
    """A document of lines that make, continue, end and nest lists."""
    text = "\n".join(draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=9)))
    text += draw(st.sampled_from(["\n", "\n", "", "\n\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


@dataclass
class Node:
    """A block with what is in it; `start` is the first number of an ordered list."""

    kind: BlockKind
    markup: str
    content: str
    start: int | None
    children: "list[Node]"
    block: Block

    def told(self) -> object:
        inside = [child.told() for child in self.children]
        return (self.kind, self.markup, self.content, self.start, inside)


def trees(outline: Outline) -> list[Node]:
    starts = {
        id(listing.block): outline.lists.marker(listing, 0).number
        for listing in outline.lists.all
        if listing.is_ordered
    }
    top: list[Node] = []
    opened: list[list[Node]] = [top]
    for block in outline.blocks:
        del opened[block.depth + 1 :]
        content = " ".join(block.content.split()) + "|".join(block.cells)
        node = Node(block.kind, block.markup, content, starts.get(id(block)), [], block)
        opened[-1].append(node)
        opened.append(node.children)
    return top


def forest(outline: Outline, skip: BlockKind | None = None) -> list[object]:
    return [node.told() for node in trees(outline) if node.kind is not skip]


def without(nodes: list[Node], item: Block) -> list[Node]:
    """`nodes` without `item`, and without the list, and the quotes, that hold nothing else."""
    kept = []
    for node in nodes:
        if node.block is item:
            continue
        had = len(node.children)
        node.children = without(node.children, item)
        emptied = had and not node.children and node.kind in {BlockKind.LIST, BlockKind.QUOTE}
        if not emptied:
            kept.append(node)
    return kept


def texts_of(outline: Outline) -> list[str]:
    """Lines that are not blank, and not nothing but marks of quotes."""
    return [line for line in lines_of(outline) if line.strip(" \t>")]


JOINING = {BlockKind.LIST, BlockKind.INDENTED_CODE}


def joined(nodes: list[Node]) -> list[object]:
    """What stands; lists of one kind, and indented code, that now stand side by side are one."""
    kept: list[Node] = []
    for node in nodes:
        last = kept[-1] if kept else None
        if last is not None and last.kind is node.kind in JOINING and last.markup == node.markup:
            last.children += node.children
        else:
            kept.append(node)
    return [(*node.told()[:4], joined(node.children)) for node in kept]


def placed_items(outline: Outline) -> list[PlacedItem]:
    """Items that their text names alone."""
    named = outline.lists.items_named
    return [
        PlacedItem(listing, position)
        for listing in outline.lists.all
        for position, item in enumerate(listing.items)
        if item.text and len(named(item.text)) == 1
    ]


@pytest.mark.requirement("blocks-2")
@MANY
@given(lists(), st.data())
def test_removed_item_goes_with_its_content_and_nothing_else(text: str, data: st.DataObject) -> None:
    document = Document("a.md", text.encode())
    items = placed_items(document.outline)
    assume(items)
    placed = data.draw(st.sampled_from(items))
    note(repr(text))
    built = document.plan({"op": "remove_list_item", "item": placed.item.text})
    if not isinstance(built, BuiltFile):
        event("refused")
        is_shared = "is all that the item around it begins with" in built[0].message
        assert is_shared or built[0].code is Code.OUTLINE_CHANGED, built
        return
    note(repr(built.result.source.text))

    expected = without(trees(document.outline), placed.item.block)
    assert joined(trees(built.result)) == joined(expected)


PLACES = st.sampled_from(["end", "start", "after", "before", "under"])
NEW = st.sampled_from(["new", "[ ] new", "new\n\nmore", "new\n- nested", "- new", "new\nline"])


@MANY
@given(lists(), NEW, st.data())
def test_added_item_is_at_its_position_and_can_be_removed_without_trace(
    text: str, item: str, data: st.DataObject
) -> None:
    document = Document("a.md", text.encode())
    outline = document.outline
    place, items = data.draw(PLACES), placed_items(outline)
    edit: Edit = {"op": "add_list_item", "item": item}
    if place in {"end", "start"}:
        assume(outline.lists.outermost)
        listing: MarkdownList = data.draw(st.sampled_from(outline.lists.outermost))
        edit |= {"list": {"index": listing.index}, "position": place}
        expected = len(listing.items) if place == "end" else 0
    else:
        assume(items)
        placed = data.draw(st.sampled_from(items))
        edit |= {place: placed.item.text}
        listing = placed.listing
        expected = placed.position + (place == "after")
    note(repr(text))
    note(repr(edit))
    built = document.plan(edit)
    if not isinstance(built, BuiltFile):
        event("refused")
        assert built[0].code is Code.OUTLINE_CHANGED, built
        return
    result = built.result
    note(repr(result.source.text))

    (new,) = (placed for placed in placed_items(result) if placed.item.text.startswith("new"))
    if place != "start" and not listing.items[-1].text and len(new.listing.items) > len(listing.items) + 1:
        # The parser ends a list at two blank lines behind an empty item, and goes on behind one with text.
        event("joined with the list behind it")
        return
    if place == "under":
        assert new.position == len(new.listing.items) - 1
        around = new.listing.containers.block
        assert around is not None
        assert around.first_line == placed.item.first_line
    else:
        assert new.position == expected
        assert len(new.listing.items) == len(listing.items) + 1
    rest = without(trees(result), new.item.block)
    assert joined(rest) == joined(trees(outline))
    removed = Document("a.md", result.source.data).plan({"op": "remove_list_item", "item": new.item.text})
    assert isinstance(removed, BuiltFile), removed
    after, before = removed.result.source.text, text
    # A blank line that the new item needed stays. Two paragraphs also make the list loose, and a removal
    # keeps a list as loose as it is.
    left = len(lines_of(removed.result)) - len(lines_of(outline))
    assert after == before or 1 <= left <= 1 + ("\n\n" in item)
    assert texts_of(removed.result) == texts_of(outline)
