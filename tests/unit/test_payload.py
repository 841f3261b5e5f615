"""Markdown that callers want to insert."""

import pytest

from mdplan.markdown.payload import read_payload


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a", "a"),
        ("\n\na\n\n", "a"),
        ("\r\n \t\r\na\r\nb\r\n\r\n", "a\nb"),
        ("  - a\n\n  - b  \n \n", "  - a\n\n  - b  "),
        ("\n    code\n", "    code"),
        ("a\n\f\n", "a\n\f"),
        ("", ""),
        ("\n \n\t", ""),
    ],
)
def test_blank_lines_around_a_payload_do_not_belong_to_it(markdown: str, text: str) -> None:
    payload = read_payload(markdown)

    assert payload.text == text
    assert payload.is_blank is (text == "")


def test_blank_lines_in_a_payload_cost_no_more_than_others() -> None:
    """Each of them a look at all the others would take hours: the time limit of the tests would end it."""
    text = "a" + "\n" * 200_000 + "b"

    assert read_payload(text).text == text
