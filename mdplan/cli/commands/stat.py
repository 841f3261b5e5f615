"""`mdplan stat`: the structure of a file, or one row for each file of a folder."""

import click

from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Exit
from mdplan.limit_options import FILES
from mdplan.reports.stat import StatReport
from mdplan.text.visible_text import escaped


@click.command()
@click.argument("file", type=click.Path(readable=False), default=".")
@click.option(
    "--detail", type=click.Choice(("auto", "brief", "full")), help="How much; auto is full up to 40 sections."
)
@click.option(
    "--under",
    multiple=True,
    metavar="SECTION",
    help="Only this section: its ID or heading; repeated, the headings of a path from outer to inner.",
)
@click.option("--depth", type=click.IntRange(1), help="Levels to list below the document or section.")
@click.option("--limit", type=click.IntRange(1), help="Most entries of a list.")
@click.option("--cursor", help="Where the page before ended: its nextCursor.")
@click.option(
    "--include",
    type=click.Choice(("codeBlocks", "tables", "tasks", "anchors", "regions", "links")),
    multiple=True,
    help="List these too; may be repeated. In full detail all are listed unless some are named.",
)
@click.option("--links", is_flag=True, help="List the links that lead to nothing, also those to other files.")
@click.option("--encoding", help="Encoding, where a file is not UTF-8 and has no BOM.")
@click.option("--format", type=click.Choice(("markdown", "ini", "text")), help="Found when not given.")
@engine_command(StatReport, FILES)
def stat(session: Session, *, file: str, under: tuple[str, ...], **wishes: object) -> Exit:
    """Show the structure of FILE, or one row for each file of a folder or glob; never its content.

    FILE is relative to the current folder, which is the default. With several roots NAME:PATH names it too.
    """
    from mdplan.engine.stat_files import stat_files
    from mdplan.reading.stat_request import read_stat_request
    from mdplan.reading.stat_text import stat_text

    given = {name: list(value) if isinstance(value, tuple) else value for name, value in wishes.items()}
    given["under"] = under[0] if len(under) == 1 else list(under)
    given["file"] = session.named(file)
    request = read_stat_request({name: value for name, value in given.items() if value})
    if isinstance(request, tuple):
        return session.refuse(*request)
    report = stat_files(session.open_files(), request)
    if report.ok and not session.console.as_json:
        session.console.text(escaped(stat_text(report)))
    return session.finish(report)
