"""Lines end at LF, CRLF and CR, and at nothing else."""

import pytest

from mdplan.text.lines import LineIndex, Position, Span


def test_content_is_the_line_without_its_end() -> None:
    index = LineIndex("a\r\n\nb\rc")

    assert [(index.content(n), index.ending(n)) for n in range(1, 5)] == [
        ("a", "\r\n"),
        ("", "\n"),
        ("b", "\r"),
        ("c", ""),
    ]


def test_empty_first_line_has_no_content() -> None:
    assert LineIndex("\na\r").content(1) == ""


def test_span_of_lines_includes_both_ends_and_the_last_line_end() -> None:
    index = LineIndex("one\ntwo\nthree")

    assert index.span(1, 2) == Span(0, 8)
    assert index.span(3, 3) == Span(8, 13)


@pytest.mark.parametrize(
    ("text", "line", "col"),
    [
        ("", 1, 2),
        ("", 2, 1),
        ("a\nb", 0, 1),
        ("a\nb", 1, 0),
        ("a\nb", 1, 3),
        ("a\r\nb", 1, 3),
        ("a\nb", 3, 1),
        ("a\nb\n", 3, 2),
        ("a\nb\n", 4, 1),
        ("a\nb", -1, 1),
    ],
)
def test_position_outside_the_text_has_no_offset(text: str, line: int, col: int) -> None:
    assert LineIndex(text).offset(Position(line, col)) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", {}),
        ("a\u2028b", {}),
        ("a\nb\n", {"\n": 2}),
        ("a\r\nb\nc\r\n", {"\r\n": 2, "\n": 1}),
        ("a\rb\r\r\nc\n", {"\r": 2, "\r\n": 1, "\n": 1}),
    ],
)
def test_line_ends_are_counted_by_kind(text: str, ends: dict[str, int]) -> None:
    assert LineIndex(text).line_ends == ends
