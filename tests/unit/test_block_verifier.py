"""Blocks around new text are verified by markdown-it-py."""

import pytest

from mdplan.diagnostics import Code
from mdplan.markdown.blocks import block_verifier
from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.block_structure import parse_blocks
from mdplan.markdown.blocks.block_verifier import first_unverified
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span
from tests.edit_trials import Document

TEXT = "# A\n\none\n\n- two\n~~~\nthree\n~~~\n\nfour\n\n# B\n\nfive\n"


def unverified(text: str, *words: str) -> Block | None:
    places = sorted(text.index(word) for word in words)
    return first_unverified(parse_blocks(text, LineIndex(text)), [Span(at, at + 1) for at in places])


def read_fences_as_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(text: str, *others: object) -> object:
        return reference(text.replace("~~~", "---"), *others)

    reference = block_verifier.parse_reference_blocks
    monkeypatch.setattr(block_verifier, "parse_reference_blocks", wrong)


@pytest.mark.parametrize("word", ["two", "three", "four"])
def test_verifier_detects_a_block_parsed_differently_near_an_edit(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    read_fences_as_rules(monkeypatch)

    found = unverified(TEXT, word)

    assert found is not None
    assert found.first_line in {5, 6}


@pytest.mark.parametrize("word", ["# A", "# B", "five"])
def test_block_far_from_all_edits_is_not_compared(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    read_fences_as_rules(monkeypatch)

    assert unverified(TEXT, word) is None


def test_verifier_detects_a_heading_swallowed_by_text_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(text: str, *others: object) -> object:
        return reference(text.replace("four", "~~~~"), *others)

    reference = block_verifier.parse_reference_blocks
    monkeypatch.setattr(block_verifier, "parse_reference_blocks", wrong)

    found = unverified(TEXT, "four")

    assert found is not None
    assert found.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}


def test_blocks_parsed_by_markdown_it_are_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse_blocks(TEXT, LineIndex(TEXT), reference=True)
    read_fences_as_rules(monkeypatch)

    assert first_unverified(tree, [Span(0, len(TEXT))]) is None


@pytest.mark.parametrize(
    "text",
    [
        "10.  a\n    # b\n     # H\n",
        "> a\n    > # H\n",
        "> > a\n\tb\n",
        "- a\n\n      b\n- c\n      d\n",
        "[a]: /u\n2. # H\n",
        "[a]: /u\n    a\n-\n",
        "[^1]:\n    - a\n\n    ```\n    b\n    ```\n",
        "a\n[^1]: b\n",
    ],
)
def test_text_where_github_agrees_with_pulldown_is_verified(text: str) -> None:
    assert unverified(f"{text}\n# End\n", "a") is None


def test_thematic_break_has_one_markup_whichever_parser_reads_it() -> None:
    """A delimiter row in a paragraph is in doubt, so markdown-it-py reads the second text."""
    for text in ("---\n", "- a\n  |---|---|\n---\n"):
        blocks = parse_blocks(text, LineIndex(text)).blocks
        assert [block.markup for block in blocks if block.kind is BlockKind.RULE] == ["-"]


def test_lines_that_end_at_cr_are_verified() -> None:
    assert unverified("a\r\r   - - text\r    - text\r", "a") is None


def test_plan_is_refused_where_parsers_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = {"op": "replace_match", "pattern": "four", "replacement": "five"}
    assert not isinstance(Document("a.md", TEXT.encode()).plan(edit), tuple)
    read_fences_as_rules(monkeypatch)

    problems = Document("a.md", TEXT.encode()).plan(edit)

    assert isinstance(problems, tuple)
    assert [each.code for each in problems] == [Code.OUTLINE_CHANGED]
    assert "two parsers" in problems[0].message
