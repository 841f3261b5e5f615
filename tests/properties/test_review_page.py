"""The page shows any text of files completely, and none of it as markup."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.html import safe_html
from mdplan.review.lines import MarkedText
from mdplan.review.plan_review import ReviewedLine
from mdplan.text.visible import escaped, is_hidden
from mdplan.web.diff import line_html
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.strategies import characters

TEXT = st.text(characters("<>&\"'/= \tab\u202e\x1b\u200b\u00e9\U0001f600", exclude_characters="\n"))
LINE_TAGS = re.compile(r"</?(?:ins|del)>|<i class=\"(?:blank|tab)\">|</i>|<b class=\"(?:hidden|end)\">|</b>")
BLOCKS = "p|ul|ol|li|pre|code|blockquote|table|thead|tbody|tr|th|td|em|strong|s|br|hr|span"
MARKDOWN_TAG = re.compile(rf"</?(?:{BLOCKS})(?: start=\"\d+\"| class=\"md-[a-z]+( md-h\d)?\")? ?/?>")


@given(st.lists(st.tuples(TEXT, st.booleans())), st.sampled_from(" -+"), st.booleans())
def test_line_without_its_marks_is_the_text(
    pieces: list[tuple[str, bool]], sign: str, shows_blanks: bool
) -> None:
    line = ReviewedLine(
        sign=sign,
        pieces=tuple(MarkedText(text, changed and sign != " ") for text, changed in pieces),
        line_end="\n",
        old_line=1,
        new_line=1,
    )
    shown = str(line_html(line, shows_blanks=shows_blanks, shows_end=False))
    assert html.unescape(LINE_TAGS.sub("", shown)) == escaped(line.text)
    assert "<" not in LINE_TAGS.sub("", shown)


@given(hostile_documents() | TEXT)
def test_rendered_text_has_only_tags_of_markdown(text: str) -> None:
    shown = safe_html(text.encode("utf-8", "replace").decode())
    if shown is not None:
        assert "<" not in MARKDOWN_TAG.sub("", shown)
        assert not any(map(is_hidden, shown))
