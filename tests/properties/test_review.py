"""Laws of review: the shown diff equals the changes of the plan."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.review.lines import Pieces, WordMarks

WORDS = st.sampled_from(
    ["a", "b", " ", "  ", "\t", "ab", ".", "é", "e\u0301", "漢", "字", "\r", "<b>", "👩\u200d🚀"]
)
LINES = st.lists(st.lists(WORDS, max_size=12).map("".join), max_size=6)


def joined(lines: Sequence[Pieces], *, changed: Sequence[bool] = (True, False)) -> list[str]:
    """The text of each line, or of its pieces of one kind."""
    return ["".join(piece.text for piece in line if piece.changed in changed) for line in lines]


@given(LINES, LINES)
def test_marked_pieces_join_to_the_lines(old: list[str], new: list[str]) -> None:
    old_pieces, new_pieces = WordMarks().of(old, new)

    assert joined(old_pieces) == old
    assert joined(new_pieces) == new
    assert all(piece.text for line in (*old_pieces, *new_pieces) for piece in line)


@pytest.mark.requirement("review-1")
@given(LINES, LINES)
def test_unmarked_words_are_equal_on_both_sides(old: list[str], new: list[str]) -> None:
    old_pieces, new_pieces = WordMarks().of(old, new)

    kept, kept_of_new = (joined(pieces, changed=[False]) for pieces in (old_pieces, new_pieces))
    assert "".join(kept) == "".join(kept_of_new)


@given(LINES)
def test_equal_texts_have_no_marks(lines: list[str]) -> None:
    assume("".join(lines).strip())
    for pieces in WordMarks().of(lines, lines):
        assert not any(piece.changed for line in pieces for piece in line)


@given(LINES.filter(any))
def test_lines_without_counterpart_are_marked_completely(lines: list[str]) -> None:
    for pieces in (WordMarks().of(lines, [])[0], WordMarks().of([], lines)[1]):
        assert all(piece.changed for line in pieces for piece in line)


@given(st.lists(st.sampled_from(["one", "two", "three", "four"]), min_size=4, max_size=12), st.data())
def test_replaced_word_is_the_only_mark(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:at], "other", *words[at + 1 :]]

    old, new = WordMarks().of([" ".join(words)], [" ".join(changed)])

    assert joined(old, changed=[True]) == [words[at]]
    assert joined(new, changed=[True]) == ["other"]


@given(st.text(alphabet="abc \u0301\u200d漢\n", max_size=40))
def test_marks_never_split_a_character_from_its_accents(text: str) -> None:
    lines = text.split("\n")
    pieces, _ = WordMarks().of(lines, ["b a"])

    for line in pieces:
        assert not any(re.match("[\u0301\u200d]", piece.text) for piece in line[1:])
