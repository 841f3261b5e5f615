"""`mdplan read`: the text of a place of a file."""

from typing import Any

import click

from mdplan.cli.completion import headings
from mdplan.cli.field_types import heading_path
from mdplan.cli.options import given_fields
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.diagnostics import Code, Diagnostic, Exit
from mdplan.markdown.headings import section_id_digits
from mdplan.requests.read import ONE_PLACE, CodeBlockName, LinesToRead, ReadRequest, ReadTarget
from mdplan.storage.filesystem import granted
from mdplan.text.visible import escaped
from mdplan.values import replace


@engine_command("read")
@click.argument("file", type=click.Path(readable=False))
@click.argument("section", metavar="[HEADING]", required=False, shell_complete=headings)
def read(
    session: Session,
    *,
    file: str,
    section: str | None,
    max_characters: int | None,
    cursor: str | None,
    is_long: bool,
    **options: object,
) -> Exit:
    """Standard output gets the text as it is in the file, standard error a line that says what was read.

    With --long that line has the hashes that guard an edit against other changes.
    """
    from mdplan.engine.read import read_files
    from mdplan.reading.read import place_line, rest_lines

    fields = given_fields(options)
    if section is not None:
        if fields.get("heading"):
            raise Misuse("the section is given twice", "give it as HEADING or with `--section`")
        fields["heading"] = (section,)
    target = granted(_target(session.named(file), fields))
    limits: dict[str, Any] = {"max_characters": max_characters} if max_characters is not None else {}
    request = ReadRequest(targets=(target,), cursor=cursor, **limits)
    files = session.open_files()
    report = read_files(files, request)
    path = heading_path(target.heading or "")
    if report.error is not None and report.error.code is Code.SECTION_NOT_FOUND and len(path) > 1:
        by_path = replace(target, heading=None, heading_path=tuple(path))
        report = read_files(files, replace(request, targets=(by_path,)))
    if report.ok:
        for result in report.results:
            session.console.note(escaped(place_line(result, hashes=is_long)))
            content = result.content or ""
            session.console.data(
                (escaped(content) if session.console.diff_is_for_people else content).encode()
            )
            for line in rest_lines(result):
                session.console.note(escaped(line))
    if report.diagnostics and target.heading is not None:
        from mdplan.cli.edit_options import words_of_section

        report = words_of_section("--section", target.heading).tell_all(report)
    return session.finish(report)


def _target(file: str, fields: dict[str, Any]) -> ReadTarget | Diagnostic:
    """Return the place in `file` named by the options `fields`. Errors: INVALID_ARGUMENT."""
    names = fields.pop("heading", ())
    if len(names) == 1:
        fields["section_id" if section_id_digits(names[0]) else "heading"] = names[0]
    elif names:
        fields["heading_path"] = names
    if "code_block" in fields:
        fields["code_block"] = CodeBlockName(**fields["code_block"])
    if "lines" in fields:
        fields["lines"] = LinesToRead(**fields["lines"])
    for name in ("match", "until"):
        if fields.get(name) == "":
            return Diagnostic.invalid(f"`{name}` is empty", "give at least one character")
    target = ReadTarget(file=file, **fields)
    conflict = next(target.conflicts(), None)
    return target if conflict is None else Diagnostic.invalid(conflict, ONE_PLACE)
