"""`onStale: "merge"`: a change of a file that others changed since becomes a new plan."""

import subprocess
from pathlib import Path

import pytest

from mdplan.diagnostics import Code, Problems
from mdplan.engine.engine import Engine
from mdplan.plan import Plan
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.root import Root

SETTINGS = Settings(durability=Durability.PROCESS, lock_timeout=0.2)
GUIDE = "# Guide\n\n## Done\n\n- a task\n\n## Open\n\nText of today.\n"
ADD = {"op": "add_list_item", "heading": "Done", "item": "of the plan"}
REWRITE = {"op": "replace_match", "pattern": "Text of today", "replacement": "Text of the plan"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "guide.md").write_text(GUIDE)
    return root / "guide.md"


@pytest.fixture
def engine(file: Path) -> Engine:
    return Engine.open(file.parent, settings=SETTINGS)


def test_stale_plan_is_merged_as_a_new_plan_that_can_be_undone(engine: Engine, file: Path) -> None:
    plan = engine.plan({"file": "guide.md", "edits": [ADD]})
    other = GUIDE.replace("- a task\n", "- a task\n- of a person\n").replace("today", "tomorrow")
    file.write_text(other)
    preview = engine.apply({"planId": plan.plan_id, "onStale": "merge", "dryRun": True})
    assert preview.ok
    assert not preview.applied
    assert preview.plan_id not in {None, plan.plan_id}
    assert "+- of the plan" in (engine.show(str(preview.plan_id)).diff or "")
    report = engine.apply({"planId": plan.plan_id, "onStale": "merge"})
    assert (report.ok, report.rebased, report.plan_id) == (True, True, preview.plan_id)
    assert file.read_text() == other.replace("- a task\n", "- a task\n- of the plan\n")
    assert engine.undo().ok
    assert file.read_text() == other


def test_plan_has_the_hashes_of_all_three_texts(engine: Engine, file: Path) -> None:
    plan = engine.plan({"file": "guide.md", "edits": [ADD]})
    base, theirs = plan.files[0].base_sha256, plan.files[0].result_sha256
    file.write_text(GUIDE.replace("today", "tomorrow"))
    merged = engine.apply({"planId": plan.plan_id, "onStale": "merge", "dryRun": True})
    document = engine.export(str(merged.plan_id))
    assert isinstance(document, bytes)
    ours = merged.files[0].base_sha256
    assert f"Merge of base {base}, ours {ours} and theirs {theirs}" in document.decode()


def test_conflict_has_the_section_and_both_texts(engine: Engine, file: Path) -> None:
    plan = engine.plan({"file": "guide.md", "edits": [REWRITE]})
    file.write_text(GUIDE.replace("today", "a person"))
    report = engine.apply({"planId": plan.plan_id, "onStale": "merge"})
    problem = report.diagnostics[0]
    assert problem.code is Code.MERGE_CONFLICT
    assert problem.candidates[0].heading_path == ("Guide", "Open")
    assert "Text of a person." in problem.hint
    assert "Text of the plan." in problem.hint
    now = engine.stat({"file": "guide.md"}).base_sha256
    answer = {**REWRITE, "pattern": "Text of a person"}
    assert engine.apply({"file": "guide.md", "baseSha256": now, "edits": [answer]}).ok


def test_batch_is_merged_with_what_was_committed_since(engine: Engine, file: Path) -> None:
    base = engine.stat({"file": "guide.md"}).base_sha256
    assert engine.apply({"file": "guide.md", "baseSha256": base, "edits": [ADD]}).ok
    batch = {"file": "guide.md", "baseSha256": base, "edits": [{**ADD, "item": "by another agent"}]}
    assert engine.apply(batch).diagnostics[0].code is Code.STALE_BASE
    assert engine.apply({**batch, "onStale": "merge"}).rebased
    assert "- by another agent\n- of the plan\n" in file.read_text()
    again = engine.apply({**batch, "onStale": "merge"})
    assert (again.ok, again.no_op) == (True, True)


def test_batch_is_merged_with_the_last_commit_of_git(engine: Engine, file: Path) -> None:
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *names, *command], cwd=file.parent, check=True)
    base = engine.stat({"file": "guide.md"}).base_sha256
    file.write_text(GUIDE.replace("today", "a person"))
    batch = {"file": "guide.md", "baseSha256": base, "edits": [ADD], "onStale": "merge"}
    assert engine.apply(batch).ok
    assert file.read_text() == GUIDE.replace("today", "a person").replace("task\n", "task\n- of the plan\n")


def test_batch_on_an_unknown_text_is_refused(engine: Engine) -> None:
    batch = {"file": "guide.md", "baseSha256": "0" * 64, "edits": [ADD], "onStale": "merge"}
    problem = engine.apply(batch).diagnostics[0]
    assert (problem.code, "is not kept" in problem.message) == (Code.STALE_BASE, True)


def test_undo_is_merged_with_what_was_changed_since(engine: Engine, file: Path) -> None:
    base = engine.stat({"file": "guide.md"}).base_sha256
    assert engine.apply({"file": "guide.md", "baseSha256": base, "edits": [ADD]}).ok
    file.write_text(file.read_text().replace("- of the plan\n", "- of the plan\n- of a person\n"))
    assert engine.undo(rebases=True).diagnostics[0].code is Code.STALE_BASE
    assert engine.undo(merges=True).ok
    assert file.read_text() == GUIDE.replace("- a task\n", "- a task\n- of a person\n")


def test_approval_is_asked_for_again(file: Path) -> None:
    asked: list[str] = []

    def approval(plan: Plan, _: Root) -> Problems:
        asked.append(plan.plan_id)
        return ()

    engine = Engine.open(file.parent, settings=SETTINGS, approval=approval)
    plan = engine.plan({"file": "guide.md", "edits": [ADD]})
    file.write_text(GUIDE.replace("today", "tomorrow"))
    report = engine.apply({"planId": plan.plan_id, "onStale": "merge"})
    assert asked == [report.plan_id] != [plan.plan_id]


def test_data_file_is_merged_by_key(engine: Engine, file: Path) -> None:
    data = file.with_name("data.json")
    data.write_text('{"a": 1}\n')
    plan = engine.plan({"file": "data.json", "edits": [{"op": "set_value", "key": "b", "value": 2}]})
    data.write_text('{"a": 1, "c": 3}\n')
    assert engine.apply({"planId": plan.plan_id, "onStale": "merge"}).ok
    assert data.read_text() == '{"a": 1, "b": 2, "c": 3}\n'
