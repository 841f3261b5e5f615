"""Plans and commits, said once: hashes that pin the next edit, and of each edit what one would not expect."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.mcp.compact.shown_diff import shown_diff
from mdplan.mcp.compact.wire import compact_wire, problem_wire, pruned, short
from mdplan.mcp.pending_plans import shown_files
from mdplan.mcp.report_text import plan_text, refusal_text
from mdplan.mcp.result import with_short_diff
from mdplan.mcp.short_report import within
from mdplan.mcp.tool import ToolResult
from mdplan.plan import EditResult, MatchResult
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport, FileReport, PlanReport

# A diff that is shorter is shown as it is.
_MOST_OF_A_PREVIEW: Final = 1_200
_MOST_OF_A_COMMIT: Final = 300
# More files are lines of text.
_MOST_FILES: Final = 10
# Warnings that are the same but for their places are one, which lists so many of the others.
_MOST_PLACES: Final = 5
_AT_LINE: Final = re.compile(r" at line \d+")
# Of more files a client with a session gets no hashes: the server remembers them.
_MOST_HASHES: Final = 3


def compact_plan_answer(report: PlanReport, most: int, *, was_shown: bool = False) -> ToolResult:
    """ToolResult for a plan or a commit; without its diff where that `was_shown` with the plan before."""
    if not report.ok:
        return ToolResult(
            text=refusal_text(report), structured=within(compact_wire(report), most), is_refusal=True
        )
    told = with_short_diff(_told_once(report, was_shown=was_shown), most)
    wire = _wire(report, told, is_remembered=shown_files() is not None and report.applied)
    listing = tuple(_listing(report.files)) if len(report.files) > _MOST_FILES else ()
    return ToolResult(text=plan_text(told, listing), structured=within(wire, most), is_refusal=False)


def _told_once(report: PlanReport, *, was_shown: bool) -> PlanReport:
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
        groups.setdefault((each.code, _AT_LINE.sub("", each.message), each.hint), []).append(each)
    return tuple(map(_in_one, groups.values()))


def _in_one(warnings: Sequence[Diagnostic]) -> Diagnostic:
    """The first of `warnings`, which differ in their places alone, with the places of the others."""
    first, *others = warnings
    if not others:
        return first
    places = [f"{each.file or ''}{f':{each.place.line}' if each.place else ''}" for each in others]
    listed = ", ".join(dict.fromkeys(places[:_MOST_PLACES]))
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return replace(first, message=f"{first.message}; also {listed}{more}")


def _remarkable(results: Sequence[EditResult], *, is_alone: bool) -> Iterator[EditResult]:
    """The results that say more than that the edit was made; what `is_alone` is summed up beside it."""
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


def _wire(report: PlanReport, told: PlanReport, *, is_remembered: bool) -> dict[str, Any]:
    bare = replace(told, files=(), edit_results=(), matches=None, warnings=(), file=None)
    if isinstance(bare, ApplyReport):
        bare = replace(bare, receipt=None, written=None)
    wire = compact_wire(bare)
    wire["applied"] = report.applied
    if report.applied:
        wire.pop("baseSha256", None)
    if isinstance(report, ApplyReport) and report.receipt is not None and not report.already_applied:
        wire["transaction"] = report.receipt.transaction
    has_hashes = not is_remembered or len(report.files) <= _MOST_HASHES
    if len(report.files) > _MOST_FILES:
        wire["listing"] = "\n".join(_listing(report.files))
    else:
        wire["files"] = [_file(each, with_hash=has_hashes) for each in report.files]
    if told.edit_results:
        wire["editResults"] = [_edit(each) for each in told.edit_results]
    if told.warnings:
        wire["warnings"] = [problem_wire(each) for each in told.warnings]
    # The diff is long, and stands behind what is short.
    return {name: wire[name] for name in sorted(wire, key=lambda name: name == "diff")}


def _listing(files: Sequence[FileReport]) -> Iterator[str]:
    """Files and how many lines they gain and lose, the names of those of one folder below its own."""
    for folder, those in groupby(files, key=lambda file: file.file.rpartition("/")[0]):
        if folder:
            yield f"{folder}/"
        for file in those:
            name = file.file.rpartition("/")[2] + (f" renamed to {file.new_file}" if file.new_file else "")
            yield f"{' ' if folder else ''}{name} +{file.lines_added} -{file.lines_removed}"


def _file(file: FileReport, *, with_hash: bool) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(file))
    pin = "baseSha256" if file.result_sha256 is None else "resultSha256"
    kept = {"file", "newFile", "referencesUpdated", "changed"} | ({pin} if with_hash else set())
    return {name: each for name, each in wire.items() if name in kept}


def _edit(result: EditResult) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(replace(result, matches=())))
    del wire["file"], wire["op"]
    if result.matches:
        wire["matches"] = [_match(match) for match in result.matches]
    return wire


def _match(match: MatchResult) -> str:
    return f"{match.line}:{match.col} {match.text}"
