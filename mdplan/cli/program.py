"""The commands of `mdplan`, in the order in which people meet them."""

import importlib
from collections.abc import Mapping
from typing import Final

import click

from mdplan import __version__
from mdplan.cli.usage import NAME, CommandGroup, LazyCommand

_HELP: Final = """Edit Markdown and text files: see the diff, then apply exactly that.

Commands that edit show the diff and ask. A batch of edits becomes a plan with an ID; applying the plan fails
if any file has changed since the plan was made.

\b
Exit codes: 0 done, 1 not applied: --check, --dry-run or nobody to ask,
2 usage or invalid batch, 3 refused, 4 a file has changed, 5 approval
missing, 6 environment, 70 bug, 130 interrupted.
"""
_EXAMPLE: Final = "mdplan replace nightly stable guide.md"


def _of_module(module: str, attribute: str, summary: str) -> LazyCommand:
    return LazyCommand(
        summary, lambda: getattr(importlib.import_module(f"mdplan.cli.commands.{module}"), attribute)
    )


COMMANDS: Final[Mapping[str, LazyCommand]] = {
    "outline": _of_module("outline", "stat", "Show the sections of a file, or the files of a folder."),
    "read": _of_module("read", "read", "Print a section, lines or another part of a file."),
    "search": _of_module("search", "search", "Find text in files, by section."),
    "set": _of_module("quick_edits", "set_command", "Set front matter, or keys of an INI file."),
    "replace": _of_module("quick_edits", "replace", "Replace text in files."),
    "append": _of_module("quick_edits", "append", "Append text to a section."),
    "tick": _of_module("quick_edits", "tick", "Tick a task."),
    "edit": _of_module("edit", "edit", "Make any other edit, such as rename_heading."),
    "validate": _of_module("plans", "validate", "Check a batch and report every problem."),
    "plan": _of_module("plans", "plan", "Show what a batch of edits would change, and save the plan."),
    "apply": _of_module("plans", "apply", "Apply a plan, or a batch with guards."),
    "show": _of_module("history", "show", "Show a saved plan again."),
    "review": _of_module("review", "review", "Review and approve pending plans."),
    "history": _of_module("history", "history", "List past transactions, or show one."),
    "undo": _of_module("plans", "undo", "Undo a transaction, or redo it."),
    "check": _of_module("check", "check", "Report what a change by any tool broke in documents."),
    "merge": _of_module("merge", "merge", "Merge two versions of a document, also as git's merge driver."),
    "bot": _of_module("bot", "bot", "Apply a manifest of edits to many files."),
    "fleet": _of_module("fleet", "fleet", "Apply a manifest to many repositories."),
    "recover": _of_module("history", "recover", "Recover from an interrupted commit."),
    "doctor": _of_module("help", "doctor", "Check that this folder supports safe commits."),
    "schema": _of_module("help", "schema", "Print the JSON Schema of a batch, plan, report or operation."),
    "help": _of_module("help", "help_command", "Explain an operation or a command, with an example."),
    "completion": _of_module("help", "completion", "Print tab completion for a shell."),
    "serve": _of_module("serve", "serve", "Serve agents over MCP."),
}
# Old names of commands.
ALIASES: Final[Mapping[str, str]] = {"stat": "outline"}
_TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "Look": ("outline", "read", "search"),
    "Edit": ("set", "replace", "append", "tick", "edit"),
    "Plan": ("plan", "apply", "review", "undo"),
}


def build_program() -> click.Group:
    """The program with all its commands; each is imported when it runs."""
    program = CommandGroup(
        COMMANDS,
        topics=_TOPICS,
        aliases=ALIASES,
        example=_EXAMPLE,
        name=NAME,
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(
        __version__, "--version", "-V", prog_name=NAME, message="%(prog)s %(version)s"
    )(program)
