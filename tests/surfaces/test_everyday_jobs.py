"""Everyday commands, what they change, and what they print."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan
from tests.surfaces.dialog import Dialog

CASE_TABLES = CaseTables(__file__)
SITE: dict[str, str] = CASE_TABLES.value("SITE")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in SITE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder: Path) -> dict[str, str]:
    """The text of each file by its name."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def changed(before: dict[str, str], changes: dict[str, Any]) -> dict[str, str]:
    """`before` with `changes`: old and new texts in pairs, also under another name; None deletes a file."""
    after = {name: text for name, text in before.items() if name not in changes}
    for name, change in changes.items():
        if change is not None:
            new_name, pairs = (change["as"], change["with"]) if isinstance(change, dict) else (name, change)
            after[new_name] = before.get(name, "")
            for old, new in pairs:
                assert old in after[new_name]
                after[new_name] = after[new_name].replace(old, new) if old else new
    return after


@CASE_TABLES.parametrize("run", "changes", "says")
def test_job_is_done_by_one_command(site: Path, run: list[str], changes: dict[str, Any], says: str) -> None:
    before = files_in(site)

    done = mdplan(*run, "--yes")

    assert done.code == 0, done.err
    assert files_in(site) == changed(before, changes)
    assert all(line in done.err for line in says.splitlines()), done.err


# --- The list of plans says what became of each.


@CASE_TABLES.parametrize("steps", "listed")
def test_list_of_plans_says_what_became_of_them(site: Path, steps: list[Any], listed: list[str]) -> None:
    """A step is a command, of which the exit code is no matter, or a text for `todo.md` from elsewhere."""
    plans: list[str] = []
    for step in steps:
        if isinstance(step, str):
            (site / "todo.md").write_text(step, encoding="utf-8")
            continue
        words = [plans[word] if isinstance(word, int) else word for word in step]
        run = mdplan(*words)
        plans += (
            [run.err.partition("To apply: mdplan apply ")[2].split()[0]] if "To apply:" in run.err else []
        )

    rows = mdplan("review", "--list").out.decode().splitlines()
    assert [row[14:].partition("  2")[0].strip() for row in rows if "+" in row] == listed


@pytest.mark.parametrize(
    ("options", "answer", "after"), [(["--merge"], "y", "coffee"), (["--rebase"], "n", "tea")]
)
def test_apply_finds_the_only_plan_although_it_is_stale(
    site: Path, options: list[str], answer: str, after: str
) -> None:
    mdplan("replace", "tea", "coffee", "todo.md")
    with (site / "todo.md").open("a") as file:
        file.write("- [ ] Pour\n")
    stale = Dialog("apply")
    assert stale.end() == 4
    assert "--merge` merges the change" in stale.seen
    assert "--rebase` applies it if" in stale.seen

    asked = Dialog("apply", *options)
    asked.expect("Apply this plan?")
    asked.type(answer)
    asked.end()

    assert (site / "todo.md").read_text() == f"# Tasks\n\n- [ ] Buy {after}\n- [ ] Boil water\n- [ ] Pour\n"
    # Looking at what a merge would do leaves no plan.
    assert (b"pending" in mdplan("review", "--list").out) is False


@CASE_TABLES.parametrize("steps", "changes", "says")
def test_undo_takes_back_what_is_named(
    site: Path, steps: list[list[str]], changes: dict[str, Any], says: str
) -> None:
    """``TX0`` stands for the first transaction."""
    before = files_in(site)
    made: list[str] = []
    for step in steps:
        run = mdplan(*(made[int(word[2:])] if word.startswith("TX") else word for word in step))
        made += [line.split()[-1] for line in run.err.splitlines() if line.startswith("To undo:")]

    assert files_in(site) == changed(before, changes)
    assert all(line in run.err + run.out.decode() for line in says.splitlines()), run.err


@pytest.mark.parametrize("way", [["--patch"], []])
def test_places_are_asked_for_one_by_one(site: Path, way: list[str]) -> None:
    before = files_in(site)
    dialog = Dialog("replace", "nightly", "stable", "docs", "--no-pager", *way)
    if not way:
        dialog.expect("Apply this change? [y/n/p/e/?]")
        dialog.type("p")
    for number, (heading, answer) in enumerate(
        (("FAQ / Brew", "y"), ("Guide", "n"), ("Guide / Install", "y")), 1
    ):
        dialog.expect(f"({number}/3) Make this change [y,n,a,q,d,?]?")
        assert f"  {heading}\n-" in dialog.seen
        dialog.type(answer)

    assert dialog.end() == 0
    assert files_in(site) == changed(
        before,
        {"docs/faq.md": [["nightly", "stable"]], "docs/guide.md": [["Run the nightly", "Run the stable"]]},
    )


def test_refused_places_leave_no_trace(site: Path) -> None:
    before = files_in(site)
    dialog = Dialog("replace", "nightly", "stable", "docs", "-p")
    dialog.expect("(1/3)")
    dialog.type("q")

    assert dialog.end() == 1
    assert files_in(site) == before
    assert b"no saved plans" in mdplan("review", "--list").out


def test_editor_shows_a_request_as_a_person_would_write_it(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    seen = tmp_path_factory.mktemp("editor") / "seen.yaml"
    editor = seen.with_name("editor.sh")
    editor.write_text(f'#!/bin/sh\ncp "$1" {seen}\nsed -i s/stable/steady/ "$1"\n')
    editor.chmod(0o755)
    dialog = Dialog("replace", "nightly", "stable", "docs", "--no-pager", MDPLAN_EDITOR=str(editor))
    dialog.expect("Apply this change?")
    dialog.type("e")
    dialog.expect("Apply this change?")
    dialog.type("y")

    assert dialog.end() == 0
    assert seen.read_text().startswith(
        "files:\n- docs/faq.md\n- docs/guide.md\nedits:\n- op: replace_match\n"
    )
    assert "steady" in (site / "docs" / "guide.md").read_text()
