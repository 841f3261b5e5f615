"""Inline nodes do not depend on the pieces in which a document is parsed, nor on the order of questions."""

from random import Random

import pytest
from hypothesis import given

from mdplan.markdown.inline import inline_nodes
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import Source
from mdplan.text.span import Span
from tests.inline_pieces_check import inline_difference
from tests.properties.hostile_markdown import hostile_documents, random_document


@given(hostile_documents())
def test_pieces_of_hostile_documents_have_the_same_nodes(text: str) -> None:
    assert inline_difference(text) is None


def test_pieces_of_three_thousand_documents_have_the_same_nodes() -> None:
    dice = Random(0)
    for _ in range(3_000):
        text = random_document(dice)
        assert inline_difference(text) is None, text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[a]: /u\n\n# B [a]\n\n[a]\n\n[a]: /v\n",
        "x [^1] [a]\n\n[^1]: note\n\n    [a]: /u\n\n    ~~~\n\n# H [a]\n",
        "[^1]: > q\nlazy [a]\n# H\n\n[a]: /u\n",
        "- [^1]: a\n\n      [b]: /u\n\n# H [b]\n\n[b]\n",
        "> [a]: /u\nlazy\n\n[a]\n",
        "---\n[a]: /no\n---\n[a]\n\n# [a]\n\n[a]: /u\n",
        "```\n[a]: /no\n```\n\n[a]\n\n    [a]: /no\n",
        "`\n[^1]: a\n===\n",
        "``` a`b\n[^1]: x\n",
        "[^1]: a\r\n\r\n    ```\r\n\r\n# H [x](y)\r\n\r\n    ```\r\n\r\n# I [x](y)\r\n",
    ],
)
def test_labels_mean_the_same_in_all_pieces(text: str) -> None:
    assert inline_difference(text) is None


def test_only_what_a_question_touches_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    original = inline_nodes.parse_inline_blocks

    def noting(body: str, lines_before: int) -> inline_nodes.InlineBlocks:
        parsed.append(body)
        return original(body, lines_before)

    monkeypatch.setattr(inline_nodes, "parse_inline_blocks", noting)
    text = "# A\n\n`a` [a](/u)\n\n[a]\n\n" * 50 + "# B\n\n| `b` |\n| --- |\n\n# C\n\n[a]: /u\n"
    outline = Outline(Source.from_text(text))

    assert len(outline.inline.nodes_in(Span(5, 15))) == 2
    assert parsed == []
    assert len(outline.inline.nodes_in(Span(18, 19))) == 1
    assert parsed == ["[a]: /u\n"]
    assert len(outline.inline.nodes_in(Span(text.index("`b`"), text.index("`b`") + 1))) == 1
    assert parsed == ["[a]: /u\n", "| `b` |\n| --- |\n\n"]
