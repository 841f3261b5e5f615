"""`mdplan plan`, `validate` and `show`: what they print, and where to."""

import json
import shlex
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.reports.base import to_wire
from mdplan.reports.next_steps import Caller, with_hints_for
from tests.surfaces.command_line import BATCH, DIFF, GUIDE, RESULT, mdplan, plan_id_of, write_batch

NO_OP = {
    "file": "guide.md",
    "edits": [{"op": "replace_match", "pattern": "nightly", "replacement": "nightly"}],
}
WRONG = {
    "file": "guide.md",
    "edits": [
        {"op": "append_to_section", "heading": "Missing", "markdown": "x"},
        {"op": "replace_match", "pattern": "it", "replacement": "that"},
    ],
}


@pytest.mark.requirement("cli-1")
def test_diff_goes_to_standard_output_and_the_rest_to_standard_error(project: Path) -> None:
    run = mdplan("plan", write_batch(project))
    plan_id = plan_id_of()

    assert run.code == 0
    assert run.out.decode() == DIFF
    assert run.err == (
        f"1 file, 2 edits: +3 -1 lines. Plan {plan_id[7:19]} saved.\nTo apply: mdplan apply {plan_id[7:19]}\n"
    )
    assert (project / "guide.md").read_text() == GUIDE


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_batch_comes_from_standard_input(project: Path, arguments: tuple[str, ...]) -> None:
    assert mdplan("plan", *arguments, stdin=BATCH).out.decode() == DIFF


def test_json_is_the_report_and_nothing_else(project: Path) -> None:
    run = mdplan("plan", "--json", stdin=BATCH)

    assert run.json == to_wire(Engine.open([project]).plan(BATCH))
    assert run.out.count(b"\n") == 1
    assert run.err == ""


def test_shown_command_applies_the_plan(project: Path) -> None:
    shown = mdplan("plan", "--root", str(project), stdin=BATCH).err.partition("To apply: mdplan ")[2]

    assert mdplan(*shlex.split(shown)).code == 0
    assert (project / "guide.md").read_text() == RESULT


def test_quiet_prints_only_the_diff(project: Path) -> None:
    run = mdplan("plan", "--quiet", stdin=BATCH)

    assert (run.out.decode(), run.err) == (DIFF, "")


@pytest.mark.parametrize(
    ("batch", "code"), [(BATCH, 1), (NO_OP, 0), (WRONG, 3)], ids=["change", "none", "wrong"]
)
def test_check_says_whether_anything_would_change(project: Path, batch: object, code: int) -> None:
    assert mdplan("plan", "--check", stdin=batch).code == code


def test_plan_without_change_says_so(project: Path) -> None:
    run = mdplan("plan", stdin=NO_OP)

    assert (run.code, run.out) == (0, b"")
    assert run.err == "Nothing to change: the files already have this content.\n"


def test_all_problems_are_reported_with_place_and_hint(project: Path) -> None:
    run = mdplan("plan", stdin=WRONG)

    assert (run.code, run.out) == (3, b"")
    assert run.err.count("error: ") == 2
    assert "error: SECTION_NOT_FOUND: " in run.err
    assert "error: MATCH_COUNT_MISMATCH: " in run.err
    assert "  at: edit 1 of guide.md\n" in run.err
    assert "  at: guide.md:7:5, edit 2\n" in run.err
    assert run.err.count("\n  hint: ") == 2


def test_json_problems_have_hints_for_the_shell(project: Path) -> None:
    run = mdplan("plan", "--json", stdin=WRONG)

    assert run.code == 3
    report = Engine.open([project]).plan(WRONG)
    assert run.json == to_wire(with_hints_for(Caller.SHELL, report))
    assert run.err == ""


def test_several_files_are_listed(project: Path) -> None:
    (project / "notes.md").write_text("# Notes\n")
    batch = {
        "files": [
            BATCH,
            {
                "file": "notes.md",
                "edits": [{"op": "append_to_section", "heading": "Notes", "markdown": "New."}],
            },
        ]
    }

    run = mdplan("plan", stdin=batch)

    assert run.err.startswith("  guide.md  +3 -1\n  notes.md  +2 -0\n2 files, 3 edits: +5 -1 lines. Plan ")


def test_diff_of_bytes_that_are_no_unicode_is_exact(project: Path) -> None:
    (project / "odd.md").write_bytes(b"# Odd \xff\n\nold \xe2\x80\xae\x1b[31m\n")
    batch = {"file": "odd.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}

    assert mdplan("plan", stdin=batch).out.endswith(
        b"@@ -1,3 +1,3 @@\n # Odd \xff\n \n-old \xe2\x80\xae\x1b[31m\n+new \xe2\x80\xae\x1b[31m\n"
    )


def test_warnings_precede_the_summary(project: Path) -> None:
    (project / "links.md").write_text("# Links\n\nSee [there](#there).\n\n## There\n")
    batch = {"file": "links.md", "edits": [{"op": "rename_heading", "heading": "There", "newTitle": "Here"}]}

    err = mdplan("plan", stdin=batch).err

    assert err.startswith("warning: BROKEN_LINK: ")
    assert err.index("  at: links.md:3:") < err.index("1 file, 1 edit: ")


def test_output_file_is_a_plan_that_applies_elsewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = mdplan("plan", "--output", "plan.json", stdin=BATCH)
    assert planned.out.decode() == DIFF
    assert planned.err.endswith("written to plan.json.\nTo apply: mdplan apply plan.json\n")

    monkeypatch.setenv("MDPLAN_STATE_DIR", str(project.parent / "another machine"))

    assert mdplan("apply", "plan.json").code == 0
    assert (project / "guide.md").read_text() == RESULT


def test_plan_that_cannot_be_stored_can_be_written_to_a_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "blocked").write_text("no folder")
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(project.parent / "blocked"))

    planned = mdplan("plan", "--output", "plan.json", stdin=BATCH)

    assert (planned.code, planned.out.decode()) == (0, DIFF)
    assert mdplan("apply", "plan.json").code == 0
    assert (project / "guide.md").read_text() == RESULT


def test_root_is_the_nearest_one_upwards(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "docs" / "deep").mkdir(parents=True)
    (project / "docs" / "own.md").write_text(GUIDE)
    monkeypatch.chdir(project / "docs" / "deep")

    assert mdplan("plan", stdin=BATCH).out.decode() == DIFF
    own = json.loads(json.dumps(BATCH).replace("guide.md", "own.md"))
    assert mdplan("plan", stdin=own).code == 3
    assert mdplan("plan", "--root", "..", stdin=own).code == 0
    (project / "docs" / ".mdplan").mkdir()
    assert mdplan("plan", stdin=own).code == 0


@pytest.mark.parametrize("option", [("--deny", "*.md"), ("--allow", "docs/")])
def test_allow_and_deny_limit_editable_files(project: Path, option: tuple[str, str]) -> None:
    run = mdplan("plan", *option, stdin=BATCH)

    assert run.code == 3
    assert run.err.startswith("error: PATH_OUTSIDE_ROOT: ")
    assert option[1] in run.err


def test_validate_says_what_is_wrong_and_prints_no_diff(project: Path) -> None:
    sound, wrong = mdplan("validate", stdin=BATCH), mdplan("validate", stdin=WRONG)

    assert (sound.code, sound.out, sound.err) == (
        0,
        b"",
        "Valid: 1 file, 2 edits: +3 -1 lines would change.\n",
    )
    assert (wrong.code, wrong.out, wrong.err.count("error: ")) == (3, b"", 2)
    assert mdplan("validate", "--json", stdin=BATCH).json["diff"] == DIFF


def test_show_prints_a_saved_plan_again(project: Path) -> None:
    plan_id = plan_id_of()

    assert mdplan("show", plan_id[:19]).out.decode() == DIFF
    assert mdplan("show", "--json", plan_id).json["diff"] == DIFF
    mdplan("apply", plan_id)
    applied = mdplan("show", plan_id)
    assert (applied.code, applied.out.decode()) == (0, DIFF)
    assert applied.err == "This plan is applied: its files have the planned text.\n"
    assert mdplan("show", "sha256-" + "0" * 64).code == 3
