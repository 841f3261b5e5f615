"""Inline nodes stand exactly where the source has them."""

import pytest

from mdplan.markdown import parser as pulldown
from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.headings import render_text
from mdplan.markdown.html import html_attributes
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineNode
from mdplan.markdown.outline import Outline
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


PARTS = ("text", "label", "destination", "title")


def node(kind: str, whole: str, href: str = "", **parts: str) -> tuple[str, str, str, dict[str, str]]:
    return kind, whole, href, parts


def described(found: InlineNode, text: str) -> tuple[str, str, str, dict[str, str]]:
    def cut(span: Span) -> str:
        return text[span.start : span.end]

    spans = {part: getattr(found, part) for part in PARTS}
    parts = {part: cut(span) for part, span in spans.items() if span is not None}
    return node(found.kind.value, cut(found.span), found.href, **parts)


def inline_map(text: str, body_start: int = 0) -> InlineMap:
    return InlineMap(parse_blocks(text, LineIndex(text), body_start))


def whole(text: str) -> Span:
    return Span(0, len(text))


def check(text: str, *expected: tuple[str, str, str, dict[str, str]]) -> None:
    nodes = inline_map(text)

    assert [described(found, text) for found in nodes.nodes_in(whole(text))] == list(expected)
    assert nodes.undecided_in(whole(text)) == ()


@CASE_TABLES.parametrize("text", "expected", tuples=True)
def test_node_spans_match_the_source(
    text: str, expected: tuple[tuple[str, str, str, dict[str, str]], ...]
) -> None:
    check(text, *expected)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(2, 3), ["`b`"]),
        (Span(0, 2), []),
        (Span(5, 6), []),
        (Span(2, 2), []),
        (Span(3, 3), ["`b`"]),
        (Span(4, 9), ["`b`", "[c `d`](e)"]),
        (Span(9, 13), ["[c `d`](e)", "`d`"]),
    ],
)
def test_only_nodes_that_share_text_with_the_span_are_found(span: Span, expected: list[str]) -> None:
    text = "a `b` [c `d`](e)"

    found = inline_map(text).nodes_in(span)

    assert [text[each.span.start : each.span.end] for each in found] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\n" + "[" * 200 + "\n\n`b`", ["`b`"], id="brackets"),
        pytest.param(
            "![" * 30 + "a" + "](b)" * 30,
            ["![" * each + "a" + "](b)" * each for each in range(30, 0, -1)],
            id="images",
        ),
        pytest.param("[a]:\\\n", ["[a]:\\"], id="backslash as destination"),
        pytest.param("a@" * 9000, [], id="addresses without a domain"),
        pytest.param("[](x #[a] `b`\n\n[a]: u", ["[a]", "`b`", "[a]: u"], id="unfinished destination"),
    ],
)
def test_nodes_of_unusual_text_are_found(text: str, expected: list[str]) -> None:
    nodes = inline_map(text)

    assert [text[each.span.start : each.span.end] for each in nodes.nodes_in(whole(text))] == expected
    assert nodes.undecided_in(whole(text)) == ()


def test_node_that_starts_in_a_url_and_ends_after_it_is_undecided() -> None:
    text = "http://a.b/`x y` `c`"
    nodes = inline_map(text)

    assert [each.span for each in nodes.nodes_in(whole(text))] == [Span(0, 13), Span(17, 20)]
    assert nodes.undecided_in(whole(text)) == (Span(11, 16),)


def test_section_that_is_nested_too_deep_is_undecided() -> None:
    before, deep, behind = "`a`\n\n", "# b\n\n" + "> " * 1000 + "`b`\n\n`c`\n\n", "# d\n\n`d`\n"
    text = before + deep + behind
    nodes = inline_map(text)

    assert [text[each.span.start : each.span.end] for each in nodes.nodes_in(whole(text))] == ["`a`", "`d`"]
    assert nodes.undecided_in(whole(text)) == (Span(len(before), len(before + deep)),)
    assert nodes.undecided_in(Span(0, 3)) == ()


class PanicException(BaseException):
    """What a panic in Rust raises."""


def test_section_on_which_pulldown_panics_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(text: str, **options: object) -> object:
        if "panic" in text:
            raise PanicException
        return events(text, **options)

    events = pulldown.pyromark.events_with_range
    monkeypatch.setattr(pulldown.pyromark, "events_with_range", panic)
    text = "# a\n\n`a`\n\n- panic `c`\n- [d]\n\n# e\n\n`f`\n\n[d]: u\n"
    nodes = inline_map(text)

    found = [text[each.span.start : each.span.end] for each in nodes.nodes_in(whole(text))]
    assert found == ["`f`", "[d]: u"]
    assert nodes.undecided_in(whole(text)) == (Span(0, text.index("# e")),)


def test_outline_is_correct_where_pulldown_panics(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object, **__: object) -> None:
        raise PanicException

    text = "---\na: 1\n---\n# A\n\n- b\n  - c\n\nD\n===\n\n> ## E\n\n## F\n\n```\n# g\n```\n"
    before = Outline(Source.from_text(text))
    monkeypatch.setattr(pulldown.pyromark, "events_with_range", panic)
    after = Outline(Source.from_text(text))

    assert before.blocks
    assert after.tree.is_reference
    assert after.in_order == before.in_order
    shapes = [
        [(block.kind, block.depth, block.first_line) for block in outline.blocks]
        for outline in (before, after)
    ]
    assert shapes[0] == shapes[1]


def test_labels_and_footnotes_of_other_sections_are_known() -> None:
    text = "[a] [^1] ![][b] [^2]\n\n# h\n\n[a]: u\n\n[^1]: n\n\n# i\n\n[a]: v\n[b]: w\n\n[a]\n"
    nodes = inline_map(text).nodes_in(whole(text))

    assert [(text[each.span.start : each.span.end], each.href) for each in nodes] == [
        ("[a]", "u"),
        ("[^1]", ""),
        ("![][b]", "w"),
        ("[a]: u", "u"),
        ("[^1]:", ""),
        ("[a]: v", "v"),
        ("[b]: w", "w"),
        ("[a]", "u"),
    ]


@pytest.mark.parametrize(
    ("before", "url"),
    [("é:" * 9000 + " ", "http://a.b/c"), ("", "http://a.b/" + "c" * 9000), ("", "me@a.b" + ".c" * 9000)],
    ids=["behind much text", "long", "long mail address"],
)
def test_bare_url_in_long_text_is_found(before: str, url: str) -> None:
    found = inline_map(before + url).nodes_in(Span(0, len(before + url)))

    assert [each.span for each in found] == [Span(len(before), len(before + url))]


@pytest.mark.parametrize(
    "piece",
    [
        *("[", "![", "[a](", "[[a", "[a] ", "`a ", "<", "<!--", "*a_", "\\", "\\[[a]]", "|"),
        *("mailto:", "http:", "http:abcdefghijkl ", "http://_", "www.", "(www.a", "a@", ":"),
        *("\xa0\n", "> ", "- ", "[a]: b\n", "[^a]: b[^a]\n"),
    ],
)
def test_parse_of_hostile_text_is_linear(piece: str) -> None:
    """What grows faster than the text runs into the time limit of the tests."""
    text = "x `y` " + piece * 30_000
    nodes = inline_map(text)

    assert nodes.nodes_in(whole(text)) or nodes.undecided_in(whole(text))


def test_lines_after_raw_html_closed_by_another_tag_are_undecided() -> None:
    text = "<pre>\na\n</script>\n\n`x`\n"
    nodes = inline_map(text)

    assert [text[each.start : each.end] for each in nodes.undecided_in(whole(text))] == ["`x`\n"]


def test_raw_html_up_to_its_closing_tag_is_certain() -> None:
    text = "<pre>\n`a`\n</pre>\n\n`x`\n"

    assert inline_map(text).undecided_in(whole(text)) == ()


# --- Attributes of HTML are found where tags are, and nowhere else.

Row = tuple[str, str, str]


def check_attributes(text: str, *expected: Row) -> None:
    found = html_attributes(text, Span(0, len(text)))

    assert [(each.tag, each.name, each.value) for each in found] == list(expected)


@CASE_TABLES.parametrize("text", "expected", tuples=True)
def test_attributes_of_opening_tags_are_listed(text: str, expected: tuple[Row, ...]) -> None:
    check_attributes(text, *expected)


@pytest.mark.parametrize("piece", ["<a x ", '<a b="', "<!--", "<a x= ", "<?", "<script>", "<a" + " " * 50])
def test_cost_is_linear_in_the_text(piece: str) -> None:
    text = piece * 100_000

    assert len([*html_attributes(text, Span(0, len(text)))]) <= len(text)


# --- Rendered text is what a reader sees of a heading.


@CASE_TABLES.parametrize("content", "expected")
def test_markup_is_removed_and_its_text_kept(content: str, expected: str) -> None:
    assert render_text(content) == expected


def test_deep_nesting_is_rendered() -> None:
    assert render_text("![" * 5_000 + "a" + "](b)" * 5_000) == "a"
