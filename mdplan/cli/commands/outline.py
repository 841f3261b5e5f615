"""`mdplan outline`: the structure of a file, or one row for each file of a folder."""

import os
from collections.abc import Sequence
from typing import Any, Final

import click

from mdplan.cli.field_types import heading_path
from mdplan.cli.options import given_fields
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.diagnostics import Exit
from mdplan.reading.stat_text import stat_text
from mdplan.reports.stat import SectionEntry, StatReport
from mdplan.requests.queries import StatRequest
from mdplan.text import shell
from mdplan.text.visible import escaped
from mdplan.values import replace

# Scripts read what the command printed under its old name.
_OLD_NAME: Final = "stat"


@engine_command("outline")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(readable=False))
def stat(session: Session, *, files: tuple[str, ...], is_long: bool, **options: Any) -> Exit:  # noqa: ANN401 (click's)
    """FILE is a file, a folder or a glob; folders and globs give one row per file.

    It is relative to the folder of --root, or to the current folder; without FILE it is that folder. With
    several roots NAME:PATH names a file too.
    """
    for word in files[1:]:
        if not (set("./*?[") & set(word) or os.path.lexists(session.named(word))):
            raise Misuse(f"there is no file `{word}`", f"did you mean `--under {shell.quote(word)}`?")
    is_long = is_long or click.get_current_context().info_name == _OLD_NAME
    reports = [_report(session, file, **options) for file in files or (".",)]
    texts = [stat_text(report) if is_long else outline_text(report) for report in reports if report.ok]
    session.console.paged(escaped("\n".join(texts)))
    return max((session.finish(report) for report in reports), key=lambda code: code.value)


def _report(session: Session, file: str, *, under: tuple[str, ...], **options: Any) -> StatReport:  # noqa: ANN401
    from mdplan.engine.stat import stat_files

    given = given_fields({**options, "under": under[0] if len(under) == 1 else under})
    opened, request = session.open_files(), StatRequest(file=session.named(file), **given)
    report = stat_files(opened, request)
    if report.diagnostics and len(under) == 1:
        path = heading_path(under[0])
        by_path = stat_files(opened, replace(request, under=tuple(path))) if len(path) > 1 else report
        if by_path.ok:
            return by_path
        from mdplan.cli.edit_options import words_of_section

        report = words_of_section("--under", under[0]).tell_all(report)
    elif report.ok:
        report = session.words().tell_all(report)
    return report


# --- The outline of a file for people: lines and headings without IDs and hashes


def outline_text(report: StatReport) -> str:
    """Text of `report`: one line for each section, indented by its level, then what else the file has."""
    rows = None if report.files is None else tuple(replace(row, base_sha256=None) for row in report.files)
    report = replace(report, base_sha256=None, files=rows)
    is_markdown = report.ini_sections is None and report.text_sections is None and report.keys is None
    if not (report.ok and report.sections and is_markdown):
        return stat_text(report)
    rest = stat_text(replace(report, sections=())).removesuffix("\n").split("\n")
    head = 3 if report.front_matter else 2
    lines = [*rest[:head], *_sections(report.sections, report.total_sections or 0), *rest[head:]]
    return "".join(f"{line}\n" for line in lines)


def _sections(sections: Sequence[SectionEntry], total: int) -> list[str]:
    lines = [f"{section.start_line}-{section.end_line}" for section in sections]
    width = max(map(len, lines))
    listed = [f"  {line:{width}}  {_heading(section)}" for line, section in zip(lines, sections, strict=True)]
    cut = [f"  {len(sections)} of {total} sections"] if len(sections) < total else []
    return [*listed, *cut]


def _heading(section: SectionEntry) -> str:
    if not section.level:
        return "(text before the first heading)"
    title = section.heading_path[-1] if section.heading_path else section.title
    remark = " (in a quote or list)" if section.nested else ""
    return f"{'  ' * (section.level - 1)}{'#' * section.level} {title}{remark}"
