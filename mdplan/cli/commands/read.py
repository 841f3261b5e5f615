"""`mdplan read`: the text of a place of a file."""

import re
from collections.abc import Mapping
from typing import Any, Final

import click

from mdplan.cli.session import Session, engine_command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.field_names import holds_surrogate
from mdplan.limit_options import FILES, PATTERNS
from mdplan.markdown.section_id import section_id_digits
from mdplan.reading.read_target import (
    MOST_CHARACTERS,
    MOST_CONTEXT,
    ONE_PLACE,
    CodeBlockName,
    ReadTarget,
)
from mdplan.reports.read import ReadReport
from mdplan.text.search.pattern import MatchType
from mdplan.text.span import Lines
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
@click.option("--occurrence", type=click.IntRange(1), help="Which of several equal headings.")
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
    "--context",
    type=click.IntRange(0, MOST_CONTEXT),
    help="Lines on both sides of the match; 10 if not given.",
)
@click.option("--start-line", type=click.IntRange(1), help="From this line to the end, or to --until.")
@click.option("--until", metavar="REGEX", help="The first later line that begins with a match ends the text.")
@click.option("--max-characters", type=click.IntRange(1, MOST_CHARACTERS), help="Most characters to print.")
@click.option("--cursor", help="Where the text before ended: its nextCursor.")
@click.option("--encoding", help="Encoding, where a file is not UTF-8 and has no BOM.")
@click.option("--format", type=click.Choice(("markdown", "ini", "text")), help="Found when not given.")
@engine_command(ReadReport, FILES, PATTERNS)
def read(session: Session, *, file: str, **wishes: object) -> Exit:
    """Print the text of FILE, or of a part of it.

    The text goes to standard output as it is in the file, and to standard error a line with what pins an edit
    of it: baseSha256, and sectionSha256 where a section was read.
    """
    from mdplan.engine.read_files import read_files
    from mdplan.reading.read_target import ReadRequest
    from mdplan.reading.read_text import place_line, rest_lines

    target = _target(session.named(file), wishes)
    if isinstance(target, Diagnostic):
        return session.refuse(target)
    limits: dict[str, Any] = {
        name: wishes[name] for name in ("max_characters", "cursor") if wishes[name] is not None
    }
    request = ReadRequest(targets=(target,), **limits)
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


def _target(file: str, wishes: Mapping[str, Any]) -> ReadTarget | Diagnostic:
    """The place that the options name in `file`."""
    fields: dict[str, Any] = {
        name: value for name, value in wishes.items() if name not in _OWN_FORMS and value not in (None, False)
    }
    fields |= _section(wishes)
    if wishes["regex"]:
        fields["match_type"] = MatchType.REGEX
    if wishes["code_block"] is not None:
        by_index = wishes["code_block"].isdecimal()
        fields["code_block"] = (
            CodeBlockName(index=int(wishes["code_block"]))
            if by_index
            else CodeBlockName(language=wishes["code_block"])
        )
    if wishes["lines"] is not None:
        lines = _LINES.fullmatch(wishes["lines"])
        first, last = (int(lines[1]), int(lines[2] or lines[1])) if lines else (0, 0)
        if not 1 <= first <= last:
            return Diagnostic.invalid("--lines is no range of lines", "write --lines 12-25")
        fields["lines"] = Lines(start=first, end=last)
    target = ReadTarget(file=file, **fields)
    for name in ("match", "until"):
        if fields.get(name) == "":
            return Diagnostic.invalid(f"`{name}` is empty", "give at least one character")
    if any(map(holds_surrogate, fields.values())):
        return Diagnostic.invalid(
            "an option holds bytes that are no text", "write it in the encoding of the terminal"
        )
    fault = next(target.faults(), None)
    return target if fault is None else Diagnostic.invalid(fault, ONE_PLACE)


def _section(wishes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that name a section."""
    fields: dict[str, Any] = {"subsections": False} if wishes["own_body"] else {}
    names = wishes["section"]
    if len(names) == 1:
        fields["section_id" if section_id_digits(names[0]) else "heading"] = names[0]
    elif names:
        fields["heading_path"] = names
    return fields


_LINES: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_OWN_FORMS: Final = frozenset(
    {"section", "own_body", "regex", "code_block", "lines", "max_characters", "cursor"}
)
