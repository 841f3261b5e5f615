"""What is told of real documents without a parser is what the parser gives, and most of them are told."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.conftest import FULL
from tests.corpus.sample import VARIANTS
from tests.corpus.variants import WRAPPINGS, documents, examples_in, mutated
from tests.plain_check import links_differ

STEP = 1 if FULL else 12
MUTATED = 20_000 if FULL else 500


def test_links_of_real_documents_are_those_of_the_parser(corpus: Path) -> None:
    tally = Counter[str]()
    found = documents(corpus)[::STEP]
    for name, text in found:
        for variant in VARIANTS:
            assert not links_differ(variant(text.encode()), tally=tally), name

    assert tally["told"] > 0.9 * (tally["told"] + tally["left"]), tally
    assert tally["links"] > len(found), tally


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_links_of_the_examples_of_the_specification_are_those_of_the_parser(
    corpus: Path, wrapping: str
) -> None:
    examples = [WRAPPINGS[wrapping](text) for text in examples_in(corpus)]

    assert [text for text in examples if links_differ(text.encode())] == []


def test_links_of_mutated_pieces_of_real_documents_are_those_of_the_parser(corpus: Path) -> None:
    dice = Random(0)
    texts = [text for _, text in documents(corpus)]
    for _ in range(MUTATED):
        text = mutated(dice, texts)
        assert not links_differ(text.encode("utf-8", "surrogateescape")), text
