"""The scanner gives the blocks of the reference pass, whatever the document."""

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from markdown_it.common.html_blocks import block_names
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_block.html_block import HTML_SEQUENCES

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.blocks import parse_blocks
from mdplan.markdown.blocks.scanned_blocks import ScannedBlocks
from mdplan.markdown.blocks.scanner_html import ending_of, is_named, is_tag_alone
from mdplan.markdown.blocks.scanner_lines import TRIMMED
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span
from tests.properties.hostile_markdown import hostile_documents, random_document
from tests.properties.strategies import texts
from tests.scanner_check import difference

ROUNDS = 50


def check(text: str) -> None:
    assert difference(text) is None


def check_many(seed: int, count: int) -> None:
    dice = Random(seed)
    for _ in range(count):
        check(random_document(dice))


@given(hostile_documents() | texts())
def test_hostile_documents_have_the_same_blocks(text: str) -> None:
    check(text)


def test_ten_thousand_documents_have_the_same_blocks() -> None:
    check_many(seed=0, count=10_000)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1, ROUNDS + 1))
def test_a_million_documents_have_the_same_blocks(seed: int) -> None:
    check_many(seed, 1_000_000 // ROUNDS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        " \t",
        "a",
        "# A #\n## B##\n### C \\#\n#\n# #\n",
        "a\nb\n---\n\n=\n===\n--\n---\n-\n",
        "- a\n- b\n\n\n- c\n  d\n\ne\n",
        "- a\n- - -\n  b\n2. c\n   # d\n",
        "-\n\n  a\n-\n- b\n-\n  c\n",
        "10. a\n\n    b\n100. c\n    d\n\n\te\n",
        "*    \ta\n",
        "-\ta\n\n\tb\n - c\n  - d\n   - e\n    - f\n",
        "> a\nb\n# c\n> d\n    > e\n\n>\n> f\n- g\n",
        "> ```\na\n> ```\nb\n",
        "a | b\n--|--\n1. c\n2. d\n\n    e\n",
        "| a |\n---\n| b |\n:--\n2. c\n",
        "| a |\n|--|\n| b |\n|\n| c |\n|\n===\n> | a |\n> |--|\n> | \n> b\n- | a |\n  |--|\n |\n",
        '[a]: /u\n"t\nt"\n2. b\n',
        "[a]: <b\n===\n[c]:\n  /u\n---\n",
        "<!--\n\n# no\n--> x\n# A\n<div>\n# no\n\n# B\n<b>\n\na\n<b>\n# C\n",
        "```\n\n~~~\n``` \n  ~~~ x\n   y\n  ~~~\n````\n```\n",
        "    a\n\n\tb\n\nc\n    d\n",
        "- " * 250 + "a\n\n# A\n",
        "> " * 250 + "a\n\n# A\n",
        "a\r\nb\rc\n- d\r\n\r  e\n# F\0\udc80\r",
    ],
)
def test_where_blocks_meet_both_passes_agree(text: str) -> None:
    check(text)


def test_the_scanner_gives_up_where_nesting_is_too_deep_for_the_parser() -> None:
    text = "- " * 250 + "a\n\n# A\n"

    assert not ScannedBlocks(text, LineIndex(text), 0).is_complete
    assert parse_blocks(text, LineIndex(text)).nesting_limit


# Questions about places: as with all blocks in one part.


def answers(tree: BlockTree, length: int) -> list[Any]:
    spans = [Span(start, end) for start in range(length + 1) for end in {start, start + 1, length}]
    return [
        *((tree.leaf_at(at), tree.container_at(at), tree.root_at(at)) for at in range(length + 2)),
        *(tree.root_ending_at(at) for at in range(length + 2)),
        *((list(tree.leaves_in(span)), list(tree.inside(span)), tree.fences_in(span)) for span in spans),
        (tree.headings, tree.fences, tree.definitions, tree.leaves, tree.roots, tree.last_root),
    ]


def test_a_scanned_tree_answers_as_one_of_known_blocks() -> None:
    dice = Random(7)
    for _ in range(150):
        text = random_document(dice)[:60]
        lines = LineIndex(text)
        known = parse_blocks(text, lines, reference=True)
        scanned = BlockTree(ScannedBlocks(text, lines, 0))

        assert answers(scanned, len(text)) == answers(known, len(text))


def test_only_what_is_asked_for_is_looked_into() -> None:
    text = "# A\n\n- a\n- b\n\n" * 20
    scanned = ScannedBlocks(text, LineIndex(text), 0)
    asked = []

    class Watched:
        starts = scanned.starts
        holding = staticmethod(scanned.holding)

        @staticmethod
        def blocks(part: int) -> tuple[Block, ...]:
            asked.append(part)
            return scanned.blocks(part)

    tree = BlockTree(Watched())

    assert len(tree.headings) == 20
    assert len(asked) == 20
    assert tree.root_at(len("# A\n\n")).kind is BlockKind.LIST
    assert len(asked) == 21


# What is written down twice, here and in markdown-it-py.


def test_white_space_that_is_trimmed_is_that_of_the_parser() -> None:
    assert set(TRIMMED) == set(MD_TRIM_CHARS)


TAGS = [
    *(
        f"<{slash}{name}{end}"
        for name in block_names
        for slash in ("", "/")
        for end in ("", ">", " a", "/>", "x")
    ),
    *(
        "<script",
        "<PRE>",
        "<style x",
        "<textareas>",
        "<ſcript>",
        "<!--",
        "<!-",
        "<?",
        "<!x",
        "<!1",
        "<![CDATA[",
    ),
    *(
        "<b>",
        "<b",
        "<b> ",
        "<b>\xa0",
        "<b/>",
        "</b >",
        "<b a>",
        "<b a=1 c='x' d=\"y\">",
        "<b a=>",
        "<b a=`>",
        "<1>",
    ),
    *("<b\xa0a>", "<b a = 'x'>", "<b a='x'c>", "</b a>", "<b-c>", "<b_c>", "<é>", "<DIV>", "<lİ>", "<b>x"),
]


@pytest.mark.parametrize("line", TAGS)
def test_html_begins_with_the_lines_that_the_parser_takes(line: str) -> None:
    number = next((number for number, each in enumerate(HTML_SEQUENCES) if each[0].search(line)), None)
    ending = ending_of(line)

    assert (ending is not None) == (number is not None and number < 5)
    if ending is None:
        assert (is_named(line), not is_named(line) and is_tag_alone(line)) == (number == 5, number == 6)
    else:
        assert re.sub(r"[\\()]|\?a:", "", ending.pattern) == re.sub(
            r"[\\()]|\?a:", "", HTML_SEQUENCES[number][1].pattern
        )
