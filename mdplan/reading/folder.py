"""Folders and globs: one row a file, so that an agent can find its way in a tree."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.reading.plain_text import ini_section_count
from mdplan.reports.base import refusal
from mdplan.reports.stat import BrokenLink, FileRow, StatReport
from mdplan.requests.queries import StatRequest
from mdplan.text.visible import escape_for_message

_LIMIT: Final = 200
_MOST_BROKEN: Final = 100
_TITLE: Final = "title"
_OF_ONE_FILE: Final = ("under", "depth", "include")


def folder_report(
    request: StatRequest,
    files: Iterable[str],
    read: Callable[[str], Outline | Diagnostic],
    broken: Callable[[str, Outline], Sequence[BrokenLink]] | None = None,
) -> StatReport:
    """Rows of `files`, all that `request.file` names, sorted by path; only those of the page are read.

    `broken` gives the links of a file that lead to nothing; None where no one asks.

    The cursor is the last path of the page before, so that files may come and go concurrently.
    Errors: INVALID_ARGUMENT for what can be asked of one file alone.
    """
    problems = tuple(_of_one_file(request))
    if problems:
        return refusal(StatReport, problems)
    paths = sorted(files)
    rest = [path for path in paths if request.cursor is None or path > request.cursor]
    limit = request.limit or _LIMIT
    page = rest[:limit]
    return StatReport(
        ok=True,
        file=request.file,
        files=tuple(_row(path, read(path), broken) for path in page),
        total_files=len(paths),
        next_cursor=page[-1] if len(rest) > limit else None,
    )


def _row(
    path: str,
    outline: Outline | Diagnostic,
    broken: Callable[[str, Outline], Sequence[BrokenLink]] | None,
) -> FileRow:
    row = file_row(path, outline)
    if broken is None or isinstance(outline, Diagnostic):
        return row
    found = broken(path, outline)
    return replace(
        row,
        broken_links=tuple(found[:_MOST_BROKEN]),
        total_broken_links=len(found) if len(found) > _MOST_BROKEN else None,
    )


def file_row(file: str, outline: Outline | Diagnostic) -> FileRow:
    """Row of `file`: its outline, or why there is none.

    `sections` counts headings at top level, and in an INI file those of its sections.
    """
    if isinstance(outline, Diagnostic):
        return FileRow(file=file, problem=f"{outline.code}: {outline.message}")
    source = outline.source
    return FileRow(
        file=file,
        bytes=len(source.data),
        base_sha256=source.sha256,
        title=_title(outline),
        sections=max(len(outline.sections), ini_section_count(outline)) - 1,
        tokens=(len(source.text) + 3) // 4,
    )


def _title(outline: Outline) -> str | None:
    """`title` of the front matter, which names the page where there is one; else the first heading."""
    text, front_matter = outline.source.text, outline.front_matter
    if front_matter and text.find(_TITLE, front_matter.content.start, front_matter.content.end) >= 0:
        from mdplan.markdown.front_matter import read_values

        values = read_values(text, front_matter, outline.limits.front_matter_characters)
        title = (values or {}).get(_TITLE)
        if isinstance(title, str) and title.strip():
            return escape_for_message(" ".join(title.split()))
    return next(
        (escape_for_message(section.title) for section in outline.sections[1:] if section.title), None
    )


def _of_one_file(request: StatRequest) -> Iterable[Diagnostic]:
    given = [name for name in _OF_ONE_FILE if getattr(request, name) is not None]
    if request.detail == "full":
        given.append("detail")
    for name in given:
        yield Diagnostic.invalid(
            f"`{request.file}` names several files, and `{name}` is asked of one",
            f"name one of its files, or leave {name} out",
        )
