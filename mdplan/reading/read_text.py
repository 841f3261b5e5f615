"""Read and search reports as text: all that a reader, or a model that sees text alone, needs to go on."""

from collections.abc import Iterator
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.reports.read import ReadReport, ReadResult, SearchedFile, SearchGroup, SearchReport
from mdplan.text.source import visible

_HASH_DIGITS: Final = 16
_ID_DIGITS: Final = 8


def read_text(report: ReadReport) -> str:
    """For each place a line with its lines and what pins it, then its content as it is."""
    return visible("".join(_result(result) for result in report.results))


def place_line(result: ReadResult) -> str:
    """What was read, in one line: ``a.md 12-25 of 90, baseSha256 …, section Install sectionSha256 …``."""
    assert result.base_sha256 is not None
    lines = f"{result.start_line}-{result.end_line} of {result.total_lines}"
    parts = [f"{result.file} {lines}", f"baseSha256 {result.base_sha256[:_HASH_DIGITS]}"]
    if result.section_id is not None:
        path = " / ".join(result.heading_path or ()) or "(preamble)"
        digits = result.section_id.removeprefix("sha256-")[:_ID_DIGITS]
        pin = f" sectionSha256 {result.section_sha256}" if result.section_sha256 else ""
        parts.append(f"section {path}, sectionId {digits}{pin}")
    if result.match_line is not None:
        parts.append(f"match at line {result.match_line}")
    if result.content_exact is False:
        parts.append("some bytes are no text and shown as \\xNN")
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


def search_text(report: SearchReport) -> str:
    """By file and section, the matches with their places."""
    lines = [_summary(report)]
    for found in report.files:
        lines += _file(found)
    if report.next_cursor is not None:
        lines.append(f"(more: cursor {report.next_cursor})")
    lines += (f"{warning.file}: {_problem_text(warning)}" for warning in report.warnings)
    return visible("".join(f"{line}\n" for line in lines))


def _summary(report: SearchReport) -> str:
    matches, files = report.total_matches or 0, report.total_files or 0
    if not matches:
        return f"no matches in {_count(report.searched_files or 0, 'file')}"
    return f"{_count(matches, 'match', 'matches')} in {_count(files, 'file')}"


def _file(found: SearchedFile) -> Iterator[str]:
    matches = _count(found.matches, "match", "matches")
    yield f"{found.file} baseSha256 {found.base_sha256[:_HASH_DIGITS]}, {matches}"
    for group in found.groups:
        if group.level or len(found.groups) > 1:
            yield _section(group)
        for hit in group.hits:
            within = f" [{hit.within}]" if hit.within else ""
            before, behind = hit.before or (), hit.behind or ()
            for number, line in enumerate(before, start=hit.line - len(before)):
                yield f"    {number}: {line}"
            yield f"    {hit.line}:{hit.col}{within} {hit.text}"
            for number, line in enumerate(behind, start=hit.line + 1):
                yield f"    {number}: {line}"


def _section(group: SearchGroup) -> str:
    path = " / ".join(group.heading_path) or "(preamble)"
    digits = group.section_id.removeprefix("sha256-")[:_ID_DIGITS]
    return f"  {group.start_line}-{group.end_line} {path} {digits}"


def _problem_text(problem: Diagnostic) -> str:
    return f"{problem.code}: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
