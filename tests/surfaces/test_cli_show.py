"""`mdplan show`: as text, as a patch, as a pull request comment and as SARIF."""

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from mdplan.cli.pager import pager_command
from tests.patch_tools import git_apply, needs_git
from tests.surfaces.command_line import DIFF, RESULT, Run, mdplan, plan_id_of
from tests.surfaces.dialog import Dialog

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


def test_changed_line_ends_are_visible(project: Path) -> None:
    (project / "guide.md").write_bytes(b"a\r\nb\nc\r\n")
    batch = {"file": "guide.md", "edits": [{"op": "replace_match", "pattern": "b", "replacement": "x"}]}

    assert " a\\r\n-b\n+x\n c\\r\n" in text_of(plan_id_of(batch))


def test_hostile_text_is_escaped(project: Path) -> None:
    (project / "guide.md").write_bytes("# T \x1b[2J\u202e\n\nold \x9b31m\u2066 \x1b[95m".encode())
    edit = {"op": "replace_match", "pattern": "old", "replacement": "\x1b]0;new\x07"}
    plan_id = plan_id_of({"file": "guide.md", "edits": [edit]})

    for form in ("text", "markdown"):
        out = mdplan("show", plan_id, "--format", form).out.decode()
        assert not set("\x1b\x07\x9b\u202e\u2066") & set(out)
        assert "\\x1b]0;new\\x07" in out
        # With colours the console lets all of them through: only a view knows which are those of a file.
        coloured = mdplan("show", plan_id, "--format", form, "--color", "always").out.decode()
        assert "\x1b[95m" not in coloured
        assert "\\x1b[95m" in coloured


def test_patch_equals_the_diff_bytes(project: Path) -> None:
    plan_id = plan_id_of()

    assert mdplan("show", plan_id, "--format", "patch").out == DIFF.encode()
    assert mdplan("show", plan_id).out == DIFF.encode(), "in a pipe it is what goes without saying"


@needs_git
def test_patch_of_unknown_bytes_applies(project: Path) -> None:
    before = b"caf\xe9\r\nold"
    (project / "guide.md").write_bytes(before)
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    patch = mdplan("show", plan_id_of({"file": "guide.md", "edits": [edit]}), "--format", "patch").out

    assert git_apply({"guide.md": before}, patch) == {"guide.md": b"caf\xe9\r\nnew"}


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


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({}, ["less"]),
        ({"PAGER": "more -s"}, ["more", "-s"]),
        ({"PAGER": "more", "MDPLAN_PAGER": "most"}, ["most"]),
        ({"PAGER": "cat"}, None),
        ({"PAGER": ""}, None),
        ({"PAGER": "more", "MDPLAN_PAGER": ""}, None),
        ({"PAGER": "'"}, None),
        ({"PAGER": "more", "NO_PAGER": "1"}, None),
        ({"TERM": "dumb"}, None),
    ],
)
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


@pytest.mark.parametrize(
    ("words", "is_paged"), [(["plan"], True), (["apply"], True), (["plan", "--no-pager"], False)]
)
def test_long_diff_is_paged_on_a_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], *, is_paged: bool
) -> None:
    text = "More.\n" * shutil.get_terminal_size().lines
    batch = {"file": "guide.md", "edits": [{"op": "append_to_section", "heading": "Use", "markdown": text}]}
    (project / "batch.json").write_text(json.dumps(batch))
    if words == ["apply"]:
        assert mdplan("plan", "batch.json").code == 0
    (project / "pager").write_text("#!/bin/sh\ncat > seen\n")
    (project / "pager").chmod(0o755)
    dialog = Dialog(*words, *(["batch.json"] if "plan" in words else []), MDPLAN_PAGER=str(project / "pager"))
    if words == ["apply"]:
        dialog.expect("Apply this plan?")
        dialog.type("n")
    dialog.end()

    assert (project / "seen").exists() == is_paged


def test_pipe_output_is_not_paged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDPLAN_PAGER", "tee seen")

    assert text_of(plan_id_of())
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
