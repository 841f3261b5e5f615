"""Common mistakes, each with its exact output and a grade: every message names the next step.

`mistakes.md` is the table. The lines of a case run in bash, so that its quotes are those of a shell.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Final

import pytest

from mdplan.cli.batches import argument
from tests.surfaces.command_line import mdplan

apply_command = import_module("mdplan.cli.commands.apply")

TABLE: Final = Path(__file__).with_name("mistakes.md")
LEAST: Final = 3
LEAST_MEAN: Final = 4.5
_FILE: Final = re.compile(r"^```markdown (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CASE: Final = re.compile(
    r"^## (?P<title>[^\n]*)\n\nGrade: (?P<grade>\d)\n\n"
    r"~~~sh\n(?P<script>.*?)^~~~\n\n~~~text\n(?P<output>.*?)^~~~$",
    re.MULTILINE | re.DOTALL,
)
# Plan IDs change with each version; hashes of the files here do not, but are as long.
_CHANGING: Final = re.compile(r"\b[0-9a-f]{64}\b|\b(?:[0-9a-f]{12}|[0-9a-f]{16})\b|\b\d{8}T\d{6}-[0-9a-f]+\b")
# Writes down how it is called, lets the test call `mdplan` in its own process, and prints what that prints.
_STUB: Final = """\
#!/bin/sh
printf '%s\\0' "$PWD" "$MDPLAN_MAX_FILES" "$@" > "$MDPLAN_CALLS/words"
[ -c /dev/stdin ] && echo > "$MDPLAN_CALLS/no-input" || rm -f "$MDPLAN_CALLS/no-input"
cat > "$MDPLAN_CALLS/stdin"
echo > "$MDPLAN_CALLS/request"
read -r answer < "$MDPLAN_CALLS/answer"
cat "$MDPLAN_CALLS/printed"
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A case of the table: what is typed, what it prints, and how a new user would grade that."""

    title: str
    grade: int
    script: str
    output: str


def table() -> list[Mistake]:
    return [
        Mistake(case["title"], int(case["grade"]), case["script"], case["output"])
        for case in _CASE.finditer(TABLE.read_text(encoding="utf-8"))
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    docs = tmp_path / "docs"
    (docs / ".git").mkdir(parents=True)
    for name, text in _FILE.findall(TABLE.read_text(encoding="utf-8")):
        (docs / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(docs)
    return docs


def printed(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the shell lines of `script` print, run in `folder`; changing names are masked."""
    calls = folder.parent / "calls"
    calls.mkdir()
    stub = calls / "bin" / "mdplan"
    stub.parent.mkdir()
    stub.write_text(_STUB)
    stub.chmod(0o755)
    os.mkfifo(calls / "request")
    os.mkfifo(calls / "answer")
    environment = {**os.environ, "PATH": f"{stub.parent}:{os.environ['PATH']}", "MDPLAN_CALLS": str(calls)}
    ended = f"\necho end > '{calls}/words'; echo > '{calls}/request'\n"
    with subprocess.Popen(
        ["bash", "-c", script + ended], cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as shell:  # fmt: skip
        while True:
            (calls / "request").read_text()
            if (calls / "words").read_bytes() == b"end\n":
                break
            here, limit, *words = (calls / "words").read_bytes().decode().split("\0")[:-1]
            monkeypatch.chdir(here)
            is_idle = (calls / "no-input").exists()
            for module in (apply_command, argument):
                monkeypatch.setattr(module, "has_no_input", lambda is_idle=is_idle: is_idle)
            run = mdplan(
                *words, stdin=(calls / "stdin").read_bytes(), environment={"MDPLAN_MAX_FILES": limit or None}
            )
            (calls / "printed").write_bytes(run.out + run.err.encode())
            (calls / "answer").write_text("\n")
        assert shell.stdout is not None
        output = shell.stdout.read()
    return _CHANGING.sub("…", output.replace(str(folder.parent), "/home/ann"))


@pytest.mark.parametrize("mistake", table(), ids=lambda mistake: mistake.title)
def test_mistake_prints_the_documented_output(
    mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch, *, update_cases: bool
) -> None:
    output = printed(mistake.script, folder, monkeypatch)
    if update_cases:
        text = TABLE.read_text(encoding="utf-8")
        head, _, rest = text.partition(f"## {mistake.title}\n")
        old = f"~~~text\n{mistake.output}~~~"
        new = rest.replace(old, f"~~~text\n{output}~~~", 1)
        TABLE.write_text(f"{head}## {mistake.title}\n{new}", encoding="utf-8")
        return

    assert output == mistake.output


def test_graded_mistakes_reach_the_minimum() -> None:
    grades = [mistake.grade for mistake in table()]

    assert len(grades) >= 76
    assert min(grades) >= LEAST
    assert mean(grades) >= LEAST_MEAN
