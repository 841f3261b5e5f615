"""`mdplan search`: where a text stands, by section."""

from typing import Any, Final

import click

from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.field_names import holds_surrogate
from mdplan.limit_options import FILES, PATTERNS
from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.reading.search_query import MOST_CONTEXT, MOST_MATCHES, SearchRequest
from mdplan.reports.read import SearchReport
from mdplan.text.search.pattern import MatchType
from mdplan.text.visible_text import escaped

_NO_TEXT: Final = Diagnostic.invalid(
    "`pattern` is no text", "give at least one character, in the encoding of the terminal"
)


@click.command()
@click.argument("pattern")
@click.argument("file", type=click.Path(readable=False), default=".")
@click.option("--regex", is_flag=True, help="PATTERN is a regular expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="Case does not matter.")
@click.option(
    "--exclude",
    type=click.Choice(tuple(NodeKind.__members__)),
    multiple=True,
    help="Leave out matches in these.",
)
@click.option("--context", "-C", type=click.IntRange(0, MOST_CONTEXT), help="Lines to show on both sides.")
@click.option("--limit", type=click.IntRange(1, MOST_MATCHES), help="Most matches to list; 50 if not given.")
@click.option("--gitignore", is_flag=True, help="Leave out files that .gitignore names.")
@click.option("--cursor", help="Where the page before ended: its nextCursor.")
@click.option("--encoding", help="Encoding, where files are not UTF-8 and have no BOM.")
@click.option("--format", type=click.Choice(("markdown", "ini", "text")), help="Found when not given.")
@engine_command(SearchReport, FILES, PATTERNS)
def search(
    session: Session,
    *,
    file: str,
    regex: bool,
    ignore_case: bool,
    exclude: tuple[str, ...],
    gitignore: bool,
    **wishes: Any,  # noqa: ANN401 (what click makes of the options)
) -> Exit:
    """Show where PATTERN stands in FILE, a folder or a glob; the current folder if not given.

    Matches come by file and section, with the lines of the section and its ID. Their number is exact, also
    where not all of them are listed.
    """
    from mdplan.engine.search_files import search_files
    from mdplan.reading.read_text import search_text

    request = SearchRequest(
        file=session.named(file),
        match_type=MatchType.REGEX if regex else MatchType.LITERAL,
        case_sensitive=not ignore_case,
        exclude=tuple(NodeKind[name] for name in exclude),
        respect_gitignore=gitignore,
        **{name: value for name, value in wishes.items() if value is not None},
    )
    if not request.pattern or holds_surrogate(request.pattern):
        return session.refuse(_NO_TEXT)
    report = search_files(session.open_files(), request)
    if report.ok and not session.console.as_json:
        session.console.text(escaped(search_text(report)))
    return session.finish(report)
