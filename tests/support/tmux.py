"""A shell in tmux: tests type into it, and read what a person would see."""

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

PROMPT = "$ "
BASH = "bash --norc --noprofile"
_SECONDS = 60
_STEP = 0.04


class Terminal:
    """A terminal of `columns` and `lines` running the command `shell`, with all its output."""

    def __init__(
        self, shell: str, folder: Path, environment: Mapping[str, str], *, columns: int = 80, lines: int = 24
    ) -> None:
        self._socket = f"mdplan-{uuid.uuid4().hex[:8]}"
        # A new server, so that its shells get this environment.
        self._environment = dict(environment)
        self._tmux(
            *("set-option", "-g", "history-limit", "5000", ";"),
            *("new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(folder)),
            *("env", f"PS1={PROMPT}", *shell.split()),
        )

    def type(self, text: str) -> None:
        """Type `text` verbatim."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press `keys` by their tmux names: Enter, Escape, Tab, C-c."""
        self._tmux("send-keys", *keys)

    def screen(self, *, colours: bool = False) -> str:
        """Return the screen, optionally with colour codes."""
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def expect(self, text: str) -> None:
        self._wait(lambda: text in self.screen())

    def expect_change(self, before: str) -> None:
        """Wait until the screen differs from `before` and no longer changes."""
        self._wait(lambda: self.screen() != before)
        self.settle()

    def settle(self) -> None:
        """Wait until the screen no longer changes."""
        before = self.screen()
        time.sleep(3 * _STEP)
        while before != (before := self.screen()):
            time.sleep(3 * _STEP)

    def wait_for_prompt(self) -> None:
        """Wait for the shell prompt."""
        self._wait(lambda: self._is_at_prompt(-1))

    def run(self, command: str, answers: Sequence[str] = ()) -> str:
        """Type `command` and, at each question, the next answer; return the output.

        The shell's prompt is `PROMPT`, and a question shows its answers as in ``[y/N]``.
        """
        at = self._row()
        self.type(command)
        self.press("Enter")
        for number, answer in enumerate(answers, 1):
            self._wait(lambda number=number: self._since(at).count("[y/") >= number)  # type: ignore[misc]
            self.type(answer)
            self.press("Enter")
        self._wait(lambda: self._is_at_prompt(at))
        return self._since(at).rstrip().removesuffix(PROMPT.rstrip())

    def folder(self) -> Path:
        """Return the current folder of the running program."""
        return Path(self._tmux("display-message", "-p", "#{pane_current_path}").rstrip("\n"))

    def close(self) -> None:
        self._tmux("kill-server")

    def _is_at_prompt(self, at: int) -> bool:
        column, row = self._tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        last = self.screen().split("\n")[int(row)]
        return int(column) == len(PROMPT) and last.rstrip() == PROMPT.rstrip() and self._row() > at

    def _row(self) -> int:
        """Return the row of the cursor, counted from the first row ever shown."""
        return sum(map(int, self._tmux("display-message", "-p", "#{history_size} #{cursor_y}").split()))

    def _since(self, row: int) -> str:
        """Return the output from `row` on, with wrapped lines joined."""
        history = int(self._tmux("display-message", "-p", "#{history_size}"))
        return self._tmux("capture-pane", "-p", "-J", "-S", str(row - history))

    def _wait(self, is_shown: Callable[[], bool]) -> None:
        end = time.monotonic() + _SECONDS
        while not is_shown():
            assert time.monotonic() < end, self.screen()
            time.sleep(_STEP)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket, "-f", os.devnull, *words]
        return subprocess.run(
            command, check=True, capture_output=True, encoding="utf-8", env=self._environment
        ).stdout


@contextmanager
def terminal(
    shell: str, folder: Path, environment: Mapping[str, str], *, columns: int = 80
) -> Iterator[Terminal]:
    """Open a terminal with `shell` in `folder`; skip if tmux or the shell is missing.

    Its environment is this process's plus `environment`.
    """
    for program in ("tmux", shell.partition(" ")[0]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing")
    everything = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    opened = Terminal(shell, folder, everything, columns=columns)
    try:
        yield opened
    finally:
        opened.close()
