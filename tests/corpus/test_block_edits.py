"""Insert, delete and move blocks of real documents: markdown-it sees that change and no other.

`make test` takes a sample of files, MDPLAN_FULL=1 all of them.
"""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from mdplan.diagnostics import Code
from mdplan.markdown.block_edits import PlacedBlock, placed_blocks
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.outline import Outline
from mdplan.memory import Document
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.support.block_tokens import facts_of, is_base_with, is_base_with_other, is_base_without

pytestmark = pytest.mark.timeout(3600 if FULL else 120)

# Without MDPLAN_FULL=1: every n-th file, and this many blocks of each.
FILES = 1 if FULL else 12
BLOCKS = 8 if FULL else 3
LARGEST = 60_000
# An extension of markdown-it moves footnotes to the end, and without it they are text.
FOOTNOTES = "\n[^"
NAMED = {
    BlockKind.PARAGRAPH: "paragraph",
    BlockKind.LIST: "list",
    BlockKind.TABLE: "table",
    BlockKind.QUOTE: "quote",
    BlockKind.FENCE: "code",
    BlockKind.INDENTED_CODE: "code",
}
NEW = ("New text.", "- new\n- list", "```sh\nnew code\n```", "> new quote", "| a |\n|---|\n| b |", "1. n")
# Legitimate refusals: the text of the block is not unique, or the change would affect another block.
EXCUSED = {Code.MATCH_COUNT_MISMATCH, Code.OUTLINE_CHANGED, Code.INVALID_ARGUMENT, Code.DUPLICATE_HEADING}


def edits_of(block: PlacedBlock, other: PlacedBlock, dice: Random) -> list[dict[str, str]]:
    named = {"block": " ".join(block.text.split()[:12]), "kind": NAMED[block.block.kind]}
    side = dice.choice(["before", "after"])
    return [
        {"op": "insert_block", **named, "position": side, "markdown": dice.choice(NEW)},
        {"op": "replace_block", **named, "markdown": dice.choice(NEW)},
        {"op": "delete_block", **named},
        {"op": "move_block", **named, "position": side, "toBlock": " ".join(other.text.split()[:12])},
    ]


def is_right(text: str, edit: dict[str, str], result: str) -> bool:
    base, now, new = facts_of(text), facts_of(result), facts_of(edit.get("markdown", ""))
    match edit["op"]:
        case "insert_block":
            return is_base_with(base, now, new)
        case "replace_block":
            return is_base_with_other(base, now, new)
        case "delete_block":
            return is_base_without(base, now)
        case _:
            return Counter(base) == Counter(now)


def test_blocks_change_and_nothing_else(corpus: Path) -> None:
    dice, made, wrong = Random(7), Counter[str](), list[object]()
    files = [path for path in sorted(corpus.rglob("*.md")) if path.stat().st_size <= LARGEST]
    for path in files[::FILES]:
        source = Source.decode(path.read_bytes())
        if not isinstance(source, Source) or FOOTNOTES in source.text:
            continue
        document = Document.from_bytes(source.data)
        named = [each for each in placed_blocks(Outline(source)) if each.block.kind in NAMED and each.text]
        for block in dice.sample(named, min(BLOCKS, len(named))):
            for edit in edits_of(block, dice.choice(named), dice):
                report = document.apply(edit)
                made[f"{edit['op']} {report.ok}"] += 1
                if not report.ok:
                    wrong += [(path, edit, each) for each in report.diagnostics if each.code not in EXCUSED]
                elif not is_right(source.text, edit, report.text):
                    wrong.append((path, edit, report.diff))

    assert wrong == []
    # Most are made, and few refused.
    assert made["insert_block True"] > 5 * made["insert_block False"] > 0
