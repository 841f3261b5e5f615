"""`mdplan plan`, `validate` and `show`: what they print, and where to."""

import hashlib
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.cli.pager import pager_command
from mdplan.engine.engine import Engine
from mdplan.reports.base import to_wire
from mdplan.words import ShellWords
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import BATCH, DIFF, GUIDE, RESULT, Run, mdplan, plan_id_of, write_batch

CASE_TABLES = CaseTables(__file__)


NO_OP = {
    "file": "guide.md",
    "edits": [{"op": "replace_match", "pattern": "nightly", "replacement": "nightly"}],
}

WRONG = CASE_TABLES.value("WRONG")


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
    assert run.json == to_wire(ShellWords().tell_all(report))
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
    assert "MDPLAN_STATE_DIR" in mdplan("apply", "plan.json").err
    monkeypatch.delenv("MDPLAN_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(project.parent / "states"))
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
    # Now it is known as a root.
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


# --- `mdplan apply`: a plan ID, a plan file or a pinned batch, exactly once and only on its base.

PINNED = BATCH | {"baseSha256": hashlib.sha256(GUIDE.encode()).hexdigest()}


@pytest.mark.parametrize("length", [19, 23, 71], ids=["12 digits", "16 digits", "all"])
def test_plan_is_applied_by_its_id(project: Path, length: int) -> None:
    run = mdplan("apply", plan_id_of()[:length])

    assert (run.code, run.out) == (0, b"")
    assert run.err.startswith("Applied: 1 file, 2 edits: +3 -1 lines.\nTo undo: mdplan undo ")
    assert (project / "guide.md").read_text() == RESULT


def test_second_apply_writes_nothing(project: Path) -> None:
    plan_id = plan_id_of()
    mdplan("apply", plan_id)
    before = (project / "guide.md").stat()

    again = mdplan("apply", plan_id)

    assert (again.code, again.err) == (0, "Applied already, nothing written: 1 file, 2 edits: +3 -1 lines.\n")
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


@pytest.mark.parametrize("option", ["--rebase", "--merge"])
def test_check_shows_what_a_stale_plan_would_do(project: Path, option: str) -> None:
    plan_id = plan_id_of()
    (project / "guide.md").write_text(GUIDE.replace("Use it.", "Use it well."))

    run = mdplan("apply", "--check", option, plan_id)

    assert run.code == 1
    assert b"+The stable build." in run.out
    assert "Use it well." in (project / "guide.md").read_text()


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


def test_root_error_has_the_report_shape_of_its_command(project: Path) -> None:
    refused = mdplan("apply", "--json", "--root", "missing", "-", stdin=PINNED)

    assert refused.code == 3
    assert refused.json["error"]["code"] == "FILE_NOT_FOUND"
    assert refused.json["applied"] is False
    assert to_wire(refused.json["diagnostics"]) == [refused.json["error"]]


# --- `mdplan show`: as text, as a patch, as a pull request comment and as SARIF.

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def text_of(plan_id: str, *arguments: str) -> str:
    run = mdplan("show", plan_id, "--format", "text", *arguments)
    assert run.code == 0, run.err
    return run.out.decode()


def test_hunks_are_labelled_with_edits_and_sections(project: Path) -> None:
    text = text_of(plan_id_of())

    assert text.startswith("guide.md  +3 -1\n@@ -1,11 +1,13 @@ Guide\n")
    assert '   edit 1 replace_match: "nightly", 1 of 1 matches\n' in text
    assert "   edit 2 append_to_section: Install\n" in text
    assert "-The nightly build.\n+The stable build.\n" in text


def test_changed_words_are_shown_in_reverse_video(project: Path) -> None:
    text = text_of(plan_id_of(), "--color", "always")

    assert "\x1b[31m\x1b[7mnightly\x1b[0m" in text
    assert "\x1b[32m\x1b[7mstable\x1b[0m" in text
    assert "\x1b[32mRestart.\x1b[0m" in text, "a line that is new as a whole has no marks"
    assert _COLOUR.sub("", text) == text_of(plan_id_of())


def test_show_prints_warnings_first(project: Path) -> None:
    (project / "guide.md").write_bytes(b"[u](#use)\n\n# Use\n")
    plan_id = plan_id_of(
        {"file": "guide.md", "edits": [{"op": "rename_heading", "headingPath": ["Use"], "newTitle": "X"}]}
    )

    text = text_of(plan_id)
    assert text.startswith("warning: BROKEN_LINK")
    run = mdplan("show", plan_id, "--format", "text")
    assert "BROKEN_LINK" not in run.err, "it was said"
    assert "BROKEN_LINK" in mdplan("show", plan_id).err


def test_changed_whitespace_is_visible(project: Path) -> None:
    (project / "guide.md").write_bytes(b"a  b\nc\n")
    batch = {"file": "guide.md", "edits": [
        {"op": "replace_match", "pattern": "a  b", "replacement": "a b"},
        {"op": "replace_match", "pattern": "c", "replacement": "c \t"},
    ]}  # fmt: skip

    assert "-a··b\n-c\n+a·b\n+c·→\n" in text_of(plan_id_of(batch))


def test_hostile_text_is_escaped(project: Path) -> None:
    (project / "guide.md").write_bytes("# T \x1b[2J\u202e\n\nold \x9b31m\u2066 \x1b[95m".encode())
    edit = {"op": "replace_match", "pattern": "old", "replacement": "\x1b]0;new\x07"}
    plan_id = plan_id_of({"file": "guide.md", "edits": [edit]})

    for form in ("text", "markdown"):
        out = mdplan("show", plan_id, "--format", form).out.decode()
        assert not set("\x1b\x07\x9b\u202e\u2066") & set(out)
        assert "\\x1b]0;new\\x07" in out
        # With colours the console lets all of them through: only a view can tell those of a file.
        coloured = mdplan("show", plan_id, "--format", form, "--color", "always").out.decode()
        assert "\x1b[95m" not in coloured
        assert "\\x1b[95m" in coloured


def test_patch_equals_the_diff_bytes(project: Path) -> None:
    plan_id = plan_id_of()

    assert mdplan("show", plan_id, "--format", "patch").out == DIFF.encode()
    assert mdplan("show", plan_id).out == DIFF.encode(), "in a pipe it is what goes without saying"


def test_applied_plan_is_shown_from_the_history(project: Path) -> None:
    plan_id = plan_id_of()
    before = {form: mdplan("show", plan_id, "--format", form).out for form in ("text", "patch", "markdown")}
    mdplan("apply", plan_id)
    assert (project / "guide.md").read_text() == RESULT

    assert {form: mdplan("show", plan_id, "--format", form).out for form in before} == before


def test_sarif_of_a_plan_that_is_stale_names_the_file(project: Path) -> None:
    plan_id = plan_id_of()
    assert results(mdplan("show", plan_id, "--format", "sarif")) == []
    (project / "guide.md").write_text("other\n")

    run = mdplan("show", plan_id, "--format", "sarif")

    assert run.code == 4
    (result,) = results(run)
    assert (result["ruleId"], result["level"]) == ("STALE_BASE", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "guide.md"


def results(run: Run) -> list[dict[str, object]]:
    return json.loads(run.out)["runs"][0]["results"]


@pytest.mark.parametrize("form", ["text", "patch", "markdown", "sarif", "auto"])
def test_unknown_plan_is_refused_in_every_format(project: Path, form: str) -> None:
    run = mdplan("show", "0" * 64, "--format", form)

    assert run.code == 3
    assert "PLAN_NOT_FOUND" in run.err + run.out.decode()


@CASE_TABLES.parametrize("environment", "command")
def test_pager_follows_the_environment(environment: dict[str, str], command: list[str] | None) -> None:
    assert pager_command(environment) == command


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("pager", ["tee seen", "no-such-pager"])
def test_text_goes_through_the_pager_on_a_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, pager: str
) -> None:
    from mdplan.cli.terminal import Console

    monkeypatch.setenv("MDPLAN_PAGER", pager)
    out = Terminal(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)

    text = "shown\n" * shutil.get_terminal_size().lines
    Console.plain().paged(text)

    assert out.buffer.getvalue() == (b"" if pager.startswith("tee") else text.encode())
    assert not pager.startswith("tee") or (project / "seen").read_text() == text


def test_text_that_fits_on_the_terminal_is_not_paged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mdplan.cli.terminal import Console

    monkeypatch.setenv("MDPLAN_PAGER", "tee seen")
    out = Terminal(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)

    text = "shown\n" * (shutil.get_terminal_size().lines - 1)
    Console.plain().paged(text)

    assert out.buffer.getvalue() == text.encode()
    assert not (project / "seen").exists()


def test_sarif_of_a_batch_lists_every_problem(project: Path) -> None:
    edits = [{"op": "delete_section", "headingPath": [name]} for name in ("Nowhere", "Neither")]

    run = mdplan("validate", "--format", "sarif", stdin={"file": "guide.md", "edits": edits})

    assert run.code == 3
    assert [(result["ruleId"], result["properties"]) for result in results(run)] == [
        ("SECTION_NOT_FOUND", {"editIndex": 0}),
        ("SECTION_NOT_FOUND", {"editIndex": 1}),
    ]
    assert run.err == ""
