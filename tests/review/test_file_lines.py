"""Lines of a file outside its hunks: moved lines, gaps between hunks, and search results."""

from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService

SECTIONS = {
    name: f"## {name}\n\nThe text of {name.lower()} is about many things.\n\nIt goes on.\n" for name in "ABCD"
}
TEXT = "# Guide\n\n" + "\n".join(SECTIONS.values())
MOVE = {"op": "move_section", "heading": "A", "toHeadingPath": ["Guide", "C"], "position": "after"}


def opened(root: Path, *edits: dict[str, object], text: str = TEXT) -> OpenPlan:
    (root / "a.md").write_text(text)
    engine = Engine.open([root])
    report = engine.plan({"file": "a.md", "edits": list(edits)})
    assert report.plan_id is not None, report.diagnostics
    plan = ReviewService(engine).open(report.plan_id)
    assert isinstance(plan, OpenPlan)
    return plan


def test_lines_of_a_moved_section_name_their_place_on_the_other_side(tmp_path: Path) -> None:
    lines = [line for hunk in opened(tmp_path, MOVE).file(0).hunks for line in hunk.lines]
    moved = {line.old_line: line.moved for line in lines if line.sign == "-" and line.text}
    origin = {line.new_line: line.moved for line in lines if line.sign == "+" and line.text}
    assert moved == {3: 15, 5: 17, 7: 19}
    assert origin == {new: old for old, new in moved.items()}


def test_reworded_text_does_not_count_as_moved(tmp_path: Path) -> None:
    edits = [
        {"op": "delete_section", "heading": "A"},
        {"op": "append_to_section", "heading": "D", "markdown": "It goes on."},
    ]
    lines = [line for hunk in opened(tmp_path, *edits).file(0).hunks for line in hunk.lines]
    assert [line.moved for line in lines if line.sign != " "] == [None] * sum(
        line.sign != " " for line in lines
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_hunks_and_gaps_cover_the_whole_file(tmp_path: Path, end: str) -> None:
    text = "# A\n\n" + "\n".join(f"line {number}" for number in range(40)) + end
    edits = [
        {"op": "insert_lines", "line": 10, "position": "after", "markdown": "more\nand more"},
        {"op": "delete_lines", "lines": {"start": 25, "end": 27}},
    ]
    plan = opened(tmp_path, *edits, text=text)
    file = plan.file(0)
    shown = [line for hunk in file.hunks for line in hunk.lines]
    shown += plan.context(0, 1, 1000)
    assert len(file.gaps) == len(file.hunks) + 1 == 3
    new = sorted((line.new_line, line.text + line.line_end) for line in shown if line.new_line)
    old = sorted((line.old_line, line.text + line.line_end) for line in shown if line.old_line)
    assert "".join(each for _, each in old) == text
    result = "".join(each for _, each in new)
    assert [number for number, _ in new] == list(range(1, result.count("\n") + (not end) + 1))
    assert "more\nand more\n" in result
    assert "line 23" not in result
    assert [line.new_line for line in plan.context(0, 2, 3)] == [2, 3]


def test_search_finds_lines_of_both_sides_whatever_their_case(tmp_path: Path) -> None:
    plan = opened(tmp_path, {"op": "replace_match", "pattern": "text of b", "replacement": "WORDS about B"})
    found = plan.found(0, "b IS", 10)
    assert [(each.sign, each.number, each.text[each.at :][: each.length]) for each in found] == [
        ("-", 11, "b is"),
        ("+", 11, "B is"),
    ]
    assert len(plan.found(0, "e", 1)) == 1
