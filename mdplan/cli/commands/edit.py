"""`mdplan edit OP FILE…`: one operation, with its fields as options."""

import sys
from typing import Any

import click

from mdplan.cli.edits.content import edit_text
from mdplan.cli.edits.options import EditOptions
from mdplan.cli.edits.proposal import ApplyOptions, batch_of, choice_options, expand_globs, propose
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.diagnostics import Exit
from mdplan.limit_options import BATCHES, COMMITS, FILES, HISTORY, PATTERNS
from mdplan.reports.plan import ApplyReport


class OperationGroup(click.Group):
    """One command for each operation, made when it is asked for. Names may be written with hyphens."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the operations."""
        from mdplan.operations import OPERATIONS

        del ctx
        return list(OPERATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an operation."""
        name = cmd_name.replace("-", "_")
        return _command(name) if name in self.list_commands(ctx) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of operations in the help text."""
        from mdplan.reference.operations import operation_reference

        rows = [(op, operation_reference(op).summary) for op in self.list_commands(ctx)]
        with formatter.section("Operations"):
            formatter.write_dl(rows)


@click.command(
    cls=OperationGroup,
    subcommand_metavar="OP FILE... [OPTIONS]",
    epilog="Example: mdplan edit append_to_section guide.md --section Install --text 'Restart it.'",
)
def edit() -> None:
    """Make one edit: show its diff, ask, and apply it.

    OP is an operation; its fields are options. `mdplan edit OP --help` lists them.
    """


def _command(op: str) -> click.Command:
    """The command of the operation `op`."""
    from mdplan.reference.operations import operation_reference

    options = EditOptions.of(op)

    @command(name=op, help=operation_reference(op).summary)
    @click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
    @click.option(
        "--allow-outline-change", is_flag=True, help="Allow headings to change outside of the edit."
    )
    @click.option("--allow-duplicate-headings", is_flag=True, help="Allow headings that repeat.")
    @click.option(
        "--update-references",
        type=click.Choice(("none", "file", "workspace")),
        default=None,
        help="Where links to what is renamed or moved are updated.",
    )
    @choice_options
    @engine_command(ApplyReport, FILES, PATTERNS, BATCHES, COMMITS, HISTORY, tells_people=True)
    def run(session: Session, *, files: tuple[str, ...], **given: Any) -> Exit:  # noqa: ANN401 (of many types)
        edit = options.edit(given)
        content = options.content_field
        if content is not None and content not in edit and sys.stdin.isatty():
            written = edit_text("", ".diff" if content == "diff" else ".md")
            if written is None:
                raise click.UsageError(f"you wrote no text, and {op} needs `--{content}`.")
            edit[content] = written
        batch = batch_of(session, expand_globs(files, session.folder()), [edit])
        for name in ("allow_outline_change", "allow_duplicate_headings", "update_references"):
            if given[name]:
                batch[name] = given[name]
        return propose(session, batch, ApplyOptions.of(given))

    run.params[1:1] = list(options.options())
    return run
