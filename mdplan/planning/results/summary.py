"""From built files to the plan, and from a plan to what its report says."""

from collections import Counter
from typing import Any

from mdplan.diagnostics import Diagnostic
from mdplan.plan import FileChange, MatchResult, Plan
from mdplan.planning.build import BuildResult, BuiltFile
from mdplan.planning.plan_document import new_plan
from mdplan.planning.results.edit_results import MOST_MATCHES, edit_results
from mdplan.planning.results.fingerprints import effects_of
from mdplan.planning.results.warnings import (
    broken_front_matter,
    broken_rows,
    large_deletions,
    merged_lists,
    unbalanced_tags,
)
from mdplan.reports.plan import FileReport
from mdplan.requests.batch import Batch, normalized_edits
from mdplan.text.diff import DiffStat, DiffText


def plan_of(made: BuildResult, batch: Batch) -> Plan:
    """The plan that makes the files `made` of `batch`, with the warnings that the whole of it gives."""
    built_files = made.files
    warnings: list[Diagnostic] = []
    for built in built_files:
        for find in (large_deletions, merged_lists, unbalanced_tags, broken_rows, broken_front_matter):
            warnings += find(built)
        warnings += built.warnings
    return new_plan(
        files=tuple(_change(built) for built in built_files),
        requested=tuple(normalized_edits(built.file.requested) for built in built_files),
        options=batch.options,
        effects=effects_of(built_files),
        results=edit_results(built_files),
        warnings=(*warnings, *made.warnings),
        intent=batch.intent,
    )


def report_fields(plan: Plan, diff: bytes | None) -> dict[str, Any]:
    """What every report on `plan` says, as the fields of a `PlanReport`; None where there is no diff."""
    files = tuple(FileReport.of(change) for change in plan.files)
    shown = DiffText.of(diff) if diff is not None else None
    only = files[0] if len(files) == 1 else None
    excluded = Counter[str]()
    matches: list[MatchResult] = []
    warnings: list[Diagnostic] = []
    applied = found = replaced = 0
    # Read once: the results of the plan of a manifest are on the disk.
    for result in plan.results:
        excluded.update(result.excluded_matches or {})
        matches += result.matches if only else ()
        warnings += result.warnings
        applied += not result.no_op
        found += result.matches_found or 0
        replaced += result.matches_replaced or 0
    return {
        "plan_id": plan.plan_id,
        "title": plan.intent.title or None,
        "description": plan.intent.description or None,
        "no_op": plan.is_no_op,
        "file": only.file if only else None,
        "base_sha256": only.base_sha256 if only else None,
        "files": files,
        "diff": shown.text if shown else None,
        "diff_exact": shown.exact if shown else None,
        "edits_applied": applied,
        "matches_found": found,
        "matches_replaced": replaced,
        "matches": tuple(matches[:MOST_MATCHES]) or None,
        "excluded_matches": dict(excluded),
        "edit_results": plan.results,
        "warnings": (*warnings, *plan.warnings),
    }


def _change(built: BuiltFile) -> FileChange:
    stat = DiffStat.of(built.hunks)
    return FileChange(
        path=built.file.path,
        encoding=built.file.requested.encoding,
        format=built.file.requested.format,
        base_sha256=built.base.source.sha256 if built.file.exists else None,
        result_sha256=None if built.file.is_deleted else built.result.source.sha256,
        edits=built.edits,
        lines_added=stat.added,
        lines_removed=stat.removed,
        base_sections=built.base.own_hashes() if built.file.exists else {},
        new_path=built.file.new_path,
        references_updated=built.references_updated,
    )
