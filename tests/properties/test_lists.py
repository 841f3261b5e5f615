"""Laws of `sort_list`."""

import re

import cmarkgfm
from hypothesis import given
from hypothesis import strategies as st

from mdplan.edits import ReplaceMatch
from mdplan.markdown.list_edits import sort_items
from mdplan.markdown.outline import Outline
from mdplan.memory import Document
from mdplan.text.edit import EditList
from mdplan.text.source import Source

_WORDS = st.sampled_from(["a", "B", "b c", "[x](y)", "*z*", ""])
_NESTED = st.sampled_from(["", "\n  - nested", "\n\n  more", "\n  ```\n  code", "\n  lazy\ntext"])
_ITEMS = st.lists(st.builds(lambda word, rest: f"- {word or 'w'}{rest}", _WORDS, _NESTED), min_size=1)


@given(_ITEMS, st.booleans())
def test_sorted_list_has_its_items_in_order(items: list[str], descending: bool) -> None:
    text = "\n".join(items) + "\n"
    expected = sorted(items, key=_text, reverse=descending)

    assert _sorted(text, descending=descending) == "\n".join(expected) + "\n"


@given(_ITEMS, st.booleans())
def test_sorted_list_stays_as_it_is(items: list[str], descending: bool) -> None:
    once = _sorted("\n".join(items) + "\n", descending=descending)

    assert _sorted(once, descending=descending) == once


def _text(item: str) -> str:
    (listing,) = Outline(Source.from_text(item)).lists.outermost
    return listing.items[0].text


def _sorted(text: str, *, descending: bool) -> str:
    outline = Outline(Source.from_text(text))
    (listing,) = outline.lists.outermost
    edits = sort_items(outline, listing, lambda item: item.text, descending=descending)
    return EditList(edits).apply(text)


# --- Laws of `softBreaks`: where lines are wrapped decides nothing, and nothing but the words changes.

BREAKING_WORDS = st.sampled_from(
    ["tea", "Kettle", "Pro", "Kettle Pro", "pot,", "*hot*", "10", "[a](b.md)", "Pro."]
)

_PREFIXES = st.sampled_from(
    [("", ""), ("> ", "> "), ("> ", ""), ("- ", "  "), ("1. ", "   "), ("> - ", ">   ")]
)

_NEW = st.sampled_from(["Steam", "Steam One", "One Two Three", "x - y", "x 1. y", "x # z"])


@st.composite
def paragraphs(draw: st.DrawFn) -> tuple[str, str]:
    """A paragraph on one line and the same wrapped, both in the same containers."""
    words = ["tea", *draw(st.lists(BREAKING_WORDS, min_size=1, max_size=12))]
    flat = " ".join(words)
    gaps = draw(st.lists(st.booleans(), min_size=flat.count(" "), max_size=flat.count(" ")))
    first, next_ = draw(_PREFIXES)
    pieces = flat.split(" ")
    wrapped = pieces[0] + "".join(
        (f"\n{next_}" if is_break else " ") + piece for is_break, piece in zip(gaps, pieces[1:], strict=True)
    )
    return f"{first}{flat}\n", f"{first}{wrapped}\n"


def replaced(text: str, new_text: str) -> str | None:
    """Return `text` with the name replaced; None if the plan is refused."""
    edit = ReplaceMatch(pattern="Kettle Pro", replacement=new_text, min_matches=0, soft_breaks=True)
    report = Document.from_text(text, name="a.md").apply(edit)
    return report.text if report.ok else None


def rendered(text: str) -> str:
    """The HTML of `text` with every run of white space as one blank."""
    return re.sub(r"\s+", " ", cmarkgfm.github_flavored_markdown_to_html(text))


@given(paragraphs(), _NEW)
def test_wrapped_and_unwrapped_text_render_the_same_after_the_edit(
    page: tuple[str, str], new_text: str
) -> None:
    flat, wrapped = page
    expected, found = replaced(flat, new_text), replaced(wrapped, new_text)

    if expected is not None and found is not None:
        assert rendered(found) == rendered(expected)


@given(paragraphs())
def test_line_breaks_stay_when_the_word_count_is_the_same(page: tuple[str, str]) -> None:
    _, wrapped = page
    found = replaced(wrapped, "Steam One")

    assert found is not None
    words = [[len(line.split()) for line in text.splitlines()] for text in (found, wrapped)]
    assert words[0] == words[1]
