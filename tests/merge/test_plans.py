"""`onStale: "merge"`: a change of a file that others changed since becomes a new plan."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan import Document
from mdplan.diagnostics import Code, Problems
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import open_merge, plan_merge
from mdplan.merge.documents import marker_style, merge_documents, merge_texts, places, resolved
from mdplan.plan import Plan
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability, StorageRefused
from mdplan.storage.root import Root
from mdplan.text.source import DocumentFormat
from tests.support.case_tables import CaseTables
from tests.surfaces.review_calls import ReviewCalls

CASE_TABLES = CaseTables(__file__)


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
    assert engine.undo(on_stale="rebase").diagnostics[0].code is Code.STALE_BASE
    assert engine.undo(on_stale="merge").ok
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


# --- Two batches on different sections, merged: the text that both batches make, whichever side is
# ours.

SECTION = CASE_TABLES.value("SECTION")
BASE = "# Document\n\n" + "\n".join(map(SECTION.format, range(6)))

# An agent's edit of a section, by section number.
INTENTS = {
    "append": lambda n: {"op": "append_to_section", "heading": f"Section {n}", "markdown": f"More of {n}."},
    "prepend": lambda n: {
        "op": "prepend_to_section",
        "heading": f"Section {n}",
        "markdown": f"First of {n}.",
    },
    "item": lambda n: {"op": "add_list_item", "heading": f"Section {n}", "item": f"new of {n}"},
    "task": lambda n: {"op": "set_task", "item": f"task {n}", "done": True},
    "row": lambda n: {
        "op": "upsert_table_row",
        "heading": f"Section {n}",
        "keyColumn": "Number",
        "key": str(n),
        "row": {"Number": str(n), "State": "new"},
    },
    "text": lambda n: {"op": "replace_match", "pattern": f"Text of {n}", "replacement": f"Words of {n}"},
    "rename": lambda n: {"op": "rename_heading", "heading": f"Section {n}", "newTitle": f"Part {n}"},
    "delete": lambda n: {"op": "delete_section", "heading": f"Section {n}"},
    "insert": lambda n: {
        "op": "insert_section",
        "heading": f"Section {n}",
        "markdown": f"### Below {n}\n\nNew.\n",
        "position": "after",
    },
}


def _after(text: str, edits: list[dict[str, Any]]) -> str:
    if not edits:
        return text
    report = Document.from_text(text).apply(edits)
    assert report.text is not None
    return report.text


@given(st.dictionaries(st.integers(0, 5), st.sampled_from(sorted(INTENTS))), st.sets(st.integers(0, 5)))
@example({4: "delete", 5: "delete"}, {4})
def test_merge_of_two_batches_is_the_text_of_both(asked: dict[int, str], ours: set[int]) -> None:
    own = [INTENTS[kind](number) for number, kind in asked.items() if number in ours]
    other = [INTENTS[kind](number) for number, kind in asked.items() if number not in ours]
    both = _after(BASE, own + other)
    sides = _after(BASE, own), _after(BASE, other)
    for left, right in (sides, sides[::-1]):
        found = merge_documents(BASE, left, right)
        assert (found.text, found.conflicts) == (both, ())


EDITS = [
    {"op": "add_list_item", "heading": "Done", "item": "of the plan"},
    {"op": "replace_match", "pattern": "Text of today", "replacement": "Text of the <b>plan"},
]

NOW = GUIDE.replace("- a task\n", "- a task\n- of a person\n").replace("today", "a person")


@pytest.fixture
def page_engine(tmp_path: Path) -> Engine:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "guide.md").write_text(GUIDE)
    return Engine.open(tmp_path / "root", settings=SETTINGS)


def _file(page_engine: Engine) -> Path:
    return Path(page_engine.workspace.roots[0].path) / "guide.md"


def _stale_plan(page_engine: Engine, now: str) -> str:
    plan = page_engine.plan({"file": "guide.md", "edits": EDITS})
    assert plan.plan_id is not None
    _file(page_engine).write_text(now)
    return plan.plan_id


@CASE_TABLES.parametrize("choice", "text")
def test_chosen_text_becomes_a_new_plan(page_engine: Engine, choice: str, text: str) -> None:
    plan_id = _stale_plan(page_engine, NOW)
    calls = ReviewCalls(page_engine).visit()
    path = calls.plan_path(plan_id)
    assert f"{path}/merge" in calls.get(path).text
    shown = calls.get(f"{path}/merge").text
    columns = re.findall(r"<pre[^>]*>(.*?)</pre>", shown, re.DOTALL)
    assert columns[0] == "Text of today.\n"
    assert "<ins>" in columns[1]
    unmarked = [re.sub("</?ins>", "", column) for column in columns[1:]]
    assert unmarked == ["Text of a person.\n", "Text of the &lt;b&gt;plan.\n"]
    assert "Guide / Open" in shown
    answer = calls.submit(
        f"{path}/merge", "/merge", **{"choice-0-0": choice, "choice-0-0-text": "Text of\r\nboth."}
    )
    assert answer.status == 303
    merged = answer.headers["location"].rpartition("/")[2]
    assert merged != plan_id
    assert page_engine.apply({"planId": merged}).ok
    wanted = GUIDE.replace("- a task\n", "- a task\n- of the plan\n- of a person\n")
    assert _file(page_engine).read_text() == wanted.replace("Text of today.\n", text)
    assert page_engine.undo().ok
    assert _file(page_engine).read_text() == NOW


def test_conflict_without_a_choice_makes_no_plan(page_engine: Engine) -> None:
    plan_id = _stale_plan(page_engine, NOW)
    calls = ReviewCalls(page_engine).visit()
    path = calls.plan_path(plan_id) + "/merge"
    assert calls.submit(path, "/merge").headers["location"] == path
    assert "Choose a text for each conflict" in calls.get(path).text


def test_merge_without_conflicts_makes_a_new_plan(page_engine: Engine) -> None:
    now = GUIDE.replace("# Guide", "# The guide")
    plan_id = _stale_plan(page_engine, now)
    calls = ReviewCalls(page_engine).visit()
    path = calls.plan_path(plan_id) + "/merge"
    assert "do not conflict" in calls.get(path).text
    merged = calls.submit(path, "/merge").headers["location"].rpartition("/")[2]
    assert page_engine.apply({"planId": merged}).ok
    assert _file(page_engine).read_text().startswith("# The guide\n\n## Done\n\n- a task\n- of the plan\n")


def test_choices_for_another_state_of_the_file_are_refused(page_engine: Engine) -> None:
    plan_id = _stale_plan(page_engine, NOW)
    opened = open_merge(page_engine, plan_id)
    _file(page_engine).write_text(NOW.replace("a person", "somebody else"))
    with pytest.raises(StorageRefused, match="changed again"):
        plan_merge(page_engine, plan_id, {"guide.md": ["theirs"]}, opened.version)


def test_markers_are_longer_than_any_line_that_looks_like_one() -> None:
    base, ours, theirs = (f"Title\n=======\n\n{line}\n==========\n" for line in ("a", "b", "c"))
    style = marker_style([base, ours, theirs])
    found = merge_texts(DocumentFormat.TEXT, [base, ours, theirs], style)
    assert found is not None
    assert [(each.ours, each.theirs) for each in places(found, style)] == [("b\n", "c\n")]
    assert resolved(found, style, ["c\n"]) == theirs
