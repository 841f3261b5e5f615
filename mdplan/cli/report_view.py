"""Problems and plans in words, for people."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mdplan.cli.console import Style, shown
from mdplan.diagnostics import Candidate, Diagnostic, Severity
from mdplan.reports.plan import FileReport, PlanReport

_FILES_LISTED = 20
_PROBLEMS_LISTED: Final = 100
# Hints name what an agent would call; here it has the name of a command.
_TOOL: Final = re.compile(r"\bmd_(stat|read|search|validate|apply|history)\b")


def problem_texts(problems: Iterable[Diagnostic], ink: Style) -> Iterator[str]:
    """`problems` as `problem_text` says them: what many files share once, and no more than a person reads."""
    shared: dict[object, list[Diagnostic]] = {}
    for number, problem in enumerate(problems):
        is_shared = problem.place is None and problem.edit_index is None and not problem.candidates
        what = (problem.severity, problem.code, problem.message, problem.hint) if is_shared else number
        shared.setdefault(what, []).append(problem)
    listed = list(shared.values())
    for same in listed[:_PROBLEMS_LISTED]:
        yield problem_text(same[0], ink, [each.file for each in same[1:] if each.file is not None])
    more = sum(map(len, listed[_PROBLEMS_LISTED:]))
    if more:
        yield f"and {more} more; `--json` lists all of them"


def problem_text(problem: Diagnostic, ink: Style, other_files: Sequence[str] = ()) -> str:
    """`problem` as an error or a warning: what, where, the next step, and the places that were meant.

    `other_files` have it, too.
    """
    colour = "red" if problem.severity is Severity.ERROR else "yellow"
    title = f"{ink.bold(problem.severity, colour)}: {ink.bold(problem.code)}"
    lines = [f"{title}: {shown(problem.message)}"]
    place = _place(problem)
    if place:
        lines.append(f"  {ink.paint('at:', 'cyan')} {place}")
    lines += [f"      {shown(file)}" for file in other_files[:_FILES_LISTED]]
    if len(other_files) > _FILES_LISTED:
        lines.append(f"      and {len(other_files) - _FILES_LISTED} more")
    if problem.hint:
        hint = _TOOL.sub(r"`mdplan \1`", problem.hint)
        lines.append(f"  {ink.paint('hint:', 'cyan')} {shown(hint)}")
    if problem.candidates:
        what = "sections:" if problem.candidates[0].section_id else "places:"
        lines.append(f"  {ink.paint(what, 'cyan')}")
    return "\n".join([*lines, *map(_candidate, problem.candidates)])


def _candidate(candidate: Candidate) -> str:
    named = f"{candidate.section_id}  " if candidate.section_id else ""
    lines = f"lines {candidate.start_line}-{candidate.end_line}"
    return f"    {named}{lines}  {shown(' / '.join(candidate.heading_path))}"


def plan_size(report: PlanReport) -> str:
    """How much a plan changes: ``1 file, 3 edits: +4 -2 lines``."""
    changed = [file for file in report.files if file.changed]
    added = sum(file.lines_added for file in changed)
    removed = sum(file.lines_removed for file in changed)
    files, edits = counted(len(changed), "file"), counted(report.edits_applied or 0, "edit")
    return f"{files}, {edits}: +{added} -{removed} lines"


def file_list(files: Sequence[FileReport], ink: Style) -> str:
    """The changed ones of several `files`, with lines added and removed; nothing for a single one."""
    changed = [file for file in files if file.changed]
    if len(changed) < 2:
        return ""
    listed = changed[:_FILES_LISTED]
    names = [shown(file.file) for file in listed]
    width = max(map(len, names))
    lines = []
    for name, file in zip(names, listed, strict=True):
        added, removed = (
            ink.paint(f"+{file.lines_added}", "green"),
            ink.paint(f"-{file.lines_removed}", "red"),
        )
        links = f"  {counted(file.references_updated, 'link')}" if file.references_updated else ""
        lines.append(f"  {name:{width}}  {added} {removed}{links}")
    if len(changed) > len(listed):
        lines.append(f"  and {len(changed) - len(listed)} more")
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """`number` of things: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _place(problem: Diagnostic) -> str:
    parts = [shown(problem.file)] if problem.file is not None else []
    if problem.place is not None:
        if parts:
            parts[0] += f":{problem.place.line}:{problem.place.col}"
        else:
            parts.append(f"line {problem.place.line}, column {problem.place.col}")
    if problem.edit_index is not None:
        parts.append(f"edit {problem.edit_index}")
    return ", ".join(parts)
