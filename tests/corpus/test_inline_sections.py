"""Sections of real documents can be parsed alone: their inline nodes are those of one parse of all of it."""

from pathlib import Path
from random import Random

from tests.conftest import FULL
from tests.corpus.variants import documents, mutated
from tests.inline_sections_check import sections_differ

# Every so many files, so that the sample has all kinds of documents and takes seconds.
STEP = 1 if FULL else 12
MUTATED = 20_000 if FULL else 300


def test_real_documents_have_the_same_nodes(corpus: Path) -> None:
    found = documents(corpus)[::STEP]

    assert [(name, different) for name, text in found if (different := sections_differ(text))] == []


def test_mutated_pieces_of_real_documents_have_the_same_nodes(corpus: Path) -> None:
    dice = Random(0)
    texts = [text for _, text in documents(corpus)]
    for _ in range(MUTATED):
        text = mutated(dice, texts)
        assert sections_differ(text) is None, text
