"""`mdplan search`: where a text stands, by section."""

import click

from mdplan.diagnostics import Exit
from mdplan.limit_options import FILES, PATTERNS
from mdplan.read_report import SearchReport
from mdplan.surfaces.cli.session import Session, engine_command
from mdplan.text.visible_text import escaped

_KINDS = (
    "codeBlocks",
    "inlineCode",
    "linkDestinations",
    "images",
    "frontMatter",
    "html",
    "tables",
    "headings",
)


@click.command()
@click.argument("pattern")
@click.argument("file", type=click.Path(readable=False), default=".")
@click.option("--regex", is_flag=True, help="PATTERN is a regular expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="Case does not matter.")
@click.option("--exclude", multiple=True, type=click.Choice(_KINDS), help="Leave out matches in these.")
@click.option("--context", "-C", type=click.IntRange(min=0), help="Lines to show on both sides.")
@click.option("--limit", type=click.IntRange(min=1), help="Most matches to list; 50 if not given.")
@click.option("--gitignore", is_flag=True, help="Leave out files that .gitignore names.")
@click.option("--cursor", help="Where the page before ended: its nextCursor.")
@click.option("--encoding", help="Encoding, where files are not UTF-8 and have no BOM.")
@click.option("--format", type=click.Choice(["markdown", "ini", "text"]), help="Found when not given.")
@engine_command(SearchReport, FILES, PATTERNS)
def search(
    session: Session, *, file: str, regex: bool, ignore_case: bool, gitignore: bool, **wishes: object
) -> Exit:
    """Show where PATTERN stands in FILE, a folder or a glob; the current folder if not given.

    Matches come by file and section, with the lines of the section and its ID. Their number is exact, also
    where not all of them are listed.
    """
    from mdplan.reading.read_text import search_text
    from mdplan.reading.search_request import read_search_request
    from mdplan.search_files import search_files

    given = {name: list(value) if isinstance(value, tuple) else value for name, value in wishes.items()}
    given |= {
        "file": session.named(file),
        "match_type": "regex" if regex else "literal",
        "case_sensitive": not ignore_case,
        "respect_gitignore": gitignore,
    }
    request = read_search_request(given)
    if isinstance(request, tuple):
        return session.refuse(*request)
    report = search_files(session.open_files(), request)
    if report.ok and not session.console.as_json:
        session.console.text(escaped(search_text(report)))
    return session.finish(report)
