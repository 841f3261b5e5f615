"""`mdplan edit`, `set`, `replace`, `append` and `tick`: one edit, its diff, a question, and the change."""

import re
from functools import cache
from pathlib import Path

import pytest

from mdplan.cli.commands.edit import OperationGroup
from mdplan.cli.edit_options import CommandWords, EditOptions
from mdplan.cli.program import COMMANDS
from mdplan.operations import OPERATIONS
from mdplan.words import say
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import GUIDE, mdplan
from tests.surfaces.dialog import Dialog

CASE_TABLES = CaseTables(__file__)


PAGE = CASE_TABLES.value("PAGE")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "app.ini").write_text("[server]\nport = 80\n", encoding="utf-8")
    steps = "steps:\n  - name: Build\n    minutes: 3  # at most\n"
    (tmp_path / "ci.yml").write_text(steps, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@CASE_TABLES.parametrize("words", "file", "old", "new")
def test_command_makes_the_edit(folder: Path, words: list[str], file: str, old: str, new: str) -> None:
    before = (folder / file).read_text(encoding="utf-8")
    assert old in before
    run = mdplan(*words, "--yes")

    assert run.code == 0, run.err
    assert run.out.startswith(b"diff --git ")
    assert (folder / file).read_text(encoding="utf-8") == before.replace(old, new, 1)


@pytest.mark.parametrize(
    ("given", "text"), [("# New", "# New\n"), ("# New\n", "# New\n"), ("", ""), ("@words.txt", "# Words")]
)
def test_new_file_from_arguments_ends_with_a_newline(folder: Path, given: str, text: str) -> None:
    (folder / "words.txt").write_text("# Words", encoding="utf-8")

    assert mdplan("edit", "create_file", "new.md", "--text", given, "--yes").code == 0
    assert (folder / "new.md").read_text(encoding="utf-8") == text


@CASE_TABLES.parametrize("words", "code", "message")
def test_failed_edit_writes_nothing_and_gives_the_reason(
    folder: Path, words: list[str], code: int, message: str
) -> None:
    run = mdplan(*words, "--yes")

    assert run.code == code, run.err
    assert message in run.err
    assert (folder / "page.md").read_text(encoding="utf-8") == PAGE


def test_without_a_terminal_the_plan_is_saved_and_nothing_changes(folder: Path) -> None:
    run = mdplan("tick", "page.md", "Buy tea")

    assert run.code == 1
    assert "+- [x] Buy tea" in run.out.decode()
    assert "Add --yes" in run.err
    assert (folder / "page.md").read_text(encoding="utf-8") == PAGE
    plan = run.err.partition("To apply: mdplan apply ")[2].split()[0]
    assert mdplan("apply", plan).code == 0
    assert "- [x] Buy tea" in (folder / "page.md").read_text(encoding="utf-8")


def test_dry_run_changes_nothing(folder: Path) -> None:
    run = mdplan("replace", "nightly", "stable", "page.md", "--dry-run", "--yes")

    assert run.code == 0
    assert (folder / "page.md").read_text(encoding="utf-8") == PAGE


def test_same_edit_goes_to_every_file_and_files_without_a_match_stay(folder: Path) -> None:
    (folder / "guide.md").write_text(GUIDE, encoding="utf-8")
    (folder / "other.md").write_text("# Other\n", encoding="utf-8")

    assert mdplan("replace", "nightly", "stable", "*.md", "--yes").code == 0
    assert "The stable build" in (folder / "guide.md").read_text(encoding="utf-8")
    assert "The stable build" in (folder / "page.md").read_text(encoding="utf-8")
    assert (folder / "other.md").read_text(encoding="utf-8") == "# Other\n"


def test_plan_has_the_files_with_a_match_and_names_those_that_are_no_text(folder: Path) -> None:
    (folder / "other.md").write_text("No such word.\n")
    (folder / "image.md").write_bytes(b"\0")

    planned = mdplan("replace", "nightly", "x", "page.md", "other.md", "--dry-run", "--json").json
    refused = mdplan("replace", "nightly", "x", "page.md", "image.md", "--dry-run", "--json").json

    assert [file["file"] for file in planned["files"]] == ["page.md"]
    assert refused["error"]["code"] == "NOT_A_TEXT_FILE"


def test_no_match_in_any_of_several_files_is_an_error(folder: Path) -> None:
    (folder / "other.md").write_text("# Other\n", encoding="utf-8")
    run = mdplan("replace", "absent", "x", "page.md", "other.md", "--yes")

    assert run.code == 3
    assert "MATCH_COUNT_MISMATCH" in run.err


def test_content_comes_from_standard_input_and_from_a_file(folder: Path) -> None:
    (folder / "text.md").write_text("From a file.\n", encoding="utf-8")

    assert mdplan("append", "page.md", "Install", "-", "--yes", stdin=b"From a pipe.\n").code == 0
    assert mdplan("append", "page.md", "Install", "@text.md", "--yes").code == 0
    assert (folder / "page.md").read_text(encoding="utf-8").endswith("\n\nFrom a pipe.\n\nFrom a file.\n")


def test_hunk_argument_is_text_and_needs_no_escape(folder: Path) -> None:
    (folder / "short.md").write_text("a\n", encoding="utf-8")

    assert mdplan("edit", "apply_diff", "short.md", "--diff", "@@ -1 +1 @@\n-a\n+b\n", "--yes").code == 0
    assert (folder / "short.md").read_text(encoding="utf-8") == "b\n"


def test_json_prints_one_report(folder: Path) -> None:
    run = mdplan("tick", "page.md", "Buy tea", "--json", "--yes")

    assert run.json["applied"] is True
    assert run.err == ""
    assert "- [x] Buy tea" in (folder / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("key", "is_applied"), [("y", True), ("n", False)])
def test_terminal_asks_before_it_applies(folder: Path, key: str, is_applied: bool) -> None:
    dialog = Dialog("tick", "page.md", "Buy tea")
    dialog.expect("Apply this change? [y/n/p/e/?]")
    dialog.type("?")
    dialog.expect("? - this help\n1 file, 1 edit: +1 -1 lines. Apply this change?")
    dialog.type(key)

    assert dialog.end() == (0 if is_applied else 1)
    assert ("- [x] Buy tea" in (folder / "page.md").read_text(encoding="utf-8")) is is_applied
    # A declined plan is not offered again.
    assert b"pending" not in mdplan("review", "--list").out


def test_editor_writes_the_content_and_can_change_the_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = folder / "editor.sh"
    editor.write_text(
        '#!/bin/sh\ncase "$1" in *.md) echo Written. > "$1";; *) sed -i s/Written/Revised/ "$1";; esac\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("MDPLAN_EDITOR", str(editor))
    dialog = Dialog("append", "page.md", "Install")
    dialog.expect("Apply this change?")
    dialog.type("e")
    dialog.expect("Apply this change?")
    assert "+Written." in dialog.seen
    assert "+Revised." in dialog.seen
    dialog.type("y")

    assert dialog.end() == 0
    assert (folder / "page.md").read_text(encoding="utf-8").endswith("\n\nRevised.\n")


def test_every_operation_is_a_command() -> None:
    group = COMMANDS["edit"]()
    assert isinstance(group, OperationGroup)

    for op in OPERATIONS:
        run = mdplan("edit", op, "--help")
        assert run.code == 0, op
        assert f"mdplan edit {op}" in run.out.decode()


@CASE_TABLES.parametrize("typed", "suggestion")
def test_unknown_command_suggests_the_right_one(typed: str, suggestion: str) -> None:
    run = mdplan(typed, "page.md")

    assert run.code == 2
    assert suggestion in run.err


def test_glob_names_files_of_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "other.md").write_text("The nightly build.\n", encoding="utf-8")
    monkeypatch.chdir(folder / "sub")

    assert mdplan("replace", "nightly", "stable", "*.md", "--yes").code == 0
    assert (folder / "sub" / "other.md").read_text(encoding="utf-8") == "The stable build.\n"
    assert (folder / "page.md").read_text(encoding="utf-8") == PAGE


def test_glob_without_a_match_is_an_error(folder: Path) -> None:
    run = mdplan("replace", "a", "b", "*.rst", "--yes")

    assert run.code == 2
    assert "no file matches `*.rst`" in run.err


def test_edit_waits_for_the_required_approval(folder: Path) -> None:
    run = mdplan("tick", "page.md", "Buy tea", "--yes", "--require-approval")

    assert run.code == 5
    assert "APPROVAL_REQUIRED" in run.err
    assert (folder / "page.md").read_text(encoding="utf-8") == PAGE


# --- Messages of the edit commands name options of the command instead of batch fields.

_JSON = re.compile(r'"\w+": |\["|\{(?!#)|\[\](?! task)|`\w+: (?:true|false)`')


@cache
def options_of(op: str) -> EditOptions:
    return EditOptions.of(op)


def fields_named(text: str, op: str) -> list[str]:
    """Return field names that the shell does not have: with an upper-case letter, or in backquotes."""
    names = options_of(op).schemas
    found = re.findall(r"(?<![-\w])[a-z]+[A-Z]\w*", text) + re.findall(r"`([a-z]\w*)`", text)
    return [name for name in found if name in names]


@pytest.mark.parametrize("op", OPERATIONS)
def test_option_help_does_not_mention_json(op: str) -> None:
    for option in options_of(op).options():
        told = str(option.help)
        assert not _JSON.search(told), told
        assert not re.search(r"\bJSON\b|\barray\b", told), told
        assert not [name for name in fields_named(told, op) if name != "sectionSha256"], told


@CASE_TABLES.parametrize("op", "text", "told")
def test_fields_become_options(op: str, text: str, told: str) -> None:
    assert CommandWords.of_edit(options_of(op)).text(say(text)) == told
