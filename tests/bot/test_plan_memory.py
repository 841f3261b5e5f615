"""The plan of a manifest is on disk: memory does not grow with the changes."""

import os
from pathlib import Path

import pytest

from mdplan.planning.merging import StoredEntries

REPOSITORY = Path(__file__).parents[2]
PLACES = 40
MANIFEST = """\
files:
  - glob: "*.md"
    edits: [{op: replace_match, pattern: old, replacement: new, matchSelection: all}]
"""
# More than the bot keeps per file, and a third of the plan of such a file.
MOST_BYTES_EACH = 12_000


def make_tree(root: Path, count: int) -> None:
    """Write `count` pages, each with many places to change."""
    root.mkdir()
    for number in range(count):
        lines = "".join(f"The old line {line} of {number}.\n\n" for line in range(PLACES))
        (root / f"page-{number}.md").write_text(f"# Page\n\n{lines}", encoding="utf-8")
    (root / "bot.yml").write_text(MANIFEST, encoding="utf-8")


def test_memory_does_not_grow_with_the_edits_of_a_plan(tmp_path: Path) -> None:
    peak = pytest.importorskip("tests.bot.peak", reason="psutil, which comes with distributed, is missing")
    few, many = 200, 600
    taken = []
    for count in (few, many):
        root = tmp_path / str(count)
        make_tree(root, count)
        words = ["bot", "plan", "--json", str(root / "bot.yml"), "--root", str(root), "--jobs", "1"]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        taken.append(peak.peaks_of([*words, "--max-edits", "1000000"], environment).first)

    assert taken[1] - taken[0] < (many - few) * MOST_BYTES_EACH


@pytest.mark.parametrize("counts", [(), (0,), (2,), (1, 0, 3, 2, 0)])
def test_stored_entries_are_those_of_all_plans(counts: tuple[int, ...]) -> None:
    plans = [[(number, index) for index in range(count)] for number, count in enumerate(counts)]
    loaded: list[int] = []

    def load(number: int) -> list[tuple[int, int]]:
        loaded.append(number)
        return plans[number]

    expected = [entry for plan in plans for entry in plan]
    entries = StoredEntries(counts, load)

    assert list(entries) == expected
    assert loaded == [number for number, count in enumerate(counts) if count]
    assert len(entries) == len(expected)
    assert [entries[at] for at in range(-len(expected), 0)] == expected
    assert entries[1:-1] == tuple(expected[1:-1])
    with pytest.raises(IndexError):
        entries[len(expected)]
