"""Suggestions for mistyped commands and options: first a table of synonyms, then similarity."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

import click

# Never suggested for a typo: they take a protection away, or write without a question.
_DANGEROUS: Final = frozenset(
    {
        "--allow-duplicate-headings",
        "--allow-insecure-range",
        "--allow-outline-change",
        "--foreign",
        "--keep-current",
        "--on-stale",
        "--override-rejection",
        "--rebase",
        "--restore-base",
        "--yes",
    }
)

_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("append",),
    "approve": ("review",),
    "cat": ("read",),
    "commit": ("apply",),
    "completions": ("completion",),
    "delete": ("edit delete_section", "edit delete_file"),
    "done": ("tick",),
    "find": ("search",),
    "fix": ("recover",),
    "fmt": ("edit format_section",),
    "format": ("edit format_section",),
    "frontmatter": ("set",),
    "get": ("read",),
    "grep": ("search",),
    "headings": ("outline",),
    "info": ("outline",),
    "insert": ("append", "edit insert_section"),
    "lint": ("validate",),
    "log": ("history",),
    "ls": ("outline",),
    "man": ("help",),
    "mcp": ("serve",),
    "move": ("edit move_section", "edit rename_file"),
    "mv": ("edit rename_file",),
    "new": ("edit create_file",),
    "patch": ("edit apply_diff",),
    "pending": ("review --list",),
    "preview": ("plan",),
    "print": ("read",),
    "redo": ("undo",),
    "reject": ("review",),
    "remove": ("edit delete_section", "edit delete_file"),
    "rename": ("edit rename_heading", "edit rename_file"),
    "repair": ("recover",),
    "restore": ("undo",),
    "revert": ("undo",),
    "rm": ("edit delete_file", "edit delete_section"),
    "rollback": ("undo",),
    "run": ("apply",),
    "sections": ("outline",),
    "sed": ("replace",),
    "server": ("serve",),
    "sort": ("edit sort_list",),
    "start": ("serve",),
    "sub": ("replace",),
    "substitute": ("replace",),
    "sync": ("bot apply",),
    "task": ("tick",),
    "toc": ("outline", "edit update_toc"),
    "touch": ("edit create_file",),
    "tree": ("outline",),
    "unset": ("edit delete_value",),
    "version": ("--version",),
    "view": ("read",),
    "write": ("edit create_file",),
}
_ABOUT_COMMANDS: Final[Mapping[str, str]] = {
    "diff": "`mdplan plan BATCH` shows the diff of a batch, `mdplan show PLAN` the diff of a saved plan",
    "list": "`mdplan outline` lists files and headings, `mdplan review --list` lists plans",
    "status": "`mdplan review --list` lists pending plans, `mdplan history` lists what was applied",
    "init": "there is nothing to set up; start with `mdplan outline FILE`",
    "config": "there is no configuration file; options and MDPLAN_ variables are in `mdplan help --help-all`",
}

# For each word the options that can be meant, the likeliest first.
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "all": ("--help-all", "--long"),
    "anchor-id": ("--anchor",),
    "as-json": ("--json",),
    "body": ("--markdown", "--text"),
    "cell": ("--row",),
    "check": ("--dry-run",),
    "colors": ("--color",),
    "colour": ("--color",),
    "content": ("--markdown", "--replacement"),
    "cwd": ("--root",),
    "details": ("--long", "--detail"),
    "dir": ("--root",),
    "directory": ("--root",),
    "dryrun": ("--dry-run", "--check"),
    "end": ("--lines",),
    "exclude": ("--deny",),
    "files": ("--allow",),
    "find": ("--pattern",),
    "folder": ("--root",),
    "from": ("--section", "--pattern", "--old-path"),
    "full": ("--long", "--detail"),
    "glob": ("--allow",),
    "heading": ("--section", "--in", "--under"),
    "i": ("--ignore-case",),
    "ignore": ("--deny", "--exclude"),
    "include": ("--allow",),
    "insensitive": ("--ignore-case",),
    "level": ("--depth", "--level"),
    "line": ("--lines", "--start-line"),
    "max": ("--limit",),
    "message": ("--text", "--markdown"),
    "n": ("--limit", "--dry-run"),
    "name": ("--new-title", "--new-path"),
    "new": ("--replacement", "--markdown"),
    "new-name": ("--new-title", "--new-path"),
    "noop": ("--dry-run", "--check"),
    "number": ("--limit",),
    "old": ("--pattern",),
    "out": ("--output",),
    "path": ("--root",),
    "preview": ("--dry-run", "--check"),
    "r": ("--regex",),
    "range": ("--lines",),
    "regexp": ("--regex",),
    "search": ("--pattern",),
    "section": ("--in", "--under"),
    "section-id": ("--section",),
    "simulate": ("--dry-run", "--check"),
    "start": ("--lines",),
    "status": ("--list",),
    "text": ("--markdown",),
    "title": ("--new-title",),
    "to": ("--new-path", "--new-title"),
    "value": ("--values",),
    "with": ("--replacement",),
    "workspace": ("--root",),
}
_ABOUT_OPTIONS: Final[Mapping[str, str]] = {
    "force": "nothing forces an edit: where a file has changed, plan it again on the file as it is now",
    "no-color": "write `--color never`",
    "no-colour": "write `--color never`",
    "no-colors": "write `--color never`",
    "verbose": "`--json` prints everything that mdplan knows",
    "debug": "set MDPLAN_DEBUG=1 to see where mdplan itself fails",
}
# Options that other programs take before the command, with what follows them in an example.
_OF_EACH_COMMAND: Final[Mapping[str, str]] = {
    "--allow": " '**/*.md'",
    "--color": " never",
    "--deny": " 'drafts/**'",
    "--json": "",
    "--root": " FOLDER",
}
_SHORT_FLAGS: Final[Mapping[str, str]] = {"f": "force", "v": "verbose", "C": "cwd", "o": "out"}
_INSTEAD_OF_DRY_RUN: Final = (
    "`mdplan plan BATCH` shows the diff of a batch, `mdplan show PLAN` that of a plan"
)
_ABOUT: Final[Mapping[tuple[str, str], str]] = {
    **{("apply", name): _INSTEAD_OF_DRY_RUN for name in ("dry-run", "dryrun", "n", "preview", "simulate")},
    ("apply", "plan"): "name the plan without an option: `mdplan apply PLAN`",
    ("apply", "id"): "name the plan without an option: `mdplan apply PLAN`",
    ("apply", "file"): "name the plan without an option: `mdplan apply PLAN`",
    ("move_section", "after"): "write `--to-heading-path HEADING --position after`",
    ("move_section", "before"): "write `--to-heading-path HEADING --position before`",
    ("show", "plan"): "name the plan without an option: `mdplan show PLAN`",
    ("replace", "g"): "not needed: `mdplan replace` changes every match",
    ("replace", "all"): "not needed: `mdplan replace` changes every match",
    ("replace", "global"): "not needed: `mdplan replace` changes every match",
    ("replace", "in-place"): "not needed: `mdplan replace` shows the diff and asks",
    ("", "v"): "did you mean `--version`?",
    ("", "verbose"): "each command has `--json`, which prints everything that mdplan knows",
}


def command_hint(name: str, commands: Iterable[str]) -> str:
    """The next step after the unknown command `name` of the program, which has the `commands`."""
    from mdplan.operations import OPERATIONS

    operation = name.replace("-", "_")
    lower = name.lower()
    if operation in OPERATIONS:
        return f"it is an operation: `mdplan edit {operation} FILE`"
    if lower in _ABOUT_COMMANDS:
        return _ABOUT_COMMANDS[lower]
    known = tuple(commands)
    # An operation can be misspelled as well, but a command is likelier.
    meant = _COMMANDS.get(lower) or tuple(get_close_matches(lower, known, n=1))
    if not meant:
        meant = tuple(f"edit {op}" for op in get_close_matches(operation, OPERATIONS, n=1, cutoff=0.75))
    if meant:
        return f"did you mean {either(f'mdplan {each}' for each in meant)}?"
    return "`mdplan help` lists the commands"


def option_hint(option: str, context: click.Context, words: Iterable[str]) -> str:
    """The next step after the unknown `option` of the command of `context`; `words` were typed."""
    command = context.info_name or "" if context.parent is not None else ""
    known = [
        flag for each in context.command.get_params(context) for flag in (*each.opts, *each.secondary_opts)
    ]
    if not command and option in _OF_EACH_COMMAND:
        return f"put it after the command, as in `mdplan outline {option}{_OF_EACH_COMMAND[option]}`"
    long_one = _with_two_hyphens(option, known, words)
    if long_one:
        return f"did you mean `{long_one}`, with two hyphens?"
    name = option.lstrip("-")
    if (command, name) in _ABOUT:
        return _ABOUT[command, name]
    name = _SHORT_FLAGS.get(name, name)
    meant = next((each for each in _OPTIONS.get(name.lower(), ()) if each in known), None)
    if meant is None and name in _ABOUT_OPTIONS:
        return _ABOUT_OPTIONS[name]
    if meant is None and len(name) > 1:
        safe = [each for each in known if each.startswith("--") and each not in _DANGEROUS]
        meant = next(iter(get_close_matches(f"--{name}", safe, n=1)), None)
    return f"did you mean `{meant}`?" if meant else ""


def _with_two_hyphens(option: str, known: Iterable[str], words: Iterable[str]) -> str | None:
    """The long option that was typed with one hyphen: ``-json`` is read as ``-j -s -o -n``."""
    typed = [word for word in words if word.startswith(option) and len(word) > len("-x")]
    return next(
        (f"-{word}" for word in typed if not word.startswith("--") and f"-{word}" in set(known)), None
    )


def either(names: Iterable[str]) -> str:
    """`names` as a choice, each as code: ``a``, ``b`` or ``c``."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
