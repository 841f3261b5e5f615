"""The page on semantics says what the engine does, to the byte."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.docs.semantics import Example, examples_of, outcome_of

PAGE = (REPOSITORY / "docs" / "explanation" / "semantics.md").read_text(encoding="utf-8")
EXAMPLES = list(examples_of(PAGE))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_semantics_example_has_the_documented_result(example: Example, tmp_path: Path) -> None:
    diff, said = outcome_of(example.document, json.loads(example.batch), example.verb, tmp_path)

    assert diff == example.diff
    assert said == example.said


def test_ten_documents_have_ten_examples_each() -> None:
    counts = Counter(example.document.shown for example in EXAMPLES)

    assert list(counts.values()) == [10] * 10


def test_every_block_is_part_of_an_example() -> None:
    path = REPOSITORY / "docs" / "explanation" / "semantics.md"
    kinds = Counter(block.info[0] if block.info else "" for block in blocks_of(path))
    shown = Counter(
        kind for each in EXAMPLES for kind, text in (("diff", each.diff), ("text", each.said)) if text
    )

    assert kinds == {"markdown": 10, "json": len(EXAMPLES), **shown}
