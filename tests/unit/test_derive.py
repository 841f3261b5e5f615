"""Batches derived from two versions: which edits they have, and what they refuse."""

import pytest

from mdplan.derive.derivation import Derivation, derive_batch
from mdplan.diagnostics import Code
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile, plan_in_memory
from mdplan.planning.replan.plan_result import PlannedBatch
from mdplan.requests.batch_reader import read_batch
from mdplan.text.source import Source

LONG = "and so on, with many more words in this one line, so that no other edit of it is as short"
NOTES = "# A\n\nOne line of text.\n\n## B\n\n- [ ] It has water.\n\nLast words.\n"


def derived(old: bytes, new: bytes) -> Derivation | tuple:
    sources = [Source.decode(data) for data in (old, new)]
    return derive_batch(*map(Outline, sources), RequestedFile("a.md", None, None))


@pytest.mark.parametrize(
    ("before", "after", "ops"),
    [
        ("One line of text.", "One line of words.", ["replace_lines"]),
        ("- [ ] It", "- [x] It", ["set_task"]),
        ("One line of text.\n", "One line of text.\nAnother one.\n", ["insert_lines"]),
        ("# A\n", "# A\n\nFirst words, and many of them, so that they are not repeated.\n", ["insert_lines"]),
        ("\nLast words.\n", "", ["delete_lines"]),
        ("Last words.\n", "Last words.", ["apply_diff"]),
        ("Last words.\n", "Last words.\r\n", ["apply_diff"]),
    ],
)
def test_small_change_is_one_guarded_edit(before: str, after: str, ops: list[str]) -> None:
    batch = derived(NOTES.encode(), NOTES.replace(before, after).encode()).batch

    assert [batch["op"]] == ops
    assert "baseSha256" not in batch


def test_deleted_section_is_guarded_by_its_hash() -> None:
    section = "".join(f"Line {number} of a long section.\n" for number in range(30))
    old = f"# A\n\nText.\n\n## B\n\n{section}\n## C\n\nEnd.\n"
    edit = derived(old.encode(), b"# A\n\nText.\n\n## C\n\nEnd.\n").batch

    assert (edit["op"], edit["heading"], len(edit["sectionSha256"])) == ("delete_section", "B", 16)


def test_word_that_changes_everywhere_is_one_edit() -> None:
    old = "".join(f"{number}: the kettle number {number}\n" for number in range(9))
    edit = derived(old.encode(), old.replace("kettle", "boiler").encode()).batch

    assert (edit["pattern"], edit["expectedMatchCount"]) == ("kettle", 9)


def test_derived_change_that_needs_an_override_includes_it() -> None:
    found = derived(b"text\nmore\n", b"text\n---\nmore\n")

    assert found.batch["allowOutlineChange"] is True
    assert found.refusals == {Code.OUTLINE_CHANGED}


def test_ambiguous_place_is_guarded_by_the_file_hash() -> None:
    batch = derived(b"a\n" * 2000, b"a\n" * 999 + b"b\n" + b"a\n" * 1001).batch

    assert len(batch["baseSha256"]) == 16


def test_inserted_text_is_guarded_on_both_sides() -> None:
    old = b"This applies to each `struct`, to each `enum`, and to each `union` alike, as was said before.\n"
    edit = derived(old, old.replace(b"`enum`,", b"`enum`s,")).batch
    before, _, after = edit["pattern"].partition("`,")

    assert edit["op"] == "replace_match"
    assert before.strip()
    assert after.strip()


def test_final_newline_can_be_added() -> None:
    found = derived(b"# A\n\nOne line of text.", b"# B\n\nOne line of text.\n")

    assert isinstance(found, Derivation)


@pytest.mark.parametrize(
    ("old", "new", "later"),
    [
        ("a\n\nb\n", "a\n\nb\nmore\n", "new\n\na\n\nb\n"),
        ("a\n\nb\n", "a\n\nmore\nb\n", "new\n\na\n\nb\n"),
        ("a\n\nb\n\nc\n", "a\nc\n", "new\n\na\n\nb\n\nc\n"),
        # What follows the blank lines behind a block is no part of its end.
        ("- a\n- b\n\n\n# C\n", "- a\n- b\n- c\n\n\n# C\n", "- a\n- b\n\n\n# C\n\nnew\n"),
        ("# A\n\ntext\n", "rule\n# A\n\ntext\n", "# A\n\ntext\n\nnew\n"),
    ],
)
def test_change_next_to_empty_lines_or_the_end_needs_no_file_hash(old: str, new: str, later: str) -> None:
    batch = derived(old.encode(), new.encode()).batch
    planned = plan_in_memory(read_batch(batch), Outline(Source.from_text(later)))

    assert "baseSha256" not in batch
    assert isinstance(planned, PlannedBatch)
    assert planned.files[0].result.source.text == later.replace(old, new)


def test_unchanged_heading_is_not_rewritten() -> None:
    rule = "r[linkage.foreign]"
    old = f"# A\n\nText of it.\n\n## Mixed\n\n{rule}\n\nMore text.\n\n### Below\n\nEnd.\n"
    found = derived(old.encode(), old.replace(f"## Mixed\n\n{rule}\n", f"{rule}\n## Mixed\n").encode())

    assert found.refusals == frozenset()
    assert "allowOutlineChange" not in found.batch


def test_nearby_changes_are_merged_into_one_edit_if_smaller() -> None:
    old = "".join(f"{letter}{letter}{letter}\n\n" for letter in "abcdefgh")
    batch = derived(old.encode(), old.replace("bbb", "BB").replace("ccc", "CC").encode()).batch

    assert batch["lines"].startswith("3:")
    assert batch["markdown"] == "BB\n\nCC"


@pytest.mark.parametrize(
    ("before", "after", "later"),
    [
        # A mark that goes, so that the rest of the pattern is in the result too.
        ("see [the operator][[nullary-coalescing-operator] here", "][[", "]["),
        # A run of marks that got longer.
        ("- `one` - code locations in debuginfo are collapsed only if", " - code", " --- code"),
    ],
)
def test_derived_edit_does_not_apply_to_its_own_result(before: str, after: str, later: str) -> None:
    done = before.replace(after, later)
    batch = derived(f"{before} {LONG}\n".encode(), f"{done} {LONG}\n".encode()).batch

    assert batch["op"] == "replace_match"
    assert isinstance(plan_in_memory(read_batch(batch), Outline(Source.from_text(f"{done} {LONG}\n"))), tuple)


def test_part_of_a_row_names_its_section() -> None:
    rows = [f"| | [`Thing {number}`][thing-{number}] | {LONG} {LONG} |" for number in range(9)]
    old = "## Stage 1\n\n| a | b | c |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    batch = derived(old.encode(), old.replace("| | [`Thing 4`]", "| :rocket: | [`Thing 4`]").encode()).batch

    assert batch["op"] == "replace_match"
    assert batch["heading"] == "Stage 1"


def test_lines_inserted_next_to_a_change_are_guarded_on_the_other_side() -> None:
    old = "# A\n\n## Contents\n- one\n"
    batch = derived(old.encode(), b"# A\n\nNew text.\n\n## Contents\n\n- one\n").batch
    split = "# A\n\n# Other\n\n## Contents\n- one\n"

    assert isinstance(plan_in_memory(read_batch(batch), Outline(Source.from_text(split))), tuple)


@pytest.mark.parametrize(
    ("old", "new", "later"),
    [
        # The next section, or the block before, is another.
        ("a\nb\n\n## C\n", "a\nb\nc\n\n## C\n", "a\nb\n\n## Other\n"),
        ("one\n\na\nb\n", "one\n\nc\na\nb\n", "two\n\na\nb\n"),
        ("## A\n\n- b\n\n## C\n", "## A\n\n- b\n- c\n\n## C\n", "## A\n\n- b\n\n## Other\n"),
        # Only the lines behind the place occur once.
        ("one\n\n```\ncode\n```\n", "one\n\nsee\n```\ncode\n```\n", "two\n\n```\ncode\n```\n"),
    ],
)
def test_place_at_the_edge_of_a_block_survives_changes_beyond_it(old: str, new: str, later: str) -> None:
    edit = derived(old.encode(), new.encode()).batch
    planned = plan_in_memory(read_batch(edit), Outline(Source.from_text(later)))
    [written] = set(new.splitlines()) - set(old.splitlines())

    assert isinstance(planned, PlannedBatch)
    result = planned.files[0].result.source.text
    assert result.replace(f"{written}\n", "", 1) == later
    assert f"{written}\n" in result


def test_item_is_not_added_after_one_that_moved_to_another_section() -> None:
    old = "## A\n\n- one\n- two\n\n\n## B\n\n- three\n"
    batch = derived(old.encode(), old.replace("- two\n", "- two\n- new\n").encode()).batch
    later = "## A\n\n- one\n\n\n## B\n\n- three\n- two\n\n\n## C\n"

    assert isinstance(plan_in_memory(read_batch(batch), Outline(Source.from_text(later))), tuple)


def test_new_section_is_guarded_by_what_follows_it() -> None:
    old = "# A\n\nText of it.\n\n# B\n\nMore.\n"
    batch = derived(old.encode(), old.replace("# B", "# New\n\nWords.\n\n# B").encode()).batch
    later = old.replace("Text of it.\n", "Text of it.\n\nMore text of it.\n")
    planned = plan_in_memory(read_batch(batch), Outline(Source.from_text(later)))

    assert isinstance(planned, tuple)


def test_repeated_lines_are_located_by_their_neighbours() -> None:
    badge = "[![Badge](https://example.org/badge.svg)](https://example.org)"
    old = f"# A\n\n{badge}\n\nText.\n\n```md\n{badge}\n```\n\nThe end.\n"
    batch = derived(old.encode(), old.replace(f"{badge}\n```", f"{badge}\n{badge}2\n```").encode()).batch
    later = old.replace("The end.", "Other words.\n\nThe end.")
    planned = plan_in_memory(read_batch(batch), Outline(Source.from_text(later)))

    assert isinstance(planned, PlannedBatch)
    assert f"{badge}\n{badge}2\n```" in planned.files[0].result.source.text


def test_pattern_stays_in_one_line_where_it_can() -> None:
    old = b"The lifetime here must not be a reserved keyword.\n\n> **Edition differences**: none.\n"
    batch = derived(old, old.replace(b"keyword.", b"keyword except the ones that are listed above.")).batch

    assert "\n" not in batch["pattern"]


def test_byte_order_mark_cannot_be_derived() -> None:
    [problem] = derived(b"text\n", "\ufefftext\n".encode())

    assert (problem.code, "byte order mark" in problem.message) == (Code.INVALID_ARGUMENT, True)


@pytest.mark.slow
def test_large_file_is_derived_with_a_hunk_per_change() -> None:
    lines = [f"Line {number} of a large file, with some words in it.\n" for number in range(20_000)]
    changed = [line.upper() if number % 50 == 0 else line for number, line in enumerate(lines)]
    found = derived("".join(lines).encode(), "".join(changed).encode())

    assert isinstance(found, Derivation)
    assert found.hunks == 400
