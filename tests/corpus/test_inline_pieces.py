"""Inline nodes of real documents, and of what becomes of them, do not depend on pieces."""

from pathlib import Path
from random import Random

import pytest

from tests.conftest import FULL
from tests.corpus.variants import WRAPPINGS, documents, examples_in, mutated
from tests.inline_pieces_check import inline_difference

# Every so many files, so that the sample has all kinds of documents and takes seconds.
STEP = 1 if FULL else 4
MUTATED = 20_000 if FULL else 1_000


def test_real_documents_have_the_same_nodes(corpus: Path) -> None:
    found = documents(corpus)[::STEP]

    assert [(name, different) for name, text in found if (different := inline_difference(text))] == []


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_examples_in_wrappings_have_the_same_nodes(corpus: Path, wrapping: str) -> None:
    examples = [WRAPPINGS[wrapping](text) for text in examples_in(corpus)]

    assert [text for text in examples if inline_difference(text)] == []


def test_mutated_pieces_of_real_documents_have_the_same_nodes(corpus: Path) -> None:
    dice = Random(0)
    texts = [text for _, text in documents(corpus)]
    for _ in range(MUTATED):
        text = mutated(dice, texts)
        assert inline_difference(text) is None, text
