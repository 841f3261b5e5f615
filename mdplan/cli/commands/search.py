"""`mdplan search`: where a text stands, by section."""

from typing import Any, Final

from mdplan.cli.looking import looking_command
from mdplan.cli.parameters import Argument, OneOf, Option, Text, Whole
from mdplan.cli.session import Session
from mdplan.diagnostics import Code, Diagnostic, Exit
from mdplan.field_names import holds_surrogate
from mdplan.limit_options import FILES, PATTERNS
from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.reading.search_query import MOST_CONTEXT, MOST_MATCHES, SearchRequest
from mdplan.reports.read import SearchReport
from mdplan.text.search.pattern import MatchType
from mdplan.text.visible_text import escaped

_NO_TEXT: Final = Diagnostic(
    code=Code.INVALID_ARGUMENT,
    message="`pattern` is no text",
    hint="give at least one character, in the encoding of the terminal",
)


@looking_command(
    SearchReport,
    Argument("pattern"),
    Argument("file", Text("files"), default="."),
    Option("--regex", None, help="PATTERN is a regular expression."),
    Option("--ignore-case", None, short="-i", help="Case does not matter."),
    Option(
        "--exclude",
        OneOf(tuple(NodeKind.__members__)),
        repeated=True,
        help="Leave out matches in these.",
    ),
    Option("--context", Whole(0, MOST_CONTEXT), short="-C", help="Lines to show on both sides."),
    Option("--limit", Whole(1, MOST_MATCHES), help="Most matches to list; 50 if not given."),
    Option("--gitignore", None, help="Leave out files that .gitignore names."),
    Option("--cursor", help="Where the page before ended: its nextCursor."),
    Option("--encoding", help="Encoding, where files are not UTF-8 and have no BOM."),
    Option("--format", OneOf(("markdown", "ini", "text")), help="Found when not given."),
    limits=(FILES, PATTERNS),
)
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
