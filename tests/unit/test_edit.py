"""Edits as values: what may stand together, what they make, and how to take them back."""

from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span


def edits(*given: tuple[int, int, str]) -> EditList:
    made = EditList.of(TextEdit(Span(start, end), new) for start, end, new in given)
    assert isinstance(made, EditList), made
    return made


def test_insertions_at_one_place_keep_the_order_in_which_they_were_given() -> None:
    assert edits((1, 1, "x"), (1, 1, "y")).apply("ab") == "axyb"
    assert edits((1, 1, "y"), (1, 1, "x")).apply("ab") == "ayxb"


def test_insertion_precedes_a_replacement_that_starts_there() -> None:
    assert edits((1, 2, "B"), (1, 1, "+")).apply("abc") == "a+Bc"


def test_insertion_follows_a_replacement_that_ends_there() -> None:
    assert edits((2, 2, "+"), (1, 2, "B")).apply("abc") == "aB+c"


def test_result_spans_locate_the_new_text() -> None:
    made = edits((0, 1, "AAA"), (2, 3, ""), (4, 4, "!"))

    assert made.result_spans == (Span(0, 3), Span(4, 4), Span(5, 6))
