"""`mdplan review` as a process, over a folder with plans in every state."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mdplan.decisions import LineComment, Remarks, Side, Verdict
from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from tests.browser.demo_plan import demo_batch, demo_root

GUIDE = "# Guide\n\nfirst\n\n## Middle\n\nsecond  \n\n## End\n\nthird, with a [link](#middle)\n"
EDITS = [
    {"op": "replace_match", "pattern": word, "replacement": number}
    for word, number in (("first", "1st"), ("second", "2nd"), ("third", "3rd"))
]


@dataclass(frozen=True)
class ReviewServer:
    """A running server: the link that it printed, and the place that it serves."""

    process: "subprocess.Popen[str]"
    link: str

    def url(self, path: str = "") -> str:
        return self.link.partition("open?")[0] + path


@contextmanager
def review_server(root: Path, *arguments: str) -> Iterator[ReviewServer]:
    """`mdplan review --no-browser ARGUMENTS` over `root`, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "review", "--no-browser", "--root", str(root), *arguments],
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        link = process.stdout.readline().strip()
        assert link, process.stderr.read()
        yield ReviewServer(process, link)
    finally:
        process.kill()
        process.communicate(timeout=60)


def make_root(folder: Path) -> Path:
    root = folder / "root"
    root.mkdir()
    (root / "guide.md").write_text(GUIDE)
    return root


def plan(engine: Engine, batch: object) -> str:
    report = engine.plan(batch)
    assert report.plan_id is not None, report.diagnostics
    return report.plan_id


def plans_in_every_state(root: Path) -> dict[str, str]:
    """Return plan IDs by what they show: every state, several files, a warning, long lines, hidden text."""
    (root / "other.md").write_bytes(b"# Other\r\n\r\nword  \r\nnext \x1b[31m\xe2\x80\xae<script>\r\n")
    (root / "long.md").write_text("# Long\n\n" + "prose that goes on " * 60 + "\n\n" + "x" * 900 + " y\n")
    (root / "stale.md").write_text("# Stale\n\nold\n")
    engine = Engine.open([root], approval=approved_only)
    reviewing = ReviewService(engine)
    files = [
        {"file": "other.md", "edits": [{"op": "replace_match", "pattern": "word  ", "replacement": "a\tb "}]},
        {"file": "long.md", "edits": [{"op": "replace_match", "pattern": " y", "replacement": " z"}]},
        {
            "file": "new.md",
            "edits": [{"op": "create_file", "markdown": "# New\n\n| a | b |\n|--|--|\n| 1 | 2 |"}],
        },
    ]
    renamed = {"op": "rename_heading", "heading": "Middle", "newTitle": "Centre <b>"}
    plans = {
        "waiting": plan(engine, {"file": "guide.md", "edits": [EDITS[0], renamed, EDITS[2]]}),
        "many": plan(engine, {"files": files}),
        "stale": plan(engine, {"file": "stale.md", "edits": [EDITS[0] | {"pattern": "old"}]}),
        "rejected": plan(engine, {"file": "guide.md", "edits": [EDITS[1]]}),
        "part": plan(engine, {"file": "guide.md", "edits": EDITS}),
        "applied": plan(engine, {"file": "gone.md", "edits": [{"op": "create_file", "markdown": "x"}]}),
    }
    demo_root(root)
    plans["demo"] = plan(engine, demo_batch())
    plans["commented"] = plan(engine, {"file": "guide.md", "edits": EDITS[1:], "title": "Commented"})
    said = LineComment(file="guide.md", side=Side.AFTER, start=7, end=11, text="Why?")
    reviewing.decide(
        plans["commented"],
        "ann",
        Verdict.CHANGES_REQUESTED,
        Remarks(comment="Not yet.", line_comments=(said,)),
    )
    reviewing.decide(plans["rejected"], "ann", Verdict.REJECTED, Remarks(comment="Not now."))
    reviewing.decide(
        plans["part"],
        "ann",
        Verdict.APPROVED,
        Remarks(comment="Nearly.", edit_comments={1: "why?"}),
        rejected=[1],
    )
    reviewing.decide(plans["applied"], "ann", Verdict.APPROVED)
    assert engine.apply({"planId": plans["applied"]}).ok
    (root / "stale.md").write_text("# Stale\n\nnew\n")
    return plans
