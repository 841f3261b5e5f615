"""Names of headings."""

from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.markdown.blocks.heading_rows import HeadingTexts
from mdplan.markdown.blocks.rendered_text import one_line, render_text, text_for_anchor
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
    assert (texts.anchor_texts, texts.titles) == ([text_for_anchor(content)], [one_line(rendered)])
    assert texts.folded == [folded(one_line(rendered))]
