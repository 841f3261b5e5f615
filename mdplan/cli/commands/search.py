"""`mdplan search`: finds text, grouped by section."""

import os
from typing import Final

import click

from mdplan.cli.field_types import whole_words
from mdplan.cli.options import flag, given_fields
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.field_names import value_has_surrogate
from mdplan.requests.search import MOST_MATCHES, SearchRequest
from mdplan.text.pattern import MatchType
from mdplan.text.visible import escaped
from mdplan.values import replace
from mdplan.words import Command, say

_NO_TEXT: Final = Diagnostic.invalid(
    "`pattern` is no text", "give at least one character, in the encoding of the terminal"
)


@engine_command("search")
@click.argument("pattern")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(readable=False))
@flag("--word -w", "Match whole words only.")
@flag("--all -a is_all", "List all matches.")
def search(
    session: Session,
    *,
    pattern: str,
    files: tuple[str, ...],
    word: bool,
    is_all: bool,
    is_long: bool,
    **options: object,
) -> Exit:
    """FILE is a file, a folder or a glob; the current folder if not given.

    Words that are wrapped over a line end are found too. Matches are listed by file and section, with the
    lines of the section. Their number is exact, even where not all of them are listed.
    """
    from mdplan.engine.search import search_files
    from mdplan.reading.read import search_text

    if not pattern or value_has_surrogate(pattern):
        return session.refuse(_NO_TEXT)
    file, *others = files or (".",)
    if word:
        pattern = whole_words(pattern, is_regex=options.get("match_type") is MatchType.REGEX)
        options["match_type"] = MatchType.REGEX
    options |= {"limit": MOST_MATCHES} if is_all else {}
    request = SearchRequest(pattern=pattern, file=session.named(file), **given_fields(options))
    if not os.path.lexists(session.named(file)) and os.path.lexists(session.named(pattern)):
        meant = Command("search", file, pattern)
        raise Misuse(f"there is no file `{file}`", say("the text comes first: {}", meant))
    with session.console.progress("searching") as show:
        report = session.words().tell_all(
            search_files(session.open_files(), request, show, list(map(session.named, others)))
        )
    if report.ok:
        text = search_text(replace(report, next_cursor=None), hashes=is_long)
        session.console.paged(escaped(text))
        if report.next_cursor is not None and not is_all:
            session.console.note("There are more matches: --all lists them.")
    return session.finish(report)
