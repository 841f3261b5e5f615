"""Batches derived from two versions: they make the new one, and refuse where their places have changed."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.outline import Outline
from mdplan.memory import plan_in_memory
from mdplan.planning.replan import missing_preconditions
from mdplan.planning.replay import PlannedBatch
from mdplan.requests.batch import read_batch
from mdplan.text.source import Source
from tests.benchmarks.replay.derive import Derivation, derive_batch
from tests.properties.hostile_markdown import hostile_documents
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


LONG = "and so on, with many more words in this one line, so that no other edit of it is as short"
NOTES = "# A\n\nOne line of text.\n\n## B\n\n- [ ] It has water.\n\nLast words.\n"
LINES = CASE_TABLES.value("LINES", tuples=True)


def derived(old: str, new: str) -> Derivation | None:
    outlines = (Outline(Source.from_text(text)) for text in (old, new))
    return derive_batch(*outlines, {"file": "a.md"})


def later_text(old: str, new: str, later: str) -> str | None:
    """Apply the edits from `old` to `new` to `later`; return None if they are refused."""
    planned = plan_in_memory(read_batch(derived(old, new).batch), Outline(Source.from_text(later)))
    return planned.files[0].result.source.text if isinstance(planned, PlannedBatch) else None


def unicode_text(text: str) -> bool:
    """Lone surrogates stand for bytes of other encodings."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


@given(
    st.tuples(*[st.lists(st.sampled_from(LINES), max_size=12).map("".join)] * 2)
    | st.tuples(*[hostile_documents().filter(unicode_text)] * 2)
)
def test_derived_batch_makes_the_new_version(versions: tuple[str, str]) -> None:
    old, new = (Outline(Source.from_text(text)) for text in versions)
    found = derive_batch(old, new, {"file": "a.md"})

    # Equal versions need no edits, and no edits can write another byte order mark.
    assume(found is not None)
    planned = plan_in_memory(read_batch(found.batch), old)
    assert isinstance(planned, PlannedBatch)
    assert planned.files[0].result.source.data == new.source.data
    assert missing_preconditions(planned.files) == ()


@CASE_TABLES.parametrize("before", "after", "op")
def test_small_change_is_one_guarded_edit(before: str, after: str, op: str) -> None:
    batch = derived(NOTES, NOTES.replace(before, after)).batch

    assert batch["op"] == op
    assert "baseSha256" not in batch


def test_word_that_changes_everywhere_is_one_edit() -> None:
    old = "".join(f"{number}: the kettle number {number}\n" for number in range(9))
    edit = derived(old, old.replace("kettle", "boiler")).batch

    assert (edit["pattern"], edit["expectedMatchCount"]) == ("kettle", 9)


def test_change_that_needs_an_override_includes_it() -> None:
    found = derived("text\nmore\n", "text\n---\nmore\n")

    assert found.batch["allowOutlineChange"] is True
    assert found.refusals == {Code.OUTLINE_CHANGED}


def test_ambiguous_place_is_guarded_by_the_file_hash() -> None:
    batch = derived("a\n" * 2000, "a\n" * 999 + "b\n" + "a\n" * 1001).batch

    assert len(batch["baseSha256"]) == 16


@CASE_TABLES.parametrize("old", "new", "later")
def test_edit_applies_to_a_version_with_the_same_place(old: str, new: str, later: str) -> None:
    assert later_text(old, new, later) == later.replace(old, new)


@CASE_TABLES.parametrize("old", "new", "later")
def test_place_at_the_edge_of_a_block_survives_changes_beyond_it(old: str, new: str, later: str) -> None:
    [written] = set(new.splitlines()) - set(old.splitlines())
    result = later_text(old, new, later)

    assert result is not None
    assert f"{written}\n" in result
    assert result.replace(f"{written}\n", "", 1) == later


@pytest.mark.parametrize(
    ("old", "new", "later"),
    [
        # An item moved to another section.
        (
            "## A\n\n- one\n- two\n\n\n## B\n\n- three\n",
            "## A\n\n- one\n- two\n- new\n\n\n## B\n\n- three\n",
            "## A\n\n- one\n\n\n## B\n\n- three\n- two\n\n\n## C\n",
        ),
        # The text before the new lines has changed.
        (
            "# A\n\nText of it.\n\n# B\n\nMore.\n",
            "# A\n\nText of it.\n\n# New\n\nWords.\n\n# B\n\nMore.\n",
            "# A\n\nText of it.\n\nMore text of it.\n\n# B\n\nMore.\n",
        ),
        (
            "# A\n\n## Contents\n- one\n",
            "# A\n\nNew text.\n\n## Contents\n\n- one\n",
            "# A\n\n# Other\n\n## Contents\n- one\n",
        ),
        # The edit is done: its pattern must not be found in its own result.
        (
            f"see [the operator][[nullary-coalescing-operator] here {LONG}\n",
            f"see [the operator][nullary-coalescing-operator] here {LONG}\n",
            f"see [the operator][nullary-coalescing-operator] here {LONG}\n",
        ),
        (
            f"- `one` - code locations in debuginfo are collapsed only if {LONG}\n",
            f"- `one` --- code locations in debuginfo are collapsed only if {LONG}\n",
            f"- `one` --- code locations in debuginfo are collapsed only if {LONG}\n",
        ),
    ],
)
def test_edit_is_refused_if_its_place_has_changed(old: str, new: str, later: str) -> None:
    assert later_text(old, new, later) is None
