"""The tab key: what a shell is offered, asked as click's scripts ask, and typed into a real bash."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.cli.program import COMMANDS
from mdplan.operations import OPERATIONS
from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables
from tests.support.commits import change_store
from tests.support.tmux import Terminal, terminal
from tests.surfaces.command_line import BATCH, mdplan, plan_id_of

CASE_TABLES = CaseTables(__file__)


DIGITS = slice(len("sha256-"), len("sha256-") + 12)


def offered(words: str, shell: str = "bash") -> list[str]:
    """What `shell` is offered for the last of `words`, which may be empty; in bash ``kind,text``."""
    number = str(len(words.split(" ")) - 1)
    last = words.rsplit(" ", 1)[1]
    environment = {
        "_MDPLAN_COMPLETE": f"{shell}_complete",
        "COMP_LINE": words,
        "COMP_WORDS": words,
        "COMP_CWORD": last if shell == "fish" else number,
    }
    run = mdplan(environment=environment)
    assert (run.code, run.err) == (0, "")
    return run.out.decode().rstrip("\n").split("\n") if run.out.strip() else []


@pytest.mark.parametrize("command", ["show", "review"])
def test_plans_are_completed_newest_first(project: Path, command: str) -> None:
    first = plan_id_of()
    change_store(project, "UPDATE plans SET saved_at = saved_at - 100")
    second = plan_id_of({**BATCH, "edits": BATCH["edits"][:1]})

    assert offered(f"mdplan {command} ") == [f"plain,{each[DIGITS]}" for each in (second, first)]
    assert offered(f"mdplan {command} {first[:9]}") == [f"plain,sha256-{first[DIGITS]}"]
    assert offered(f"mdplan {command} {first[7:10]}") == [f"plain,{first[DIGITS]}"]


def test_completed_plan_is_accepted(project: Path) -> None:
    plan_id_of()
    (offer,) = offered("mdplan show ")

    assert mdplan("show", offer.removeprefix("plain,")).code == 0


def test_apply_completes_plans_and_files(project: Path) -> None:
    short = plan_id_of()[DIGITS]

    assert offered("mdplan apply ") == ["file,", f"plain,{short}"]
    assert offered("mdplan apply gui") == ["file,gui"]


def test_applied_plan_is_not_completed_even_after_undo(project: Path) -> None:
    plan = plan_id_of()
    mdplan("apply", plan)
    assert offered("mdplan apply ") == ["file,"]

    assert mdplan("undo", "-y").code == 0

    assert offered("mdplan apply ") == ["file,"]
    assert offered("mdplan show ")[-1] == f"plain,{plan[DIGITS]}"
    assert plan_id_of() == plan
    assert offered("mdplan apply ") == ["file,", f"plain,{plan[DIGITS]}"]


def test_completed_plans_belong_to_the_given_root(project: Path, tmp_path: Path) -> None:
    short = plan_id_of()[DIGITS]
    (tmp_path / "other").mkdir()

    assert offered(f"mdplan show --root {project} ") == [f"plain,{short}"]
    assert offered(f"mdplan show --root {tmp_path}/other ") == []
    assert offered(f"mdplan show --root {tmp_path}/nothing ") == []


def test_transactions_are_completed(project: Path) -> None:
    mdplan("apply", plan_id_of())
    (transaction,) = [each["transaction"] for each in mdplan("history", "--json").json["transactions"]]

    assert offered("mdplan undo ") == [f"plain,{transaction}"]
    assert offered(f"mdplan history --show {transaction[:3]}") == [f"plain,{transaction}"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("mdplan ", [*COMMANDS]),
        ("mdplan help ", [*OPERATIONS, *COMMANDS]),
        ("mdplan help ap", [op for op in OPERATIONS if op.startswith("ap")] + ["append", "apply"]),
        ("mdplan schema op ", list(OPERATIONS)),
        ("mdplan schema report ", ["stat", "plan", "apply"]),
        ("mdplan schema batch ", []),
        ("mdplan completion ", ["bash", "fish", "zsh"]),
    ],
)
def test_operation_and_option_names_are_completed(words: str, names: list[str]) -> None:
    assert offered(words) == [f"plain,{name}" for name in names]


@CASE_TABLES.parametrize("words", "kind")
def test_files_and_folders_are_left_to_the_shell(words: str, kind: str) -> None:
    assert offered(words) == [kind]


@CASE_TABLES.parametrize("typed", "text")
def test_bash_completion_keeps_the_quoting_of_the_line(project: Path, typed: str, text: str) -> None:
    page = '# How to: brew, fast\n\n# It\'s "hot"\n\n# Über uns\n'
    (project / "page.md").write_text(page, encoding="utf-8")
    option = "" if typed.startswith("--") else "--in "

    assert offered(f"mdplan replace a b page.md {option}{typed}") == [f"plain,{text}"]


@CASE_TABLES.parametrize("words")
def test_headings_of_the_file_are_completed(project: Path, words: str) -> None:
    # If a file is possible too, the shell looks for one.
    assert [each for each in offered(f"mdplan {words}") if each != "file,Ins"] == ["plain,Install"]


def test_missing_file_completes_to_nothing_silently(project: Path) -> None:
    assert offered("mdplan append missing.md In") == ["file,In"]


def test_completion_describes_a_plan_by_its_files(project: Path) -> None:
    short = plan_id_of()[DIGITS]

    assert offered("mdplan show ", "zsh") == ["plain", short, "guide.md"]
    assert "guide.md" in "\n".join(offered("mdplan show ", "fish"))


# --- Tab completion, typed into real shells in a real terminal: commands, files, headings, keys and
# tasks.

PAGE = CASE_TABLES.value("PAGE")
SHELLS = CASE_TABLES.value("SHELLS", tuples=True)
TYPED = CASE_TABLES.value("TYPED")


# One shell in each run of the tests, and the others where all tests run.
@pytest.fixture(params=["bash", *(pytest.param(name, marks=pytest.mark.slow) for name in ("zsh", "fish"))])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell with completion, in a folder with guide.md."""
    program, setup = SHELLS[request.param]
    folder = tmp_path / "docs"
    (folder / ".git").mkdir(parents=True)
    (folder / "sub").mkdir()
    for name in ("guide.md", "sub/page.md"):
        (folder / name).write_text(PAGE, encoding="utf-8")
    wrapper = tmp_path / "bin" / "mdplan"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        "PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "HOME": str(tmp_path),
        "MDPLAN_STATE_DIR": str(tmp_path / "state"),
    }
    with terminal(program, folder, environment, columns=120) as opened:
        opened.type(f"{setup}; echo re''ady")
        opened.press("Enter")
        opened.expect("ready")
        yield opened


# The completed command runs: it shows the section, however the shell quotes the heading.
RUN = CASE_TABLES.value("RUN")


@pytest.mark.requirement("completion-1")
def test_shell_completes_what_is_typed(shell: Terminal) -> None:
    for typed, completed in TYPED.items():
        shell.press("C-l")
        shell.type(typed)
        shell.expect(typed)
        shell.press("Tab")
        shell.expect(completed)
        shell.press("C-u")


def test_completed_heading_is_accepted(shell: Terminal) -> None:
    for typed, printed in RUN.items():
        shell.press("C-l")
        shell.type(typed)
        shell.expect(typed)
        before = shell.screen()
        shell.press("Tab")
        shell.expect_change(before)
        shell.press("Enter")
        shell.expect(printed)
