"""Read and search reports as text: all that a reader, or a model that sees text alone, needs to go on."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.tables import NodeKind
from mdplan.reports.read import ReadReport, ReadResult, SearchedFile, SearchGroup, SearchReport
from mdplan.text.source import visible

_HASH_DIGITS: Final = 16
_ID_DIGITS: Final = 8


def read_text(report: ReadReport) -> str:
    """For each place a line with its lines and what pins it, then its content as it is."""
    return visible("".join(_result(result) for result in report.results))


def place_line(result: ReadResult, *, hashes: bool = True) -> str:
    """What was read, in one line: ``a.md 12-25 of 90, baseSha256 …, section Install sectionSha256 …``.

    Without `hashes` it is ``a.md 12-25 of 90, section Install``.
    """
    assert result.base_sha256 is not None
    lines = f"{result.start_line}-{result.end_line} of {result.total_lines}"
    parts = [f"{result.file} {lines}"]
    parts += [f"baseSha256 {result.base_sha256[:_HASH_DIGITS]}"] if hashes else []
    if result.section_id is not None:
        path = " / ".join(result.heading_path or ()) or "(preamble)"
        digits = result.section_id.removeprefix("sha256-")[:_ID_DIGITS]
        pin = f" sectionSha256 {result.section_sha256[:_HASH_DIGITS]}" if result.section_sha256 else ""
        parts.append(f"section {path}" + (f", sectionId {digits}{pin}" if hashes else ""))
    if result.match_line is not None:
        parts.append(f"match at line {result.match_line}")
    if result.content_exact is False:
        parts.append("some bytes are not text and shown as \\xNN")
    return ", ".join(parts)


def rest_lines(result: ReadResult) -> Iterator[str]:
    """How to go on where content was cut, and which sections begin in the rest."""
    if result.truncated:
        yield f"(cut here: cursor {result.next_cursor} goes on)"
        for row in result.left_out or ():
            digits = row.section_id.removeprefix("sha256-")[:_ID_DIGITS]
            yield f"  {row.start_line}-{row.end_line} {row.heading} {digits}"


def _result(result: ReadResult) -> str:
    if result.problem is not None:
        return f"{result.file}: {_problem_text(result.problem)}\n"
    content = result.content or ""
    ended = content if not content or content.endswith(("\n", "\r")) else content + "\n"
    return f"{place_line(result)}\n{ended}" + "".join(f"{line}\n" for line in rest_lines(result))


def search_text(report: SearchReport, *, brief: bool = False, hashes: bool = True) -> str:
    """By file and section, the matches with their places.

    `brief` names sections by their own heading; without `hashes` neither files nor sections have any.
    """
    lines = [_summary(report)]
    if report.files and not any(found.groups or found.front_matter for found in report.files):
        lines += file_listing(report.files)
    else:
        for found in report.files:
            lines += _file(found, brief=brief, hashes=hashes)
    if report.next_cursor is not None:
        lines.append(f"(more: cursor {report.next_cursor})")
    lines += (f"{warning.file or 'warning'}: {_problem_text(warning)}" for warning in report.warnings)
    return visible("".join(f"{line}\n" for line in lines))


def _summary(report: SearchReport) -> str:
    matches, files = report.total_matches or 0, report.total_files or 0
    if not matches and files:
        return _count(files, "file")
    if not matches:
        return f"no matches in {_count(report.searched_files or 0, 'file')}"
    return f"{_count(matches, 'match', 'matches')} in {_count(files, 'file')}"


def _file(found: SearchedFile, *, brief: bool, hashes: bool) -> Iterator[str]:
    matches = _count(found.matches, "match", "matches")
    counted = f", {matches}" if found.matches else ""
    # Without matches, or with their number alone, the file was not shown.
    pin = f" baseSha256 {found.base_sha256[:_HASH_DIGITS]}" if found.groups and hashes else ""
    yield f"{found.file}{pin}{counted}"
    for key, value in (found.front_matter or {}).items():
        yield f"  {key}: {json.dumps(value, ensure_ascii=False)}"
    yield from (f"  {line}" for line in hit_lines(found, brief=brief, hashes=hashes))


def file_listing(files: Sequence[SearchedFile]) -> Iterator[str]:
    """Files and their numbers of matches, the names of those of one folder below its own."""
    for folder, those in groupby(files, key=lambda found: found.file.rpartition("/")[0]):
        if folder:
            yield f"{folder}/"
        for found in those:
            yield f"{' ' if folder else ''}{found.file.rpartition('/')[2]} {found.matches}"


def hit_lines(found: SearchedFile, *, brief: bool = False, hashes: bool = True) -> Iterator[str]:
    """The matches of one file, those of a section below its own line."""
    for group in found.groups:
        is_front_matter = all(hit.within == NodeKind.FRONT_MATTER for hit in group.hits)
        if is_front_matter and len(found.groups) > 1:
            yield "front matter"
        elif group.level or len(found.groups) > 1:
            yield _section(group, brief=brief, hashes=hashes)
        for hit in group.hits:
            within = f" [{hit.within}]" if hit.within else ""
            before, behind = hit.before or (), hit.behind or ()
            for number, line in enumerate(before, start=hit.line - len(before)):
                yield f"  {number}: {line}"
            yield f"  {hit.address or f'{hit.line}:{hit.col}'}{within} {hit.text}"
            for number, line in enumerate(behind, start=hit.line + 1):
                yield f"  {number}: {line}"


def _section(group: SearchGroup, *, brief: bool, hashes: bool) -> str:
    path = " / ".join(group.heading_path[-1:] if brief else group.heading_path) or "(preamble)"
    digits = group.section_id.removeprefix("sha256-")[:_ID_DIGITS]
    return f"{group.start_line}-{group.end_line} {path}" + (f" {digits}" if hashes else "")


def _problem_text(problem: Diagnostic) -> str:
    return f"{problem.code}: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
