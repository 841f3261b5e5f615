"""Tab completion, typed into real shells in a real terminal: commands, files, headings, keys and tasks."""

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PAGE = "---\ntitle: Tea\n---\n\n# Tea\n\n## Install\n\nRun it.\n\n- [ ] Water\n"
SECONDS = 40
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
}


class Terminal:
    """A shell in tmux."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.socket = f"mdplan-{uuid.uuid4().hex[:8]}"
        # The server of this socket is new, so that its shells get this environment.
        self.environment = {**os.environ, **self._environment(folder)}
        self._tmux("new-session", "-d", "-x", "120", "-y", "50", "-c", str(folder), shell)

    def _environment(self, folder: Path) -> dict[str, str]:
        return {
            "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "HOME": str(folder.parent),
            "MDPLAN_STATE_DIR": str(folder.parent / "state"),
        }

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, "-f", os.devnull, *words], check=True, capture_output=True,
            text=True, env=self.environment,
        )  # fmt: skip
        return done.stdout

    def type(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def expect(self, text: str) -> None:
        """Wait until the last line with something on it contains `text`."""
        end = time.monotonic() + SECONDS
        while text not in (shown := self._tmux("capture-pane", "-p")):
            assert time.monotonic() < end, shown
            time.sleep(0.1)

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    shell, setup = SHELLS[request.param]
    for program in (request.param, "tmux"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing")
    folder = tmp_path / "docs"
    (folder / ".git").mkdir(parents=True)
    (folder / "guide.md").write_text(PAGE, encoding="utf-8")
    program = tmp_path / "bin" / "mdplan"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n')
    program.chmod(0o755)
    terminal = Terminal(shell, folder)
    try:
        terminal.type(f"{setup}; echo re''ady", "Enter")
        terminal.expect("ready")
        yield terminal
    finally:
        terminal.close()


@pytest.mark.slow
def test_shell_completes_what_is_typed(terminal: Terminal) -> None:
    for typed, completed in TYPED.items():
        terminal.type("C-l")
        terminal.type(typed)
        terminal.expect(typed)
        terminal.type("Tab")
        terminal.expect(completed)
        terminal.type("C-u")
