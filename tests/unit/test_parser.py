"""The parser reads what GitHub reads where its presets do not."""

from random import Random

import pytest
from markdown_it.rules_block import lheading

from mdplan.markdown.blocks.parser import block_parser, inline_parser, new_block_parser
from tests.conftest import FULL
from tests.properties.hostile_markdown import random_document

# What stands before a paragraph, and what behind it.
AROUND = [
    ("", "==\n"),
    ("", "\n==\n"),
    ("- ", "  ==\n"),
    ("> ", "==\n"),
    ("> ", "> ==\n"),
    ("* ", "* b\n  --\n"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a | b\n--|--\nx | y\n", ["heading_open", "paragraph_open"]),
        ("## a|\n--\n", ["heading_open", "paragraph_open"]),
        ("| a |\n---\n", ["heading_open"]),
        ("a|\n--\n", ["heading_open"]),
        ("| a |\n|---|\n", ["table_open", "thead_open", "tr_open", "th_open"]),
        ("a\n:-\n", ["paragraph_open"]),
        ("|a\n:-\n", ["table_open", "thead_open", "tr_open", "th_open"]),
        ("x\n| a |\n|-|\n", ["paragraph_open", "table_open", "thead_open", "tr_open", "th_open"]),
        ("[a]: javascript:x\n===\n", ["definition", "paragraph_open"]),
        ("<div>\n# B\n</div>\n", ["html_block"]),
        (
            "- " * 100 + "a\n\n# b\n",
            [*["bullet_list_open", "list_item_open"] * 100, "paragraph_open", "heading_open"],
        ),
    ],
)
def test_blocks(text: str, expected: list[str]) -> None:
    tokens = block_parser().parse(text)

    assert [
        token.type for token in tokens if token.nesting > 0 or token.type in {"definition", "html_block"}
    ] == expected


def test_inline_content_is_left_alone_by_the_block_pass() -> None:
    assert block_parser().parse("`a`")[1].children == []


def test_destinations_stay_as_they_are_written() -> None:
    (paragraph,) = [token for token in inline_parser().parse("[a](<b c%20ü>)") if token.type == "inline"]

    assert paragraph.children is not None
    assert paragraph.children[0].attrs == {"href": "b c%20ü"}


def test_setext_headings_are_found_as_the_rule_of_the_library_finds_them() -> None:
    plain = new_block_parser()
    plain.block.ruler.at("lheading", lheading)
    dice = Random(5)
    texts = [random_document(dice) for _ in range(1_000 if FULL else 200)]
    texts += [before + "a\n" * lines + after for lines in (1, 15, 16, 17, 40) for before, after in AROUND]

    for text in texts:
        assert list(map(str, block_parser().parse(text))) == list(map(str, plain.parse(text))), text
