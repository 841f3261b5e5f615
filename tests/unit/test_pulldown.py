"""The adapter of pulldown-cmark: offsets, prepared texts, failures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown import parser as pulldown
from mdplan.markdown.parser import ParserFailure, PreparedText, event_batches, is_nested_too_deep

TEXTS = st.text(st.sampled_from("aé€😀\n\r\t#>-*[]`|:\0\f\ud800 "), max_size=3000)


@given(TEXTS)
def test_prepared_text_keeps_every_offset(text: str) -> None:
    prepared = PreparedText(text)

    assert len(prepared.text) == len(text)
    at = 0
    for index, character in enumerate(prepared.text):
        assert prepared.offset(at) == index
        at += len(character.encode())


@given(TEXTS)
def test_ranges_are_within_the_text_at_character_boundaries(text: str) -> None:
    prepared = PreparedText(text)
    data = prepared.text.encode()

    for batch in event_batches(prepared.text):
        for _, place in batch:
            assert 0 <= place["start"] <= place["end"] <= len(data)
            assert len(data[: place["start"]].decode()) == prepared.offset(place["start"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0\udc80b\r\rc\r\n", "a\ufffd\ufffdb\n\nc\r\n"),
        ("```\n\t```\t\n", "```\n\t``` \n"),
        ("> ~~~\t \r\n", "> ~~~  \r\n"),
        ("|a|b|\n|-\t|-|\n", "|a|b|\n|- |-|\n"),
        ("`a`\t\n", "`a`\t\n"),
    ],
)
def test_text_is_prepared_where_pulldown_deviates(text: str, expected: str) -> None:
    assert PreparedText(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> " * 201, True),
        ("a\n" + "- " * 201, True),
        ("> " * 200, False),
        ("- " * 150 + "\n" + "> " * 150, False),
    ],
)
def test_lines_with_too_many_markers_are_detected(text: str, expected: bool) -> None:
    assert is_nested_too_deep(text) == expected


class PanicException(BaseException):
    """What a panic in Rust raises."""


def test_panic_becomes_an_ordinary_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object, **__: object) -> None:
        raise PanicException

    monkeypatch.setattr(pulldown.pyromark, "events_with_range", panic)

    with pytest.raises(ParserFailure):
        list(event_batches("a"))


def test_undefined_references_are_links_on_request() -> None:
    asked: list[str] = []

    def is_label(label: str) -> bool:
        asked.append(label)
        return label == "a"

    events = [event for batch in event_batches("[a] [b]", is_label) for event, _ in batch]

    assert asked == ["a", "b"]
    assert sum("Link" in str(event) and "Start" in event for event in events) == 1
