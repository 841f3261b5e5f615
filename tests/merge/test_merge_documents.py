"""Merges of documents: what is merged, and what is left to a person."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.cli.commands.merge import _result_of_git, merge_files
from mdplan.merge.documents import merge_documents
from mdplan.merge.lines import GitResult
from tests.merge.merge_check import misplaced, unaccounted
from tests.merge.real_merges import CASES, cases, of_bundles

LIST = "# Log\n\n## Unreleased\n\n- alpha\n- beta\n\n## 1.0\n\n- old\n"
GROUPS = LIST.replace("## Unreleased\n", "## Unreleased\n\n### Added\n")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("- a\n", "- a\n- left\n", "- a\n- right one\n", "- a\n- right one\n- left\n"),
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
        ("x\n\n[a]: a\n", "x\n\n[a]: a\n[b]: b\n", "x\n\n[a]: a\n[c]: c\n", "x\n\n[a]: a\n[c]: c\n[b]: b\n"),
        # A list in order stays in order.
        ("- a\n- d\n", "- a\n- b\n- d\n", "- a\n- c\n- d\n", "- a\n- b\n- c\n- d\n"),
        # Numbers count on.
        (
            "1. one\n2. two\n",
            "1. one\n2. two\n3. ours\n",
            "1. one\n2. two\n3. their text\n",
            "1. one\n2. two\n3. their text\n4. ours\n",
        ),
        # The box of a task, and its text.
        ("- [ ] task\n", "- [x] task\n", "- [ ] the task\n", "- [x] the task\n"),
        # Keys of front matter.
        (
            "---\na: 1\ntags:\n- x\n---\nz\n",
            "---\na: 2\ntags:\n- x\n- y\n---\nz\n",
            "---\na: 1\nb: 5\ntags:\n- x\n- w\n---\nz\n",
            "---\na: 2\nb: 5\ntags:\n- x\n- w\n- y\n---\nz\n",
        ),
        # A list in brackets.
        (
            "---\ntags: [a]\n---\nz\n",
            "---\ntags: [a, b]\n---\nz\n",
            "---\ntags: [a, c]\n---\nz\n",
            "---\ntags: [a, c, b]\n---\nz\n",
        ),
        # Ours moves a section, in which theirs adds an item.
        (
            "# A\n\n## B\n\n- b\n\n## C\n\n- c\n\n## D\n\nd\n",
            "# A\n\n## C\n\n- c\n\n## D\n\nd\n\n## B\n\n- b\n",
            "# A\n\n## B\n\n- b\n- bb\n\n## C\n\n- c\n\n## D\n\nd\n",
            "# A\n\n## C\n\n- c\n\n## D\n\nd\n\n## B\n\n- b\n- bb\n",
        ),
        # Ours adds an item, theirs another one and the next section.
        (
            "## A\n\n- a\n",
            "## A\n\n- a\n- ours\n",
            "## A\n\n- a\n- their own\n\n## B\n\nb\n",
            "## A\n\n- a\n- their own\n- ours\n\n## B\n\nb\n",
        ),
        ("x\n", "x\n\n## Ours\n\no\n", "x\n\n## Theirs\n\nt\n", "x\n\n## Ours\n\no\n\n## Theirs\n\nt\n"),
        # Ours adds a section with the path of one below it, in which theirs adds an item.
        (
            "# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n",
            "# A\n\n## B\n\nw\n\n# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n",
            "# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n- z\n",
            "# A\n\n## B\n\nw\n\n# A\n\n## B\n\nx\n\n# A\n\n## B\n\n- y\n- z\n",
        ),
        # Sides that delete neighbours leave no blank line at the end or the start.
        ("# A\n\n# B\n\n# C\n", "# A\n\n# C\n", "# A\n\n# B\n", "# A\n"),
        ("# A\n\n# B\n\n# C\n", "# B\n\n# C\n", "# A\n\n# C\n", "# C\n"),
        # The blank line that one side adds at the end stays.
        ("# A\n\n# B\n\n# C\n", "# A\n\n# C\n\n", "# A\n\n# B\n", "# A\n\n"),
    ],
)
def test_independent_changes_are_merged(base: str, ours: str, theirs: str, result: str) -> None:
    found = merge_documents(base, ours, theirs)
    assert (found.text, found.conflicts) == (result, ())


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
        # Two dates of the last change.
        (
            "---\ndate: 2024-01-02\n---\nz\n",
            "---\ndate: 2024-02-01\n---\nz\n",
            "---\ndate: 2025-01-02\n---\nz\n",
        ),
        # An item that says that there is nothing.
        ("## Fixes\n", "## Fixes\n\n- None.\n", "## Fixes\n\n- a crash\n"),
        # A link to a heading that ours renamed.
        ("# A\n\nx\n\n## Old\n\ny\n", "# A\n\nx\n\n## New\n\ny\n", "# A\n\nx [o](#old)\n\n## Old\n\ny\n"),
    ],
)
def test_dependent_changes_conflict(base: str, ours: str, theirs: str) -> None:
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
def test_unchanged_side_gives_the_other_side(base: str, side: str) -> None:
    assert merge_documents(base, base, side).text == side
    assert merge_documents(base, side, base).text == side
    assert merge_documents(base, side, side).text == side


@given(_BLOCKS, _BLOCKS, _BLOCKS)
@example("", "## B\n\n# A", "## C")
@example("- two\n\ntext", "- one\n\n```", "text\n\n[x]: y\n\n```")
@example("more text\n\nmore text", "| a | b |\n\n## B", "## C\n\n## C\n\n```\n\n# A\n\n| a | b |")
def test_swapped_sides_have_the_same_conflicts_and_lose_no_line(base: str, ours: str, theirs: str) -> None:
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert found.is_clean == swapped.is_clean
    if found.is_clean:
        # But for their order, after which blank lines follow.
        assert sorted(found.text.split()) == sorted(swapped.text.split())
        decided = [line for each in found.decisions for line in each.text.splitlines()]
        assert not unaccounted(base, ours, theirs, found.text, decided)


def test_strict_merge_reports_decisions_as_conflicts() -> None:
    texts = "- [ ] task\n", "- [x] task\n", "- [ ] the task\n"
    assert merge_documents(*texts).decisions
    found = merge_documents(*texts, is_strict=True)
    assert "an item has the box, the text" in found.conflicts[0].reason


def _are_members(text: str) -> bool:
    """Whether git marks nothing but items and rows in `text`."""
    marked: list[str] = []
    is_inside = False
    for line in text.splitlines():
        if re.match(r"<<<<<<<|>>>>>>>", line):
            is_inside = line.startswith("<")
        elif is_inside and line.strip() and line != "=======":
            marked.append(line)
    return all(re.match(r"\s*([-*+]|\d+[.)])\s|\s*\|", line) for line in marked)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CASES.exists(), reason="the real merges are not on this machine")
def test_real_merges_have_the_measured_rates_and_lose_nothing(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    wrong: list[object] = []
    for case in [*cases(), *of_bundles(tmp_path)]:
        files = case.files(tmp_path)
        found = merge_files([case.base, case.ours, case.theirs], files, 7)
        by_git = _result_of_git(files, 7)
        text = found.text.encode(errors="surrogateescape")
        kind = "clean" if by_git.is_clean else "one side" if case.took_one_side else "conflict"
        counts[kind] += 1
        counts[f"{kind} merged"] += found.is_clean
        counts[f"{kind} equal"] += found.is_clean and text == case.human
        if kind == "conflict" and _are_members(by_git.text):
            counts["members"] += 1
            counts["members merged"] += found.is_clean
        own = 0 if found.is_clean else GitResult(found.text, is_clean=False).marked_lines(7)
        counts["marked by git"] += by_git.marked_lines(7)
        counts["marked"] += 0 if by_git.is_clean else own
        if own > by_git.marked_lines(7) and not by_git.is_clean:
            wrong.append((case.name, "marks more than git"))
        if found.is_clean and b"\r" not in case.base:
            sides = case.base.decode(), case.ours.decode(), case.theirs.decode()
            decided = [line for each in found.decisions for line in each.text.splitlines()]
            lost = [*unaccounted(*sides, found.text, decided), *misplaced(*sides, found.text)]
            wrong += [(case.name, line) for line in lost]
    assert not wrong
    # docs/explanation/merge.md quotes these.
    assert counts == {
        "clean": 364,
        "clean merged": 363,
        "clean equal": 362,
        "members": 33,
        "members merged": 30,
        "conflict": 87,
        "conflict merged": 56,
        "conflict equal": 23,
        "one side": 13,
        "one side merged": 5,
        "one side equal": 3,
        "marked by git": 2644,
        "marked": 425,
    }
