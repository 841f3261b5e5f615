"""Batches derived from two versions: which edits they have, and what they refuse."""

import pytest

from mdplan.derive.derive import Derivation, derive_batch
from mdplan.diagnostics import Code
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.planning import RequestedFile
from mdplan.text.source import Source

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


def test_change_that_is_refused_by_default_has_the_override() -> None:
    found = derived(b"text\nmore\n", b"text\n---\nmore\n")

    assert found.batch["allowOutlineChange"] is True
    assert found.refusals == {Code.OUTLINE_CHANGED}


def test_place_that_nothing_tells_from_others_is_guarded_by_the_whole_file() -> None:
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
    assert len(found.batch["baseSha256"]) == 16


def test_byte_order_mark_cannot_be_derived() -> None:
    [problem] = derived(b"text\n", "\ufefftext\n".encode())

    assert (problem.code, "byte order mark" in problem.message) == (Code.INVALID_ARGUMENT, True)


def test_large_file_takes_seconds() -> None:
    lines = [f"Line {number} of a large file, with some words in it.\n" for number in range(20_000)]
    changed = [line.upper() if number % 50 == 0 else line for number, line in enumerate(lines)]
    found = derived("".join(lines).encode(), "".join(changed).encode())

    assert isinstance(found, Derivation)
    assert found.hunks == 400
