"""Edits as values: what may stand together, what they make, and how to take them back."""

import pytest

from mdplan.text.edit import EditList, Overlap, TextEdit
from mdplan.text.span import Span


def edits(*given: tuple[int, int, str]) -> EditList:
    made = EditList.of(TextEdit(Span(start, end), new) for start, end, new in given)
    assert isinstance(made, EditList), made
    return made


def test_edits_apply_simultaneously_in_order_of_position() -> None:
    assert edits((4, 5, "E"), (0, 1, "A"), (2, 2, "-")).apply("abcde") == "Ab-cdE"


def test_insertions_at_one_place_keep_the_order_in_which_they_were_given() -> None:
    assert edits((1, 1, "x"), (1, 1, "y")).apply("ab") == "axyb"
    assert edits((1, 1, "y"), (1, 1, "x")).apply("ab") == "ayxb"


def test_insertion_precedes_a_replacement_that_starts_there() -> None:
    assert edits((1, 2, "B"), (1, 1, "+")).apply("abc") == "a+Bc"


def test_insertion_follows_a_replacement_that_ends_there() -> None:
    assert edits((2, 2, "+"), (1, 2, "B")).apply("abc") == "aB+c"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 2, "x"), (1, 3, "y")),
        ((1, 3, "x"), (0, 2, "y")),
        ((0, 3, "x"), (1, 2, "y")),
        ((0, 2, "x"), (0, 2, "y")),
        ((0, 2, "x"), (0, 1, "")),
        ((0, 2, "x"), (1, 1, "y")),
    ],
)
def test_edits_of_the_same_text_overlap(first: tuple[int, int, str], second: tuple[int, int, str]) -> None:
    far_away = TextEdit.insert(9, "z")
    both = [TextEdit(Span(start, end), new) for start, end, new in (first, second)]

    assert EditList.of([both[0], far_away, both[1]]) == Overlap(0, 2)


def test_result_spans_locate_the_new_text() -> None:
    made = edits((0, 1, "AAA"), (2, 3, ""), (4, 4, "!"))

    assert made.result_spans == (Span(0, 3), Span(4, 4), Span(5, 6))


def test_inverted_edits_restore_the_base() -> None:
    made = edits((0, 1, "AAA"), (1, 1, "-"), (2, 4, ""), (4, 4, "!"))

    assert made.apply("abcde") == "AAA-b!e"
    assert made.invert("abcde").apply("AAA-b!e") == "abcde"


@pytest.mark.parametrize(
    ("offset", "before", "after"),
    [
        (0, 0, 0),
        (1, 1, 2),  # "+" is inserted here.
        (2, 3, None),  # "cd" is replaced from here,
        (3, None, None),
        (4, 5, 5),  # to here.
        (5, 6, 6),
    ],
)
def test_place_moves_with_the_text_around_it(offset: int, before: int | None, after: int | None) -> None:
    made = edits((1, 1, "+"), (2, 4, "CD"))

    assert made.apply("abcde") == "a+bCDe"
    assert made.map_offset(offset) == before
    assert made.map_offset(offset, after=True) == after


def test_empty_edit_list_changes_nothing() -> None:
    assert len(edits()) == 0
    assert edits().apply("abc") == "abc"
    assert edits().map_offset(3) == 3
