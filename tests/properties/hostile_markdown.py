"""Markdown that puts parsers to the test: blocks half begun, containers in containers, odd white space."""

from random import Random

from hypothesis import strategies as st

_ANCHORS = ('<a id="one"></a>', "<a name=x>", '<a id="y"/>', "<div id=z></div>", "(label)=", "[](){#w}")
_INDENTATIONS = ("", "", "", "", " ", "  ", "   ", "    ", "      ", "\t", " \t", "\t\t")
_CONTAINERS = (
    *("- ", "* ", "+ ", "-\t", "-     ", "*   ", "1. ", "2. ", "1) ", "10. ", "1.\t", "   1. "),
    *("> ", ">", ">\t", "> > ", "[^1]: "),
)
_LINES = (
    # Text, and what nearly is something else.
    *("text", "two words  ", "\\", "#tag", "####### seven", "x\t", "1.x", "-x", "1234567890. x", "...", "é"),
    *("", "", "", " ", "   ", "\t", "\xa0", "\u2028", "\x85", "a\x0bb", "\x0c", "\0", "\udc80"),
    # Headings and what stands under them.
    *(
        "# One",
        "## Two ##",
        "### `Three`",
        "# One",
        "#",
        "## ",
        "#\t",
        "# a | b",
        "# [l](#one)",
        "###### Six",
    ),
    *("=", "===", "-", "--", "---", "- - -", "***", "* * *", "___", "_ _", "# &#10;x", '# <a id="x"></a> y'),
    # Code and HTML.
    *(
        "```",
        "```py",
        "````",
        "``` a`b",
        "~~~",
        "~~~~ x",
        "    code",
        "`x`",
        "`",
        "```a|b",
        "1.",
        "2.",
        "*",
        "+",
    ),
    *("<div>", "</div>", "<span>", "<p", "<hr/>", '<a href="#one', '">', "<pre>", "</pre>", "<script>"),
    *("</script>", "<!-- c", "-->", "<!-- c -->", "<?php", "?>", "<!X", ">", "<![CDATA[", "]]>", "<b>x</b>"),
    *(*_ANCHORS, "<!-- r:start -->", "<!-- r:end -->", "x <!-- r:end --> y", "<b id=q>"),
    # Tables, definitions, links, tasks and front matter.
    *(
        "| a | b |",
        "|---|---|",
        "a | b",
        "--|--",
        "|-",
        "|-|-|",
        ":-",
        "-:",
        ":-:|-",
        "|",
        "a|",
        "* |",
        "- a|b",
        "| a",
        "|a|",
        "::",
        "***|",
        "> a | b",
        "<b>|",
        "1. a|",
        "~~~|",
    ),
    *(
        "[a]: /u",
        '[a]: #one "t"',
        "[a]:",
        '"t"',
        "[a",
        "[^1]: note",
        "[^1]:",
        "x[^1] [^2]",
        "[a] [a][] [t][a]",
    ),
    *(
        "[l](u)",
        "[l](#one)",
        "![i](u)",
        "[[w#x|y]]",
        "<http://a.b>",
        "- [ ] t",
        "[x] t",
        "+++",
        "a: 1",
        "a = 1",
    ),
)

hostile_lines = st.builds(
    "{}{}{}".format,
    st.sampled_from(_INDENTATIONS),
    st.lists(st.sampled_from(_CONTAINERS), max_size=2).map("".join),
    st.sampled_from(_LINES),
)


# Headings, and links, labels and anchors that name them.
NAMES = (
    *("\n# One\n\n", "## Two\n\n", "# One\n", '\n<a id="one"></a> x\n\n', "[l](#one) [m](#two) [a]\n\n"),
    *("[a]: #one\n\n", '<div id="two">\n\n', "x[^1] [[#One]] [w](%6fne) [v](&#35;one)\n\n", "[^1]: note\n\n"),
    *('<a href="#one">y</a> <A NAME=three id=one>\n\n', '> <a title=">"\n> id="one">\n\n'),
)


def hostile_documents(
    line_ends: tuple[str, ...] = ("\n", "\n", "\n", "\r\n", "\r"),
) -> st.SearchStrategy[str]:
    """Documents of up to 20 such lines; some miss the final line end."""
    lines = st.lists(st.builds("{}{}".format, hostile_lines, st.sampled_from(line_ends)), max_size=20)
    return st.builds(lambda lines, cut: "".join(lines)[:cut], lines, st.sampled_from([None, None, None, -1]))


def random_document(dice: Random) -> str:
    """The same, much faster than Hypothesis draws them; most are short, so that they are about one thing."""
    line_end = dice.choice(("\n", "\n", "\n", "\r\n", "\r"))
    count = dice.randint(1, dice.choice((4, 8, 20)))
    return line_end.join(_random_line(dice) for _ in range(count)) + dice.choice((line_end, line_end, ""))


def _random_line(dice: Random) -> str:
    marks = "".join(dice.choice(_CONTAINERS) for _ in range(dice.choice((0, 0, 0, 1, 1, 2))))
    return dice.choice(_INDENTATIONS) + marks + dice.choice(_LINES)
