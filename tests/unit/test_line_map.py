"""How line numbers shift: every line outside of the changes is found where the map says."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from mdplan.text.diff import ChangedLines, KeptLines, changed_lines, kept_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from tests.properties.strategies import edit_lists, texts


def changes_of(base: str, *edits: TextEdit) -> list[ChangedLines]:
    edit_list = EditList.of(edits)
    assert isinstance(edit_list, EditList)
    return list(changed_lines(LineIndex(base), edit_list, LineIndex(edit_list.apply(base))))


def replaced(base: str, old: str, new: str) -> list[ChangedLines]:
    """Changes where the only `old` in `base` becomes `new`."""
    assert base.count(old) == 1
    start = base.index(old)
    return changes_of(base, TextEdit(Span(start, start + len(old)), new))


few_lines = texts("ab\n\r") | texts()


@given(data=st.data(), base=few_lines)
def test_kept_lines_are_where_the_map_says(data: DataObject, base: str) -> None:
    """Kept and changed lines together are all lines, and every kept one reads the same."""
    edits = data.draw(edit_lists(base, few_lines))
    old, new = LineIndex(base), LineIndex(edits.apply(base))

    changes = list(changed_lines(old, edits, new))
    kept = list(kept_lines(changes, old.count))

    for start, end, shift in kept:
        for line in range(start, end):
            assert new.content(line + shift) == old.content(line)
    old_lines = [line for start, end, *_ in (*kept, *changes) for line in range(start, end)]
    new_lines = [line + shift for start, end, shift in kept for line in range(start, end)]
    new_lines += [line for change in changes for line in range(change.new_start, change.new_end)]
    assert sorted(old_lines) == list(range(1, old.count + 1))
    assert sorted(new_lines) == list(range(1, new.count + 1))


@given(data=st.data(), base=few_lines)
def test_changes_are_separate_and_not_empty(data: DataObject, base: str) -> None:
    """Between two changes stands a kept line, and none is empty on both sides."""
    edits = data.draw(edit_lists(base, few_lines))

    changes = list(changed_lines(LineIndex(base), edits, LineIndex(edits.apply(base))))

    for before, after in pairwise(changes):
        assert before.old_end < after.old_start
        assert before.new_end < after.new_start
    assert all(change.old_end > change.old_start or change.new_end > change.new_start for change in changes)


@given(data=st.data(), base=few_lines)
def test_edits_that_restore_the_text_change_no_line(data: DataObject, base: str) -> None:
    """What is touched and stays the same is kept."""
    spans = [edit.span for edit in data.draw(edit_lists(base, few_lines))]

    assert changes_of(base, *(TextEdit(span, base[span.start : span.end]) for span in spans)) == []


def test_changed_word_changes_only_its_line() -> None:
    """Its number stays, and so do all others."""
    changes = replaced("a\nbcd\ne\n", "c", "x")

    assert changes == [ChangedLines(2, 3, 2, 3)]
    assert list(kept_lines(changes, 3)) == [KeptLines(1, 2, 0), KeptLines(3, 4, 0)]


def test_rewritten_section_keeps_its_repeated_lines() -> None:
    """One edit of four lines, of which one differs."""
    assert replaced("a\nb\nc\nd\n", "a\nb\nc\nd\n", "a\nb\nx\nd\n") == [ChangedLines(3, 4, 3, 4)]


def test_line_feed_after_a_lone_carriage_return_joins_no_lines() -> None:
    """CR and LF become one line end: the number of lines stays."""
    assert changes_of("a\rb\rc", TextEdit.insert(2, "\n")) == []
