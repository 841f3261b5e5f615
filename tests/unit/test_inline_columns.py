"""Every place of inline content has a place in the source."""

import pytest

from mdplan.markdown.inline.inline_columns import ContentColumns, SourceLines, paragraph_columns, row_columns
from mdplan.text.lines import LineIndex


def offsets(columns: ContentColumns | None, content: str) -> list[int] | None:
    return None if columns is None else [columns.offset(at) for at in range(len(content) + 1)]


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("ab\r\ncd", "ab\ncd", [0, 1, 2, 4, 5, 6]),
        ("> ab\n> cd  \n", "ab\ncd", [2, 3, 4, 7, 8, 9]),
        ("- a\n\tb", "a\n  b", [2, 3, 5, 5, 5, 6]),
        ("a\n\tb", "a\n    b", None),
        ("a\nb", "a\nc", None),
        ("a\nb", "a\nb\nc", None),
        ("a", "ba", None),
    ],
)
def test_lines_of_a_paragraph(text: str, content: str, expected: list[int] | None) -> None:
    lines = LineIndex(text)

    columns = paragraph_columns(content, 1, lines.count, SourceLines(lines))

    assert offsets(columns, content) == expected


@pytest.mark.parametrize(
    ("row", "column", "contents", "expected"),
    [
        ("| a | bc |", 0, ("a", "bc"), [[2, 3], [6, 7, 8]]),
        ("> a|b", 2, ("a", "b"), [[2, 3], [4, 5]]),
        ("|\\|a\\||", 0, ("|a|",), [[1, 3, 4, 6]]),
        ("|\\\\|a|", 0, ("\\|a",), [[1, 2, 4, 5]]),
        ("| a |", 0, ("b",), [None]),
        ("| a |", 0, ("a", ""), [[2, 3], None]),
        ("a ||", 0, ("a", ""), [[0, 1], None]),
    ],
)
def test_cells_of_a_row(
    row: str, column: int, contents: tuple[str, ...], expected: list[list[int] | None]
) -> None:
    columns = row_columns(contents, 1, column, SourceLines(LineIndex(row)))

    assert [offsets(each, content) for each, content in zip(columns, contents, strict=True)] == expected
