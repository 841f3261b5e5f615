"""Laws of review: the shown diff equals the changes of the plan."""

import html
import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.markdown.html import safe_html
from mdplan.review.lines import MarkedText, Pieces, WordMarks
from mdplan.review.plan_review import ReviewedLine
from mdplan.text.visible import escaped, is_hidden
from mdplan.web.diff import line_html
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.strategies import characters

WORDS = st.sampled_from(
    ["a", "b", " ", "  ", "\t", "ab", ".", "é", "e\u0301", "漢", "字", "\r", "<b>", "👩\u200d🚀"]
)

LINES = st.lists(st.lists(WORDS, max_size=12).map("".join), max_size=6)


def joined(lines: Sequence[Pieces], *, changed: Sequence[bool] = (True, False)) -> list[str]:
    """The text of each line, or of its pieces of one kind."""
    return ["".join(piece.text for piece in line if piece.changed in changed) for line in lines]


@given(LINES, LINES)
def test_marked_pieces_join_to_the_lines(old: list[str], new: list[str]) -> None:
    old_pieces, new_pieces = WordMarks().of(old, new)

    assert joined(old_pieces) == old
    assert joined(new_pieces) == new
    assert all(piece.text for line in (*old_pieces, *new_pieces) for piece in line)


@pytest.mark.requirement("review-1")
@given(LINES, LINES)
def test_unmarked_words_are_equal_on_both_sides(old: list[str], new: list[str]) -> None:
    old_pieces, new_pieces = WordMarks().of(old, new)

    kept, kept_of_new = (joined(pieces, changed=[False]) for pieces in (old_pieces, new_pieces))
    assert "".join(kept) == "".join(kept_of_new)


@given(LINES)
def test_equal_texts_have_no_marks(lines: list[str]) -> None:
    assume("".join(lines).strip())
    for pieces in WordMarks().of(lines, lines):
        assert not any(piece.changed for line in pieces for piece in line)


@given(LINES.filter(any))
def test_lines_without_counterpart_are_marked_completely(lines: list[str]) -> None:
    for pieces in (WordMarks().of(lines, [])[0], WordMarks().of([], lines)[1]):
        assert all(piece.changed for line in pieces for piece in line)


@given(st.lists(st.sampled_from(["one", "two", "three", "four"]), min_size=4, max_size=12), st.data())
def test_replaced_word_is_the_only_mark(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:at], "other", *words[at + 1 :]]

    old, new = WordMarks().of([" ".join(words)], [" ".join(changed)])

    assert joined(old, changed=[True]) == [words[at]]
    assert joined(new, changed=[True]) == ["other"]


@given(st.text(alphabet="abc \u0301\u200d漢\n", max_size=40))
def test_marks_never_split_a_character_from_its_accents(text: str) -> None:
    lines = text.split("\n")
    pieces, _ = WordMarks().of(lines, ["b a"])

    for line in pieces:
        assert not any(re.match("[\u0301\u200d]", piece.text) for piece in line[1:])


# --- The page shows any text of files completely, and none of it as markup.

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
