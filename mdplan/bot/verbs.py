"""`plan`, `check` and `apply` of a manifest."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from mdplan.bot.bot import Bot, BotResult, RunOptions
from mdplan.bot.bot_report import BotReport
from mdplan.bot.job import FileStatus, FolderTree, Job
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.diagnostics import Problems, Severity
from mdplan.engine.engine import Engine
from mdplan.engine.interrupted import with_interrupted
from mdplan.engine.recovery import with_recovered
from mdplan.plan import Plan
from mdplan.planning.plan_document import document_parts
from mdplan.planning.results import report_fields
from mdplan.reports.plan import ApplyReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a manifest would do: the report, and the plan; None without changes or with a refusal."""

    report: BotReport
    result: BotResult

    @property
    def plan(self) -> Plan | None:
        """The plan."""
        return self.result.plan

    def diff(self) -> Iterator[bytes]:
        """The parts of the exact diff."""
        return self.result.diff()

    def document(self) -> Iterator[bytes]:
        """The parts of the plan as a file, which `mdplan apply` takes; none where there is no plan."""
        return iter(()) if self.plan is None else document_parts(self.plan, with_sections=True)


@contextmanager
def propose(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, *, keeps: bool
) -> Iterator[Proposal]:
    """What the manifest `loaded` would do to the files of `engine`; `keeps` stores the plan under its ID.

    Raises `StorageRefused` as `Bot.plan` does.
    """
    with ExitStack() as resources:
        result = _bot(engine, loaded, options).plan(resources)
        report = bot_report(result, {})
        if result.plan is not None and keeps:
            report = replace(report, stored=engine.keep(result.plan))
        yield Proposal(report=with_interrupted(report, engine.workspace), result=result)


def apply_manifest(engine: Engine, loaded: LoadedManifest, options: RunOptions) -> BotReport:
    """Plan and commit what `loaded` asks for: all files or none.

    With `options.keep_going` the files that can be planned. Raises `StorageRefused` as `Bot.plan` does.
    Errors: those of planning; STALE_BASE where a file changed concurrently; those of the commit.
    """
    # A half-finished commit must not be the base of a plan.
    recovered = engine.recovery.recover_pending()
    with ExitStack() as resources:
        result = _bot(engine, loaded, options).plan(resources)
        return with_recovered(_committed(engine, result, options), recovered)


def _committed(engine: Engine, result: BotResult, options: RunOptions) -> BotReport:
    if result.plan is None:
        return bot_report(result, {})
    options.on_event("committing", {"files": len(result.plan.files), "planId": result.plan.plan_id})
    committed = engine.commit(result.plan)
    if not committed.ok:
        return replace(bot_report(result, _as_fields(committed)), ok=False)
    transaction = committed.receipt.transaction if committed.receipt is not None else None
    options.on_event("committed", {"transaction": transaction})
    return bot_report(result, _as_fields(committed))


def _bot(engine: Engine, loaded: LoadedManifest, options: RunOptions) -> Bot:
    return Bot(Job(tree=FolderTree.of(engine.workspace), settings=engine.settings, loaded=loaded), options)


def bot_report(result: BotResult, committed: dict[str, Any]) -> BotReport:
    """The report on `result`, with the fields of its commit."""
    found = result.found
    known = committed
    if not known:
        known = (
            {"no_op": True, "edits_applied": 0} if result.plan is None else report_fields(result.plan, None)
        )
    problems: Problems = (*known.pop("diagnostics", ()), *result.problems)
    warnings = (*found.warnings, *known.pop("warnings", ()))
    error = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    if error is not None and result.plan is None:
        known = {}
    known |= {"ok": error is None, "error": error, "diagnostics": problems, "warnings": warnings}
    # They are in the plan, and would be most of the report.
    known |= {"edit_results": (), "diff": None, "diff_exact": None}
    return BotReport(
        **known,
        files_named=found.named,
        files_left_out=found.verdicts[FileStatus.SKIPPED],
        files_hold=found.verdicts[FileStatus.SATISFIED],
        files_changed=found.verdicts[FileStatus.CHANGES],
        files_refused=found.verdicts[FileStatus.REFUSED],
    )


def _as_fields(report: ApplyReport) -> dict[str, Any]:
    return {each.name: getattr(report, each.name) for each in fields(report)}
