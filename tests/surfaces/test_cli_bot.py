"""`mdplan bot` as people and CI run it: exit codes, streams, events, values from outside."""

import json
from pathlib import Path

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


MANIFEST = CASE_TABLES.value("MANIFEST")
DIFF = CASE_TABLES.value("DIFF")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.md").write_text("# A\n\nRelease 1.0\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# B\n", encoding="utf-8")
    (tmp_path / "bot.yml").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("verb", "code"), [("check", 1), ("plan", 0)])
def test_sarif_log_contains_changes_as_fixes(project: Path, verb: str, code: int) -> None:
    done = mdplan("bot", verb, "bot.yml", "--sarif", "log.json")

    (result,) = json.loads((project / "log.json").read_text())["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert (done.code, result["ruleId"], change["artifactLocation"]["uri"]) == (code, "WOULD_CHANGE", "a.md")
    assert change["replacements"][0]["insertedContent"]["text"] == "Release 2.0\n"


def test_manifest_error_is_in_the_sarif_log(project: Path) -> None:
    (project / "bot.yml").write_text("files: 1")
    done = mdplan("bot", "check", "bot.yml", "--sarif", "log.json")

    (result,) = json.loads((project / "log.json").read_text())["runs"][0]["results"]
    assert (done.code, result["level"]) == (2, "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bot.yml"


def test_sarif_log_that_cannot_be_written_is_an_error() -> None:
    assert mdplan("bot", "check", "bot.yml", "--sarif", "missing/log.json").code == 6


def test_apply_makes_the_next_check_pass() -> None:
    runs = [mdplan("bot", verb, "bot.yml") for verb in ("check", "apply", "check", "apply")]

    assert [run.code for run in runs] == [1, 0, 0, 0]
    assert [run.out for run in runs] == [b""] * 4
    assert "Would change 1 file, 1 replacement: +1 -1 lines." in runs[0].err
    assert "Applied: 1 file, 1 replacement: +1 -1 lines." in runs[1].err
    assert "All files match the manifest." in runs[2].err
    assert Path("a.md").read_text() == "# A\n\nRelease 2.0\n"


@CASE_TABLES.parametrize("verb", "options", "code", tuples=True)
def test_last_event_has_the_exit_code(project: Path, verb: str, options: tuple[str, ...], code: int) -> None:
    if "--all-or-nothing" in options:
        (project / "c.md").write_bytes(b"\x00 1.0")
    run = mdplan("bot", verb, "bot.yml", "--progress", "jsonl", *options)

    events = [json.loads(line) for line in run.err.split("\n") if line.startswith("{")]
    assert (run.code, events[-1]) == (code, {"event": "ended", "exit": code})


def test_problem_of_many_files_is_reported_once(project: Path) -> None:
    for number in range(30):
        (project / f"page-{number:02}.md").write_text("# Page\n", encoding="utf-8")
    edit = "{op: append_to_section, heading: Gone, markdown: x}"
    (project / "bot.yml").write_text(
        f"files: [{{glob: 'page-*', when: {{hasText: Page}}, edits: [{edit}]}}]\n", encoding="utf-8"
    )

    run = mdplan("bot", "check", "bot.yml")

    assert run.code == 1
    assert run.err.count("SECTION_NOT_FOUND") == 1
    assert "  at: page-00.md\n      page-01.md\n" in run.err
    assert "      page-20.md\n      and 9 more\n" in run.err


def test_surplus_problems_are_counted(project: Path) -> None:
    for number in range(130):
        (project / f"page-{number:03}.md").write_bytes(b"\x00\x01")
    (project / "bot.yml").write_text(
        "files: [{glob: 'page-*', edits: [{op: update_toc}]}]\n", encoding="utf-8"
    )

    run = mdplan("bot", "check", "bot.yml")

    assert run.err.count("NOT_A_TEXT_FILE") == 100
    assert "\nand 30 more; `--json` lists all of them\n" in run.err


def test_plan_prints_the_diff_and_saves_the_plan(project: Path) -> None:
    run = mdplan("bot", "plan", "bot.yml")

    assert (run.code, run.out.decode()) == (0, DIFF)
    plan_id = run.err.partition("To apply: mdplan apply ")[2].split()[0]
    assert mdplan("show", plan_id).out.decode() == DIFF
    assert mdplan("apply", plan_id).code == 0
    assert (project / "a.md").read_text() == "# A\n\nRelease 2.0\n"


def test_plan_goes_to_another_job_as_a_file(project: Path) -> None:
    assert mdplan("bot", "plan", "bot.yml", "--output", "plan.json").code == 0

    assert mdplan("apply", "plan.json").code == 0
    assert mdplan("bot", "check", "bot.yml").code == 0


def test_values_come_from_options_and_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEASE", "3.0")
    monkeypatch.setenv("SECRET", "s3cret")
    (project / "more.json").write_text('{"name": "Ann"}')
    text = "'{{env.RELEASE}} {{vars.x}} {{data.more.name}}'"
    edit = f"{{op: replace_match, pattern: Release 1.0, replacement: {text}}}"
    (project / "bot.yml").write_text(f"files: [{{file: a.md, edits: [{edit}]}}]")

    run = mdplan("bot", "apply", "bot.yml", "--env", "RELEASE", "--var", "x=a=b", "--data", "more=more.json")
    assert run.code == 0
    assert (project / "a.md").read_text() == "# A\n\n3.0 a=b Ann\n"
    (project / "bot.yml").write_text(
        "files: [{file: a.md, edits: [{op: create_file, markdown: '{{env.SECRET}}'}]}]"
    )
    assert mdplan("bot", "check", "bot.yml", "--env", "RELEASE").code == 2


def test_events_are_json_lines() -> None:
    run = mdplan("bot", "apply", "bot.yml", "--progress", "jsonl", "--quiet")

    events = [json.loads(line) for line in run.err.splitlines()]
    assert [event["event"] for event in events] == ["listed", "planned", "committing", "committed", "ended"]
    assert events[0] == {"event": "listed", "files": 2}
    assert events[1] == {"event": "planned", "done": 2, "files": 2}


def test_report_counts_files() -> None:
    report = mdplan("bot", "check", "bot.yml", "--json").json

    counts = {name: report[name] for name in report if name.startswith("files") and name != "files"}
    assert counts == {
        "filesNamed": 2,
        "filesLeftOut": 1,
        "filesHold": 0,
        "filesChanged": 1,
        "filesRefused": 0,
    }
    assert [file["file"] for file in report["files"]] == ["a.md"]


def test_manifest_problem_has_its_position() -> None:
    Path("bot.yml").write_text("files:\n  - glob: '*.md'\n    edits: [{op: replace_mach}]\n")

    run = mdplan("bot", "check", "bot.yml")

    assert run.code == 2
    assert "at: bot.yml:3:13" in run.err


@pytest.mark.parametrize(("verb", "applied"), [("check", "1.0"), ("plan", "1.0"), ("apply", "2.0")])
def test_file_that_cannot_be_edited_fails_alone(project: Path, verb: str, applied: str) -> None:
    (project / "c.md").write_text("1.0 1.0\n")

    assert mdplan("bot", verb, "bot.yml", "--all-or-nothing").code == 3
    assert (project / "a.md").read_text() == "# A\n\nRelease 1.0\n"
    run = mdplan("bot", verb, "bot.yml")
    assert run.code == 1
    assert "MATCH_COUNT_MISMATCH" in run.err
    assert (project / "a.md").read_text() == f"# A\n\nRelease {applied}\n"
    assert (project / "c.md").read_text() == "1.0 1.0\n"


def test_rule_without_files_is_reported() -> None:
    Path("bot.yml").write_text("files: [{glob: '*.rst', edits: [{op: delete_file}]}]")

    run = mdplan("bot", "check", "bot.yml")

    assert run.code == 0
    assert "no file matches" in run.err


@CASE_TABLES.parametrize("arguments")
def test_wrong_options_are_refused(arguments: list[str]) -> None:
    assert mdplan("bot", "check", "bot.yml", *arguments).code == 2
