"""Blocks are those of cmark-gfm and markdown-it-py, on real documents and on what becomes of them."""

from pathlib import Path
from random import Random

import pytest

from mdplan.markdown.format_detection import find_front_matter
from tests.block_oracles import difference, differs
from tests.conftest import FULL
from tests.corpus.variants import WRAPPINGS, documents, examples_in, mutated


def without_front_matter(text: str) -> str:
    found = find_front_matter(text)
    return text[found.span.end :] if found else text


def test_real_documents_parse_to_the_same_blocks_as_other_parsers(corpus: Path) -> None:
    found = documents(corpus)[:: 1 if FULL else 12]

    assert len(found) > 50
    assert [name for name, text in found if differs(without_front_matter(text))] == []


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_examples_of_the_specification_have_the_same_blocks(corpus: Path, wrapping: str) -> None:
    examples = examples_in(corpus)

    assert len(examples) == 652
    # In a short run one of three examples, others in each wrapping.
    first = list(WRAPPINGS).index(wrapping)
    taken = examples if FULL else examples[first % 3 :: 3]
    assert [text for text in map(WRAPPINGS[wrapping], taken) if differs(text)] == []


def check_mutated(corpus: Path, seed: int, count: int) -> None:
    dice = Random(seed)
    texts = [text for _, text in documents(corpus)]
    for _ in range(count):
        assert difference(mutated(dice, texts)) is None


def test_mutated_pieces_of_real_documents_have_the_same_blocks(corpus: Path) -> None:
    check_mutated(corpus, seed=0, count=2_000 if FULL else 400)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1, 11))
def test_two_hundred_thousand_mutated_pieces_have_the_same_blocks(corpus: Path, seed: int) -> None:
    check_mutated(corpus, seed, 20_000)
