"""Blocks around new text are compared with those of the reference pass."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from mdplan.diagnostics import Code
from mdplan.markdown.blocks import rescan, scanned_blocks
from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.block_proof import first_unproven
from mdplan.markdown.blocks.block_tree import BlockTree
from mdplan.markdown.blocks.blocks import parse_blocks
from mdplan.markdown.blocks.scanned_blocks import ScannedBlocks
from mdplan.markdown.blocks.scanner import Form, Stretches, scan
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span
from tests.edit_trials import Document
from tests.properties.hostile_markdown import random_document

TEXT = "# A\n\none\n\n- two\n~~~\nthree\n~~~\n\nfour\n\n# B\n"


class Lying:
    """Stretches of `TEXT` of which one gives other blocks than there are."""

    def __init__(self, part: int) -> None:
        self._honest = ScannedBlocks(TEXT, LineIndex(TEXT), 0)
        self._part = part
        self.starts = self._honest.starts
        self.holding = self._honest.holding
        self.shows = self._honest.shows
        self.has_containers = self._honest.has_containers

    def __len__(self) -> int:
        return len(self._honest)

    def blocks(self, part: int) -> tuple[Block, ...]:
        first, *others = self._honest.blocks(part)
        return (replace(first, last_line=99) if part == self._part else first, *others)


class Hiding(Lying):
    """Stretches of which no quote gives the headings that it holds, and that say so."""

    def __init__(self, honest: ScannedBlocks) -> None:
        self._honest = honest
        self.starts = honest.starts
        self.has_containers = lambda part: honest.blocks(part)[0].kind is BlockKind.QUOTE

    def blocks(self, part: int) -> tuple[Block, ...]:
        first, *others = self._honest.blocks(part)
        return (first, *(block for block in others if block.kind is not BlockKind.HEADING))


def unproven(tree: BlockTree, *words: str) -> Block | None:
    places = sorted(TEXT.index(word) for word in words)
    return first_unproven(tree, TEXT, LineIndex(TEXT), [Span(at, at + 1) for at in places])


@pytest.mark.parametrize("word", ["two", "three"])
def test_a_false_block_beside_new_text_is_found(word: str) -> None:
    found = unproven(BlockTree(Lying(3)), "# A", word)

    assert found is not None
    assert (found.first_line, found.last_line) == (6, 99)


@pytest.mark.parametrize(
    ("before", "is_looked_at"),
    [
        ("~~~\na\n~~~\n", False),
        ("- a\n\n", False),
        ("> a\n\n", False),
        ("a\n\n", False),
        ("- a\n", True),
        ("<p>\n\n", True),
        ("    a\n\n", True),
    ],
)
def test_what_could_not_reach_new_text_is_not_looked_at(before: str, *, is_looked_at: bool) -> None:
    text = f"{before}# B\n\nb\n"
    lines = LineIndex(text)
    honest = ScannedBlocks(text, lines, 0)
    first, *others = honest.blocks(0)
    lying = BlockTree(honest, known={0: (replace(first, last_line=99), *others)})
    at = text.index("# B")

    found = first_unproven(lying, text, lines, [Span(at, at + 3)])

    assert (found is not None) == is_looked_at


@pytest.mark.parametrize("new_text", ["\nb\n", "- b\n", "", "\n"])
def test_what_ended_before_new_text_is_looked_at_where_that_could_go_on_in_it(new_text: str) -> None:
    text = f"- a\n{new_text}\n# B\n"
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    first, *others = tree.blocks_of(0)
    lying = BlockTree(tree.parts, known={0: (replace(first, last_line=99), *others)})
    at = len("- a\n")

    found = first_unproven(lying, text, lines, [Span(at, at + len(new_text))])

    assert (found is None) == (new_text == "\nb\n")


def test_a_false_block_far_from_all_new_text_is_not_looked_at() -> None:
    assert unproven(BlockTree(Lying(3)), "# A", "# B") is None


def test_a_heading_in_what_should_have_none_is_found() -> None:
    text = "# A\n\none\n\n> # B\ntwo\n"
    lines = LineIndex(text)
    honest = ScannedBlocks(text, lines, 0)
    tree = BlockTree(Hiding(honest))
    at = text.index("two")

    found = first_unproven(tree, text, lines, [Span(at, at + 1)])

    assert found is not None
    assert (found.kind, found.first_line) == (BlockKind.QUOTE, 5)


def test_lists_beside_new_text_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse_blocks(TEXT, LineIndex(TEXT))
    expected = parse_blocks(TEXT, LineIndex(TEXT)).blocks

    assert unproven(tree, "three") is None
    monkeypatch.setattr(scanned_blocks, "told_blocks", None)
    assert tree.blocks == expected


def test_blocks_of_the_reference_pass_need_no_proof() -> None:
    tree = parse_blocks(TEXT, LineIndex(TEXT), reference=True)

    assert not tree.is_scanned
    assert unproven(tree, "two") is None


def test_true_blocks_are_proven_wherever_text_is_written() -> None:
    dice = Random(3)
    for _ in range(1_000):
        text = random_document(dice)
        lines = LineIndex(text)
        spans = sorted(Span(at, min(at + 5, len(text))) for at in dice.choices(range(len(text) + 1), k=3))

        assert first_unproven(parse_blocks(text, lines), text, lines, spans) is None


def test_a_plan_is_refused_where_the_scanner_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(text: str, start: int, is_known: Callable[[int, int], bool]) -> Stretches | None:
        found = scan(text, start, is_known)
        if found:
            found.forms = [Form.HTML if form is Form.FENCE else form for form in found.forms]
        return found

    edit = {"op": "replace_match", "pattern": "four", "replacement": "five"}
    assert not isinstance(Document("a.md", TEXT.encode()).plan(edit), tuple)
    monkeypatch.setattr(rescan, "scan", wrong)
    problems = Document("a.md", TEXT.encode()).plan(edit)

    assert isinstance(problems, tuple)
    assert [(each.code, each.message) for each in problems] == [
        (Code.OUTLINE_CHANGED, "what the html at line 6 of the result is cannot be proven")
    ]
