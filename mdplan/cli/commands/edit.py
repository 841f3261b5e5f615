"""`mdplan edit OP FILE…`: one operation, with its fields as options."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from mdplan.cli.edit_options import CommandWords, EditOptions, edit_command, example_command, option_name
from mdplan.cli.field_types import edit_text
from mdplan.cli.proposal import ApplyOptions, batch_of, choice_options, propose
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse, either
from mdplan.cli.terminal import is_terminal
from mdplan.cli.usage import Group, group, wants_all
from mdplan.diagnostics import Exit
from mdplan.requests.verbs import Verb
from mdplan.text import shell
from mdplan.words import Command, commands_for_tools, say


class OperationGroup(Group):
    """A command for each operation, made on demand. Names may have hyphens."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the operations."""
        from mdplan.operations import OPERATIONS

        del ctx
        return list(OPERATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of an operation."""
        name = cmd_name.replace("-", "_")
        return _command(name) if name in self.list_commands(ctx) else None

    def unknown(self, ctx: click.Context, name: str) -> tuple[str, str]:
        """Message and hint for a word that is no operation: a misspelled one, or a file that came first."""
        from mdplan.requests.spellings import meant_operations

        meant = meant_operations(name, self.list_commands(ctx))
        if Path(name).exists():
            return "the operation comes first", say(
                "write {}; {mdplan edit --help} lists them", Command("edit", "OP", name)
            )
        if meant:
            return f"there is no operation `{name}`", f"did you mean {either(meant)}?"
        return f"there is no operation `{name}`", say("{mdplan edit --help} lists the operations")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of operations of the help text."""
        from mdplan.requests.schemas import operation_reference

        if wants_all(ctx):
            rows = [(op, operation_reference(op).summary) for op in self.list_commands(ctx)]
        else:
            from mdplan.operations import TOPICS

            rows = [(topic, ", ".join(names)) for topic, names in TOPICS.items()]
        with formatter.section("Operations"):
            formatter.write_dl(rows)


@group("edit", "OP FILE... [OPTIONS]", OperationGroup)
def edit() -> None:
    """The diff is shown before it is applied, and mdplan asks.

    OP is an operation; its fields are options. `mdplan edit OP --help` lists them.
    """


def _command(op: str) -> click.Command:
    """Return the command of the operation `op`."""
    from mdplan.requests.schemas import operation_reference

    options = EditOptions.of(op)

    rare = ("allow_outline_change", "allow_duplicate_headings")
    verb = Verb(
        commands_for_tools(operation_reference(op).summary),
        (example_command(options),),
        (*options.rare, *rare, "plan_title", "plan_description"),
    )

    @engine_command(op, verb)
    @click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
    @click.option("--allow-outline-change", is_flag=True, help="Allow the edit to change headings elsewhere.")
    @click.option("--allow-duplicate-headings", is_flag=True, help="Allow headings that repeat.")
    @choice_options
    def run(session: Session, *, files: tuple[str, ...], **given: Any) -> Exit:  # noqa: ANN401 (of many types)
        edit = options.edit(given)
        _check_words(options, edit, files, session.folder())
        content = options.content_field
        if content is not None and content not in edit and is_terminal(sys.stdin):
            written = edit_text("", ".diff" if content == "diff" else ".md")
            if written is None:
                raise Misuse(f"there is no text, and {op} needs one", f"give `--{content} TEXT`")
            edit[content] = written
        batch = batch_of(session, {name: [edit] for name in session.files(files)})
        for name in rare:
            if given[name]:
                batch[name] = given[name]
        words = partial(CommandWords.of_edit, options, given.get("section"))
        return propose(session, batch, ApplyOptions.of(given), words, section=given.get("section"))

    field_options = list(options.options())
    own = {flag for option in field_options for flag in option.opts}
    for option in run.params:
        if own.intersection(option.opts) and option.name is not None:
            # The operation has a field of that name.
            option.opts = [f"--{option.name.replace('_', '-')}"]
    needed = len(options.required) + options.is_about_sections
    # The most needed options come first, since the first screen of help has no room for all.
    at = [param.name for param in run.params].index("dry_run") + 1
    run.params[at:at] = field_options[needed:]
    run.params[1:1] = field_options[:needed]
    return run


def _check_words(options: EditOptions, edit: dict[str, Any], files: tuple[str, ...], folder: str) -> None:
    """Raise a usage error for fields that are missing, which an editor does not supply."""
    content = options.content_field if is_terminal(sys.stdin) else None
    missing = [name for name in sorted(options.required) if name not in edit and name != content]
    needs_section = (
        options.is_about_sections
        and getattr(options.model, "target_is_required", False)
        and not {"heading", "headingPath", "sectionId", "anchor"} & edit.keys()
    )
    if not missing and not needs_section:
        return
    flags = [*(["--section"] if needs_section else []), *map(option_name, missing)]
    words = [word for word in files[1:] if not Path(folder, word).exists()]
    # Words that are not files are values of these options, in order, if their number matches.
    given = words if len(words) == len(flags) else []
    values = ["HEADING"] if needs_section else []
    values += [options.placeholder(name) for name in missing]
    pairs = zip(flags, map(shell.quote, given) if given else values, strict=True)
    typed = edit_command(options, files[0], edit)
    hint = f"write `{' '.join([typed, *(f'{flag} {value}'.rstrip() for flag, value in pairs)])}`"
    quoted = " and ".join(f"`{word}`" for word in words)
    values_as_files = f"; {quoted} {'is no file' if len(words) == 1 else 'are no files'}" if words else ""
    needed = " and ".join(f"`{flag}`" for flag in flags)
    raise Misuse(f"{options.op} needs {needed}{values_as_files}", hint)
