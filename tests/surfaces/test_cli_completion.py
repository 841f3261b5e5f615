"""The tab key: what a shell is offered, asked as click's scripts ask, and typed into a real bash."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdplan.cli.program import COMMANDS
from mdplan.operations import OPERATIONS
from tests.surfaces.command_line import BATCH, mdplan, plan_id_of, write_batch

SECONDS = 30
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
    older = time.time() - 100
    (stored,) = Path(os.environ["MDPLAN_STATE_DIR"]).rglob("*.json")
    os.utime(stored, (older, older))
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

    assert mdplan("undo").code == 0

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


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("mdplan stat ", "file,"),
        ("mdplan plan ba", "file,ba"),
        ("mdplan bot check ", "file,"),
        ("mdplan stat --root ", "dir,"),
    ],
)
def test_files_and_folders_are_left_to_the_shell(words: str, kind: str) -> None:
    assert offered(words) == [kind]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("How", r"How\ to\:\ brew,\ fast"),
        ("'How", "How to: brew, fast"),
        ('"How', "How to: brew, fast"),
        (r"How\ to:\ b", r"\ brew,\ fast"),
        ("It", r"It\'s\ \"hot\""),
        ("'It", r"It'\''s " + '"hot"'),
        ('"It', r"It's \"hot\""),
        ("Üb", r"Über\ uns"),
        ("--in=Üb", r"Über\ uns"),
    ],
)
def test_bash_completion_keeps_the_quoting_of_the_line(project: Path, typed: str, text: str) -> None:
    page = '# How to: brew, fast\n\n# It\'s "hot"\n\n# Über uns\n'
    (project / "page.md").write_text(page, encoding="utf-8")
    option = "" if typed.startswith("--") else "--in "

    assert offered(f"mdplan replace a b page.md {option}{typed}") == [f"plain,{text}"]


@pytest.mark.parametrize(
    "words",
    ["append guide.md Ins", "read guide.md --section Ins", "outline guide.md --under Ins",
     "replace a b guide.md --in Ins", "edit rename_heading guide.md --section Ins",
     "edit delete_section guide.md --heading Ins"],
)  # fmt: skip
def test_headings_of_the_file_are_completed(project: Path, words: str) -> None:
    assert offered(f"mdplan {words}") == ["plain,Install"]


def test_missing_file_completes_to_nothing_silently(project: Path) -> None:
    assert offered("mdplan append missing.md In") == []


def test_completion_describes_a_plan_by_its_files(project: Path) -> None:
    short = plan_id_of()[DIGITS]

    assert offered("mdplan show ", "zsh") == ["plain", short, "guide.md"]
    assert "guide.md" in "\n".join(offered("mdplan show ", "fish"))


@pytest.mark.requirement("completion-1")
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
def test_bash_completes_what_is_typed(project: Path, tmp_path: Path) -> None:
    """The line of the README is run in an interactive bash; then TAB is pressed in a terminal."""
    short = plan_id_of()[DIGITS]
    write_batch(project)
    program = tmp_path / "bin" / "mdplan"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PS1": "ready$ ",
        "TERM": "dumb",
        "INPUTRC": os.devnull,
    }
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    ) as bash:
        os.close(theirs)
        try:
            read_until(ours, r"ready\$ $")
            os.write(ours, b'eval "$(mdplan completion bash)"; echo installed\n')
            read_until(ours, r"installed\r\n.*ready\$ $")
            for typed, completed in {
                "mdplan appl\t": "mdplan apply ",
                "mdplan apply sha\t": f"mdplan apply sha256-{short} ",
                "mdplan plan bat\t": "mdplan plan batch.json ",
                "mdplan help replace_ma\t": "mdplan help replace_match ",
            }.items():
                os.write(ours, typed.encode())
                read_until(ours, re.escape(completed) + "$")
                # Ctrl-U: nothing of it is run.
                os.write(ours, b"\x15echo next\n")
                read_until(ours, r"next\r\n.*ready\$ $")
        finally:
            bash.kill()
            os.close(ours)


def read_until(terminal: int, pattern: str) -> None:
    """Read what a terminal shows until `pattern` is found at its end."""
    shown = ""
    end = time.monotonic() + SECONDS
    # A process with more than 1,024 open files, as a long run of tests is, cannot use `select`.
    waiting = select.poll()
    waiting.register(terminal, select.POLLIN)
    while not re.search(pattern, shown, re.DOTALL):
        assert waiting.poll(1000 * max(0.0, end - time.monotonic())), shown
        shown += os.read(terminal, 65_536).decode()
