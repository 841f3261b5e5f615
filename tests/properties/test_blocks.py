"""Laws of tables and lists: the result, parsed again, shows the requested change and nothing else new."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import render_text
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineKind, InlineNode, document_order
from mdplan.markdown.lists import MarkdownList, PlacedItem
from mdplan.markdown.matches import find_matches
from mdplan.markdown.outline import Outline
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.markdown.table_edits import cell_source
from mdplan.markdown.tables import unescaped
from mdplan.planning.build import BuiltFile
from mdplan.text.lines import LineIndex, Span
from mdplan.text.pattern import MatchType, Pattern, PatternProblem
from mdplan.text.source import Source
from mdplan.values import asdict, replace
from tests.conftest import FULL
from tests.properties.hostile_markdown import hostile_documents, random_document
from tests.properties.strategies import SPECIAL, characters
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document
from tests.support.oracles import (
    Verdict,
    all_nodes,
    cmark_blocks,
    compare,
    difference,
    differs,
    disagreements,
    tags_of,
)

CASE_TABLES = CaseTables(__file__)


MANY = settings(max_examples=5000 if FULL else 20, deadline=None)
Edit = dict[str, Any]


def outline_of(text: str) -> Outline:
    return Outline(Source.from_text(text))


# Tables.
VALUES = CASE_TABLES.value("VALUES")
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


@pytest.mark.requirement("blocks-1", "blocks-2")
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
    """A block with its content; `start` is the first number of an ordered list."""

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
    """Join adjacent lists of one kind, and adjacent indented code."""
    kept: list[Node] = []
    for node in nodes:
        last = kept[-1] if kept else None
        if last is not None and last.kind is node.kind in JOINING and last.markup == node.markup:
            last.children += node.children
        else:
            kept.append(node)
    return [(*node.told()[:4], joined(node.children)) for node in kept]


def placed_items(outline: Outline) -> list[PlacedItem]:
    """Draw items that only their text names."""
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


@pytest.mark.requirement("blocks-1")
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
        # The parser ends a list after an empty item and two blank lines, but continues it after an item with
        # text.
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


# --- On hostile documents, blocks match cmark-gfm and markdown-it-py whenever these two agree.


@given(hostile_documents())
def test_hostile_documents_have_the_blocks_of_other_parsers(text: str) -> None:
    assert difference(text) is None


def check_random_documents(seed: int, count: int) -> None:
    dice = Random(seed)
    for _ in range(count):
        assert difference(random_document(dice)) is None


def test_random_documents_have_the_blocks_of_other_parsers() -> None:
    check_random_documents(0, 3_000 if FULL else 600)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1, 11))
def test_twenty_thousand_random_documents_have_the_blocks_of_other_parsers(seed: int) -> None:
    check_random_documents(seed, 2_000)


@CASE_TABLES.parametrize("text")
def test_blocks_match_github(text: str) -> None:
    blocks = parse_blocks(text, LineIndex(text)).blocks

    assert tags_of(blocks) == cmark_blocks(text)


@CASE_TABLES.parametrize("text")
def test_blocks_match_both_other_parsers(text: str) -> None:
    assert tags_of(parse_reference_blocks(text)[0]) == cmark_blocks(text)
    assert not differs(text)


@pytest.mark.parametrize(
    "text", ["text\na | b\n--|--\n1 | 2\n", "- text\n  a | b\n  --|--\n", "a\nx | y\n-|-\n1|2\n---\n"]
)
def test_table_may_follow_text_directly(text: str) -> None:
    """To cmark-gfm it begins where the text does."""
    tree = parse_blocks(text, LineIndex(text))

    assert [block.first_line for block in tree.of_kinds(BlockKind.TABLE)] == [2]
    assert sorted(tag for tag, _ in tags_of(tree.blocks)) == sorted(tag for tag, _ in cmark_blocks(text))


def test_thematic_break_has_one_markup_whichever_parser_reads_it() -> None:
    """A delimiter row in a paragraph is in doubt, so markdown-it-py reads the second text."""
    for text in ("---\n", "- a\n  |---|---|\n---\n"):
        blocks = parse_blocks(text, LineIndex(text)).blocks
        assert [block.markup for block in blocks if block.kind is BlockKind.RULE] == ["-"]


def test_definition_on_a_lazy_line_is_in_the_container_of_the_one_before() -> None:
    text = "- \n  [a]: /u\n[b]: /u\nlazy\n"

    blocks = parse_blocks(text, LineIndex(text)).blocks

    assert [(block.kind.value, block.depth) for block in blocks] == [
        ("list", 0),
        ("list item", 1),
        ("definition", 2),
        ("definition", 2),
        ("paragraph", 2),
    ]


def test_heading_depth_counts_containers_after_tabs() -> None:
    text = " *   10. ###### Six\n\t\t- |a|\n  1. >\tb\n\t\t1. ### Three\n"
    tree = parse_blocks(text, LineIndex(text))

    assert tree.headings == tree.of_kinds(BlockKind.HEADING)


# --- Inline nodes of hostile documents agree with the parser, or are undecided; they never lie.

MARKERS = [
    *("> ", ">", ">\t", "> > ", "- > ", ">  \t", "- ", "-\t", "* ", "1. ", "   ", "    ", "\t", "\xa0"),
    *("# ", "## ", "[^1]: ", "[a]: ", "| ", "|"),
]

PIECES = [
    *("a", "b c", "é", "w", "\U0001f600", "\udc80", "\0", " ", "  ", "\t", "\xa0", "\u2028", "\x0b"),
    *("`", "``", "`x`", "[", "]", "(", ")", "![", "](", "](u)", '](<u v> "t")', "](u 't')", "](u (t))"),
    *("[a]", "[a][]", "[t][a]", "[^1]", "[[p#q]]", "[[p|t]]", "\\", "\\|", "|", "#", " #", "*", "**", "_"),
    *("<", ">", "<b>", "</b>", "<!-- c -->", '<a href="u">', "<x\n", "~", "~~", "&amp;", "&", '"', "'"),
    *("<http://x.y>", "<me@x.org>", "http://a.b/c", "https://x.y).", "www.a.b", "me@x.org", "mailto:a@b.c"),
    *("!", ":", "@", "//", "  \n", "\\\n"),
]

WHOLE_LINES = [
    *(
        "---",
        "===",
        "=",
        "|-|-|",
        "-|-",
        "|-|",
        "```",
        "    code",
        "<div>",
        "-->",
        "<!--",
        "",
        "\xa0",
        "> \xa0",
    ),
    *('[a]: /u "t"', "[a]:", "[a]: <u>", " u", '"t', 't"', "[b]: u 'x", "x'", "> [a]: u", '> "t"', "- [a]:"),
    *("[^1]: note", "| a `x\\|y` | [l](u) |", "# h `x` ##"),
]

# markdown-it-py trims other white space than CommonMark does, puts line ends into destinations, and has bare
# URLs in the texts of images; cmark-gfm takes single parentheses in the destination of a definition; mdplan
# reads no lazy lines of definitions.
NOT_COMPARED = re.compile(
    r"[\xa0\u2028\x0b\x0c]|\\[\r\n]|!\[(?s:.*)(?:://|www\.|@)|^[ \t]*(?:[>*-]|1\.).*\]:|\]:.*[()]",
    re.MULTILINE,
)

mixed_lines = st.builds(
    "{}{}{}".format,
    st.lists(st.sampled_from(MARKERS), max_size=2).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.sampled_from(["", " ", " |", "|", "  ", " #", " ##", "\t", "\xa0", "\\"]),
)

whole_lines = st.builds("{}{}".format, st.sampled_from(["", *MARKERS]), st.sampled_from(WHOLE_LINES))

documents = st.lists(
    st.builds("{}{}".format, st.one_of(mixed_lines, whole_lines), st.sampled_from(["\n", "\r\n", "\r"])),
    max_size=8,
).map("".join)


def closed_parts(node: InlineNode) -> list[Span]:
    """Return the parts that contain no other node: a whole node, or a link or image without its text."""
    if node.kind in {InlineKind.LINK, InlineKind.IMAGE} and node.text is not None:
        return [Span(node.span.start, node.text.start), Span(node.text.end, node.span.end)]
    return [node.span]


@pytest.mark.requirement("inline-1")
@given(text=documents)
def test_inline_nodes_are_those_on_which_both_oracles_agree(text: str) -> None:
    found = compare(text)

    if found.oracles_agree and not NOT_COMPARED.search(text):
        assert found.inline is None or found.inline.verdict is Verdict.AGREED
        nodes, undecided = all_nodes(text)
        assert undecided or disagreements(text, nodes) == []


@given(text=documents)
def test_nodes_are_sorted_inside_the_text_and_disjoint_or_nested(text: str) -> None:
    nodes, undecided = all_nodes(text)

    assert list(nodes) == sorted(nodes, key=document_order)
    closed = sorted(part for node in nodes for part in closed_parts(node) if part)
    assert all(left.end <= right.start for left, right in pairwise(closed))
    assert all(span.end <= len(text) for span in (*undecided, *(node.span for node in nodes)))
    for node in nodes:
        parts = (node.text, node.label, node.destination, node.title)
        assert all(node.span.contains(part) for part in parts if part is not None)


@given(text=documents, bounds=st.tuples(st.integers(0, 120), st.integers(0, 120)))
def test_nodes_of_a_span_are_those_of_the_whole_text_there(text: str, bounds: tuple[int, int]) -> None:
    start, end = sorted(min(bound, len(text)) for bound in bounds)
    part = Span(start, end)
    nodes, undecided = all_nodes(text)
    asked = InlineMap(parse_blocks(text, LineIndex(text)))

    assert asked.nodes_in(part) == tuple(node for node in nodes if node.span.overlaps(part))
    assert asked.undecided_in(part) == tuple(span for span in undecided if span.overlaps(part))


@given(text=documents)
def test_front_matter_only_shifts_node_offsets(text: str) -> None:
    front = "---\r\na: b\r\n---\r\n"
    whole = front + text
    behind = InlineMap(parse_blocks(whole, LineIndex(whole), len(front)))

    moved = []
    for node in all_nodes(text)[0]:
        values = asdict(node)
        spans = {name: value for name, value in values.items() if isinstance(value, Span)}
        shifted = {name: Span(span.start + len(front), span.end + len(front)) for name, span in spans.items()}
        moved.append(replace(node, **shifted))
    assert list(behind.nodes_in(Span(0, len(whole)))) == moved


@given(content=st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_rendered_text_is_one_line(content: str) -> None:
    assert "\n" not in render_text(content)


@given(
    text=st.text(characters(SPECIAL.replace("`", ""), exclude_characters="`\r\n\0")).filter(
        lambda text: text.strip(" ")
    )
)
def test_rendered_text_of_code_is_its_content(text: str) -> None:
    assert render_text(f"a `` {text} `` b") == f"a {text} b"


@given(
    content=st.lists(st.sampled_from(["a", "1", "é", "_", "__", "`", "``", " ", "b.c"]), max_size=12).map(
        lambda pieces: f"a{''.join(pieces)}b"
    )
)
def test_rendered_text_ignores_emphasis_after_it(content: str) -> None:
    assert render_text(f"{content} *b*") == f"{render_text(content)} b"


wrapped_words = st.lists(
    st.sampled_from(["a", "b.", "  ", "\n", "\n> ", "> ", "- ", "\n\n", "\\\n", "\t", "`"])
)


@given(
    text=wrapped_words.map(" ".join), pattern=st.sampled_from(["a b.", "b. a", "a  a", " a", "a ", "a b. a"])
)
def test_literal_finds_over_line_ends_what_the_same_regex_finds(text: str, pattern: str) -> None:
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    outline, whole = Outline(source), Span(0, len(text))
    patterns = Pattern(text=pattern), Pattern(text=re.escape(pattern), match_type=MatchType.REGEX)

    literal, other = (find_matches(outline, each, whole, frozenset(), soft_breaks=True) for each in patterns)

    assert not isinstance(literal, PatternProblem)
    assert not isinstance(other, PatternProblem)
    assert [(each.span, each.text, each.breaks) for each in literal.eligible] == [
        (each.span, each.text, each.breaks) for each in other.eligible
    ]
