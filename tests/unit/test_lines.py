"""Lines end at LF, CRLF and CR, and at nothing else."""

import pytest

from mdplan.text.lines import LineIndex
from mdplan.text.span import Position, Span


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a\n"]),
        ("a\nb", ["a\n", "b"]),
        ("\n", ["\n"]),
        ("\n\n", ["\n", "\n"]),
        ("a\r\nb\r\n", ["a\r\n", "b\r\n"]),
        ("a\rb\r", ["a\r", "b\r"]),
        ("a\r\rb", ["a\r", "\r", "b"]),
        ("a\n\rb", ["a\n", "\r", "b"]),
        ("a\r\r\nb", ["a\r", "\r\n", "b"]),
        ("a\r\nb\nc\rd", ["a\r\n", "b\n", "c\r", "d"]),
        *[(f"a{other}b\n", [f"a{other}b\n"]) for other in "\u2028\u2029\u0085\v\f\x1c\x1d\x1e"],
    ],
)
def test_only_lf_crlf_and_cr_end_a_line(text: str, lines: list[str]) -> None:
    index = LineIndex(text)

    assert index.count == len(lines)
    assert [text[index.start(n) : index.end(n)] for n in range(1, index.count + 1)] == lines


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


@pytest.mark.parametrize(("offset", "line"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)])
def test_line_end_belongs_to_the_line_that_it_ends(offset: int, line: int) -> None:
    assert LineIndex("a\r\nb").line_at(offset) == line


@pytest.mark.parametrize(
    ("text", "offset", "position"),
    [
        ("", 0, Position(1, 1)),
        ("a\nbc", 0, Position(1, 1)),
        ("a\nbc", 1, Position(1, 2)),
        ("a\nbc", 2, Position(2, 1)),
        ("a\nbc", 4, Position(2, 3)),
        ("a\n", 2, Position(2, 1)),
        ("a\r", 2, Position(2, 1)),
        ("a\r\n", 3, Position(2, 1)),
        ("\U0001f600e\u0301\n", 3, Position(1, 4)),
    ],
)
def test_each_offset_has_one_position(text: str, offset: int, position: Position) -> None:
    index = LineIndex(text)

    assert index.position(offset) == position
    assert index.offset(position) == offset


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
