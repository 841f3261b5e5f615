"""`mdplan stat`: the structure of a file, or one row for each file of a folder."""

from mdplan.cli.looking import looking_command
from mdplan.cli.parameters import Argument, OneOf, Option, Text, Whole
from mdplan.cli.session import Session
from mdplan.diagnostics import Exit
from mdplan.limit_options import FILES
from mdplan.reports.stat import StatReport
from mdplan.text.visible_text import escaped


@looking_command(
    StatReport,
    Argument("file", Text("files"), default="."),
    Option("--detail", OneOf(("auto", "brief", "full")), help="How much; auto is full up to 40 sections."),
    Option(
        "--under",
        repeated=True,
        metavar="SECTION",
        help="Only this section: its ID or heading; repeated, the headings of a path from outer to inner.",
    ),
    Option("--depth", Whole(1), help="Levels to list below the document or section."),
    Option("--limit", Whole(1), help="Most entries of a list."),
    Option("--cursor", help="Where the page before ended: its nextCursor."),
    Option(
        "--include",
        OneOf(("codeBlocks", "tables", "tasks", "anchors", "regions", "links")),
        repeated=True,
        help="List these too; may be repeated. In full detail all are listed unless some are named.",
    ),
    Option("--links", None, help="List the links that lead to nothing, also those to other files."),
    Option("--encoding", help="Encoding, where a file is not UTF-8 and has no BOM."),
    Option("--format", OneOf(("markdown", "ini", "text")), help="Found when not given."),
    limits=(FILES,),
)
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
