"""Plans and commits, said once: hashes that pin the next edit, and of each edit what one would not expect."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.mcp.answers.report_text import plan_text, refusal_text
from mdplan.mcp.answers.result import with_short_diff
from mdplan.mcp.answers.short_report import first_lines, within
from mdplan.mcp.calls.current_call import shown_files
from mdplan.mcp.compact.compact_json import compact_wire, problem_wire, pruned, short
from mdplan.mcp.compact.shown_diff import shown_diff
from mdplan.mcp.tool import ToolResult
from mdplan.plan import EditResult, MatchResult
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport, FileReport, PlanReport

# A diff that is shorter is shown as it is.
_MOST_OF_A_PREVIEW: Final = 1_200
_MOST_OF_A_COMMIT: Final = 300
# More files are lines of text, and of warnings with one cause no more are named.
_MOST_FILES: Final = 10
_AT_LINE: Final = re.compile(r" at line \d+")
# Of more files a client with a session gets lines without hashes: the server remembers them.
_MOST_HASHES: Final = 3


def compact_plan_answer(report: PlanReport, most: int, *, was_shown: bool = False) -> ToolResult:
    """ToolResult for a plan or a commit; without its diff where that `was_shown` with the plan before."""
    if not report.ok:
        return ToolResult(
            text=refusal_text(report), structured=within(compact_wire(report), most), is_refusal=True
        )
    shortened = with_short_diff(_without_redundancy(report, was_shown=was_shown), most)
    is_remembered = shown_files() is not None and report.applied
    is_listed = len(report.files) > (_MOST_HASHES if is_remembered else _MOST_FILES)
    listing = first_lines(_listing(report.files), most // 2, "files") if is_listed else []
    wire = _wire(report, shortened, listing)
    text = plan_text(shortened, most, listing)
    return ToolResult(text=text, structured=within(wire, most), is_refusal=False)


def _without_redundancy(report: PlanReport, *, was_shown: bool) -> PlanReport:
    """The report without what others of its fields say."""
    diff, is_exact = report.diff, report.diff_exact
    if report.applied and was_shown and not (isinstance(report, ApplyReport) and report.rebased):
        diff = is_exact = None
    elif diff and len(diff) > (_MOST_OF_A_COMMIT if report.applied else _MOST_OF_A_PREVIEW):
        shown = shown_diff(diff, whole_runs=not report.applied)
        diff, is_exact = (shown, False) if len(shown) < len(diff) else (diff, is_exact)
    is_alone = len(report.edit_results) == 1
    has_counts = any(result.matches_found is not None for result in report.edit_results)
    return replace(
        report,
        matches_found=report.matches_found if has_counts else None,
        matches_replaced=report.matches_replaced if has_counts else None,
        plan_id=short(report.plan_id or ""),
        title=None,
        description=None,
        diff=diff,
        diff_exact=is_exact,
        edit_results=tuple(_remarkable(report.edit_results, is_alone=is_alone)),
        warnings=_warnings(report),
    )


def _warnings(report: PlanReport) -> tuple[Diagnostic, ...]:
    found = dict.fromkeys(report.warnings)
    for result in report.edit_results:
        found.update(dict.fromkeys(result.warnings))
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for each in found:
        groups.setdefault((each.code, *_cause(each)), []).append(each)
    return tuple(map(_in_one, groups.values()))


def _cause(warning: Diagnostic) -> tuple[str, ...]:
    """What other warnings of its code may have in common with `warning`."""
    if warning.code is Code.BROKEN_LINK:
        # Its target is written in another way in each folder.
        return (warning.message.rpartition(": ")[2],)
    return _AT_LINE.sub("", warning.message), warning.hint


def _in_one(warnings: Sequence[Diagnostic]) -> Diagnostic:
    """The first of `warnings`, which differ in their places alone, with the places of the others."""
    first, *others = warnings
    if not others:
        return first
    lines: dict[str, dict[str, None]] = {}
    for each in others:
        lines.setdefault(each.file or "", {}).update({str(each.place.line): None} if each.place else {})
    shown = dict(islice(lines.items(), _MOST_FILES))
    listed = "; ".join(_in_folder(folder, shown, those) for folder, those in groupby(shown, key=_folder))
    more = f" and {len(lines) - _MOST_FILES} more files" if len(lines) > _MOST_FILES else ""
    return replace(first, message=f"{first.message}; also {listed}{more}")


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _in_folder(folder: str, lines: Mapping[str, Collection[str]], files: Iterable[str]) -> str:
    """The `files` of one folder with their `lines`; the folder is named once."""
    names = [f"{file}{':' if lines[file] else ''}{','.join(lines[file])}" for file in files]
    if len(names) == 1 or not folder:
        return ", ".join(names)
    return f"in {folder}/: " + ", ".join(name.removeprefix(f"{folder}/") for name in names)


def _remarkable(results: Sequence[EditResult], *, is_alone: bool) -> Iterator[EditResult]:
    """The results that say more than that the edit was made; what `is_alone` is summed up next to it."""
    for result in results:
        counts_say_more = not is_alone and (result.matches_found or 0) > 1
        kept = replace(
            result,
            ranges=(),
            result_lines=(),
            section_id=None,
            new_section_sha256=None,
            to_file=None,
            matches_found=result.matches_found if counts_say_more else None,
            matches_replaced=result.matches_replaced if counts_say_more else None,
            matches=result.matches if result.no_op else (),
            excluded_matches=None if is_alone else result.excluded_matches or None,
            no_op=result.no_op and not is_alone,
            warnings=(),
        )
        bare = EditResult(edit_index=result.edit_index, op=result.op, file=result.file, no_op=False)
        if kept != bare:
            yield kept


def _wire(report: PlanReport, shortened: PlanReport, listing: Sequence[str]) -> dict[str, Any]:
    """The report as decoded JSON; its files are the lines of `listing` if there are any."""
    bare = replace(shortened, files=(), edit_results=(), matches=None, warnings=(), file=None)
    if isinstance(bare, ApplyReport):
        bare = replace(bare, receipt=None, written=None)
    wire = compact_wire(bare)
    wire["applied"] = report.applied
    if report.applied:
        wire.pop("baseSha256", None)
    if isinstance(report, ApplyReport) and report.receipt is not None and not report.already_applied:
        wire["transaction"] = report.receipt.transaction
    if listing:
        wire["listing"] = "\n".join(listing)
    else:
        wire["files"] = [_file(each) for each in report.files]
    if shortened.edit_results:
        wire["editResults"] = [_edit(each) for each in shortened.edit_results]
    if shortened.warnings:
        wire["warnings"] = [problem_wire(each) for each in shortened.warnings]
    # The diff is long, and is after what is short.
    return {name: wire[name] for name in sorted(wire, key=lambda name: name == "diff")}


def _listing(files: Sequence[FileReport]) -> Iterator[str]:
    """Files and how many lines they gain and lose; the first of those of one folder has its name above."""
    for folder, those in groupby(files, key=lambda file: file.file.rpartition("/")[0]):
        above = f"{folder}/\n" if folder else ""
        for file in those:
            name = file.file.rpartition("/")[2] + (f" renamed to {file.new_file}" if file.new_file else "")
            links = f", {file.references_updated} links" if file.references_updated else ""
            row = f"{' ' if folder else ''}{name} +{file.lines_added} -{file.lines_removed}{links}"
            yield above + row
            above = ""


def _file(file: FileReport) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(file))
    pin = "baseSha256" if file.result_sha256 is None else "resultSha256"
    kept = {"file", "newFile", "referencesUpdated", "changed", pin}
    return {name: each for name, each in wire.items() if name in kept}


def _edit(result: EditResult) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(replace(result, matches=())))
    del wire["file"], wire["op"]
    if result.matches:
        wire["matches"] = [_match(match) for match in result.matches]
    return wire


def _match(match: MatchResult) -> str:
    return f"{match.line}:{match.col} {match.text}"
