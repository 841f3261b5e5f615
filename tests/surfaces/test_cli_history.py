"""`mdplan history`, `undo`, `recover`, `doctor`: what they print, and how they end."""

import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.support.case_tables import CaseTables
from tests.support.commits import leave_interrupted
from tests.surfaces.command_line import BATCH, DIFF, GUIDE, RESULT, mdplan, plan_id_of
from tests.surfaces.dialog import Dialog

CASE_TABLES = CaseTables(__file__)


BACK = CASE_TABLES.value("BACK")
CREATE = {"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New\n"}]}


def commit(batch: object = BATCH) -> str:
    """Apply `batch` by its plan; the transaction."""
    return str(mdplan("apply", "--json", plan_id_of(batch)).json["receipt"]["transaction"])


def test_undo_prints_its_diff_and_how_to_redo(project: Path) -> None:
    transaction = commit()

    run = mdplan("undo", transaction, "-y")

    assert (run.code, run.out.decode()) == (0, BACK)
    assert re.fullmatch(
        r"Undone: 1 file: \+1 -3 lines\.\n"
        rf"That was the transaction {transaction} by user \S+\.\nTo redo: mdplan undo [0-9a-f]{{16}}\n",
        run.err,
    )
    assert (project / "guide.md").read_text() == GUIDE
    redo = mdplan(*run.err.splitlines()[2].removeprefix("To redo: mdplan ").split(), "-y")
    assert (redo.code, redo.out.decode()) == (0, DIFF)
    assert (project / "guide.md").read_text() == RESULT


def test_dry_run_shows_the_undo_alone(project: Path) -> None:
    commit()

    run = mdplan("undo", "--dry-run")

    assert (run.code, run.out.decode()) == (0, BACK)
    assert run.err == "1 file: +1 -3 lines. Nothing changed: --dry-run.\n"
    assert (project / "guide.md").read_text() == RESULT


def test_terminal_asks_before_it_undoes(project: Path) -> None:
    commit()
    for answer, after in (("n", RESULT), ("y", GUIDE)):
        dialog = Dialog("undo")
        dialog.expect("1 file: +1 -3 lines. Undo this? [y/N]")
        dialog.type(answer)
        dialog.end()
        assert (project / "guide.md").read_text() == after
    dialog = Dialog("undo")
    dialog.expect("Redo this? [y/N]")
    dialog.type("")
    assert dialog.end() == 1


def test_undo_twice_says_that_it_is_undone(project: Path) -> None:
    transaction = commit()
    mdplan("undo", transaction, "-y")

    again = mdplan("undo", transaction, "-y")

    assert (again.code, again.out) == (0, b"")
    assert again.err.startswith("Undone already, nothing written: ")


def test_undo_of_a_changed_file_exits_with_4(project: Path) -> None:
    transaction = commit()
    (project / "guide.md").write_text(RESULT.replace("Use it.", "Use it well."))

    refused = mdplan("undo", transaction, "-y")
    assert (refused.code, refused.out) == (4, b"")
    assert refused.err.startswith("error: STALE_BASE: ")
    assert "--rebase" in refused.err

    carried = mdplan("undo", transaction, "--rebase", "-y")
    assert carried.code == 0
    assert "kept later changes" in carried.err
    assert (project / "guide.md").read_text() == GUIDE.replace("Use it.", "Use it well.")


def test_undo_without_history_is_refused(project: Path) -> None:
    run = mdplan("undo", "-y")

    assert (run.code, run.out) == (3, b"")
    assert run.err.startswith("error: NOT_UNDOABLE: there is nothing to undo here\n")


def test_undo_json_has_the_fields_of_apply(project: Path) -> None:
    commit()

    report = mdplan("undo", "--json", "-y").json

    assert (report["applied"], report["undoable"], report["diff"]) == (True, True, BACK)
    assert report["receipt"]["transaction"] != commit()


def test_history_has_one_line_a_transaction(project: Path) -> None:
    first = commit()
    second = commit(CREATE)
    undo = mdplan("undo", "--json", second, "-y").json["receipt"]["transaction"]

    run = mdplan("history")

    assert run.code == 0
    kept = r"The history has 3 transactions, \d\.\d KiB\. It keeps 200, 256 MiB, 365 days\.\n"
    assert re.fullmatch(kept, run.err)
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.fullmatch(
        rf"{undo}  {moment}  \+0 -1  new.md  \(undoes {second}\)\n"
        rf"{second}  {moment}  \+1 -0  new.md  \(undone by {undo}\)\n"
        rf"{first}  {moment}  \+3 -1  guide.md\n",
        run.out.decode(),
    )


def test_history_shows_local_time(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit()
    shown = []
    for zone in ("UTC", "UTC-3"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        shown.append(datetime.fromisoformat(mdplan("history").out.decode().split("  ")[1]))
    monkeypatch.undo()
    time.tzset()

    assert shown[1] - shown[0] == timedelta(hours=3)


def test_history_is_limited_and_says_that_there_is_more(project: Path) -> None:
    commit()
    second = commit(CREATE)

    run = mdplan("history", "--limit", "1")

    assert run.out.decode().startswith(second)
    assert run.out.decode().endswith("There are older ones: --limit 2 shows more.\n")
    assert [entry["transaction"] for entry in mdplan("history", "--json", "new.md").json["transactions"]] == [
        second
    ]


def test_history_shows_the_diff_of_a_transaction(project: Path) -> None:
    transaction = commit()
    mdplan("undo", "-y")

    run = mdplan("history", "--show", transaction)

    assert (run.code, run.out.decode()) == (0, DIFF)
    assert run.err.startswith(transaction)
    assert mdplan("history", "--json", "--show", transaction).json["diff"] == DIFF
    assert mdplan("history", "--show", "ffffffff").code == 3
    assert mdplan("history", "--show", transaction, "guide.md").code == 2


def test_empty_history_is_not_a_problem(project: Path) -> None:
    run = mdplan("history")

    assert (run.code, run.out.decode()) == (0, "mdplan has changed nothing here yet.\n")


def test_file_without_commits_is_reported(project: Path) -> None:
    commit()

    assert (
        mdplan("history", "notes.md").out
        == b"No transaction in the history changed `notes.md`, and there is no such file.\n"
    )


def test_undo_of_an_undo_is_called_a_redo(project: Path) -> None:
    commit()
    undone, redone, undone_again = (mdplan("undo", "-y") for _ in range(3))

    assert "Undone: 1 file" in undone.err
    assert "To redo: mdplan undo " in undone.err
    assert "Redone: 1 file" in redone.err
    assert "To undo: mdplan undo " in redone.err
    assert "Undone: 1 file" in undone_again.err


@pytest.mark.parametrize("by", ["option", "environment"])
def test_history_length_is_an_option(project: Path, by: str) -> None:
    options = ["--history-transactions", "1"] if by == "option" else []
    environment = {"MDPLAN_HISTORY_TRANSACTIONS": "1"} if by == "environment" else {}
    for number in range(17):
        batch = CREATE | {"file": f"{number}.md"}
        mdplan("apply", "-", *options, stdin=batch, environment=environment)

    assert len(mdplan("history", "--json").json["transactions"]) < 17
    found = mdplan("doctor", "--json", *options, environment=environment).json["checks"][-1]["found"]
    assert " of 1 transactions, " in found


# A commit that was cut off.


def interrupted(project: Path) -> str:
    """Leave a commit as a kill behind its last exchange leaves it; the transaction."""
    commit()
    return leave_interrupted(project)


def test_read_commands_report_interrupted_commits(project: Path) -> None:
    interrupted(project)

    for arguments in (("stat", "guide.md"), ("history",), ("plan",)):
        report = mdplan(*arguments, "--json", stdin=CREATE).json
        assert report["ok"] is True
        assert [(each["code"], each["severity"]) for each in report["warnings"]] == [
            ("RECOVERY_REQUIRED", "warning")
        ]
    assert "RECOVERY_REQUIRED" in mdplan("history").err
    assert (project / "guide.md").read_text() == RESULT


def test_recover_restores_the_previous_state(project: Path) -> None:
    transaction = interrupted(project)

    run = mdplan("recover")

    assert (run.code, run.out) == (0, b"")
    assert "Rolled back 1 interrupted transaction: 1 file put back." in run.err
    assert (project / "guide.md").read_text() == GUIDE
    assert mdplan("recover").err == "Nothing to recover: no transaction was interrupted here.\n"
    assert "(rolled back)" in mdplan("history").out.decode()
    assert mdplan("undo", transaction, "-y").code == 3


def test_commit_recovers_first_and_says_so(project: Path) -> None:
    transaction = interrupted(project)
    run = mdplan("apply", "-", "--json", stdin=BATCH | {"edits": [BATCH["edits"][0]]})

    assert run.code == 0
    assert run.json["recovered"] == {"rolledBack": [transaction], "finished": [], "files": ["guide.md"]}
    assert (project / "guide.md").read_text() == GUIDE.replace("nightly", "stable")


def test_conflict_is_resolved_by_option(project: Path) -> None:
    interrupted(project)
    (project / "guide.md").write_text("mine\n")

    refused = mdplan("recover")
    assert refused.code == 6
    assert "RECOVERY_CONFLICT" in refused.err
    assert (project / "guide.md").read_text() == "mine\n"
    assert mdplan("recover", "--keep-current", "--restore-base").code == 2

    assert mdplan("recover", "--restore-base").code == 0
    assert (project / "guide.md").read_text() == GUIDE


def test_doctor_leaves_no_trace_in_the_root(project: Path) -> None:
    before = sorted(project.rglob("*"))

    assert mdplan("doctor", "--json").code == 0
    assert sorted(project.rglob("*")) == before


def test_doctor_says_what_is_wrong_and_what_to_do(project: Path, state_dir: Path) -> None:
    transaction = interrupted(project)
    (project / "notes").mkdir()
    (project / "notes" / f".mdplan-{transaction}-7.tmp").write_bytes(b"")
    (state_dir / "no-folder").touch()

    run = mdplan("doctor", environment={"MDPLAN_STATE_DIR": str(state_dir / "no-folder")})

    assert run.code == 6
    lines = run.out.decode().splitlines()
    assert [line for line in lines if line.startswith("problem")] == [
        line for line in lines if re.match(r"problem  (interrupted transactions|store): ", line)
    ]
    assert any(f"`notes/.mdplan-{transaction}-7.tmp`" in line for line in lines)
    assert "MDPLAN_STATE_DIR" in run.err
    run = mdplan("doctor")
    assert "error: RECOVERY_REQUIRED: " in run.err
    assert "mdplan recover" in run.err


def test_doctor_names_the_folder_of_an_earlier_version(project: Path) -> None:
    (project / ".mdplan" / "tx").mkdir(parents=True)

    run = mdplan("doctor")

    assert run.code == 0
    assert "tree: contains `.mdplan`, the history of mdplan 0.2" in run.out.decode()


def test_commit_of_another_state_directory_is_refused_named_and_settled_on_request(
    project: Path, tmp_path: Path
) -> None:
    commit({"files": [BATCH, CREATE]})
    leave_interrupted(project)
    (project / "new.md").unlink()
    elsewhere = {"MDPLAN_STATE_DIR": str(tmp_path / "elsewhere")}

    for arguments in (("plan",), ("apply", "-"), ("doctor",)):
        assert "RECOVERY_REQUIRED" in mdplan(*arguments, stdin=CREATE, environment=elsewhere).err
    listed = mdplan("recover", environment=elsewhere)
    assert "would put back the old content of guide.md" in listed.err
    assert (project / "guide.md").read_text() == RESULT
    assert mdplan("recover", "--adopt", environment=elsewhere).code == 2
    assert mdplan("recover", "--adopt", "--yes", environment=elsewhere).code == 0
    assert (project / "guide.md").read_text() == GUIDE
    assert mdplan("apply", "-", stdin=CREATE, environment=elsewhere).code == 0
