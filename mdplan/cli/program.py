"""The commands of `mdplan`, in the order in which people meet them."""

import importlib
from collections.abc import Mapping
from typing import Final

import click

from mdplan import __version__
from mdplan.cli.exit_codes import NAME
from mdplan.cli.group import CommandGroup, LazyCommand

_HELP: Final = """Plan edits of Markdown and text files, look at the diff, and apply exactly that.

A batch of edits becomes a plan with an ID. Applying it changes the files only while each of them is still
the one that was planned on.

\b
Exit codes: 0 done, 1 --check and something would change, 2 usage or
invalid batch, 3 refused, 4 stale base, 5 approval missing, 6 environment,
70 bug, 130 interrupted.
"""


def _of_module(module: str, attribute: str, summary: str) -> LazyCommand:
    return LazyCommand(
        summary, lambda: getattr(importlib.import_module(f"mdplan.cli.commands.{module}"), attribute)
    )


COMMANDS: Final[Mapping[str, LazyCommand]] = {
    "stat": _of_module("stat", "stat", "Show the structure of a file or folder."),
    "read": _of_module("read", "read", "Print a section, lines or another part of a file."),
    "search": _of_module("search", "search", "Find text in files, by section."),
    "set": _of_module("quick_edits", "set_command", "Set keys of front matter or of an INI file."),
    "replace": _of_module("quick_edits", "replace", "Replace text in files."),
    "append": _of_module("quick_edits", "append", "Append text to a section."),
    "tick": _of_module("quick_edits", "tick", "Tick a task."),
    "edit": _of_module("edit", "edit", "Make any other edit: one operation, its fields as options."),
    "validate": _of_module("validate", "validate", "Say all that is wrong with a batch."),
    "plan": _of_module("plan", "plan", "Show what a batch would change, and save it as a plan."),
    "apply": _of_module("apply", "apply", "Commit a plan, or a batch that is pinned."),
    "show": _of_module("show", "show", "Show a saved plan again."),
    "review": _of_module("review", "review", "Decide about plans that wait for a person."),
    "history": _of_module("history", "history", "List what was committed, or show one commit."),
    "undo": _of_module("undo", "undo", "Take back a commit, or redo it."),
    "bot": _of_module("bot", "bot", "Make true in many files what a manifest says."),
    "recover": _of_module("recover", "recover", "Mend what a commit that was cut off has left."),
    "doctor": _of_module("doctor", "doctor", "Look whether commits can work here."),
    "schema": _of_module("schema", "schema", "Print the JSON Schema of a batch, plan, report or operation."),
    "help": _of_module("help", "help_command", "Explain an operation or a command, with an example."),
    "completion": _of_module("completion", "completion", "Print tab completion for a shell."),
    "serve": _of_module("serve", "serve", "Serve agents over MCP."),
}


def build_program() -> click.Group:
    """The program with all its commands; each is imported when it runs."""
    program = CommandGroup(
        COMMANDS,
        name=NAME,
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")(program)
