"""Placeholders are strict: what is not a name of a value is an error, and two braces can still be written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.bot.expansion import Values, VariableName, filled, placeholders_in
from mdplan.diagnostics import Code, Diagnostic

OF_FILTERS = {"pipes": "a | b\nc", "title": "What's new?", "day": "2026-11-23T08:00:00"}
VALUES = Values(
    {
        "vars": {"a": "A", "n": 3, "yes": True, "none": None, "list": ["x", {"y": 1.5}], **OF_FILTERS},
        "path": "p.md",
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain } } { text", "plain } } { text"),
        ("{{vars.a}}", "A"),
        ("{{ vars.a }}", "A"),
        ("<{{vars.a}}{{path}}>", "<Ap.md>"),
        ("{{vars.n}}", 3),
        ("n={{vars.n}} {{vars.yes}}", "n=3 true"),
        ("{{vars.list}}", ["x", {"y": 1.5}]),
        ("{{vars.list.1.y}}", 1.5),
        ("{{vars.none}}", None),
        ("{{{{vars.a}}", "{{vars.a}}"),
        ("{{{{", "{{"),
        ("{{{{{{path}}", "{{p.md"),
        ("{{{{{{{{", "{{{{"),
        ("}}", "}}"),
        ("{{vars.none | default: nobody}}", "nobody"),
        ("{{vars.missing | default: 'a b'}}", "a b"),
        ("{{vars.a | default: x}}", "A"),
        ("| {{vars.pipes | cell}} |", "| a \\| b<br>c |"),
        ("{{vars.none|cell}}", ""),
        ("{{ vars.title | slug }}", "whats-new"),
        ("{{vars.day | date: %d %b %Y}}", "23 Nov 2026"),
        ("{{vars.day | date}}", "2026-11-23"),
    ],
)
def test_placeholders_are_filled_in(text: str, expected: object) -> None:
    assert filled(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{vars.b}}", "`vars` has no value `b`"),
        ("{{var.a}}", "there is no value `var`"),
        ("{{vars.a.b}}", "`vars.a` has no part `b`: it is neither a map nor a list"),
        ("{{vars.list.2}}", "`vars.list` has no entry `2`"),
        ("x{{vars.list}}", "`vars.list` is a list, which is no part of a text"),
        ("x{{vars.none}}", "`vars.none` is nothing, which is no part of a text"),
        ("{{", "`{{` does not begin a valid placeholder"),
        ("a {{vars.a}", "`{{vars.a}` does not begin a valid placeholder"),
        ("{{}}", "`{{}}` does not begin a valid placeholder"),
        ("{{vars a}}", "`{{vars a}}` does not begin a valid placeholder"),
        ("{{{vars.a}}}", "`{{{vars.a}}}` does not begin a valid placeholder"),
        ("{{vars.a | cel}}", "there is no filter `cel`"),
        ("{{vars.a | date}}", "`A` is not a date"),
        ("{{vars.list | cell}}", "the filter `cell` takes a text, and this is a list or a map"),
        ("{{vars.a |}}", "`{{vars.a |}}` does not begin a valid placeholder"),
    ],
)
def test_invalid_placeholder_is_rejected(text: str, message: str) -> None:
    found = filled(text, VALUES)

    assert isinstance(found, Diagnostic)
    assert (found.code, found.message) == (Code.INVALID_ARGUMENT, message)


def test_names_of_placeholders_are_listed() -> None:
    found = placeholders_in("{{a}} {{{{b}} {{c.d | cell}}")

    assert not isinstance(found, Diagnostic)
    assert [each.name for each in found] == [VariableName("a"), VariableName("c.d")]


@given(st.text())
def test_escaped_text_is_written_verbatim(text: str) -> None:
    """Doubled braces are the way to say them."""
    assert filled(text.replace("{{", "{{{{"), VALUES) == text


@given(st.text())
def test_placeholders_in_values_are_not_expanded(value: str) -> None:
    assert filled("<{{vars.value}}>", Values({"vars": {"value": value}})) == f"<{value}>"
