"""Edits one after the other are the same as their composition at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.text.edit import EditList, TextEdit, compose
from mdplan.text.lines import Span


@st.composite
def edit_lists(draw: st.DrawFn, length: int) -> EditList:
    bounds = sorted(draw(st.lists(st.integers(0, length), max_size=8)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    edits = [TextEdit(Span(start, end), draw(st.text("xyz", max_size=3))) for start, end in pairs]
    found = EditList.of(edits)
    return found if isinstance(found, EditList) else EditList()


@pytest.mark.requirement("text-4")
@given(st.data())
def test_composed_edits_give_what_they_give_one_after_the_other(data: st.DataObject) -> None:
    base = data.draw(st.text("abcdef", max_size=20))
    first = data.draw(edit_lists(len(base)))
    middle = first.apply(base)
    then = data.draw(edit_lists(len(middle)))

    composed = compose(first, then, len(base))

    assert composed.apply(base) == then.apply(middle)
    assert EditList.of(composed) == composed


@given(st.data())
def test_offset_that_maps_to_the_result_is_unmapped_to_itself(data: st.DataObject) -> None:
    base = data.draw(st.text("abcdef", max_size=20))
    edits = data.draw(edit_lists(len(base)))
    for offset in range(len(base) + 1):
        mapped = edits.map_offset(offset, after=True)
        inside = any(span.start < offset <= span.end for span in (edit.span for edit in edits))
        if mapped is not None and not inside and all(edit.span.start != offset for edit in edits):
            assert edits.unmap_offset(mapped) == offset
