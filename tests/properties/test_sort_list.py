"""Laws of `sort_list`."""

from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.list_edits import sort_items
from mdplan.markdown.outline import Outline
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
    assert isinstance(edits, tuple), edits
    return EditList(edits).apply(text)
