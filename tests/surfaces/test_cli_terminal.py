"""Colours, and escaping of hidden characters."""

import io
import subprocess
import sys

import pytest

from mdplan.cli.report_text import diff_for_people
from mdplan.cli.terminal import Console, Style
from mdplan.text.visible import escaped, escaped_json
from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import DIFF

CASE_TABLES = CaseTables(__file__)


PLAIN = Style(on=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@CASE_TABLES.parametrize("color", "environment", "terminal", "coloured")
def test_colour_follows_option_environment_and_terminal(
    color: str, environment: dict[str, str], terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)

    console = Console.of(color, environment)

    assert (console.out.on, console.err.on) == (coloured, coloured)


@CASE_TABLES.parametrize("color", "environment", "terminal", "for_people")
def test_diff_in_a_pipe_stays_exact_unless_colours_are_asked_for(
    color: str, environment: dict[str, str], terminal: bool, for_people: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())

    assert Console.of(color, environment).diff_is_for_people is for_people


@CASE_TABLES.parametrize("text", "shown")
def test_hidden_characters_are_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_json_means_the_same_when_hidden_characters_are_escaped() -> None:
    assert escaped_json('"\u202e漢\U000e0041\x7f"') == '"\\u202e漢\\udb40\\udc41\\u007f"'


def diff_of(*lines: str) -> bytes:
    header = ("diff --git a/a b/a", "--- a/a", "+++ b/a")
    return "".join(f"{line}\n" for line in (*header, *lines)).encode()


def test_diff_without_colours_is_the_diff() -> None:
    assert diff_for_people(DIFF.encode(), PLAIN) == DIFF


def test_changed_lines_that_look_like_headers_get_change_colours() -> None:
    diff = diff_of("@@ -1,2 +1,2 @@", "--- old", "+++ new", " @@ -1,1 +1,1 @@")

    assert diff_for_people(diff, Style(on=True)).split("\n")[4:7] == [
        "\x1b[31m--- old\x1b[0m",
        "\x1b[32m+++ new\x1b[0m",
        " @@ -1,1 +1,1 @@",
    ]


@CASE_TABLES.parametrize("lines", "shown")
def test_line_ends_are_shown_where_they_differ(lines: list[str], shown: list[str]) -> None:
    diff = diff_of("@@ -1,1 +1,1 @@", *lines)

    assert diff_for_people(diff, PLAIN).split("\n")[4:-1] == shown


def test_missing_final_newline_is_shown_in_a_crlf_file() -> None:
    diff = diff_of("@@ -1,2 +1,2 @@", " a\r", "-b", "\\ No newline at end of file", "+b\r")

    assert diff_for_people(diff, PLAIN).split("\n")[4:-1] == [
        " a\\r",
        "-b",
        "\\ No newline at end of file",
        "+b\\r",
    ]


# --- Ctrl-C while the program is still loading ends it quietly, with the code of an interrupt.


@CASE_TABLES.parametrize("program", "code")
def test_interrupt_during_the_start_leaves_no_traceback(program: str, code: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport os; os.kill(os.getpid(), 2)"],
        cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip

    assert run.returncode == code
    assert "Traceback" not in run.stderr
    assert ("interrupted" in run.stderr) == (code == 130)
