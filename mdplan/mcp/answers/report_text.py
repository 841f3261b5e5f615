"""Reports as text for a model: compact where the call went well, complete where it was refused.

Some clients show a model nothing but the structured data of a success, and others nothing but the text; of a
refusal, most show the text alone. So each of the two is on its own.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.mcp.answers.review_lines import review_lines
from mdplan.plan import EditResult, MatchResult
from mdplan.reports.base import Report
from mdplan.reports.plan import ApplyReport, Approved, FileReport, PlanReport, UndoneTransaction
from mdplan.text.lines import Lines
from mdplan.text.source import visible

# Some clients cut the text of an error near 11,000 characters.
_MOST_OF_A_REFUSAL: Final = 10_000
_MOST_ROWS: Final = 50
# What the note takes that says how much was cut.
_NOTE_CHARACTERS: Final = 60
_HASH_DIGITS: Final = 16
# What `{+path}` of a template leaves as it is.
_RESERVED: Final = "/:?#[]@!$&'()*+,;=-._~"


def plan_text(report: PlanReport, most: int, listing: Sequence[str] = ()) -> str:
    """Text of a plan or an apply that went well: outcome, files, edits, warnings and diff.

    `listing` takes the place of the rows of its files. What is before the diff is cut where the text would
    be longer than `most` characters.
    """
    warnings = dict.fromkeys(report.warnings)
    for result in report.edit_results:
        warnings.update(dict.fromkeys(result.warnings))
    lines = [
        _outcome(report),
        *(listing or _rows((_file_row(file, is_written=report.applied) for file in report.files), "files")),
        *_rows(map(_edit_row, report.edit_results), "edits"),
        *_rows((f"warning {_diagnostic(problem)}" for problem in warnings), "warnings"),
    ]
    lines += review_lines(report.review) if report.review is not None else ()
    if report.diff_truncated:
        lines.append(f"The diff is cut. All of it: resource {diff_uri(report.plan_id or '')}")
    diff = visible("\n\n" + report.diff.removesuffix("\n")) if report.diff else ""
    return _cut(visible("\n".join(lines)), most - len(diff), "lines") + diff


def refusal_text(report: Report) -> str:
    """Text of a refusal: all problems with their codes, places, hints and candidates."""
    lines = [_diagnostic(problem) for problem in listed_problems(report)]
    outcome = _what_was_written(report)
    if outcome:
        lines.insert(1, outcome)
    return _cut(visible("\n".join(lines)), _MOST_OF_A_REFUSAL, "lines about further problems")


def listed_problems(report: Report) -> tuple[Diagnostic, ...]:
    """The problems of a refusal, its error in front, each once."""
    assert report.error is not None, "a refusal names its error"
    return tuple(dict.fromkeys((report.error, *report.diagnostics)))


def outline_uri(file: str) -> str:
    """Address of the resource that is the outline of `file`."""
    return f"mdplan://outline/{quote(file, safe=_RESERVED)}"


def diff_uri(plan_id: str) -> str:
    """Address of the resource that contains the whole diff of a plan."""
    return f"mdplan://plans/{plan_id}/diff"


def _outcome(report: PlanReport) -> str:
    sums = _sums(report)
    if isinstance(report, ApplyReport) and report.applied:
        if report.already_applied or report.receipt is None:
            return f"Already applied; nothing was written now. Plan {report.plan_id}: {sums}."
        how = " to the files as they are now, by a new plan" if report.rebased else ""
        undone = f" Undid the transaction {_undone(report.undone)}." if report.undone is not None else ""
        return f"Applied{how}. Plan {report.plan_id}: {sums}.{undone}{_approval(report.approved)}"
    if report.no_op:
        return f"Nothing to do: the files already are as the edits ask. Plan {report.plan_id}."
    if report.stored is False:
        how = "The plan could not be stored: to apply it, send the same edits with baseSha256 of every file."
    else:
        how = f'To apply exactly this: md_apply {{"planId": "{report.plan_id}"}}'
    return f"Planned, nothing was written: {sums}. {how}"


def _undone(undone: UndoneTransaction) -> str:
    return f"{undone.transaction} by {undone.actor}" if undone.actor else undone.transaction


def _approval(approved: Approved | None) -> str:
    """Who approved it, and what they said."""
    if approved is None:
        return ""
    return f" Approved by {approved.decided_by}{f': {approved.comment}' if approved.comment else '.'}"


def _sums(report: PlanReport) -> str:
    changed = [file for file in report.files if file.changed]
    added = sum(file.lines_added for file in changed)
    removed = sum(file.lines_removed for file in changed)
    count = len(report.edit_results) if report.edits_applied is None else report.edits_applied
    edits = _count(count, "edit")
    if report.rejected:
        edits += (
            f" (without {', '.join(map(str, report.rejected[:_MOST_ROWS]))} of those that were asked for)"
        )
    return f"{edits}, {_count(len(changed), 'file')} changed, +{added} -{removed} lines"


def _file_row(file: FileReport, *, is_written: bool) -> str:
    """A file and its hash: that of its base, or where it `is_written` that of its result."""
    if not file.changed:
        return f"{file.file}: unchanged, baseSha256 {(file.base_sha256 or '')[:_HASH_DIGITS]}"
    name = file.file if file.new_file is None else f"{file.file} renamed to {file.new_file}"
    parts = [f"+{file.lines_added} -{file.lines_removed}"]
    parts += ["created"] if file.base_sha256 is None else []
    parts += ["deleted"] if file.result_sha256 is None else []
    if file.base_sha256 is not None and not is_written:
        parts.append(f"baseSha256 {file.base_sha256[:_HASH_DIGITS]}")
    if file.result_sha256 is not None:
        parts.append(f"resultSha256 {file.result_sha256[:_HASH_DIGITS]}")
    links = f", {_count(file.references_updated, 'link')} rewritten" if file.references_updated else ""
    return f"{name}: {', '.join(parts)}{links}"


def _edit_row(result: EditResult) -> str:
    parts = ["no change"] if result.no_op else []
    if result.matches_found is not None:
        parts.append(
            f"{result.matches_replaced} of {_count(result.matches_found, 'match', 'matches')} replaced"
        )
    if result.excluded_matches:
        parts.append(f"skipped: {_kinds(result.excluded_matches)}")
    if result.result_lines:
        places = list(dict.fromkeys(map(_lines, result.result_lines)))
        parts.append(
            f"writes lines {', '.join(places[:_MOST_ROWS])}{', …' if len(places) > _MOST_ROWS else ''}"
        )
    if result.new_section_id is not None:
        parts.append(f"newSectionId {result.new_section_id}")
    if result.hunk_offsets is not None:
        parts.append(f"hunks moved by {', '.join(f'{lines:+d}' for lines in result.hunk_offsets)} lines")
    if result.line_ends_normalized:
        parts.append("line ends differ from the file's and were converted")
    row = f"editIndex {result.edit_index} {result.op} in {result.file}: {'; '.join(parts) or 'done'}"
    # What was changed is in the diff; what was only found is here.
    matches = map(_match_row, result.matches) if result.no_op else ()
    return "\n".join([row, *_rows(matches, "matches")])


def _match_row(match: MatchResult) -> str:
    return f"  {match.line}:{match.col} {json.dumps(match.text, ensure_ascii=False)}"


def _what_was_written(report: Report) -> str | None:
    if not isinstance(report, PlanReport):
        return None
    if report.applied:
        return "The files were written all the same."
    if any(problem.code is Code.COMMIT_IN_DOUBT for problem in report.diagnostics):
        return "It is not known whether the files were written: look at them before going on."
    return "Nothing was written."


def _diagnostic(problem: Diagnostic) -> str:
    where = [] if problem.file is None else [problem.file]
    where += [] if problem.edit_index is None else [f"editIndex {problem.edit_index}"]
    where += [] if problem.place is None else [f"line {problem.place.line} column {problem.place.col}"]
    place = f" ({', '.join(where)})" if where else ""
    text = f"{problem.code}{place}: {problem.message}"
    text += f"\n  hint: {problem.hint}" if problem.hint else ""
    return "\n".join([text, *(f"  {candidate_row(candidate)}" for candidate in problem.candidates)])


def candidate_row(candidate: Candidate) -> str:
    """A place that an address could mean, in one line."""
    path = " > ".join(candidate.heading_path) or "(preamble)"
    section_id = f"sectionId {candidate.section_id} " if candidate.section_id else ""
    return f"lines {candidate.start_line}-{candidate.end_line} {section_id}{path}"


def _rows(rows: Iterable[str], what: str) -> Iterator[str]:
    """The first of `rows`, and how many more there are."""
    listed: Sequence[str] = list(rows)
    yield from listed[:_MOST_ROWS]
    if len(listed) > _MOST_ROWS:
        yield f"… and {len(listed) - _MOST_ROWS} more {what}"


def _cut(text: str, most: int, what: str) -> str:
    """`text` in about `most` characters, cut between lines where there are lines."""
    if len(text) <= most:
        return text
    kept = text[: max(most - _NOTE_CHARACTERS, 0)]
    kept = kept[: kept.rfind("\n")] if "\n" in kept else kept
    omitted = text.count("\n", len(kept))
    return f"{kept}\n… and {omitted} more {what}"


def _lines(lines: Lines) -> str:
    return str(lines.start) if lines.start == lines.end else f"{lines.start}-{lines.end}"


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {kind}" for kind, count in sorted(counts.items()))


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"
