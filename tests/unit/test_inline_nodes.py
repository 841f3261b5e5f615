"""Inline nodes stand exactly where the source has them."""

import pytest

from mdplan.markdown import parser as pulldown
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
    return InlineMap(text, LineIndex(text), body_start)


def whole(text: str) -> Span:
    return Span(0, len(text))


def check(text: str, *expected: tuple[str, str, str, dict[str, str]]) -> None:
    nodes = inline_map(text)

    assert [described(found, text) for found in nodes.nodes_in(whole(text))] == list(expected)
    assert nodes.undecided_in(whole(text)) == ()


CODE = {
    "only spaces": ("`  `", node("inlineCode", "`  `", text="  ")),
    "over a line end": ("a `b\nc` d", node("inlineCode", "`b\nc`", text="b\nc")),
}

LINKS = {
    "title over lines": (
        '[b](c\n"t\nu")',
        node("link", '[b](c\n"t\nu")', "c", text="b", destination="c", title='"t\nu"'),
    ),
    "escapes and entities": (
        "[b](c\\)&amp;d)",
        node("link", "[b](c\\)&amp;d)", "c)&d", text="b", destination="c\\)&amp;d"),
    ),
    "a link in a link": ("[a [b](c)](d)", node("link", "[b](c)", "c", text="b", destination="c")),
    "an image in a link": (
        "[![a](b)](c)",
        node("link", "[![a](b)](c)", "c", text="![a](b)", destination="c"),
        node("image", "![a](b)", "b", text="a", destination="b"),
    ),
    "nodes in an alternative text": (
        "x ![a [b](c) ![`d`](e)](f 'g')",
        node(
            "image",
            "![a [b](c) ![`d`](e)](f 'g')",
            "f",
            text="a [b](c) ![`d`](e)",
            destination="f",
            title="'g'",
        ),
        node("link", "[b](c)", "c", text="b", destination="c"),
        node("image", "![`d`](e)", "e", text="`d`", destination="e"),
        node("inlineCode", "`d`", text="d"),
    ),
}

DEFINITION = node("definition", "[r]: u", "u", label="r", destination="u")

REFERENCES = {
    "shortcut before a parenthesis": (
        "[r](not a link)\n\n[r]: u",
        node("link", "[r]", "u", text="r", label="r"),
        DEFINITION,
    ),
    "definition over lines": (
        "> [r]:\n> <u v>\n> 't\n> s'\n",
        node(
            "definition", "[r]:\n> <u v>\n> 't\n> s'", "u v", label="r", destination="<u v>", title="'t\n> s'"
        ),
    ),
    "two definitions of one label": (
        "[r]: u\n[R]: v (w)",
        DEFINITION,
        node("definition", "[R]: v (w)", "v", label="R", destination="v", title="(w)"),
    ),
    "definition whose title is none": ('[r]: u\n"t" x', DEFINITION),
    "footnote": (
        "a[^1] [^2]\n\n[^1]: b `c`\n\n    d `e`",
        node("footnoteReference", "[^1]", label="1"),
        node("footnoteDefinition", "[^1]:", label="1"),
        node("inlineCode", "`c`", text="c"),
        node("inlineCode", "`e`", text="e"),
    ),
}

AUTOLINKS = {
    "bare and punctuation": (
        "(see https://a.b/c_(d)).",
        node("autolink", "https://a.b/c_(d)", "https://a.b/c_(d)", destination="https://a.b/c_(d)"),
    ),
    "bare at a quote": (
        "*http://a.b?*",
        node("autolink", "http://a.b", "http://a.b", destination="http://a.b"),
    ),
    "mailto": ("mailto:m@a.b", node("autolink", "mailto:m@a.b", "mailto:m@a.b", destination="mailto:m@a.b")),
    "none in the text of a link": (
        "[http://a.b](c)",
        node("link", "[http://a.b](c)", "c", text="http://a.b", destination="c"),
    ),
    "an underscore at the end of a domain": ("http://a.b_c d",),
    "an underscore at the end of a domain with many dots": (
        "http://" + "a." * 12 + "b_c d",
        node(
            "autolink",
            "http://" + "a." * 12 + "b_c",
            "http://" + "a." * 12 + "b_c",
            destination="http://" + "a." * 12 + "b_c",
        ),
    ),
    "behind an opening bracket": ("[a http://b.c [d] www.e.f",),
    "behind closed brackets": (
        "[a] `[` \\[ www.e.f",
        node("inlineCode", "`[`", text="["),
        node("autolink", "www.e.f", "http://www.e.f", destination="www.e.f"),
    ),
    "in quotes and behind markers": (
        '>www.a.b\n> "http://c.d" ftp://e.f',
        node("autolink", "www.a.b", "http://www.a.b", destination="www.a.b"),
        node("autolink", "http://c.d", "http://c.d", destination="http://c.d"),
        node("autolink", "ftp://e.f", "ftp://e.f", destination="ftp://e.f"),
    ),
    "links inside a URL are part of it": (
        "http://a.b/[c](d) e",
        node("autolink", "http://a.b/[c](d)", "http://a.b/[c](d)", destination="http://a.b/[c](d)"),
    ),
    "mail in emphasis": ("_a_b@c.d_", node("autolink", "a_b@c.d", "mailto:a_b@c.d", destination="a_b@c.d")),
    "domain beyond ASCII": (
        "https://ä.example/x",
        node("autolink", "https://ä.example/x", "https://ä.example/x", destination="https://ä.example/x"),
    ),
}

HTML = {
    "tag over lines": ("a <b\nc='d'> e", node("html", "<b\nc='d'>")),
    "block": ("<div>\n[a](b) `c`\n</div>",),
}

WIKI = {
    "page": ("see [[Page]]", node("wikiLink", "[[Page]]", "Page", destination="Page")),
    "anchor and text": (
        "[[a b#c|d e]]",
        node("wikiLink", "[[a b#c|d e]]", "a b#c", destination="a b#c", text="d e"),
    ),
    "in the text of a link": (
        "[a [[b]] c](d)",
        node("link", "[a [[b]] c](d)", "d", text="a [[b]] c", destination="d"),
        node("wikiLink", "[[b]]", "b", destination="b"),
    ),
    "escaped": (
        "\\[[a]] `[[b]]` <b c='[[d]]'>",
        node("inlineCode", "`[[b]]`", text="[[b]]"),
        node("html", "<b c='[[d]]'>"),
    ),
    "escaped backslash": ("\\\\[[a]]", node("wikiLink", "[[a]]", "a", destination="a")),
    "escaped behind an escaped backslash": ("\\\\\\[[a]]",),
    "a shell test is none": ("if [[ -f x ]]",),
    "brackets of a link": ("[[a]](b)", node("link", "[[a]](b)", "b", text="[a]", destination="b")),
    "brackets around a reference": (
        "[[r]]\n\n[r]: u",
        node("link", "[r]", "u", text="r", label="r"),
        DEFINITION,
    ),
}

TABLES = {
    "escaped pipe in code": (
        "| a | b |\n|---|---|\n| `x\\|y` | [l](u\\|v) |",
        node("inlineCode", "`x\\|y`", text="x\\|y"),
        node("link", "[l](u\\|v)", "u|v", text="l", destination="u\\|v"),
    ),
    "escaped pipe at an edge": (
        "|a\n|-\n|[\\|](u) `\\|`",
        node("link", "[\\|](u)", "u", text="\\|", destination="u"),
        node("inlineCode", "`\\|`", text="\\|"),
    ),
    "without outer pipes": (
        "a | `b`\n-|-\n`c` | d | `e`",
        node("inlineCode", "`b`", text="b"),
        node("inlineCode", "`c`", text="c"),
    ),
    "in a quote": (
        "> `a` | b\n> :-|-\n> c |`d`\t",
        node("inlineCode", "`a`", text="a"),
        node("inlineCode", "`d`", text="d"),
    ),
    "wiki link with text": (
        "|a|\n|-|\n| [[p\\|t]] |",
        node("wikiLink", "[[p\\|t]]", "p", destination="p", text="t"),
    ),
}

COLUMNS = {
    "ATX heading that repeats its end": ("# a # `b` #", node("inlineCode", "`b`", text="b")),
    "CRLF": (
        "a\r\n`b`\r\n[c\r\nd](e)\r\n",
        node("inlineCode", "`b`", text="b"),
        node("link", "[c\r\nd](e)", "e", text="c\r\nd", destination="e"),
    ),
    "lone CR": ("# a\r`b\rc`\r", node("inlineCode", "`b\rc`", text="b\rc")),
    "quote in a list": ("- > a `b\n  > c` d", node("inlineCode", "`b\n  > c`", text="b\n  > c")),
    "lazy continuation": ("> a `b\nc` d", node("inlineCode", "`b\nc`", text="b\nc")),
    "tab that is used up whole": (
        "-\ta\n\t  `b`\n\n>\t\tx\n\n>\ta\n>\t`b`",
        node("inlineCode", "`b`", text="b"),
        node("inlineCode", "`b`", text="b"),
    ),
    "tab that is used up in part": (
        "- a\n\t`b` [c\n\td](e)",
        node("inlineCode", "`b`", text="b"),
        node("link", "[c\n\td](e)", "e", text="c\n\td", destination="e"),
    ),
    "tab inside of a link": (
        "> - a [b\n> \tc](d)",
        node("link", "[b\n> \tc](d)", "d", text="b\n> \tc", destination="d"),
    ),
    "no-break spaces around": ("> \xa0\n> \xa0 `a` \xa0\n> \u3000", node("inlineCode", "`a`", text="a")),
    "beyond the BMP": (
        "\U0001f600\U0001f600 `\U0001f600`",
        node("inlineCode", "`\U0001f600`", text="\U0001f600"),
    ),
    "other line separators": (
        "a\u2028`b`\x0c`c`\x85",
        node("inlineCode", "`b`", text="b"),
        node("inlineCode", "`c`", text="c"),
    ),
    "an unknown byte": ("\udcff `\udcff`", node("inlineCode", "`\udcff`", text="\udcff")),
}

ALL = {
    f"{name}: {case}": row
    for name, rows in {
        "code": CODE,
        "link": LINKS,
        "reference": REFERENCES,
        "autolink": AUTOLINKS,
        "html": HTML,
        "wiki link": WIKI,
        "table": TABLES,
        "columns": COLUMNS,
    }.items()
    for case, row in rows.items()
}


@pytest.mark.parametrize("case", ALL)
def test_node_spans_match_the_source(case: str) -> None:
    text, *expected = ALL[case]
    check(text, *expected)


def test_spans_of_equal_nodes_differ() -> None:
    found = inline_map("`a` `a`\n`a`").nodes_in(Span(0, 11))

    assert [found_node.span for found_node in found] == [Span(0, 3), Span(4, 7), Span(8, 11)]


def test_front_matter_has_no_nodes() -> None:
    text = "---\na: '`b`'\n---\n`c`"

    found = inline_map(text, 17).nodes_in(whole(text))

    assert [found_node.span for found_node in found] == [Span(17, 20)]


def test_document_of_front_matter_alone_has_no_nodes() -> None:
    text = "---\na: b\n---\n"

    assert inline_map(text, len(text)).nodes_in(whole(text)) == ()


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


def test_markdown_it_parses_blocks_on_which_pulldown_panics(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(text: str, **options: object) -> object:
        if "panic" in text:
            raise PanicException
        return events(text, **options)

    events = pulldown.pyromark.events_with_range
    monkeypatch.setattr(pulldown.pyromark, "events_with_range", panic)
    text = "# a\n\n`a`\n\npanic *b*\n\n- panic `c`\n- [d]\n\n# e\n\n`f`\n\n[d]: u\n"
    nodes = inline_map(text)

    found = [text[each.span.start : each.span.end] for each in nodes.nodes_in(whole(text))]
    assert found == ["`a`", "`f`", "[d]: u"]
    (undecided,) = nodes.undecided_in(whole(text))
    assert text[undecided.start : undecided.end] == "- panic `c`\n- [d]\n"


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
    check_attributes(text, *expected)


def test_span_is_the_value_without_quotes_and_the_search_stays_inside() -> None:
    text = "<a id=x> <b id='y&amp;'> <c id=z>"

    found = html_attributes(text, Span(9, 24))

    assert [(text[each.value_span.start : each.value_span.end], each.value) for each in found] == [
        ("y&amp;", "y&")
    ]


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
