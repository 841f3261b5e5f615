"""`mdplan apply`: a plan ID, a plan file or a pinned batch, exactly once and only on its base."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.reports.base import to_wire
from tests.surfaces.command_line import BATCH, DIFF, GUIDE, RESULT, mdplan, plan_id_of, write_batch

PINNED = BATCH | {"baseSha256": hashlib.sha256(GUIDE.encode()).hexdigest()}


@pytest.mark.parametrize("length", [19, 23, 71], ids=["12 digits", "16 digits", "all"])
def test_plan_is_applied_by_its_id(project: Path, length: int) -> None:
    run = mdplan("apply", plan_id_of()[:length])

    assert (run.code, run.out, run.err) == (0, b"", "Applied: 1 file, 2 edits: +3 -1 lines.\n")
    assert (project / "guide.md").read_text() == RESULT


def test_plan_id_of_digits_is_accepted(project: Path) -> None:
    assert mdplan("apply", plan_id_of().removeprefix("sha256-")[:12]).code == 0


def test_second_apply_writes_nothing(project: Path) -> None:
    plan_id = plan_id_of()
    mdplan("apply", plan_id)
    before = (project / "guide.md").stat()

    again = mdplan("apply", plan_id)

    assert (again.code, again.err) == (0, "Already applied, nothing written: 1 file, 2 edits: +3 -1 lines.\n")
    after = (project / "guide.md").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert mdplan("apply", "--json", plan_id).json["alreadyApplied"] is True


def test_stale_base_is_refused_and_explained(project: Path) -> None:
    plan_id = plan_id_of()
    theirs = GUIDE.replace("Use it.", "Use it well.")
    (project / "guide.md").write_text(theirs)

    run = mdplan("apply", plan_id)

    assert (run.code, run.out) == (4, b"")
    assert run.err.startswith("error: STALE_BASE: `guide.md` ")
    assert "  sections:\n" in run.err
    assert "Guide / Use\n" in run.err
    assert (project / "guide.md").read_text() == theirs


@pytest.mark.parametrize("named", [plan_id_of, lambda: "plan.json"], ids=["plan ID", "plan file"])
def test_stale_plan_is_rebased_when_that_is_asked_for(project: Path, named: Callable[[], str]) -> None:
    mdplan("plan", "--output", "plan.json", stdin=BATCH)
    plan = named()
    (project / "guide.md").write_text(GUIDE.replace("Use it.", "Use it well."))

    run = mdplan("apply", "--rebase", plan)

    assert run.code == 0
    assert run.err.startswith("Applied: 1 file, 2 edits: +3 -1 lines, on the files as they are now, as plan ")
    assert (project / "guide.md").read_text() == RESULT.replace("Use it.", "Use it well.")


def test_dry_run_is_not_rebased(project: Path) -> None:
    assert mdplan("apply", "--check", "--rebase", plan_id_of()).code == 2


@pytest.mark.parametrize("arguments", [["batch.json"], ["-"], []], ids=["file", "dash", "piped in"])
def test_guarded_batch_is_applied(project: Path, arguments: list[str]) -> None:
    write_batch(project, PINNED)

    run = mdplan("apply", *arguments, stdin=PINNED)

    assert (run.code, run.out) == (0, b"")
    assert (project / "guide.md").read_text() == RESULT


def test_unguarded_batch_is_refused(project: Path) -> None:
    run = mdplan("apply", "-", stdin=BATCH)

    assert run.code == 3
    assert run.err.startswith("error: PRECONDITION_REQUIRED: ")
    assert (project / "guide.md").read_text() == GUIDE


def test_json_contains_the_receipt(project: Path) -> None:
    report = mdplan("apply", "--json", "-", stdin=PINNED).json

    assert report["applied"] is True
    assert report["receipt"]["files"][0]["resultSha256"] == hashlib.sha256(RESULT.encode()).hexdigest()


def test_check_writes_nothing(project: Path) -> None:
    plan_id = plan_id_of()

    for run in (mdplan("apply", "--check", plan_id), mdplan("apply", "--check", "-", stdin=PINNED)):
        assert (run.code, run.out.decode()) == (1, DIFF)
        assert run.err.startswith(f"1 file, 2 edits: +3 -1 lines. Plan {plan_id[7:19]}")
        assert run.err.endswith(f"\nTo apply: mdplan apply {plan_id[7:19]}\n")
    assert (project / "guide.md").read_text() == GUIDE
    mdplan("apply", plan_id)
    assert mdplan("apply", "--check", plan_id).code == 0


def test_dry_run_in_the_batch_writes_nothing(project: Path) -> None:
    run = mdplan("apply", "-", stdin=PINNED | {"dryRun": True})

    assert (run.code, run.out.decode()) == (0, DIFF)
    assert (project / "guide.md").read_text() == GUIDE


def test_check_option_overrides_dry_run_false_of_the_batch(project: Path) -> None:
    assert mdplan("apply", "--check", "-", stdin=PINNED | {"dryRun": False}).code == 1
    assert (project / "guide.md").read_text() == GUIDE


def test_report_is_accepted_as_plan_argument(project: Path) -> None:
    (project / "report.json").write_bytes(mdplan("plan", "--json", stdin=BATCH).out)

    assert mdplan("apply", "report.json").code == 0
    assert (project / "guide.md").read_text() == RESULT


def test_plan_file_that_was_changed_is_refused(project: Path) -> None:
    mdplan("plan", "--output", "plan.json", stdin=BATCH)
    document = json.loads((project / "plan.json").read_bytes())
    document["files"][0]["textEdits"][0][2] = "evil"
    (project / "plan.json").write_text(json.dumps(document))

    run = mdplan("apply", "plan.json")

    assert run.code == 3
    assert run.err.startswith("error: PLAN_TAMPERED: ")
    assert (project / "guide.md").read_text() == GUIDE


@pytest.mark.parametrize("option", ["--allow-outline-change", "--allow-duplicate-headings"])
def test_batch_options_are_refused_with_a_plan(project: Path, option: str) -> None:
    run = mdplan("apply", option, plan_id_of())

    assert run.code == 2
    assert "are for batches" in run.err
    assert (project / "guide.md").read_text() == GUIDE


def test_option_overrides_the_batch(project: Path) -> None:
    batch = PINNED | {"edits": [{"op": "rename_heading", "heading": "Use", "newTitle": "Install"}]}

    assert mdplan("apply", "-", stdin=batch).code == 3
    assert mdplan("apply", "--allow-duplicate-headings", "-", stdin=batch).code == 0


def test_root_error_has_the_report_shape_of_its_command(project: Path) -> None:
    refused = mdplan("apply", "--json", "--root", "missing", "-", stdin=PINNED)

    assert refused.code == 3
    assert refused.json["error"]["code"] == "FILE_NOT_FOUND"
    assert refused.json["applied"] is False
    assert to_wire(refused.json["diagnostics"]) == [refused.json["error"]]
