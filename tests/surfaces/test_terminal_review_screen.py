"""The review in a real terminal of 80 by 24: what is longer than the screen comes in a pager."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from tests.surfaces.test_cli_review import EDITOR
from tests.tmux import BASH, Terminal, terminal

MDPLAN = f"{sys.executable} -m mdplan"
FILES = 40


@pytest.fixture
def reviewing(project: Path) -> ReviewService:
    """A plan of many files, the edits of the first in a hunk of more than 24 lines."""
    files = []
    for number in range(FILES):
        parts = "".join(f"Line {line} is nightly.\n\n" for line in range(20 if number == 0 else 1))
        (project / f"part-{number:02}.md").write_text(f"# Part {number}\n\n{parts}")
        replace = {"pattern": "nightly", "replacement": "stable", "matchSelection": "all"}
        files.append({"file": f"part-{number:02}.md", "edits": [{"op": "replace_match", **replace}]})
    reviewing = ReviewService(Engine.open([project]))
    assert reviewing.engine.plan({"files": files}).ok
    return reviewing


@pytest.fixture
def screen(project: Path, reviewing: ReviewService, tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("less") is None:
        pytest.skip("less is missing")
    editor = tmp_path / "editor.py"
    editor.write_text(EDITOR)
    environment = {
        "EDITOR": f"{sys.executable} {editor}",
        "WRITES_BELOW": "+Line 0 is stable.",
        "WRITES": "Which stable?",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PAGER": "less",
    }
    with terminal(BASH, project, environment) as opened:
        opened.wait_for_prompt()
        yield opened


def test_large_plan_does_not_scroll_away(screen: Terminal, reviewing: ReviewService) -> None:
    screen.type(f"{MDPLAN} review --terminal\n")
    # The pager shows the beginning, and waits.
    screen.expect("40 files, 40 edits")
    screen.expect("edit 1 of part-00.md")
    screen.settle()
    assert screen.screen().rstrip().endswith(":")
    screen.type("q")
    screen.expect("(1/40) Accept this edit")
    screen.type("f\n")
    screen.expect("part-20.md")
    screen.settle()
    assert "part-39.md" not in screen.screen()
    screen.type("q")
    screen.expect("File [1-40")
    screen.type("part-33\n")
    screen.expect("(34/40) Accept this edit")
    assert "edit 1 of part-33.md" in screen.screen()
    screen.type("e\n")
    screen.expect("This edit has 1 comment of yours.")
    screen.type("n\n")
    screen.expect("(35/40) Accept this edit")
    screen.type("q\n")
    screen.expect("0 of 40 edits accepted, 1 rejected, 39 open; 3 of 40 files viewed; 1 comment.")
    screen.type("a\n")
    screen.expect("37 files not viewed: part-01.md, part-02.md")
    screen.type("n\n")
    screen.expect("Your decision")
    screen.type("c\n")
    screen.expect("Changes requested.")
    screen.wait_for_prompt()
    (entry,) = reviewing.entries()
    (comment,) = entry.decision.line_comments
    assert (comment.file, comment.start, comment.text) == ("part-33.md", 3, "Which stable?")
    assert entry.decision.channel == "terminal"
