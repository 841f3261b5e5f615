"""A broken or unusable state directory: what still works, and what doctor reports."""

import os
import subprocess
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from mdplan.diagnostics import Exit
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.storage.store import Store
from tests.crash.mounts import bound, memory
from tests.support.case_tables import CaseTables
from tests.support.files import tree
from tests.surfaces.command_line import BATCH, DIFF, RESULT, mdplan, plan_id_of

CASE_TABLES = CaseTables(__file__)
MADE_IN = ["outline", "guide.md"], ["search", "nightly"]


def run_in_shell(script: str, store: Path) -> None:
    """Run a script of the table with STATE (the state directory), FOLDER (that of the root), and STORE."""
    variables = {"STATE": os.environ["MDPLAN_STATE_DIR"], "FOLDER": str(store.parent), "STORE": str(store)}
    subprocess.run(["sh", "-euc", script], check=True, env=os.environ | variables)


def store_of(project: Path) -> Path:
    """The database of the root."""
    return Path(Store(os.path.realpath(project)).path)


@CASE_TABLES.parametrize("code", "mount", "script", "says")
def test_fault_stops_commits_alone_and_names_the_way_out(
    project: Path, state_dir: Path, code: str, mount: str, script: str, says: str
) -> None:
    on: AbstractContextManager[object] = nullcontext()
    if mount:
        state_dir.mkdir(parents=True)
        on = memory(state_dir, "size=400k") if mount == "memory" else bound(state_dir)
    (project / "later.json").write_bytes(b"")
    with on:
        mdplan("apply", plan_id_of({"file": "new.md", "edits": [{"op": "create_file", "markdown": "# N"}]}))
        Store(os.path.realpath(project)).close()
        run_in_shell(script, store_of(project))
        (project / "later.json").unlink()
        before = tree(project)

        for arguments in MADE_IN:
            assert mdplan(*arguments).code == Exit.DONE
        assert mdplan("plan", "-", stdin=BATCH).out.decode() == DIFF
        assert mdplan("plan", "-", "--output", "later.json", stdin=BATCH).code == Exit.DONE
        refused = mdplan("apply", "later.json", "--json")
        (project / "later.json").unlink()
        assert tree(project) == before
        assert (refused.json["error"]["code"], refused.json["applied"]) == (code, False)
        assert says in refused.json["error"]["hint"]

        checks = {check["check"]: check for check in mdplan("doctor", "--json").json["checks"]}
        assert checks["store"]["status"] == "problem"
        assert says in checks["store"]["hint"]


@CASE_TABLES.parametrize("script", "undo", "transactions")
def test_copied_or_restored_state_directory_loses_no_text(
    project: Path, script: str, undo: str | None, transactions: int
) -> None:
    mdplan("apply", plan_id_of())
    store = store_of(project)
    run_in_shell('cp -a "$STATE" "$STATE.copy"', store)
    mdplan("append", "guide.md", "Use", "More.", "--yes")
    Store(os.path.realpath(project)).close()
    run_in_shell(script, store)

    assert len(mdplan("history", "--json").json["transactions"]) == transactions
    undone = mdplan("undo", "--json", "-y").json
    assert undone.get("error", {}).get("code") == undo
    assert (project / "guide.md").read_text() == RESULT + ("" if undo is None else "\nMore.\n")
    assert mdplan("doctor").code == Exit.DONE


@pytest.mark.parametrize("back", [3600.0, 800 * 86400.0])
def test_clock_that_goes_backwards_changes_no_order(project: Path, back: float) -> None:
    mdplan("apply", plan_id_of())
    with Engine(Workspace.open(project), clock=lambda: time.time() - back) as engine:
        assert engine.write({"file": "guide.md", "edits": [{"op": "append_to_file", "markdown": "More."}]}).ok

    newest, before = mdplan("history", "--json").json["transactions"]
    assert newest["committedAt"] < before["committedAt"]
    assert mdplan("undo", "--json", "-y").json["undone"]["transaction"] == newest["transaction"]
    assert (project / "guide.md").read_text() == RESULT


@CASE_TABLES.parametrize("script", "check", "status", "says")
def test_doctor_says(project: Path, script: str, check: str, status: str, says: str) -> None:
    mdplan("apply", plan_id_of())
    Store(os.path.realpath(project)).close()
    run_in_shell(script, store_of(project))

    checks = {found["check"]: found for found in mdplan("doctor", "--json").json["checks"]}
    found = checks[check]

    assert found["status"] == status
    assert says.replace("STORE", str(store_of(project))) in found["found"] + found.get("hint", "")


@CASE_TABLES.parametrize("options", "went", "left")
def test_prune_forgets_what_is_beyond_the_limits(
    project: Path, options: list[str], went: int, left: int
) -> None:
    for number in range(5):
        mdplan("append", "guide.md", "Use", f"{number}", "--yes")
    first = mdplan("history", "--json").json["transactions"][-1]["transaction"]

    pruned = mdplan("history", "--prune", *options, "--json").json

    listed = mdplan("history", "--json").json
    assert (pruned["transactions"], pruned["kept"]["transactions"], listed["kept"]["transactions"]) == (
        went, left, left,
    )  # fmt: skip
    assert len(listed["transactions"]) == left
    assert (pruned["contentBytes"] > 0) is (went > 0)
    if left < 5:
        refused = mdplan("undo", first, "-y")
        assert "NOT_UNDOABLE" in refused.err
        assert "forgotten" in refused.err
    assert mdplan("undo", "-y").code == Exit.DONE


@CASE_TABLES.parametrize("arguments")
def test_wrong_use_of_prune_is_a_usage_error(project: Path, arguments: list[str]) -> None:
    assert mdplan("history", *arguments).code == Exit.INVALID
