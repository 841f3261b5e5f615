"""Questions to a person in a terminal."""

import sys

import click

from mdplan.cli.terminal.console import is_terminal


def has_terminal() -> bool:
    """Whether there is somebody to ask: input and messages are those of a terminal."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def ask(question: str) -> str | None:
    """The line that is typed after `question`; None at the end of the input."""
    click.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
    return line.rstrip("\n") if line else None


def agrees(question: str) -> bool:
    """Whether the person answers with yes; no is the answer where they only press the return key."""
    return (ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")
