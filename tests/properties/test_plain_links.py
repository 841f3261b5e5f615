"""What is told without a parser, of blocks and of links, is what the parser gives, whatever the document."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.common.utils import normalizeReference

from mdplan.markdown.inline.plain_inline import normalized_label
from tests.block_oracles import difference
from tests.plain_check import content_differs, links_differ
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.test_inline_nodes import PIECES, documents

# Beside the pieces of other laws: what makes links, what nearly makes them, and what URLs end with.
LINKS = [
    *(
        "[B\nc]",
        "[`d`]",
        "[x]: ",
        "](#a)",
        "](#)",
        "](\\#a)",
        "](a(b)c)",
        "](<>)",
        "]()",
        "](a 'b",
        "](a\nb)",
    ),
    *(
        "[![a](b)](c)",
        "[a](b)[c]",
        "<a>",
        "</a>",
        "</A >",
        "<a href=#x>",
        '<a name="x">',
        "<br/>",
        "<b x='>'>",
    ),
    *("<me@x.org\n>", "<a:b\n>", "<mailto:a@b.c>", "<!-- a - b -->", "<!-->", "<!--a--b-->", "<?", "<!A>"),
    *("WWW.a.b", "www.", "www.a_b.c", "www.x_y", "http://", "://", "HTTP://a", "http://a_b.c", "https://é.f"),
    *("(http://x", "xmpp:a@b.c/d", "mailto:a@b", "a.b@c-d.e_f", "_me@x.org", ";", "&x;", "&amp;b", ".", "-"),
    *("+", "/", "{", "}", "=", "?", ",", "\\_", "\\`", "\\[", "[^", "![^a]", "[[a]]", "\r"),
]
CONTENTS = st.lists(st.sampled_from(PIECES + LINKS), max_size=14).map("".join)
LINES = [
    *("- ", "* ", "+ ", "1. ", "2. ", "10) ", "  ", "    ", "   ", " ", "  - ", "     ", "> ", ">", "> > "),
    *("a", "b c", "`", "```", "```\n", "~~~", "- [ ] t", "- [x] t\n", "[a]", "[a]: u\n", "[a](u)", "[a]:"),
    *(
        "<b>",
        "<div>",
        "<!-- x",
        "| a | b |\n|--|--|\n",
        "a|b\n-|-\n",
        "|",
        ":-",
        "#",
        "=",
        "---",
        "\\|",
        "\t",
    ),
    *("[a]: <u> 't'\n", "[a]: /u (t)\n", "\n", "\n", "\n", "\n\n", "\xa0", "\x0b", "\r\n"),
]
MIXED = st.lists(st.sampled_from(LINES), max_size=24).map("".join)


@given(CONTENTS)
def test_inline_nodes_are_those_of_the_parser(content: str) -> None:
    assert not content_differs(content.strip())


@given(st.text(st.sampled_from("ab1 \n`[]()<>!\\\"'.:/@w#_*-&;^=")))
def test_inline_nodes_of_any_signs_are_those_of_the_parser(content: str) -> None:
    assert not content_differs(content.strip())


@given(MIXED)
def test_blocks_are_those_of_the_parser(text: str) -> None:
    assert difference(text) is None


@given(documents | hostile_documents() | MIXED)
def test_links_of_documents_are_those_of_the_parser(text: str) -> None:
    assert not links_differ(text.encode("utf-8", "surrogateescape"))


@given(
    st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["", "", "- ", "  ", "> ", "# ", "| ", "1. ", "[x]: #a\n", "## a\n\n"]),
            CONTENTS,
            st.sampled_from(["\n", "\n\n", "\r\n", " | b |\n|-|-|\n", "\n---\n"]),
        ),
        max_size=6,
    ).map("".join)
)
def test_links_in_blocks_are_those_of_the_parser(text: str) -> None:
    assert not links_differ(text.encode("utf-8", "surrogateescape"))


@given(st.text() | st.text(st.sampled_from("aß  \t\n\xa0\x1f\u2028\u212aİς")))
def test_labels_are_compared_as_the_parser_does(label: str) -> None:
    assert normalized_label(label) == normalizeReference(label)


def test_most_of_what_is_tried_is_told() -> None:
    dice, tally = Random(0), Counter[str]()
    for _ in range(300):
        content = "".join(dice.choices(PIECES + LINKS, k=6)).strip()
        assert not content_differs(content, tally=tally), content

    assert tally["told"] > tally["left"]


@pytest.mark.parametrize(
    "opening", ["[", "![", "[a](", "[a][", "`" * 3 + "a", "<a ", "<!--", "\\[", "<", "*[", "www."]
)
def test_hostile_contents_end_soon(opening: str) -> None:
    """None of them is tried in more than a few steps for each sign, or it is left to the parser."""
    content_differs(opening * 60)
    assert not content_differs("a " + opening * 2)
