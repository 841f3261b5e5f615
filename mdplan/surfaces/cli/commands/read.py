"""`mdplan read`: the text of a place of a file."""

import re
from collections.abc import Mapping
from typing import Any, Final

import click

from mdplan.diagnostics import Code, Diagnostic, Exit
from mdplan.limit_options import FILES, PATTERNS
from mdplan.markdown.section_id import section_id_digits
from mdplan.read_report import ReadReport
from mdplan.surfaces.cli.session import Session, engine_command
from mdplan.text.visible_text import escaped


@click.command()
@click.argument("file", type=click.Path(readable=False))
@click.option(
    "--section",
    multiple=True,
    metavar="SECTION",
    help="A section: its ID or heading; repeated, the headings of a path from outer to inner.",
)
@click.option("--anchor", help="The section behind an anchor, without #.")
@click.option("--occurrence", type=click.IntRange(min=1), help="Which of several equal headings.")
@click.option("--own-body", is_flag=True, help="Of the section, only the text before its subsections.")
@click.option("--lines", metavar="FIRST[-LAST]", help="Whole lines, counted from 1.")
@click.option(
    "--code-block", metavar="INDEX|LANGUAGE", help="Code in a fence: its index (from 0) or language."
)
@click.option(
    "--region", metavar="NAME", help="What stands between <!-- NAME:start --> and <!-- NAME:end -->."
)
@click.option("--front-matter", is_flag=True, help="The front matter block.")
@click.option("--match", metavar="TEXT", help="Lines around the first match of TEXT.")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@click.option(
    "--context", type=click.IntRange(min=0), help="Lines on both sides of the match; 10 if not given."
)
@click.option("--start-line", type=click.IntRange(min=1), help="From this line to the end, or to --until.")
@click.option("--until", metavar="REGEX", help="The first later line that begins with a match ends the text.")
@click.option("--max-characters", type=click.IntRange(min=1), help="Most characters to print.")
@click.option("--cursor", help="Where the text before ended: its nextCursor.")
@click.option("--encoding", help="Encoding, where a file is not UTF-8 and has no BOM.")
@click.option("--format", type=click.Choice(["markdown", "ini", "text"]), help="Found when not given.")
@engine_command(ReadReport, FILES, PATTERNS)
def read(session: Session, *, file: str, **wishes: object) -> Exit:
    """Print the text of FILE, or of a part of it.

    The text goes to standard output as it is in the file, and to standard error a line with what pins an edit
    of it: baseSha256, and sectionSha256 where a section was read.
    """
    from mdplan.read_files import read_files
    from mdplan.reading.read_request import read_read_request
    from mdplan.reading.read_text import place_line, rest_lines

    target = _target(wishes)
    if isinstance(target, Diagnostic):
        return session.refuse(target)
    request = read_read_request({"file": session.named(file), **target})
    if isinstance(request, tuple):
        return session.refuse(*request)
    report = read_files(session.open_files(), request)
    if report.ok and not session.console.as_json:
        for result in report.results:
            session.console.note(escaped(place_line(result)))
            content = result.content or ""
            session.console.data(
                (escaped(content) if session.console.diff_is_for_people else content).encode()
            )
            for line in rest_lines(result):
                session.console.note(escaped(line))
    return session.finish(report)


def _target(wishes: Mapping[str, Any]) -> dict[str, object] | Diagnostic:
    """The fields of a read request that the options stand for."""
    fields: dict[str, object] = {
        name: value for name, value in wishes.items() if name not in _OWN_FORMS and value not in (None, False)
    }
    section = wishes["section"]
    if len(section) == 1:
        fields["section_id" if section_id_digits(section[0]) else "heading"] = section[0]
    elif section:
        fields["heading_path"] = list(section)
    if wishes["own_body"]:
        fields["subsections"] = False
    if wishes["regex"]:
        fields["match_type"] = "regex"
    if wishes["code_block"] is not None:
        by_index = wishes["code_block"].isdecimal()
        fields["code_block"] = (
            {"index": int(wishes["code_block"])} if by_index else {"language": wishes["code_block"]}
        )
    if wishes["lines"] is not None:
        lines = _LINES.fullmatch(wishes["lines"])
        if lines is None:
            return Diagnostic(
                code=Code.INVALID_ARGUMENT, message="--lines is no range of lines", hint="write --lines 12-25"
            )
        fields["lines"] = {"start": int(lines[1]), "end": int(lines[2] or lines[1])}
    return fields


_LINES: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_OWN_FORMS: Final = frozenset({"section", "own_body", "regex", "code_block", "lines"})
