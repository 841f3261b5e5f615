"""After edits of real documents the outline is that of the result, though little of it is scanned."""

from pathlib import Path
from random import Random

from tests.conftest import FULL
from tests.corpus.variants import documents
from tests.rescan_check import is_rescanned_alike, random_edits

ROUNDS = 10 if FULL else 1
LONGEST = 20_000


def test_real_documents_have_the_outlines_of_their_results(corpus: Path) -> None:
    dice = Random(0)
    for name, text in (documents(corpus) * ROUNDS)[:: 1 if FULL else 6]:
        start = dice.randrange(max(len(text) - LONGEST, 1))
        piece = text[start : start + LONGEST]
        edits = random_edits(dice, piece)
        assert is_rescanned_alike(piece, edits), (name, start, edits)
