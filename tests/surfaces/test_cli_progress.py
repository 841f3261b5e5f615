"""The progress bar: by rich on a terminal, if it is installed, else plain."""

import io
import re
import sys
from collections.abc import Callable

import pytest

from mdplan.cli import terminal
from mdplan.cli.terminal import NO_STYLE, Console, Style

CLEAR = "\r\033[K"
STEPS = [("planned", {"done": done, "files": 4}) for done in (1, 4)]
STEPS += [("committing", {"files": 4}), ("committed", {}), ("ended", {})]
PLAIN = (
    f"{CLEAR}planning [#######-----------------------] 1/4 files"
    f"{CLEAR}planning [##############################] 4/4 files"
    f"{CLEAR}{CLEAR}committing 4 files{CLEAR}"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Draw = Callable[..., str]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """What all steps of a work draw on standard error, which is a terminal if not told otherwise."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def draw(
        choice: str = "auto", *, stream: io.StringIO | None = None, coloured: bool = False, late: float = 0
    ) -> str:
        stream = stream or Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(terminal, "_LATE", late)
        style = {"out": NO_STYLE, "err": Style(on=coloured)}
        tell = Console(as_json=False, quiet=False, diff_is_for_people=False, **style).listener(choice)
        for event, facts in STEPS:
            tell(event, facts)
        return stream.getvalue()

    return draw


@pytest.fixture
def without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mdplan.cli.rich_progress", raising=False)
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_rich")
def test_bar_is_plain_without_rich(drawn: Draw) -> None:
    assert drawn() == PLAIN


def test_rich_bar_shows_the_remaining_time(drawn: Draw) -> None:
    pytest.importorskip("rich", reason="rich is not installed")
    frames = drawn().split(CLEAR)

    assert re.fullmatch(r"planning [━╸╺ ]{30} 1/4 files (--:--|\d\d:\d\d) left *", frames[1])
    assert re.fullmatch(r"planning ━{30} 4/4 files (--:--|\d\d:\d\d) left *", frames[2])
    assert frames[3:] == ["", "committing 4 files", ""]


def test_rich_is_coloured_where_colours_are_wanted(drawn: Draw) -> None:
    pytest.importorskip("rich", reason="rich is not installed")
    plain, coloured = drawn(), drawn(coloured=True)

    assert "\x1b[" not in plain.replace(CLEAR, "")
    assert re.search(r"\x1b\[[\d;]+m━", coloured)
    assert "\x1b[?25l" not in coloured, "the cursor is left alone"


def test_narrow_terminal_has_one_line(drawn: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason="rich is not installed")
    monkeypatch.setenv("COLUMNS", "20")

    assert "\n" not in drawn()


def test_rich_is_not_used_in_a_pipe(drawn: Draw) -> None:
    assert drawn(stream=io.StringIO()) == ""
    assert drawn("none") == ""
    assert drawn(late=60) == "", "work was short"
    assert drawn("bar", stream=io.StringIO()) == PLAIN


def test_dumb_terminal_gets_the_plain_bar(drawn: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    assert drawn() == PLAIN
