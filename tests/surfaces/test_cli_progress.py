"""The progress bar on a terminal."""

import io
import sys
from collections.abc import Callable

import pytest

from mdplan.cli import terminal
from mdplan.cli.terminal import NO_STYLE, Console

CLEAR = "\r\033[K"
STEPS = [("planned", {"done": done, "files": 4}) for done in (0, 1, 4)]
STEPS += [("committing", {"files": 4}), ("committed", {}), ("ended", {})]
BAR = (
    f"{CLEAR}planning [------------------------------] 0/4 files"
    f"{CLEAR}planning [#######-----------------------] 1/4 files, 0:00 left"
    f"{CLEAR}planning [##############################] 4/4 files, 0:00 left"
    f"{CLEAR}{CLEAR}committing 4 files{CLEAR}"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Draw = Callable[..., str]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Return what all steps of a job draw on standard error, by default a terminal."""

    def draw(choice: str = "auto", *, stream: io.StringIO | None = None, late: float = 0) -> str:
        stream = stream or Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(terminal, "_LATE", late)
        console = Console(as_json=False, quiet=False, out=NO_STYLE, err=NO_STYLE, diff_is_for_people=False)
        tell = console.listener(choice)
        for event, facts in STEPS:
            tell(event, facts)
        return stream.getvalue()

    return draw


def test_bar_shows_the_remaining_time(drawn: Draw) -> None:
    assert drawn() == BAR


def test_bar_is_drawn_on_terminals_alone_unless_asked_for(drawn: Draw) -> None:
    assert drawn(stream=io.StringIO()) == ""
    assert drawn("none") == ""
    assert drawn(late=60) == "", "work was short"
    assert drawn("bar", stream=io.StringIO()) == BAR
