"""Past the deadline of parsing, every way says so and leaves all as it was: undo, plans that wait, review."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

LONG = "# Top\n\n" + "- a\nb\n" * 2_000
EDIT = {"op": "insert_lines", "line": 1, "position": "after", "markdown": "Text."}
BATCH = {"file": "long.md", "edits": [EDIT]}


@pytest.fixture
def patient(tmp_path: Path) -> Engine:
    (tmp_path / "long.md").write_text(LONG, encoding="ascii")
    return Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))


@pytest.fixture
def hurried(patient: Engine) -> Engine:
    """The same files, with no time to parse them."""
    return Engine(patient.workspace, Settings(durability=Durability.PROCESS, parse_seconds=1e-6))


def codes(problems: object) -> list[Code]:
    assert isinstance(problems, tuple), problems
    return [problem.code for problem in problems if isinstance(problem, Diagnostic)]


def planned(patient: Engine) -> str:
    report = patient.plan(BATCH)
    assert report.plan_id is not None
    return report.plan_id


def stale(patient: Engine, folder: Path) -> str:
    """A plan on what the file was before somebody wrote to it."""
    plan_id = planned(patient)
    (folder / "long.md").write_text(LONG + "c\n", encoding="ascii")
    return plan_id


@pytest.mark.parametrize("dry_run", [False, True])
def test_undo_past_the_deadline_is_refused(
    patient: Engine, hurried: Engine, tmp_path: Path, dry_run: bool
) -> None:
    assert patient.apply({"planId": planned(patient)}).applied
    written, done = (tmp_path / "long.md").read_bytes(), patient.history().transactions

    assert codes(hurried.undo(dry_run=dry_run).diagnostics) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert patient.history().transactions == done
    assert patient.undo().applied


def test_rebased_undo_past_the_deadline_is_refused(patient: Engine, hurried: Engine, tmp_path: Path) -> None:
    assert patient.apply({"planId": planned(patient)}).applied
    with (tmp_path / "long.md").open("ab") as file:
        file.write(b"c\n")
    written = (tmp_path / "long.md").read_bytes()

    assert codes(hurried.undo(rebases=True).diagnostics) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert patient.undo(rebases=True).applied


def test_stale_plan_past_the_deadline_is_refused(patient: Engine, hurried: Engine, tmp_path: Path) -> None:
    plan_id = stale(patient, tmp_path)
    written = (tmp_path / "long.md").read_bytes()

    assert codes(hurried.apply({"planId": plan_id}).diagnostics) == [Code.PARSE_TIMEOUT]
    assert codes(hurried.show(plan_id).diagnostics) == [Code.PARSE_TIMEOUT]
    assert codes(hurried.diff_bytes(plan_id)) == [Code.PARSE_TIMEOUT]

    assert (tmp_path / "long.md").read_bytes() == written
    assert codes(patient.apply({"planId": plan_id}).diagnostics) == [Code.STALE_BASE]


def test_plan_on_its_base_is_applied_without_parsing(patient: Engine, hurried: Engine) -> None:
    assert hurried.apply({"planId": planned(patient)}).applied


def test_review_past_the_deadline_gives_the_reason(patient: Engine, hurried: Engine) -> None:
    opened = ReviewService(hurried).open(planned(patient))
    assert isinstance(opened, OpenPlan)

    assert codes(opened.file(0)) == [Code.PARSE_TIMEOUT]
    assert codes(opened.section(0, 0)) == [Code.PARSE_TIMEOUT]


def test_review_of_a_stale_plan_past_the_deadline_gives_the_reason(
    patient: Engine, hurried: Engine, tmp_path: Path
) -> None:
    plan_id = stale(patient, tmp_path)
    opened = ReviewService(hurried).open(plan_id)
    assert isinstance(opened, OpenPlan)

    assert codes(opened.stale) == [Code.PARSE_TIMEOUT]
    assert codes(opened.file(0)) == [Code.PARSE_TIMEOUT]
    assert codes(ReviewService(hurried).approve(plan_id, "somebody")) == [Code.PARSE_TIMEOUT]
