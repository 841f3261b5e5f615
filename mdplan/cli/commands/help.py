"""`mdplan help`, `schema`, `completion` and `doctor`."""

import json
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Final

import click

from mdplan.cli.completion import REPORTS, SCHEMA_KINDS, schema_kinds, schema_names, topics
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse, either
from mdplan.cli.terminal import Console, Style, shown
from mdplan.cli.usage import command
from mdplan.diagnostics import Exit
from mdplan.reports.history import Check, DoctorReport
from mdplan.text.visible import counted, nearest_names
from mdplan.words import commands_for_tools, say

if TYPE_CHECKING:
    from mdplan.requests.schemas import FieldReference


_WIDEST: Final = 100

# Topics next to operations and commands: the files that commands take.
FILES: Final = ("batch", "manifest")
_TOPICS: Final = Path(__file__).parent.parent / "topics"


@command("help")
@click.argument("topic", required=False, shell_complete=topics)
@click.pass_context
def help_command(context: click.Context, *, topic: str | None) -> Exit:
    """TOPIC is an operation or a command; without it they are all listed."""
    from mdplan.operations import OPERATIONS
    from mdplan.requests.spellings import meant_operations

    group = context.find_root().command
    assert isinstance(group, click.Group)
    command = group.get_command(context, topic) if topic else None
    if topic is not None and topic in OPERATIONS:
        text = _operation_text(topic)
    elif topic in FILES:
        text = (_TOPICS / f"{topic}.txt").read_text(encoding="utf-8").strip()
    elif topic is not None and command is not None:
        text = command.get_help(click.Context(command, info_name=topic, parent=context.find_root()))
    elif topic is not None:
        known = [*OPERATIONS, *FILES, *group.list_commands(context)]
        meant = meant_operations(topic, known) or nearest_names(topic, known)
        hint = f"did you mean {either(meant)}?" if meant else say("{mdplan help} lists them all")
        raise Misuse(f"there is no operation or command `{topic}`", hint)
    else:
        text = f"{group.get_help(context.find_root())}\n\n{_operation_list()}"
    Console.plain().paged(text + "\n")
    return Exit.DONE


def _operation_list() -> str:
    from mdplan.operations import OPERATIONS
    from mdplan.requests.schemas import operation_reference

    width = max(map(len, OPERATIONS))
    lines = [f"  {op:{width}}  {operation_reference(op).summary}" for op in OPERATIONS]
    about_files = f"Files that commands take: {', '.join(f'`mdplan help {name}`' for name in FILES)}."
    return "\n".join(["Operations (more with `mdplan help OPERATION`):", *lines, "", about_files])


def _operation_text(op: str) -> str:
    from mdplan.cli.edit_options import EditOptions, example_command
    from mdplan.requests.schemas import operation_reference

    reference = operation_reference(op)
    command = example_command(EditOptions.of(op)).replace("\n", "\n  ")
    paragraphs = [reference.summary, *reference.details.split("\n\n")]
    example = json.dumps(dict(reference.example), ensure_ascii=False)
    fields = "\n".join(_field_text(field) for field in reference.fields)
    text = "\n\n".join(
        [
            op,
            *(fill(paragraph, _width()) for paragraph in paragraphs if paragraph),
            f"Fields (* required):\n{fields}" if fields else "It has no fields.",
            f"Example of a command (`mdplan edit {op} --help` explains its options):\n  {command}",
            f'Example of a batch:\n  {{"file": "{reference.file}", "edits": [\n    {example}\n  ]}}',
        ]
    )
    return commands_for_tools(text)


def _field_text(field: "FieldReference") -> str:
    default = f" Default: {json.dumps(field.default)}." if field.default is not None else ""
    mark = "*" if field.is_required else " "
    description = fill(
        field.description + default, _width(), initial_indent=" " * 6, subsequent_indent=" " * 6
    )
    return f"  {mark} {field.name} ({field.kind})\n{description}"


def _width() -> int:
    """Return the columns of the help: the width of the terminal, up to a readable length."""
    return min(get_terminal_size((_WIDEST, 0)).columns, _WIDEST)


# --- `mdplan schema`


@command("schema")
@click.argument("kind", metavar="[KIND]", default="batch", shell_complete=schema_kinds)
@click.argument("name", metavar="[NAME]", required=False, shell_complete=schema_names)
def schema(*, kind: str, name: str | None) -> Exit:
    """KIND is batch, plan, report, op or manifest, and NAME a report or an operation."""
    from mdplan.operations import OPERATIONS
    from mdplan.requests.json_schemas import SCHEMAS
    from mdplan.requests.schemas import operation_schema

    if kind in OPERATIONS and name is None:
        kind, name = "op", kind
    if kind not in SCHEMA_KINDS:
        raise Misuse(f"there is no schema `{kind}`", f"give {either(SCHEMA_KINDS)}, or an operation")
    if kind == "op":
        json_schema = operation_schema(_checked(name, list(OPERATIONS), "operation"))
    elif kind == "report":
        json_schema = SCHEMAS[f"{_checked(name, list(REPORTS), 'report')}-report"]()
    elif name is not None:
        raise Misuse(f"`{kind}` is one schema", f"leave `{name}` out")
    elif kind == "manifest":
        from mdplan.bot.manifest import manifest_schema

        json_schema = manifest_schema()
    else:
        json_schema = SCHEMAS[kind]()
    Console.plain().data(json.dumps(json_schema, ensure_ascii=False, indent=2).encode() + b"\n")
    return Exit.DONE


def _checked(name: str | None, known: list[str], noun: str) -> str:
    if name not in known:
        raise Misuse(f"the name of the {noun} is missing or unknown", f"give {either(known)}")
    return name


# --- `mdplan completion`

_SHELLS: Final = ("bash", "fish", "zsh")


@command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> Exit:
    """It completes commands, options, files, and what is in the files: headings, keys and tasks."""
    from click.shell_completion import get_completion_class

    from mdplan.cli.shell_completion import use_own_shells

    use_own_shells()
    complete = get_completion_class(shell)
    assert complete is not None, shell
    Console.plain().text(
        complete(context.find_root().command, {}, "mdplan", "_MDPLAN_COMPLETE").source() + "\n"
    )
    return Exit.DONE


# --- `mdplan doctor`

_COLOURS: Final = {"ok": "green", "note": "yellow", "problem": "red"}

# What people call the checks whose names reports keep.
_NAMES: Final = {
    "exchange": "swapping files",
    "interruptions": "interrupted transactions",
    "stray files": "leftover files",
}


@engine_command("doctor")
def doctor(session: Session) -> Exit:
    """Checks whether mdplan can write and lock the folder.

    Also checks its store, and names the store's file. Looks for interrupted transactions and their files,
    also of other users, and shows the size of the history. Exits with 6 if something needs fixing.
    """
    from mdplan.engine.root_checks import examine

    report = examine(session.open_workspace(), session.settings())
    for root in session.other_folders():
        session.console.note(f"Checking {shown(root)}")
    session.console.text("".join(_line(check, session.console.out) for check in report.checks))
    session.console.note(_summary(report))
    return session.finish(report)


def _summary(report: DoctorReport) -> str:
    """Return the result of all checks as a line."""
    problems = sum(check.status == "problem" for check in report.checks)
    notes = sum(check.status == "note" for check in report.checks)
    if problems:
        return f"{counted(problems, 'problem')} to fix; the hints say how."
    rest = f" {counted(notes, 'note')} above." if notes else ""
    return f"Everything works: edits here are safe.{rest}"


def _line(check: Check, style: Style) -> str:
    """Return a check as a line; the hint of a problem follows with the problem itself."""
    root = f"{shown(check.root)}: " if check.root else ""
    status = style.paint(f"{check.status:7}", _COLOURS[check.status])
    line = f"{status}  {root}{_NAMES.get(check.check, check.check)}: {shown(check.found)}\n"
    if check.status == "note":
        line += f"         {shown(check.hint)}\n"
    return line
