"""The commands of `mdplan`, in the order in which people meet them."""

import importlib
from collections.abc import Mapping
from functools import partial
from typing import Final

import click

from mdplan import __version__
from mdplan.cli.usage import NAME, CommandGroup
from mdplan.requests.verbs import VERBS

_HELP: Final = """Edit Markdown and text files: see the diff, then apply exactly that.

Commands that edit show the diff and ask. A batch of edits becomes a plan with an ID; applying the plan fails
if any file has changed since the plan was made.

\b
Exit codes: 0 done, 1 not applied: --check, --dry-run or nobody to ask,
2 usage or invalid batch, 3 refused, 4 a file has changed, 5 approval
missing, 6 environment, 70 bug, 130 interrupted.
"""
_EXAMPLE: Final = "mdplan replace nightly stable guide.md"


# Commands that share a module; each of the others has a module of its name.
_SHARED: Final[Mapping[str, tuple[str, ...]]] = {
    "quick_edits": ("set", "replace", "append", "tick"),
    "files": ("mv", "rename", "rm"),
    "plans": ("validate", "plan", "apply", "discard"),
    "history": ("show", "history", "undo", "recover"),
    "help": ("doctor", "schema", "help", "completion"),
}
_MODULES: Final = {name: module for module, names in _SHARED.items() for name in names}


def _load(name: str) -> click.Command:
    """Import a command."""
    module = importlib.import_module(f"mdplan.cli.commands.{_MODULES.get(name, name)}")
    return next(
        each for each in vars(module).values() if isinstance(each, click.Command) and each.name == name
    )


COMMANDS: Final = {name: partial(_load, name) for name in VERBS if " " not in name}
_PAIRS: Final[Mapping[str, str]] = {
    "mv, rename": "Give files, sections and headings another name or place.",
    "save, edit": "Take a whole file that an editor wrote; make any other edit.",
    "plan, apply": "Show what a batch of edits would change; apply it.",
}
# Old names of commands.
ALIASES: Final[Mapping[str, str]] = {"stat": "outline"}
# The rows of the first screen of help. Two commands share a row.
_TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "Look": ("outline", "read", "search"),
    "Edit": ("set", "replace", "append", "tick", "mv, rename", "rm", "save, edit"),
    "Plan": ("plan, apply", "undo"),
}


def build_program() -> click.Group:
    """Return the program with all its commands, each imported when it runs."""
    program = CommandGroup(
        COMMANDS,
        topics={
            title: {row: _PAIRS.get(row) or VERBS[row].summary for row in rows}
            for title, rows in _TOPICS.items()
        },
        aliases=ALIASES,
        example=_EXAMPLE,
        name=NAME,
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(
        __version__, "--version", "-V", prog_name=NAME, message="%(prog)s %(version)s"
    )(program)
