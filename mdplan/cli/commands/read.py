"""`mdplan read`: the text of a place of a file."""

import re
from dataclasses import replace
from typing import Any, Final

import click

from mdplan.cli.completion import headings
from mdplan.cli.field_types import heading_path
from mdplan.cli.options import field_option, field_options, given_fields
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage import command
from mdplan.diagnostics import Code, Diagnostic, Exit
from mdplan.limits import FILES, PATTERNS
from mdplan.markdown.headings import section_id_digits
from mdplan.reports.read import ReadReport
from mdplan.requests.queries import FORMATS
from mdplan.requests.read import ONE_PLACE, CodeBlockName, LinesToRead, ReadRequest, ReadTarget
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.pattern import MatchType
from mdplan.text.visible import escaped


@command(
    example="mdplan read guide.md --section Install",
    rare=("anchor", "occurrence", "context", "until", "start_line", "max_characters", "regex"),
)
@click.argument("file", type=click.Path(readable=False))
@click.option(
    "--section",
    multiple=True,
    metavar="SECTION",
    shell_complete=headings,
    help="A section: its ID or heading; repeated, the headings of a path from outer to inner.",
)
@field_options(ReadTarget, "anchor", "occurrence")
@click.option("--own-body", is_flag=True, help="Of the section, only the text before its subsections.")
@click.option("--lines", metavar="FIRST[-LAST]", help="Whole lines, counted from 1.")
@click.option(
    "--code-block", metavar="INDEX|LANGUAGE", help="Code in a fence: its index (from 0) or language."
)
@field_option(ReadTarget, "region", metavar="NAME")
@field_option(ReadTarget, "front_matter", help="The front matter block.")
@field_option(ReadTarget, "key", help="A key or item of YAML, JSON, TOML, INI or front matter.")
@field_option(ReadTarget, "match", metavar="TEXT", help="Lines around the first match of TEXT.")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@field_option(ReadTarget, "context")
@field_option(ReadTarget, "start_line", help="From this line to the end, or to --until.")
@field_option(ReadTarget, "until", metavar="REGEX")
@field_options(ReadRequest, "max_characters", "cursor")
@field_options(ReadTarget, "encoding")
@field_option(ReadTarget, "format", type=click.Choice(FORMATS))
@click.option("--long", "-l", "is_long", is_flag=True, help="Show IDs and hashes too.")
@engine_command(ReadReport, FILES, PATTERNS)
def read(
    session: Session,
    *,
    file: str,
    max_characters: int | None,
    cursor: str | None,
    is_long: bool,
    **options: object,
) -> Exit:
    """Print the text of FILE, or of a part of it.

    Standard output gets the text as it is in the file, standard error a line that says what was read. With
    --long that line has the hashes that guard an edit against other changes.
    """
    from mdplan.engine.read import read_files
    from mdplan.reading.read import place_line, rest_lines

    fields = given_fields(options)
    target = fields if isinstance(fields, Diagnostic) else _target(session.named(file), fields)
    if isinstance(target, Diagnostic):
        return session.refuse(target)
    limits: dict[str, Any] = {"max_characters": max_characters} if max_characters is not None else {}
    request = ReadRequest(targets=(target,), cursor=cursor, **limits)
    files = session.open_files()
    report = read_files(files, request)
    path = heading_path(target.heading or "")
    if report.error is not None and report.error.code is Code.SECTION_NOT_FOUND and len(path) > 1:
        by_path = replace(target, heading=None, heading_path=tuple(path))
        report = read_files(files, replace(request, targets=(by_path,)))
    if report.ok and not session.console.as_json:
        for result in report.results:
            session.console.note(escaped(place_line(result, hashes=is_long)))
            content = result.content or ""
            session.console.data(
                (escaped(content) if session.console.diff_is_for_people else content).encode()
            )
            for line in rest_lines(result):
                session.console.note(escaped(line))
    if report.diagnostics and target.heading is not None and not session.console.as_json:
        from mdplan.cli.edit_options import words_of_section

        report = words_of_section("--section", target.heading).tell_all(report)
    return session.finish(report)


def _target(file: str, fields: dict[str, Any]) -> ReadTarget | Diagnostic:
    """The place that the `fields` given as options name in `file`. Errors: INVALID_ARGUMENT."""
    names = fields.pop("section", ())
    if len(names) == 1:
        fields["section_id" if section_id_digits(names[0]) else "heading"] = names[0]
    elif names:
        fields["heading_path"] = names
    if fields.pop("own_body", False):
        fields["subsections"] = False
    if fields.pop("regex", False):
        fields["match_type"] = MatchType.REGEX
    if "code_block" in fields:
        block = fields["code_block"]
        fields["code_block"] = (
            CodeBlockName(index=int(block)) if block.isdecimal() else CodeBlockName(language=block)
        )
    if "lines" in fields:
        given = fields["lines"]
        lines = _LINES.fullmatch(given)
        first, last = (int(lines[1]), int(lines[2] or lines[1])) if lines else (0, 0)
        if not 1 <= first <= last:
            return Diagnostic.invalid(
                f"`--lines {given}`: expected a line or a range such as 12-25",
                f"write `--lines {_range_in(given)}`",
            )
        fields["lines"] = LinesToRead(start=first, end=last)
    for name in ("match", "until"):
        if fields.get(name) == "":
            return Diagnostic.invalid(f"`{name}` is empty", "give at least one character")
    target = ReadTarget(file=file, **fields)
    conflict = next(target.conflicts(), None)
    return target if conflict is None else Diagnostic.invalid(conflict, ONE_PLACE)


def _range_in(text: str) -> str:
    """The range that somebody means with other signs, as in ``5,7``; else an example."""
    numbers = [int(number) for number in re.findall(r"[0-9]{1,9}", text)]
    is_range = len(numbers) == 2 and min(numbers) > 0
    return "-".join(map(str, sorted(numbers))) if is_range else "12-25"


_LINES: Final = lazy_pattern(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
