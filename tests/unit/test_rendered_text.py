"""Rendered text is what a reader sees of a heading."""

import pytest

from mdplan.markdown.headings import render_text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Install", "Install"),
        ("a\xa0b — c: d | e!", "a\xa0b — c: d | e!"),
        ("the `code` of ``a`b``", "the code of a`b"),
        ("`` `a` `` and ` ` and `b", "`a` and   and `b"),
        ("`a``b` ``c` d``", "a``b c` d"),
        ("*a* **b** ***c*** _d_ __e__", "a b c d e"),
        ("~~a~~ ~b~", "a b"),
        ("about_Comments a__b_c `d_e`", "about_Comments a__b_c d_e"),
        ("about_Comments _g_h_", "about_Comments g_h"),
        ("snake_case 2 * 3 * 4 ~", "snake_case 2 * 3 * 4 ~"),
        ("[a *b*](c 'd') e", "a b e"),
        ("![a `b` [c](d)](e) f", "a b c f"),
        ("[![Build](x.svg)](y) Project", "Build Project"),
        ("a <b>c</b> <a id='x'></a>d<!-- e -->", "a c d"),
        ("<http://a.b> www.c.d", "http://a.b www.c.d"),
        ("a &amp; b &copy; &#65; &nope;", "a & b © A &nope;"),
        ("\\*a\\* \\\\ \\b", "*a* \\ \\b"),
        ("[a][b] [c] [d][]", "a c d"),
        ("[a [b] c]", "[a b c]"),
        ("[ ] []", "[ ] []"),
        ("a[^1] b[^long note]", "a b[^long note]"),
        ("a\nb  \nc\\\nd", "a b c d"),
        ("a\\|b", "a|b"),
        ("\udcff *a*", "\udcff a"),
        ("", ""),
    ],
)
def test_markup_is_removed_and_its_text_kept(content: str, expected: str) -> None:
    assert render_text(content) == expected


def test_deep_nesting_is_rendered() -> None:
    assert render_text("![" * 5_000 + "a" + "](b)" * 5_000) == "a"
