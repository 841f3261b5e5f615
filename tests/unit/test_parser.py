"""The parser reads what GitHub reads where its presets do not."""

import pytest

from mdplan.markdown.reference_parser import block_parser, html_parser


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
def test_blocks_have_their_kinds_and_lines(text: str, expected: list[str]) -> None:
    tokens = block_parser().parse(text)

    assert [
        token.type for token in tokens if token.nesting > 0 or token.type in {"definition", "html_block"}
    ] == expected


def test_block_parser_does_not_parse_inline_content() -> None:
    assert block_parser().parse("`a`")[1].children == []


def test_destinations_are_not_normalized() -> None:
    (paragraph,) = [token for token in html_parser().parse("[a](<b c%20ü>)") if token.type == "inline"]

    assert paragraph.children is not None
    assert paragraph.children[0].attrs == {"href": "b c%20ü"}
