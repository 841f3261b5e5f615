"""Attributes of HTML are found where tags are, and nowhere else."""

import pytest

from mdplan.markdown.html import html_attributes
from mdplan.text.lines import Span

Row = tuple[str, str, str]


def check(text: str, *expected: Row) -> None:
    found = html_attributes(text, Span(0, len(text)))

    assert [(each.tag, each.name, each.value) for each in found] == list(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a id=\"x\" NAME='y' href=z>", [("a", "id", "x"), ("a", "name", "y"), ("a", "href", "z")]),
        ('<IMG src="a b"/>', [("img", "src", "a b")]),
        ("<a href='?a&amp;b'>", [("a", "href", "?a&b")]),
        ('<a\n  id = "x"\n>', [("a", "id", "x")]),
        ("<input disabled data-x.y:z='1'>", [("input", "data-x.y:z", "1")]),
        ('<a id="x > y"><b id=z>', [("a", "id", "x > y"), ("b", "id", "z")]),
        ("<a id=''>", [("a", "id", "")]),
        ("</a id=x> < a id=x> <a id=x", []),
        ('<a id="x"name="y">', []),
        ("<!-- <a id=x> --><b id=y>", [("b", "id", "y")]),
        ("<!-- <a id=x>", []),
        ("<![CDATA[<a id=x>]]><? <a id=x> ?><b id=y>", [("b", "id", "y")]),
        ("<script src=s>'<a id=x>'</SCRIPT ><b id=y>", [("script", "src", "s"), ("b", "id", "y")]),
        ("<style>a<b id=x>", []),
        ("a id=x", []),
    ],
)
def test_attributes_of_opening_tags_are_listed(text: str, expected: list[Row]) -> None:
    check(text, *expected)


def test_span_is_the_value_without_quotes_and_the_search_stays_inside() -> None:
    text = "<a id=x> <b id='y&amp;'> <c id=z>"

    found = html_attributes(text, Span(9, 24))

    assert [(text[each.value_span.start : each.value_span.end], each.value) for each in found] == [
        ("y&amp;", "y&")
    ]


@pytest.mark.parametrize("piece", ["<a x ", '<a b="', "<!--", "<a x= ", "<?", "<script>", "<a" + " " * 50])
def test_cost_is_linear_in_the_text(piece: str) -> None:
    text = piece * 100_000

    assert len(html_attributes(text, Span(0, len(text)))) <= len(text)
