"""Explain a manifest: the rules that apply to a file, failed conditions, and values of placeholders."""

from collections.abc import Iterator, Mapping
from typing import Any

from mdplan.bot import expansion
from mdplan.bot.conditions import FileFacts, unmet
from mdplan.bot.file_planner import FilePlanner
from mdplan.bot.job import CandidateFile, FileStatus, FolderTree, Job
from mdplan.bot.manifest import LoadedManifest
from mdplan.bot.selector import InspectedFile, Selector, find_candidates, why_not_selected
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.reports.base import Report, refusal
from mdplan.values import Struct, replace


class ExplainedRule(Struct, kw_only=True):
    """The rule at `line` of a manifest.

    It names `files`. For a single file, `unmet` is the reason why it does not apply. Otherwise, `values` maps
    its placeholders to their values, and `edits` are the requested edits.
    """

    line: int
    files: tuple[str, ...] = ()
    unmet: str | None = None
    values: Mapping[str, Any] = {}
    edits: tuple[Mapping[str, Any], ...] = ()


class ExplainReport(Report, kw_only=True):
    """The rules of a manifest, for all files or for `file`, with the `outcome` for that file."""

    file: str | None = None
    outcome: FileStatus | None = None
    rules: tuple[ExplainedRule, ...] = ()


def explain(engine: Engine, loaded: LoadedManifest, file: str | None = None) -> ExplainReport:
    """Explain `loaded` for the files of `engine`, or for `file`, a path from the root.

    Errors: as planning the file, or listing the files. Raise `StorageRefused` if listing fails.
    """
    tree = FolderTree.of(engine.workspace)
    with tree.open() as workspace:
        candidates = find_candidates(loaded, workspace, tree)
    if not isinstance(candidates, list):
        return refusal(ExplainReport, candidates)
    lines = [loaded.located.place(("files", number)).line for number in range(len(loaded.manifest.files))]
    if file is None:
        named = (
            tuple(each.path for each in candidates if number in each.rules) for number in range(len(lines))
        )
        rules = [ExplainedRule(line=line, files=files) for line, files in zip(lines, named, strict=True)]
        return ExplainReport(ok=True, rules=tuple(rules))
    candidate = next((each for each in candidates if each.path == file), CandidateFile(file, ()))
    job = Job(tree=tree, settings=engine.settings, loaded=loaded).informed([candidate])
    planner = FilePlanner(job)
    try:
        outcome = planner.plan(candidate)
        rules = []
        for number, line in enumerate(lines):
            rule = ExplainedRule(line=line, unmet=None)
            if number in candidate.rules:
                explained = _explained(planner.selecting, number, candidate, rule)
            else:
                explained = replace(rule, unmet=why_not_selected(number, file, loaded, tree))
            rules.append(explained)
    except expansion.ManifestProblem as misplaced:
        return refusal(ExplainReport, (loaded.problem(misplaced),))
    finally:
        planner.workspace.close()
    report = ExplainReport(ok=True, file=file, outcome=outcome.verdict, rules=tuple(rules))
    return _refused(report, outcome.problems) if outcome.problems else report


def _refused(report: ExplainReport, problems: Problems) -> ExplainReport:
    return replace(report, ok=False, error=problems[0], diagnostics=problems)


def _explained(
    selector: Selector, number: int, candidate: CandidateFile, rule: ExplainedRule
) -> ExplainedRule:
    """Return `rule` with its edits for `candidate`, or the reason why it does not apply."""
    inspected = selector.inspect(candidate)
    outline = inspected.outline if isinstance(inspected, InspectedFile) else None
    if outline is None or isinstance(outline, Diagnostic) or not isinstance(inspected, InspectedFile):
        return replace(rule, unmet="the file cannot be read")
    values, path = selector.values_of(number, inspected, outline), ("files", number)
    written = selector.loaded.manifest.files[number]
    reason = ""
    if written.when is not None:
        reason = unmet(written.when, FileFacts(outline, values), (*path, "when"))
    texts = [written.edits if not reason else (), selector.loaded.located.data["files"][number].get("when")]
    edits = () if reason else expansion.expand_edits(written.edits, values, (*path, "edits"))
    repairs = selector.repairs.get(candidate.path, ()) if written.links and not reason else ()
    return replace(
        rule,
        unmet=f"`when` is not met: {reason}" if reason else None,
        values=dict(_values_in(texts, values)),
        edits=(*repairs, *(each.edit for each in edits if isinstance(each, expansion.FilledEdit))),
    )


def _values_in(written: object, values: expansion.Values) -> Iterator[tuple[str, Any]]:
    """Yield placeholders in `written`, part of a rule, with their values; in a loop, use its first entry."""
    match written:
        case str():
            for placeholder in expansion.placeholders_in(written):
                try:
                    yield str(placeholder), placeholder.value(values)
                except expansion.ManifestProblem as misplaced:
                    yield str(placeholder), f"({misplaced.problem.message})"
        case Mapping() if expansion.LOOP in written:
            entries = expansion.loop_entries(written, values, ())
            name = f"{written[expansion.LOOP]} as {written.get('as', expansion.DEFAULT_NAME)}"
            yield f"forEach {name}", f"{len(entries)} entries"
            for first in entries[:1]:
                parts = {key: part for key, part in written.items() if key != expansion.LOOP}
                yield from _values_in(parts, first)
        case Mapping():
            yield from _values_in(list(written.values()), values)
        case list() | tuple():
            for item in written:
                yield from _values_in(item, values)
        case _:
            pass
