"""Help: the first screen of every command fits on a small terminal, with an example that its parser takes."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from mdplan.cli.program import build_program
from mdplan.operations import OPERATIONS
from tests.docs.typed_commands import faults_of_script
from tests.surfaces.command_line import mdplan

# One line of a terminal with 24 is for the prompt that follows.
MOST_LINES = 23
MOST_COLUMNS = 80


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of `command` and of all commands below it."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*words, name))


ALL = list(commands(build_program(), ()))


@pytest.mark.parametrize("words", ALL, ids=lambda words: " ".join(words) or "mdplan")
def test_first_screen_fits_and_has_an_example(words: tuple[str, ...]) -> None:
    run = mdplan(*words, "--help", environment={"COLUMNS": "80", "LINES": "24"})
    lines = run.out.decode().splitlines()

    assert run.code == 0
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_COLUMNS
    assert any(line.startswith("Example") for line in lines)


@pytest.mark.parametrize("op", OPERATIONS)
def test_example_of_an_operation_is_a_command(op: str) -> None:
    text = mdplan("edit", op, "--help").out.decode()
    example = text.partition("Example:\n")[2].partition("\n\n")[0]

    assert shlex.split(example.replace("\\\n", " "))[:3] == ["mdplan", "edit", op]
    assert list(faults_of_script(example)) == []


def test_first_screen_of_edit_lists_each_operation_once() -> None:
    _, _, listed = mdplan("edit", "--help").out.decode().partition("Operations:\n")

    assert sorted(op for op in re.findall(r"\w+", listed) if op in OPERATIONS) == sorted(OPERATIONS)
