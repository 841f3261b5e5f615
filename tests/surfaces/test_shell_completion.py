"""Tab completion, typed into real shells in a real terminal: commands, files, headings, keys and tasks."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.tmux import Terminal, terminal

PAGE = """\
---
title: Tea
---

# Tea

## Install

Run it.

- [ ] Water

## How to: brew, fast

## It's "hot"

## Über uns
"""
SHELLS = {
    "bash": ("bash --norc --noprofile", 'eval "$(mdplan completion bash)"'),
    "zsh": ("zsh -f", 'autoload -Uz compinit; compinit -u; eval "$(mdplan completion zsh)"'),
    "fish": ("fish --no-config", "mdplan completion fish | source"),
}
TYPED = {
    "mdplan appl": "mdplan apply",
    "mdplan append gui": "mdplan append guide.md",
    "mdplan append guide.md Inst": "mdplan append guide.md Install",
    "mdplan set guide.md tit": "mdplan set guide.md title=",
    "mdplan tick guide.md Wat": "mdplan tick guide.md Water",
    "mdplan edit rename_h": "mdplan edit rename_heading",
    "mdplan read guide.md --section Inst": "mdplan read guide.md --section Install",
    "mdplan append sub/pa": "mdplan append sub/page.md",
    "mdplan read guide.md --section 'How": "mdplan read guide.md --section 'How to: brew, fast'",
}


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


# What is completed is run: the section is shown whichever way the shell quotes its heading.
RUN = {
    "mdplan read guide.md --section How": "## How to: brew, fast",
    "mdplan read guide.md --section It": '## It\'s "hot"',
    "mdplan read guide.md --section Üb": "## Über uns",
}


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
