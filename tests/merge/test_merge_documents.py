"""Merges of documents: what is merged, and what is left to a person."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.cli.commands.merge import merge_files
from mdplan.merge.documents import Merge, merge_documents

CASES = Path(__file__).parents[2].parent / "shared" / "merges"
LIST = "# Log\n\n## Unreleased\n\n- alpha\n- beta\n\n## 1.0\n\n- old\n"
GROUPS = LIST.replace("## Unreleased\n", "## Unreleased\n\n### Added\n")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("- a\n", "- a\n- left\n", "- a\n- right one\n", "- a\n- left\n- right one\n"),
        (
            "| A | B |\n|---|---|\n| x | 1 |\n| y | 1 |\n",
            "| A | B |\n|---|---|\n| x | 2 |\n| y | 1 |\n",
            "| A | B |\n|---|---|\n| x | 1 |\n| y | 3 |\n",
            "| A | B |\n|---|---|\n| x | 2 |\n| y | 3 |\n",
        ),
        (
            "| A | B | C |\n|---|---|---|\n| x | 1 | 1 |\n",
            "| A | B | C |\n|---|---|---|\n| x | 2 | 1 |\n",
            "| A | B | C |\n|---|---|---|\n| x | 1 | 3 |\n",
            "| A | B | C |\n|---|---|---|\n| x | 2 | 3 |\n",
        ),
        ("One. Two. Three.\n", "Uno. Two. Three.\n", "One. Two. Tre.\n", "Uno. Two. Tre.\n"),
        ("x\n\n[a]: a\n", "x\n\n[a]: a\n[b]: b\n", "x\n\n[a]: a\n[c]: c\n", "x\n\n[a]: a\n[b]: b\n[c]: c\n"),
        ("x\n", "x\n\n## Ours\n\no\n", "x\n\n## Theirs\n\nt\n", "x\n\n## Ours\n\no\n\n## Theirs\n\nt\n"),
        # Ours adds a section with the path of one below it, in which theirs adds an item.
        (
            "# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n",
            "# A\n\n## B\n\nw\n\n# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n",
            "# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n- z\n",
            "# A\n\n## B\n\nw\n\n# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n- z\n",
        ),
    ],
)
def test_independent_changes_are_merged(base: str, ours: str, theirs: str, result: str) -> None:
    assert merge_documents(base, ours, theirs) == Merge(result, ())


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("One sentence.\n", "Another sentence.\n", "One phrase.\n"),
        ("- a\n", "- a\n- [x](http://x) mine\n", "- a\n- [x](http://x) yours\n"),
        ("- [x](http://x) one\n", "", "- [x](http://x) two\n"),
        # A release that ours cut, while theirs adds to what was not released.
        (
            LIST,
            LIST.replace("## Unreleased\n", "## Unreleased\n\n## 1.1\n"),
            LIST.replace("- beta\n", "- beta\n- new\n"),
        ),
        (LIST, LIST.replace("Unreleased", "1.1"), LIST.replace("- beta\n", "- beta\n- new\n")),
        (GROUPS, GROUPS.replace("Unreleased", "1.1"), GROUPS.replace("- beta\n", "- beta\n- new\n")),
        (
            GROUPS,
            GROUPS.replace("## Unreleased\n", "## Unreleased\n\n## 1.1\n"),
            GROUPS.replace("- beta\n", "- beta\n- new\n"),
        ),
        # An item that says that there is nothing.
        ("## Fixes\n", "## Fixes\n\n- None.\n", "## Fixes\n\n- a crash\n"),
        # A link to a heading that ours renamed.
        ("# A\n\nx\n\n## Old\n\ny\n", "# A\n\nx\n\n## New\n\ny\n", "# A\n\nx [o](#old)\n\n## Old\n\ny\n"),
    ],
)
def test_what_depends_on_the_other_side_is_a_conflict(base: str, ours: str, theirs: str) -> None:
    assert not merge_documents(base, ours, theirs).is_clean
    assert not merge_documents(base, theirs, ours).is_clean


def test_markers_carry_the_path_of_the_section() -> None:
    found = merge_documents("# A\n\n## B\n\nold\n", "# A\n\n## B\n\nmine\n", "# A\n\n## B\n\nyours\n")
    assert "<<<<<<< ours: A / B\nmine\n=======\nyours\n>>>>>>> theirs: A / B\n" in found.text
    assert found.conflicts[0].path == ("A", "B")


_BLOCKS = st.lists(
    st.sampled_from(
        ["# A", "## B", "## C", "- one", "- two", "text", "more text", "| a | b |", "```", "[x]: y"]
    ),
    max_size=8,
).map("\n\n".join)


@given(_BLOCKS, _BLOCKS)
def test_one_unchanged_side_gives_the_other(base: str, side: str) -> None:
    assert merge_documents(base, base, side).text == side
    assert merge_documents(base, side, base).text == side
    assert merge_documents(base, side, side).text == side


@given(_BLOCKS, _BLOCKS, _BLOCKS)
def test_swapped_sides_conflict_alike_and_no_line_is_lost(base: str, ours: str, theirs: str) -> None:
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert found.is_clean == swapped.is_clean
    if found.is_clean:
        assert not _unaccounted(base, ours, theirs, found.text)


def _unaccounted(base: str, ours: str, theirs: str, result: str) -> list[str]:
    """Lines that occur less often than both changes say, or more often; shares no code with the merge."""
    counts = [
        Counter(line for line in text.splitlines() if line.strip()) for text in (base, ours, theirs, result)
    ]
    old, own, other, new = counts
    wrong: list[str] = []
    for line in {*old, *own, *other, *new}:
        changes = own[line] - old[line], other[line] - old[line]
        together = old[line] + sum(changes)
        apart = old[line] + (max(changes) if min(changes) > 0 else min(changes))
        allowed = {together, apart} if changes[0] * changes[1] > 0 else {together}
        if not min(allowed) <= new[line] <= max(allowed):
            wrong.append(line)
    return wrong


@cache
def _cases() -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((CASES / "index.json").read_text())
    return found


@pytest.mark.slow
@pytest.mark.skipif(not CASES.exists(), reason="the real merges are not on this machine")
def test_real_merges_have_the_measured_rates() -> None:
    clean: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for case in _cases():
        *files, human = (CASES / case["id"] / f"{name}.md" for name in ("base", "ours", "theirs", "human"))
        found = merge_files([file.read_bytes() for file in files], tuple(map(str, files)), 7)
        clean[case["git"]] += found.is_clean
        equal[case["git"]] += found.text.encode(errors="surrogateescape") == human.read_bytes()
    # docs/how-to/merge-branches.md quotes these.
    assert (clean["clean"], equal["clean"]) == (122, 122)
    assert (clean["conflict"], equal["conflict"]) == (40, 15)
