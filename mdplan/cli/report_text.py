"""Problems and plans in words, for people."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from mdplan.cli.terminal import Style, shown
from mdplan.diagnostics import Diagnostic, Severity
from mdplan.plan import UNDO, EditNumbers
from mdplan.reports.plan import FileReport, PlanReport
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import counted, escaped
from mdplan.words import ShellWords

if TYPE_CHECKING:
    from mdplan.plan import EditResult
    from mdplan.review.plan_review import PlanReview, ReviewedFile

_FILES_LISTED = 20
_PROBLEMS_LISTED: Final = 100
_TOTAL_FROM: Final = 3


# JSON has the details of warnings.
_LOST_LISTED: Final = 10


def problem_texts(
    problems: Sequence[Diagnostic],
    style: Style,
    edits: EditNumbers | None = None,
    excerpt: str = "",
    words: ShellWords | None = None,
    outcome: str = "nothing was planned or changed",
) -> Iterator[str]:
    """Return each of `problems` once, even if many files share it, up to a readable number.

    If there are more, the last line counts them, and says the `outcome`.
    """
    words = words or ShellWords()
    shared: dict[object, list[Diagnostic]] = {}
    for number, problem in enumerate(problems):
        is_shared = problem.place is None and problem.edit_index is None and not problem.candidates
        what = (problem.severity, problem.code, problem.message, problem.hint) if is_shared else number
        shared.setdefault(what, []).append(problem)
    listed = list(shared.values())
    for same in listed[:_PROBLEMS_LISTED]:
        files = [each.file for each in same[1:] if each.file is not None]
        words.names_file = not files
        yield problem_text(words.tell(same[0]), style, files, edits, excerpt)
    more = sum(map(len, listed[_PROBLEMS_LISTED:]))
    if more:
        yield f"and {more} more; `--json` lists all of them"
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if len(errors) >= _TOTAL_FROM:
        files = [file for file, _ in Counter(problem.file for problem in errors).items() if file]
        in_files = f" in {counted(len(files), 'file')}" if files else ""
        yield f"{style.bold(counted(len(errors), 'error'), 'red')}{in_files}; {outcome}."


def problem_text(
    problem: Diagnostic,
    style: Style,
    other_files: Sequence[str] = (),
    edits: EditNumbers | None = None,
    excerpt: str = "",
) -> str:
    """Return `problem` as an error or warning: message, place, next step and candidates.

    `other_files` share it. `edits` is the number of edits; without it the edit is not named. `excerpt` shows
    the place.
    """
    colour = "red" if problem.severity is Severity.ERROR else "yellow"
    title = f"{style.bold(problem.severity, colour)}: {style.bold(problem.code)}"
    lines = [f"{title}: {shown(problem.message)}"]
    place = _place(problem, edits)
    if place and not excerpt:
        lines.append(f"  {style.paint('at:', 'cyan')} {place}")
    lines += [excerpt] if excerpt else []
    lines += [f"      {shown(file)}" for file in other_files[:_FILES_LISTED]]
    if len(other_files) > _FILES_LISTED:
        lines.append(f"      and {len(other_files) - _FILES_LISTED} more")
    if problem.hint:
        lines.append(f"  {style.paint('hint:', 'cyan')} {shown(problem.hint)}")
    lost = problem.lost or () if problem.severity is Severity.ERROR else ()
    lines += (f"  {style.paint('lost:', 'cyan')} {shown(part.text)}" for part in lost[:_LOST_LISTED])
    if problem.candidates:
        what = "sections:" if problem.candidates[0].section_id else "places:"
        lines.append(f"  {style.paint(what, 'cyan')}")
    paths = Counter(candidate.heading_path for candidate in problem.candidates)
    for each in problem.candidates:
        # With its ID if the path is ambiguous.
        named = f"{each.section_id}  " if each.section_id and paths[each.heading_path] > 1 else ""
        path = shown(" / ".join(each.heading_path))
        lines.append(f"    {named}lines {each.start_line}-{each.end_line}  {path}")
    return "\n".join(lines)


def plan_size(report: PlanReport) -> str:
    """Return the size of a plan: ``1 file, 3 edits: +4 -2 lines``."""
    changed = [file for file in report.files if file.changed]
    added = sum(file.lines_added for file in changed)
    removed = sum(file.lines_removed for file in changed)
    size = size_of(len(changed), report.edit_results, report.edits_applied or 0)
    replacements: int | None = getattr(report, "replacements", None)
    if replacements:
        size = f"{counted(len(changed), 'file')}, {counted(replacements, 'replacement')}"
    return f"{size}: +{added} -{removed} lines"


# What people count in place of edits, by the last word of the name of an operation. Edits of whole files are
# counted as files.
_NOUNS: Final = {"match": "replacement", "file": "", "page": "", UNDO: ""}


def size_of(files: int, results: "Sequence[EditResult]", edits: int = 0) -> str:
    """Return the numbers of files and edits as people count these: ``2 files, 3 replacements``.

    `edits` is the number of edits without `results`.
    """
    effective = [result for result in results if not result.no_op]
    nouns = {_NOUNS.get(result.op.rpartition("_")[2], "edit") for result in effective}
    noun = nouns.pop() if len(nouns) == 1 else "edit"
    replaced = sum(result.matches_replaced or 0 for result in effective)
    number = (replaced if noun == "replacement" else len(effective)) or edits
    return counted(files, "file") + (f", {counted(number, noun)}" if noun else "")


def file_list(files: Sequence[FileReport], style: Style) -> str:
    """Return the changed files with line counts; empty for a single file."""
    changed = [file for file in files if file.changed]
    if len(changed) < 2:
        return ""
    listed = changed[:_FILES_LISTED]
    names = [shown(file.file) for file in listed]
    width = max(map(len, names))
    lines = []
    for name, file in zip(names, listed, strict=True):
        links = f"  {counted(file.references_updated, 'link')} updated" if file.references_updated else ""
        lines.append(f"  {name:{width}}  {line_counts(file, style)}{links}")
    if len(changed) > len(listed):
        lines.append(f"  and {len(changed) - len(listed)} more")
    return "\n".join(lines)


def line_counts(change: "FileReport | PlanReview | ReviewedFile", style: Style) -> str:
    """Return how many lines `change` adds and removes: ``+4 -2``."""
    return (
        f"{style.paint(f'+{change.lines_added}', 'green')} {style.paint(f'-{change.lines_removed}', 'red')}"
    )


def _place(problem: Diagnostic, edits: EditNumbers | None) -> str:
    file = shown(problem.file) if problem.file is not None else None
    if edits is not None and problem.edit_index is not None and problem.place is None:
        return shown(edits.named(problem.edit_index, problem.file))
    parts = [file] if file is not None else []
    if problem.place is not None:
        if parts:
            parts[0] += f":{problem.place.line}:{problem.place.col}"
        else:
            parts.append(f"line {problem.place.line}, column {problem.place.col}")
    if edits is not None and problem.edit_index is not None:
        parts.append(edits.named(problem.edit_index, None).partition(" of ")[0])
    return ", ".join(parts)


# --- A unified diff for people: escaped and coloured

# No line of a hunk begins with ``diff`` or ``@@``, so the headers are certain.
_FILE: Final = lazy_pattern(rb"^(?=diff --git )", re.MULTILINE)
_COLOURS: Final = {"-": "red", "+": "green", "\\": "bright_black"}


def diff_for_people(diff: bytes, style: Style) -> str:
    r"""Return `diff` as text for a terminal.

    Bytes that are not UTF-8 appear as ``\xNN``. CR is hidden if all lines of a file's hunks end in CRLF;
    otherwise each CR appears as ``\r``.
    """
    shown: list[str] = []
    for file in _FILE.split(diff):
        lines = file.split(b"\n")[:-1]
        first = next((at for at, line in enumerate(lines) if line.startswith(b"@@ ")), len(lines))
        head, body = lines[:first], lines[first:]
        signed = [line for line in body if line[:1] in (b"-", b"+", b" ")]
        hide_cr = bool(signed) and all(line.endswith(b"\r") for line in signed)
        shown += [style.bold(_text(line)) for line in head]
        for line in body:
            text = _text(line.removesuffix(b"\r") if hide_cr else line)
            colour = "cyan" if text.startswith("@@") else _COLOURS.get(text[:1])
            shown.append(style.paint(text, colour) if colour else text)
    return "".join(line + "\n" for line in shown)


def _text(line: bytes) -> str:
    return escaped(line.decode("utf-8", "backslashreplace"))
