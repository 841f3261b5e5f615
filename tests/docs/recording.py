"""The first session of the tutorial, typed into a real terminal: what a new user would see.

    python -m pytest tests/docs/test_recording.py --update-cases

types the commands of its page again and writes what the terminal shows below each of them.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.pages import DOCS, fenced
from tests.docs.shown import FILES, PlanNames, split_commands
from tests.support.tmux import BASH, Terminal, terminal

PAGE = DOCS / "tutorial" / "first-plan.md"
_ANSWER = re.compile(r"\[y/[^\]]*\] ?(.*)$", re.MULTILINE)
_SECONDS = 300


def recorded(text: str, home: Path) -> str:
    """Return `text` of a page with the terminal output of each command, for a user with the home `home`.

    The first command is typed in this repository. Blocks with a language and a name are files in the current
    folder. Questions get the answers on the page.
    """
    made, end = [], 0
    plans = PlanNames()
    with terminal(BASH, REPOSITORY, _environment(home)) as session:
        for block in fenced(text):
            shown = block["text"]
            match (block["info"] or "").split():
                case ["console", *_]:
                    shown = "".join(_typed(session, plans, *step) for step in split_commands(shown))
                case [language, name] if language in FILES:
                    (session.folder() / name).write_text(shown, encoding="utf-8")
                case other:
                    pytest.fail(f"a block of another kind: {other}")
            made += [text[end : block.start("text")], shown]
            end = block.end("text")
    return "".join(made) + text[end:]


def _typed(session: Terminal, plans: PlanNames, line: str, shown: str) -> str:
    command = plans.today(line)
    now = session.run(command, _ANSWER.findall(shown))
    plans.learn(shown, now)
    return now


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of a new user. Packages come from uv's cache, never from the network.

    Skips if uv or a package is missing. mdplan is built before, so that uv shows no progress.
    """
    for program in ("uvx", "uv"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing")
    cache = subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    programs = home / ".local" / "bin"
    environment = {
        "HOME": str(home),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "USER": "you",
        "MDPLAN_STATE_DIR": str(home / "state"),
        "UV_CACHE_DIR": cache,
        "UV_OFFLINE": "1",
        "UV_TOOL_DIR": str(home / "tools"),
        "UV_TOOL_BIN_DIR": str(programs),
    }
    tried = subprocess.run(
        ["uvx", "--from", ".", "mdplan", "--version"],
        cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        timeout=_SECONDS,
    )  # fmt: skip
    if tried.returncode != 0:
        pytest.skip(f"uv cannot build mdplan without the network: {tried.stderr.strip()}")
    return environment
