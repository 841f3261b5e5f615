"""`mdplan edit`, `set`, `replace`, `append` and `tick`: one edit, its diff, a question, and the change."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mdplan.cli.commands.edit import OperationGroup
from mdplan.cli.edit_options import CommandWords, EditOptions, edit_command, in_words
from mdplan.cli.program import COMMANDS
from mdplan.cli.proposal import SHORTCUT_OPS, shortcut_words
from mdplan.operations import OPERATIONS
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.requests.spellings import SPELLINGS
from tests.support.golden_cases import Case, find_cases
from tests.surfaces.command_line import GUIDE, mdplan
from tests.surfaces.dialog import Dialog

PAGE = """---
title: Tea
---

# Tea

- [ ] Buy tea
- [x] Boil water

## Install

Run `nightly`. The nightly build.

| Name | Price |
|------|-------|
| Oolong | 4 |
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "app.ini").write_text("[server]\nport = 80\n", encoding="utf-8")
    steps = "steps:\n  - name: Build\n    minutes: 3  # at most\n"
    (tmp_path / "ci.yml").write_text(steps, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "file", "old", "new"),
    [
        (["set", "page.md", "draft=false"], "page.md", "title: Tea\n", "title: Tea\ndraft: false\n"),
        (["set", "page.md", "title='7'"], "page.md", "title: Tea\n", 'title: "7"\n'),
        (["set", "page.md", "date=2026-01-31"], "page.md", "title: Tea\n", "title: Tea\ndate: 2026-01-31\n"),
        (["set", "page.md", "of='2026-01-31'"], "page.md", "title: Tea\n", 'title: Tea\nof: "2026-01-31"\n'),
        (["set", "page.md", "tags=[a, b]"], "page.md", "title: Tea\n", "title: Tea\ntags:\n  - a\n  - b\n"),
        (["set", "page.md", "a.b=1"], "page.md", "title: Tea\n", "title: Tea\na:\n  b: 1\n"),
        (["set", "app.ini", "server.port=8080"], "app.ini", "port = 80\n", "port = 8080\n"),
        (["set", "ci.yml", "steps[name=Build].minutes=5"], "ci.yml", "minutes: 3", "minutes: 5"),
        (["set", "ci.yml", "on=[push]"], "ci.yml", "3  # at most\n", '3  # at most\n"on":\n  - push\n'),
        (["edit", "add_to_list", "ci.yml", "--key", "steps", "--value", "{name: Test}"],
         "ci.yml", "3  # at most\n", "3  # at most\n  - name: Test\n"),
        (["replace", "nightly", "stable", "page.md"], "page.md", "The nightly", "The stable"),
        (["replace", "--code", "nightly", "x", "page.md"], "page.md", "`nightly`. The nightly", "`x`. The x"),
        (
            ["replace", "-E", "(Run).*", r"\1 it.", "page.md", "--code"],
            "page.md", "Run `nightly`. The nightly build.", "Run it.",
        ),
        (["replace", "-w", "tea", r"\1 \g<a> $1", "page.md"], "page.md", "Buy tea", r"Buy \1 \g<a> $1"),
        (["replace", "-i", "buy TEA", "Buy chai", "page.md"], "page.md", "Buy tea", "Buy chai"),
        (["append", "page.md", "Tea / Install", "More."], "page.md", "4 |\n", "4 |\n\nMore.\n"),
        (["append", "page.md", "Tea", "More."], "page.md", "Boil water\n", "Boil water\n\nMore.\n"),
        (["append", "page.md", "Tea", "- [ ] Pour"], "page.md", "Boil water\n", "Boil water\n- [ ] Pour\n"),
        (["replace", "- [ ] Buy", "- Buy", "page.md"], "page.md", "- [ ] Buy", "- Buy"),
        (["append", "page.md", "Tea", "--text", "More."], "page.md", "Boil water\n", "Boil water\n\nMore.\n"),
        (["tick", "page.md", "Buy tea"], "page.md", "- [ ] Buy", "- [x] Buy"),
        (["tick", "page.md", "--off", "Boil water"], "page.md", "- [x] Boil", "- [ ] Boil"),
        (
            ["edit", "rename_heading", "page.md", "--section", "Install", "--new-title", "Set up"],
            "page.md", "## Install", "## Set up",
        ),
        (
            ["edit", "rename-heading", "page.md", "--heading-path", "Tea / Install", "--new-title", "Set up"],
            "page.md", "## Install", "## Set up",
        ),
        (
            ["edit", "upsert_table_row", "page.md", "--key-column", "Name", "--key", "Green",
             "--row", "Price=3"],
            "page.md", "| Oolong | 4 |\n", "| Oolong | 4 |\n| Green | 3 |\n",
        ),
        (
            ["edit", "replace_lines", "page.md", "--lines", "7-8", "--text", "- None"],
            "page.md", "- [ ] Buy tea\n- [x] Boil water\n", "- None\n",
        ),
        (
            ["edit", "replace_range", "page.md", "--range", "5:3-5:6", "--replacement", "Chai",
             "--allow-insecure-range"],
            "page.md", "# Tea\n", "# Chai\n",
        ),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["replace", "absent", "x", "page.md"], 3, "0 matches"),
        (["set", "page.md", "a=[1"], 2, "has no closing `]`"),
        (["set", "page.md", "app.ini", "a=1"], 2, "separate commands"),
        (["tick", "page.md", "Buy the tea"], 3, "Buy tea"),
        (["append", "page.md", "Tea", "@absent.md"], 2, "`absent.md` cannot be read"),
        (["append", "page.md", "Tea", "More.", "--text", "More."], 2, "the text is given twice"),
        (["edit", "replace_lines", "page.md", "--lines", "x", "--text", "a"], 2, "such as 12-25"),
        (["edit", "rename_heading", "page.md", "--section", "Install"], 2, "needs `--new-title`"),
    ],
)  # fmt: skip
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
    dialog.expect("Apply this change? [y/n/e/?]")
    dialog.type("?")
    dialog.expect("? - this help\n1 file, 1 edit: +1 -1 lines. Apply this change?")
    dialog.type(key)

    assert dialog.end() == (0 if is_applied else 1)
    assert ("- [x] Buy tea" in (folder / "page.md").read_text(encoding="utf-8")) is is_applied
    # What was declined is not offered again.
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
    group = COMMANDS["edit"].load()
    assert isinstance(group, OperationGroup)

    for op in OPERATIONS:
        run = mdplan("edit", op, "--help")
        assert run.code == 0, op
        assert f"mdplan edit {op}" in run.out.decode()


@pytest.mark.parametrize(
    ("typed", "suggestion"),
    [
        ("plna", "did you mean `mdplan plan`?"),
        ("rplace", "did you mean `mdplan replace`?"),
        ("set_task", "it is an operation: `mdplan edit set_task FILE`"),
        ("rename-heading", "it is an operation: `mdplan edit rename_heading FILE`"),
        ("xyzzy", "`mdplan help` lists the commands"),
    ],
)
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

# No command can send these, so nobody in a shell reads of them.
_OF_BATCHES = {"UNKNOWN_FIELD", "PRECONDITION_REQUIRED"}

_OTHER_SPELLINGS = re.compile(
    r"expectedMatches|nodeExclusions|contradict each other|(?:beside|next to) `|base[sS]ha256"
)

_JSON = re.compile(r'"\w+": |\["|\{(?!#)|\[\](?! task)|`\w+: (?:true|false)`')


def texts_of_edits() -> Iterator[tuple[str, str]]:
    """Each message and hint of the golden cases about one edit, with its operation."""
    for case in find_cases():
        edits = edits_of(case)
        problems = [*(case.diagnostics or []), *((case.report or {}).get("warnings", []))]
        for problem in problems:
            index = problem.get("editIndex", 0 if len(edits) == 1 else None)
            if index is None or problem["code"] in _OF_BATCHES or index >= len(edits):
                continue
            op = edits[index].get("op") if isinstance(edits[index], dict) else None
            op = SPELLINGS[op].op if op in SPELLINGS else op
            for text in (problem.get("message", ""), problem.get("hint", "")):
                if op in OPERATIONS and text and not _OTHER_SPELLINGS.search(text):
                    yield op, text


def edits_of(case: Case) -> list[Any]:
    batch = case.text.json("batch") or case.text.json("apply") or {}
    entries = batch.get("files", [batch]) if isinstance(batch, dict) else []
    return [edit for entry in entries if isinstance(entry, dict) for edit in entry.get("edits", [])]


TEXTS = sorted(set(texts_of_edits()))


@cache
def options_of(op: str) -> EditOptions:
    return EditOptions.of(op)


def fields_named(text: str, op: str) -> list[str]:
    """Names of fields in `text` that no shell has: those with an upper-case letter, and any in backquotes."""
    names = options_of(op).schemas
    found = re.findall(r"(?<![-\w])[a-z]+[A-Z]\w*", text) + re.findall(r"`([a-z]\w*)`", text)
    return [name for name in found if name in names]


def test_help_texts_are_found() -> None:
    assert len(TEXTS) > 300
    assert {op for op, _ in TEXTS} > set(SHORTCUT_OPS)


@pytest.mark.parametrize("op", sorted({op for op, _ in TEXTS}))
def test_edit_names_options(op: str) -> None:
    words = CommandWords.of_edit(options_of(op))

    for text in (text for each, text in TEXTS if each == op):
        told = in_words(in_words_of(Caller.SHELL, text), words)
        assert not _JSON.search(told), told
        assert not fields_named(told, op), told


@pytest.mark.parametrize("op", SHORTCUT_OPS)
def test_shortcut_errors_name_arguments_or_the_full_command(op: str) -> None:
    words = shortcut_words(op)

    def command(name: str, value: object) -> str:
        return edit_command(options_of(op), "guide.md", {"op": op, name: value})

    for text in (text for each, text in TEXTS if each == op):
        told = in_words(in_words_of(Caller.SHELL, text), words, command)
        assert not _JSON.search(told), told
        assert not re.search(r"(?<![-\w])(?:itemOccurrence|headingPath|sectionId|matchSelection)", told), told


@pytest.mark.parametrize("op", OPERATIONS)
def test_option_help_does_not_mention_json(op: str) -> None:
    for option in options_of(op).options():
        told = str(option.help)
        assert not _JSON.search(told), told
        assert not re.search(r"\bJSON\b|\barray\b", told), told
        assert not [name for name in fields_named(told, op) if name != "sectionSha256"], told


@pytest.mark.parametrize(
    ("op", "text", "told"),
    [
        (
            "set_task",
            '`"itemOccurrence": 1` takes the first of them; or name a section (`under`)',
            "`--item-occurrence 1` takes the first of them; or name a section (`--under`)",
        ),
        (
            "append_to_section",
            'use replace_match, or `"format": "markdown"` next to `file`',
            "use replace_match",
        ),
        (
            "rename_heading",
            'use another; to allow it, send `"allowDuplicateHeadings": true`',
            "use another; to allow it, add `--allow-duplicate-headings`",
        ),
        ("replace_match", 'add `"include": ["html"]` to match', "add `--include html` to match"),
        ("delete_value", "give a key, or `wholeBlock: true`", "give a key, or `--whole-block`"),
        ("append_to_section", 'no section matches heading path ["A", "B"]', "no section matches 'A / B'"),
        ("insert_section", "use firstChild with headingPath []", "use firstChild with `--section ''`"),
        ("add_list_item", '"list": {"index": …} is one of: 0, 1', "`--list` is one of: 0, 1"),
        ("set_value", 'send an array: `"key": ["ms.topic"]`', "write `--key '[ms.topic]'`"),
    ],
)
def test_fields_become_options(op: str, text: str, told: str) -> None:
    assert in_words(text, CommandWords.of_edit(options_of(op))) == told
