"""What a page shows, done again in order: files written, commands, programs and calls of tools run."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from mdplan.storage.store import Store
from tests.bot.repository import IDENTITY
from tests.docs.pages import fenced
from tests.support.commits import leave_interrupted
from tests.surfaces.command_line import mdplan
from tests.surfaces.tool_case import served

# These give a git commit the same ID each time.
COMMITTER = {
    **{name: value for name, value in IDENTITY.items() if name.startswith("GIT_CONFIG")},
    **{f"GIT_{role}_NAME": "Docs Bot" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "bot@example.org" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_DATE": "2026-01-31T12:00:00+00:00" for role in ("AUTHOR", "COMMITTER")},
}
# Transactions, commits of a folder, times and the name of the user differ between runs.
_CHANGING = re.compile(
    r"(?<![-0-9a-f])(?:[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})(?![0-9a-f])"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|(?<=\.mdplan-)[0-9a-f]{16}|(?<=by user )[\w-]+"
    r"|(?<=store: )`[^`]+`, [\d.]+ KiB; SQLite [\d.]+|[\d.]+ (?:KiB|bytes)(?= of 256| ?\.)"
)
_PLAN = re.compile(r"(mdplan (?:apply|show|review) )([0-9a-f]{12})\b")
_PLANNED = re.compile(r"To apply: mdplan apply ([0-9a-f]{12})\b")
# The call of a plan takes the ID of the answer before it.
_PLAN_ID = re.compile(r'(?<="planId": ")sha256-[0-9a-f]+(?=")')
_REFUSAL = re.compile(r"[A-Z_]+ ?(?:\(.*?\))?: ")
_ERROR = re.compile(r"^error: ", re.MULTILINE)
_SHELL = {"cat", "echo", "git"}
FILES = {"groovy", "json", "markdown", "python", "sh", "toml", "yaml"}
_CUT_OFF = "<!-- tests: the commit is cut off here -->"


def masked(text: str) -> str:
    """Return `text` without values that differ between runs."""
    return _CHANGING.sub("…", text)


def remade(text: str, folder: Path) -> str:
    """Return `text` of a page with the current output of its commands and tools in `folder`.

    Blocks with a language and a name are files. `json` with the name of a tool is a call, and the next `text`
    is the answer that a model reads. Examples that show an error have `refused` in their info string.
    `test_every_block.py` lists the checks of other blocks.
    """
    names: dict[str, object] = {}
    plans = PlanNames()
    answer: str | None = None
    made, end = [], 0
    for block in fenced(text):
        shown = block["text"]
        match (block["info"] or "").split():
            case [] if block["mark"] == _CUT_OFF:
                leave_interrupted(folder)
            case ["json", name, *marks] if name.startswith("md_"):
                shown = _PLAN_ID.sub(lambda _, last=answer: _last_plan_of(last), shown)
                answer = answered(name, shown)
                _require_mark(_REFUSAL.match(answer) is not None, marks, name)
            case ["text"] if answer is not None:
                shown = answer.removesuffix("\n") + "\n"
            case [language, name] if language in FILES:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(shown, encoding="utf-8")
            case ["python"]:
                exec(compile(shown, "page", "exec"), names)
            case ["console", *marks]:
                shown = printed(shown, plans)
                _require_mark(_ERROR.search(shown) is not None, marks, shown)
            case ["sh" | "nginx" | "text", *_]:
                pass
            case other:
                pytest.fail(f"a block of another kind: {other or block['mark']}")
        if block["info"]:
            made += [text[end : block.start("text")], shown]
            end = block.end("text")
    return "".join(made) + text[end:]


def _last_plan_of(answer: str | None) -> str:
    found = re.search(r"\bplanId (sha256-[0-9a-f]+)", answer or "")
    assert found is not None, "no plan before the call that applies it"
    return found[1]


def _require_mark(is_refused: bool, marks: list[str], shown: str) -> None:
    """Fail unless the info string says `refused` exactly if the example ends in an error."""
    assert marks == ["refused"] * is_refused, f"mark examples that are refused, and no others: {shown}"


class PlanNames:
    """The IDs of today's plans, by the IDs on a page."""

    def __init__(self) -> None:
        self._today: dict[str, str] = {}

    def today(self, line: str) -> str:
        """The command `line` of a page, with the plan that was printed before in place of the page's."""
        return _PLAN.sub(lambda found: found[1] + self._today.get(found[2], found[2]), line)

    def learn(self, shown: str, now: str) -> None:
        """Take over which plans were printed `now` where the page has `shown` others."""
        self._today.update(zip(_PLANNED.findall(shown), _PLANNED.findall(now), strict=False))


def split_commands(shown: str) -> list[tuple[str, str]]:
    """The commands of a console, each with the output that is `shown` for it."""
    assert shown.startswith("$ "), shown
    steps = re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]
    return [(line, output) for line, _, output in (step.partition("\n") for step in steps)]


def printed(shown: str, plans: PlanNames) -> str:
    """Yield the commands of `shown` with their output: standard output, then standard error."""
    made = ""
    for line, output in split_commands(shown):
        command = plans.today(line)
        now = _output(command)
        plans.learn(output, now)
        made += f"$ {command}\n{now}"
    return made


def _output(line: str) -> str:
    program, *arguments = shlex.split(line)
    if program == "mdplan":
        done = mdplan(*arguments)
        said = done.out.decode() + done.err
        return said if said.endswith("\n") or not said else f"{said}\n"
    if program == "sqlite3":
        with closing(sqlite3.connect(Store(os.path.realpath(os.curdir)).path)) as database:
            return "".join("|".join(map(str, row)) + "\n" for row in database.execute(arguments[-1]))
    assert program in _SHELL, f"no page shows {program}"
    return subprocess.run(["sh", "-e", "-c", line], check=True, capture_output=True, text=True).stdout


def answered(tool: str, arguments: str) -> str:
    """What a model reads when it calls `tool` in the current folder."""
    with served(Path.cwd(), "md") as calls:
        return calls.call(tool, json.loads(arguments)).text
