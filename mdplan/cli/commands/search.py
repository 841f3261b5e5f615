"""`mdplan search`: where a text occurs, by section."""

import os
import shlex
from typing import Any, Final

import click

from mdplan.cli.options import field_option, field_options, given_fields
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.cli.usage import command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.field_names import value_has_surrogate
from mdplan.limits import FILES, PATTERNS
from mdplan.markdown.tables import NodeKind
from mdplan.reports.read import SearchReport
from mdplan.requests.queries import FORMATS
from mdplan.requests.search import SearchRequest
from mdplan.text.pattern import MatchType
from mdplan.text.visible import escaped

_NO_TEXT: Final = Diagnostic.invalid(
    "`pattern` is no text", "give at least one character, in the encoding of the terminal"
)


class _NodeKindType(click.Choice[str]):
    """Kinds of text as a batch names them; CODE_BLOCKS is the old spelling of codeBlocks."""

    def __init__(self) -> None:
        super().__init__([kind.value for kind in NodeKind])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's)
        """The name on the wire."""
        old = NodeKind.__members__.get(str(value).upper())
        return super().convert(old.value if old is not None else value, param, ctx)


@command(example="mdplan search nightly docs\nmdplan search --regex 'v[0-9]+' guide.md")
@click.argument("pattern")
@click.argument("file", type=click.Path(readable=False), default=".")
@click.option("--regex", is_flag=True, help="PATTERN is a regular expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore case.")
@field_option(
    SearchRequest,
    "exclude",
    type=_NodeKindType(),
    metavar="KIND",
    help="Skip matches in codeBlocks, linkDestinations, html and other kinds; repeatable.",
)
@field_option(SearchRequest, "context", "-C")
@field_option(SearchRequest, "limit")
@field_option(SearchRequest, "respect_gitignore", "--gitignore")
@field_options(SearchRequest, "cursor", "encoding")
@field_option(SearchRequest, "format", type=click.Choice(FORMATS))
@click.option("--long", "-l", "is_long", is_flag=True, help="Show IDs and hashes too.")
@engine_command(SearchReport, FILES, PATTERNS)
def search(
    session: Session,
    *,
    pattern: str,
    file: str,
    regex: bool,
    ignore_case: bool,
    exclude: tuple[str, ...],
    **options: object,
) -> Exit:
    """Show where PATTERN occurs in FILE, a folder or a glob; the current folder if not given.

    Words that are wrapped over a line end are found too. Matches are listed by file and section, with the
    lines of the section. Their number is exact, even where not all of them are listed.
    """
    from mdplan.engine.search import search_files
    from mdplan.reading.read import search_text

    if not pattern or value_has_surrogate(pattern):
        return session.refuse(_NO_TEXT)
    is_long = bool(options.pop("is_long"))
    given = given_fields(options)
    if isinstance(given, Diagnostic):
        return session.refuse(given)
    request = SearchRequest(
        pattern=pattern,
        file=session.named(file),
        match_type=MatchType.REGEX if regex else MatchType.LITERAL,
        case_sensitive=not ignore_case,
        exclude=tuple(NodeKind(name) for name in exclude),
        **given,
    )
    if not os.path.lexists(session.named(file)) and os.path.lexists(session.named(pattern)):
        call = shlex.join(["mdplan", "search", file, pattern])
        raise Misuse(f"there is no file `{file}`", f"the text comes first: `{call}`")
    with session.console.progress("searching") as show:
        report = session.words().tell_all(search_files(session.open_files(), request, show))
    if report.ok and not session.console.as_json:
        session.console.paged(escaped(search_text(report, hashes=is_long)))
    return session.finish(report)
