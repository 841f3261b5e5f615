"""Inline nodes of hostile documents agree with the parser, or are undecided; they never lie."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.headings import render_text
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineKind, InlineNode, document_order
from mdplan.text.lines import LineIndex, Span
from tests.inline_oracle import all_nodes, disagreements
from tests.parser_oracles import Verdict, compare
from tests.properties.strategies import SPECIAL, characters

MARKERS = [
    *("> ", ">", ">\t", "> > ", "- > ", ">  \t", "- ", "-\t", "* ", "1. ", "   ", "    ", "\t", "\xa0"),
    *("# ", "## ", "[^1]: ", "[a]: ", "| ", "|"),
]
PIECES = [
    *("a", "b c", "é", "w", "\U0001f600", "\udc80", "\0", " ", "  ", "\t", "\xa0", "\u2028", "\x0b"),
    *("`", "``", "`x`", "[", "]", "(", ")", "![", "](", "](u)", '](<u v> "t")', "](u 't')", "](u (t))"),
    *("[a]", "[a][]", "[t][a]", "[^1]", "[[p#q]]", "[[p|t]]", "\\", "\\|", "|", "#", " #", "*", "**", "_"),
    *("<", ">", "<b>", "</b>", "<!-- c -->", '<a href="u">', "<x\n", "~", "~~", "&amp;", "&", '"', "'"),
    *("<http://x.y>", "<me@x.org>", "http://a.b/c", "https://x.y).", "www.a.b", "me@x.org", "mailto:a@b.c"),
    *("!", ":", "@", "//", "  \n", "\\\n"),
]
WHOLE_LINES = [
    *(
        "---",
        "===",
        "=",
        "|-|-|",
        "-|-",
        "|-|",
        "```",
        "    code",
        "<div>",
        "-->",
        "<!--",
        "",
        "\xa0",
        "> \xa0",
    ),
    *('[a]: /u "t"', "[a]:", "[a]: <u>", " u", '"t', 't"', "[b]: u 'x", "x'", "> [a]: u", '> "t"', "- [a]:"),
    *("[^1]: note", "| a `x\\|y` | [l](u) |", "# h `x` ##"),
]
# markdown-it-py trims other white space than CommonMark does, puts line ends into destinations, and has bare
# URLs in the texts of images; cmark-gfm takes single parentheses in the destination of a definition; mdplan
# reads no lazy lines of definitions.
NOT_COMPARED = re.compile(
    r"[\xa0\u2028\x0b\x0c]|\\[\r\n]|!\[(?s:.*)(?:://|www\.|@)|^[ \t]*(?:[>*-]|1\.).*\]:|\]:.*[()]",
    re.MULTILINE,
)

mixed_lines = st.builds(
    "{}{}{}".format,
    st.lists(st.sampled_from(MARKERS), max_size=2).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.sampled_from(["", " ", " |", "|", "  ", " #", " ##", "\t", "\xa0", "\\"]),
)
whole_lines = st.builds("{}{}".format, st.sampled_from(["", *MARKERS]), st.sampled_from(WHOLE_LINES))
documents = st.lists(
    st.builds("{}{}".format, st.one_of(mixed_lines, whole_lines), st.sampled_from(["\n", "\r\n", "\r"])),
    max_size=8,
).map("".join)


def closed_parts(node: InlineNode) -> list[Span]:
    """What no other node may stand in: all of a node but the text of a link or image."""
    if node.kind in {InlineKind.LINK, InlineKind.IMAGE} and node.text is not None:
        return [Span(node.span.start, node.text.start), Span(node.text.end, node.span.end)]
    return [node.span]


@pytest.mark.requirement("inline-1")
@given(text=documents)
def test_inline_nodes_are_those_on_which_both_oracles_agree(text: str) -> None:
    found = compare(text)

    if found.oracles_agree and not NOT_COMPARED.search(text):
        assert found.inline is None or found.inline.verdict is Verdict.AGREED
        nodes, undecided = all_nodes(text)
        assert undecided or disagreements(text, nodes) == []


@given(text=documents)
def test_nodes_are_sorted_inside_the_text_and_disjoint_or_nested(text: str) -> None:
    nodes, undecided = all_nodes(text)

    assert list(nodes) == sorted(nodes, key=document_order)
    closed = sorted(part for node in nodes for part in closed_parts(node) if part)
    assert all(left.end <= right.start for left, right in pairwise(closed))
    assert all(span.end <= len(text) for span in (*undecided, *(node.span for node in nodes)))
    for node in nodes:
        parts = (node.text, node.label, node.destination, node.title)
        assert all(node.span.contains(part) for part in parts if part is not None)


@given(text=documents, bounds=st.tuples(st.integers(0, 120), st.integers(0, 120)))
def test_nodes_of_a_span_are_those_of_the_whole_text_there(text: str, bounds: tuple[int, int]) -> None:
    start, end = sorted(min(bound, len(text)) for bound in bounds)
    part = Span(start, end)
    nodes, undecided = all_nodes(text)
    asked = InlineMap(text, LineIndex(text))

    assert asked.nodes_in(part) == tuple(node for node in nodes if node.span.overlaps(part))
    assert asked.undecided_in(part) == tuple(span for span in undecided if span.overlaps(part))


@given(text=documents)
def test_front_matter_only_shifts_node_offsets(text: str) -> None:
    front = "---\r\na: b\r\n---\r\n"
    whole = front + text
    behind = InlineMap(whole, LineIndex(whole), len(front))

    moved = [
        node.moved(lambda span: Span(span.start + len(front), span.end + len(front)))
        for node in all_nodes(text)[0]
    ]
    assert list(behind.nodes_in(Span(0, len(whole)))) == moved


@given(content=st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_rendered_text_is_one_line(content: str) -> None:
    assert "\n" not in render_text(content)


@given(
    text=st.text(characters(SPECIAL.replace("`", ""), exclude_characters="`\r\n\0")).filter(
        lambda text: text.strip(" ")
    )
)
def test_rendered_text_of_code_is_its_content(text: str) -> None:
    assert render_text(f"a `` {text} `` b") == f"a {text} b"


@given(
    content=st.lists(st.sampled_from(["a", "1", "é", "_", "__", "`", "``", " ", "b.c"]), max_size=12).map(
        lambda pieces: f"a{''.join(pieces)}b"
    )
)
def test_rendered_text_ignores_emphasis_after_it(content: str) -> None:
    assert render_text(f"{content} *b*") == f"{render_text(content)} b"
