"""New code for blocks of real documents: it is read back as it was sent, and every other block is the same.

`make test` takes a sample of files, MDPLAN_FULL=1 all of them.
"""

import sys
from pathlib import Path

import pytest

from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.formatting import read_fence
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Resolution
from mdplan.operations.blocks import ReplaceCodeBlock
from mdplan.text.edit import EditList
from mdplan.text.source import Source
from tests.conftest import FULL

pytestmark = pytest.mark.timeout(3600 if FULL else 120)

# Without MDPLAN_FULL=1: every n-th file, and this many blocks of each at every depth.
FILES = 6
BLOCKS = 2
LARGEST = 200_000
CODES = (
    "one line",
    "\n\tindented by a tab\n    and by blanks\n\n\n",
    "```\n~~~~\n````` \n> no quote\n- no item\n# no heading\n<!-- no comment",
    "",
)


def outline_of(data: bytes) -> Outline | None:
    source = Source.decode(data)
    return Outline(source) if isinstance(source, Source) else None


def some_fences(outline: Outline) -> list[int]:
    """Indexes of closed blocks: all, or the first few of each depth."""
    taken: dict[int, list[int]] = {}
    for index, block in enumerate(outline.tree.fences):
        if read_fence(outline, block) is not None:
            taken.setdefault(block.depth, []).append(index)
    return [index for found in taken.values() for index in (found if FULL else found[:BLOCKS])]


def shapes(blocks: tuple[Block, ...]) -> list[tuple[BlockKind, int, str]]:
    return [(block.kind, block.depth, block.content) for block in blocks]


def test_new_code_is_read_back_and_nothing_else_changes(corpus: Path) -> None:
    files = [path for path in sorted(corpus.rglob("*.md")) if path.stat().st_size <= LARGEST]
    count = 0
    for path in files if FULL else files[::FILES]:
        base = outline_of(path.read_bytes())
        if base is None:
            continue
        for number, index in enumerate(some_fences(base)):
            code = CODES[(number + count) % len(CODES)]
            edit = ReplaceCodeBlock.model_validate(
                {"op": "replace_code_block", "codeBlock": {"index": index}, "markdown": code}
            )
            outcome = edit.resolved(base)
            assert isinstance(outcome, Resolution), (path, index, outcome)
            edits = EditList.of(outcome.edits)
            assert isinstance(edits, EditList)
            result = outline_of(edits.apply(base.source.text).encode("utf-8", "surrogateescape"))
            assert result is not None
            expected = [block.code for block in base.tree.fences]
            expected[index] = code if code.endswith("\n") or not code else f"{code}\n"
            assert [block.code for block in result.tree.fences] == expected, (path, index)
            assert shapes(result.blocks) == shapes(base.blocks), (path, index)
            count += 1
    sys.stderr.write(f"{count} blocks\n")
    assert count > 0, "no file of the corpus has a closed code block"
