"""The cost of word marks in hostile texts is bounded."""

from difflib import SequenceMatcher

import pytest

from mdplan.review.lines import WordMarks
from mdplan.text import diff as line_blocks

# --- The cost of word marks in hostile texts is bounded.


def test_word_comparison_of_repeated_words_has_bounded_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counted(junk: None, old: list[str], new: list[str], autojunk: bool) -> SequenceMatcher[str]:
        compared.append(len(old) * len(new))
        return SequenceMatcher(junk, old, new, autojunk)

    monkeypatch.setattr(line_blocks, "SequenceMatcher", counted)
    marks = WordMarks()
    for _ in range(100):
        marks.of(["a b " * 30], ["b a a " * 30])

    assert 0 < max(compared) <= 40_000
    assert sum(compared) <= 400_000
