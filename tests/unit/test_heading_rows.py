"""What headings say, read in bulk: as each alone would be rendered."""

from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.markdown.blocks.heading_rows import HeadingTexts, read_heading
from mdplan.markdown.blocks.rendered_text import one_line, render_text
from mdplan.markdown.section_id import folded


@given(st.text("aB ß`_*<&[]\\\t\xa0!").map(str.strip))
@example("`a` b `c d`")
@example("`a``b`")
@example("` a`")
@example("a  b")
@example("A\xa0B")
def test_names_are_those_of_the_rendered_text(content: str) -> None:
    texts = HeadingTexts()
    texts.add(1, 0, "#", content)

    rendered = render_text(content)
    assert (texts.rendered, texts.titles) == ([rendered], [one_line(rendered)])
    assert texts.folded == [folded(one_line(rendered))]


@given(st.text("aB ß`_*<&[]\\\t\xa0!#"))
@example(" a ## ")
@example("")
@example("#")
@example("a#")
def test_a_heading_of_plain_text_is_read_as_any_other(rest: str) -> None:
    source = f"## {rest}"
    level, markup, content = read_heading(source)
    texts, expected = HeadingTexts(), HeadingTexts()
    texts.add_roots([source])
    expected.add(level, 0, markup, content)

    assert texts.is_like(expected)
    assert (texts.rendered, texts.titles, texts.folded) == (
        expected.rendered,
        expected.titles,
        expected.folded,
    )
