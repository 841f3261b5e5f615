"""Blocks are those of cmark-gfm and markdown-it-py wherever these two agree, on hostile documents."""

from random import Random

import pytest
from hypothesis import given

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.text.lines import LineIndex
from tests.block_oracles import cmark_blocks, difference, differs, tags_of
from tests.conftest import FULL
from tests.properties.hostile_markdown import hostile_documents, random_document


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


@pytest.mark.parametrize(
    "text",
    [
        # Text that is indented like code continues a paragraph.
        "- > a\n\n\t  b\n- c\n\td\n",
        "10.  a\n    # b\n     # H\n",
        "> a\n    > # H\n",
        "> > a\n\tb\n",
        "- a\n\n      b\n- c\n      d\n",
        "a\r\r   - - text\r    - text\r",
        # So does a list that does not begin with 1, below a definition.
        "[a]: /u\n2. # H\n",
        # Tabs behind a closing fence and in a delimiter row are white space.
        "```\na\n```\t\n# H\n",
        "|a|b|\n|-\t|-|\n|1|2|\n",
        "-\t:-:|-\n      > a\n",
        # Any of four tags ends raw HTML.
        "<pre>\n</script>\n# H\n",
        "<script>\n# no\n</pre>\n\n# H\n",
        "|a|b|\n|- -|--|\n",
        "  |a|b|\n  |-|-|\n      |c|\n",
        "a | b\n-     |-\n",
        "|a|b|\n|-:-|-|\n",
        "a\x0cb\n\x0b\nc\n",
        "# A\r> # B\r",
        # A tab can take the mark of a quote so far in that it is text.
        ">1. a\n\t>\t=\n",
        # A list item begins with what looks like a delimiter row.
        "a|b\n- |-\n\t-\n",
        # No delimiter row, but text of a heading.
        "a|b\n-|- -\n===\n",
    ],
)
def test_blocks_match_github(text: str) -> None:
    blocks = parse_blocks(text, LineIndex(text)).blocks

    assert tags_of(blocks) == cmark_blocks(text)


@pytest.mark.parametrize(
    "text",
    [
        # A blank line of a quote ends HTML, and is no line of it.
        "> <a>\n>  \n",
        "> > </a>\n> >\t\n",
        # The heading is in the item that begins with what looks like a delimiter row.
        "a | b\n- |-\n  # H\n",
        "> a | b\r\n> - |-\r\n>   # H\r\n",
        # A lazy line above what looks like a delimiter row is text of the quote.
        ">a\n |a|b|\n>|-|-|\n",
        ">a\n |a|b|\n>|-|-|\n>===\n",
    ],
)
def test_blocks_match_both_other_parsers(text: str) -> None:
    assert tags_of(parse_reference_blocks(text).blocks) == cmark_blocks(text)
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
