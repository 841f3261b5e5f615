"""Plan, check and apply a manifest to files of a folder: `mdplan bot plan`, `check` and `apply`."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from mdplan.bot.executors import in_order, open_executor
from mdplan.bot.file_planner import FilePlanner, SpooledPlans, links_of_chunk, plan_chunk, planner_of
from mdplan.bot.job import (
    CandidateFile,
    ChangedPlaces,
    FileOutcome,
    FileStatus,
    FolderTree,
    Job,
    PackedJob,
    PackedPlan,
    Spool,
    Tree,
)
from mdplan.bot.manifest import LoadedManifest
from mdplan.bot.selector import SelectedEdits, find_candidates
from mdplan.bot.verdict_cache import VerdictCache, is_kept
from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.engine.engine import Engine
from mdplan.engine.interrupted import with_interrupted
from mdplan.engine.undo import with_recovered
from mdplan.markdown.paths import MARKDOWN_SUFFIXES
from mdplan.plan import Plan
from mdplan.planning.merging import merge_plans
from mdplan.planning.plan_document import document_parts
from mdplan.planning.replay import PlannedBatch
from mdplan.planning.results import report_fields
from mdplan.reports.plan import ApplyReport
from mdplan.values import Struct, asdict, field, replace
from mdplan.words import Option, say


class RunFindings(msgspec.Struct, kw_only=True):
    """The findings of planning so far."""

    named: int = 0
    verdicts: dict[FileStatus, int] = field(default_factory=lambda: dict.fromkeys(FileStatus, 0))
    alone: dict[str, PackedPlan] = field(default_factory=dict)
    ops: set[str] = field(default_factory=set)
    satisfied: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    misses: dict[object, Diagnostic] = field(default_factory=dict)


# --- Reports


class PullRequestPart(Struct, kw_only=True):
    """A part of a split manifest: a `branch` with its pull request.

    `commit` and `pull_request` are None if the part has no work left; `error` describes a failure.
    """

    name: str
    branch: str
    files: int
    commit: str | None = None
    pull_request: str | None = None
    error: Diagnostic | None = None


class EqualEdits(Struct, kw_only=True):
    """Equal edits in `places` and `files`, with the texts that they remove and add.

    Either text may be empty. `values` counts the different texts that go, if there are several.
    """

    removed: str
    added: str
    values: int
    places: int
    files: int


class BotReport(ApplyReport, kw_only=True):
    """The report of `bot plan`, `bot apply` and `bot check`.

    The manifest names `files_named` files: `files_left_out` meet no condition, `files_hold` already match,
    `files_changed` are in the plan, and `files_refused` cannot be edited; with `partial`, only those stay as
    they are. Files that change only because of their links are in `files` but not counted here.
    `replacements` counts matches, if all edits replace some; `bot pr` groups equal edits into `classes`. The
    report has neither the diff nor the edits.

    With `--git`, `base_commit` is the commit of the base, `commit` that of the result, and `branch` the full
    name of its branch; `branch_moved` is false if it was there already. There is no receipt then: git keeps
    the history. `bot pr` pushed the commit to the remote `pushed_to`, if anything was new. `pull_request` is
    the URL of the pull request that it opened, updated or closed; `pull_requests` has one per part of a
    split manifest.
    """

    files_named: int = 0
    files_left_out: int = 0
    files_hold: int = 0
    files_changed: int = 0
    files_refused: int = 0
    replacements: int | None = None
    partial: bool | None = None
    classes: tuple[EqualEdits, ...] | None = None
    base_commit: str | None = None
    commit: str | None = None
    branch: str | None = None
    branch_moved: bool | None = None
    pushed_to: str | None = None
    pull_request: str | None = None
    pull_requests: tuple[PullRequestPart, ...] = ()


class Proposal(Struct, kw_only=True):
    """The effect of a manifest: the report, and the `plan`, or None if refused or without changes.

    `problems` are all problems, `findings` the counts; `diff` yields the exact diff.
    """

    report: BotReport
    plan: Plan | None
    problems: Problems
    findings: RunFindings
    diff: Callable[[], Iterator[bytes]]

    def document(self) -> Iterator[bytes]:
        """Yield the plan as a file for `mdplan apply`, if there is a plan."""
        return iter(()) if self.plan is None else document_parts(self.plan, with_sections=True)


# --- Planning a manifest: list the files, plan each on its own, plan interdependent ones together
#
# The result is one plan, stored, shown, committed and undone like any other: all files or none.

# An event and its facts, as JSON.
EventListener: TypeAlias = Callable[[str, Mapping[str, Any]], None]


class RunOptions(Struct, kw_only=True):
    """How to plan: in up to `jobs` processes, or on the cluster at `executor`.

    A file that cannot be edited stays unchanged and is reported; with `all_or_nothing`, it stops the run.
    `on_event` is called for each step. `only` restricts planning to these paths from the root.
    """

    jobs: int
    executor: str | None = None
    all_or_nothing: bool = False
    only: frozenset[str] | None = None
    on_event: EventListener = lambda _event, _facts: None


@contextmanager
def propose(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, *, keeps: bool
) -> Iterator[Proposal]:
    """Yield what the manifest `loaded` would do to the files of `engine`; `keeps` stores the plan.

    Raise `StorageRefused` as `Bot.plan`.
    """
    with planned(engine, loaded, options, FolderTree.of(engine.workspace)) as proposal:
        report = proposal.report
        if proposal.plan is not None and keeps:
            report = replace(report, stored=engine.library.save(proposal.plan))
        yield replace(proposal, report=with_interrupted(report, engine.workspace))


def apply_manifest(engine: Engine, loaded: LoadedManifest, options: RunOptions) -> BotReport:
    """Plan and commit `loaded`: all files that can be edited, or none.

    Raise `StorageRefused` as `Bot.plan`. Errors: as
    planning and committing; STALE_BASE for a concurrent change.
    """
    # A half-finished commit must not be the base of a plan.
    recovered = engine.recovery.recover_pending()
    with planned(engine, loaded, options, FolderTree.of(engine.workspace)) as proposal:
        return with_recovered(_committed(engine, proposal, options), recovered)


def _committed(engine: Engine, proposal: Proposal, options: RunOptions) -> BotReport:
    if proposal.plan is None:
        return proposal.report
    options.on_event("committing", {"files": len(proposal.plan.files), "planId": proposal.plan.plan_id})
    committed = engine.commit(proposal.plan)
    report = bot_report(proposal.plan, proposal.problems, proposal.findings, asdict(committed))
    if not committed.ok:
        return replace(report, ok=False)
    transaction = committed.receipt.transaction if committed.receipt is not None else None
    options.on_event("committed", {"transaction": transaction})
    return replace(report, partial=proposal.report.partial)


@contextmanager
def planned(engine: Engine, loaded: LoadedManifest, options: RunOptions, tree: Tree) -> Iterator[Proposal]:
    """Yield the plan of `loaded` for the files of `tree`, with the settings of `engine`.

    Raise `StorageRefused` if an executor or folder cannot be opened.
    """
    job = Job(tree=tree, settings=engine.settings, loaded=loaded)
    with closing(Spool()) as spool:
        yield Bot(job, options, spool).plan()


class Bot:
    """Plan a manifest for the files of `job`, keeping plans of files in `spool`."""

    def __init__(self, job: Job, options: RunOptions, spool: Spool) -> None:
        self._job = job
        self._options = options
        self._spool = spool
        self._findings = RunFindings()

    def plan(self) -> Proposal:
        """Plan all files. Raise `StorageRefused` if an executor or folder cannot be opened."""
        job, only = self._job, self._options.only
        with job.tree.open() as workspace:
            candidates = find_candidates(job.loaded, workspace, job.tree)
        if not isinstance(candidates, list):
            return self._refused(candidates)
        if only is None:
            self._findings.warnings += _unused(job.loaded, candidates)
        else:
            candidates = [each for each in candidates if each.path in only]
        self._findings.named = len(candidates)
        self._options.on_event("listed", {"files": len(candidates)})
        self._job = job.informed(candidates)
        return self._plan_candidates(candidates)

    def _plan_candidates(self, candidates: list[CandidateFile]) -> Proposal:
        packed, cache = PackedJob.of(self._job), VerdictCache.of(self._job)
        unread: list[CandidateFile] = []
        for each in cache.known(candidates, self._job.tree.stamps([each.path for each in candidates])):
            if isinstance(each, FileOutcome):
                self._take(each)
            else:
                unread.append(each)
        chunks = -(-len(unread) // _CHUNK)
        kept: dict[str, FileOutcome] = {}
        try:
            with open_executor(self._options.executor, self._options.jobs, chunks) as executor:
                for outcome in self._outcomes(executor, packed, unread):
                    if is_kept(outcome):
                        kept[outcome.path] = outcome
                    self._take(outcome)
                together = self._find_coupled(executor, packed, candidates)
        except BrokenExecutor:
            return self._refused((_BROKEN,))
        cache.remember(unread, kept)
        self._findings.warnings += self._findings.misses.values()
        return self._merge(planner_of(packed) if together else None, candidates, together)

    def _outcomes(
        self, executor: Executor, packed: PackedJob, candidates: list[CandidateFile]
    ) -> Iterator[FileOutcome]:
        done = 0
        for outcomes in in_order(executor, plan_chunk, _chunks(candidates), packed, jobs=self._options.jobs):
            done += len(outcomes)
            yield from outcomes
            self._options.on_event("planned", {"done": done, "files": len(candidates)})

    def _take(self, outcome: FileOutcome) -> None:
        findings = self._findings
        findings.verdicts[outcome.verdict] += 1
        for miss in outcome.misses:
            # One for each edit of the manifest.
            findings.misses.setdefault(miss.place, miss)
        if outcome.verdict is FileStatus.SATISFIED:
            findings.satisfied.append(outcome.path)
        elif outcome.verdict is FileStatus.REFUSED:
            self._refuse(outcome.path, outcome.problems)
        elif outcome.plan is not None:
            findings.alone[outcome.path] = outcome.plan.spooled(self._spool)

    def _refuse(self, path: str, problems: Problems) -> None:
        self._findings.problems += problems
        for problem in problems:
            facts = {"file": path, "code": problem.code.value, "message": problem.message}
            self._options.on_event("refused", facts)

    def _find_coupled(
        self, executor: Executor, packed: PackedJob, candidates: list[CandidateFile]
    ) -> list[CandidateFile]:
        """Return the files to plan together, in order."""
        findings = self._findings
        places = changed_places(findings.alone.values())
        selected = {*findings.alone, *findings.satisfied}
        links: dict[str, frozenset[str]] = {}
        if places:
            paths = [path for path in self._linking(selected) if path.lower().endswith(MARKDOWN_SUFFIXES)]
            # Each part is sent with all places, so use few parts.
            parts = _chunks(paths, max(_CHUNK, -(-len(paths) // (self._options.jobs * _PARTS_EACH))))
            for part in in_order(executor, links_of_chunk, parts, packed, places, jobs=self._options.jobs):
                links.update(part)
        elif not any(each.needs_others for each in findings.alone.values()):
            return []
        members = find_coupled_files(findings.alone, links, selected)
        return [candidate for candidate in candidates if candidate.path in members]

    def _linking(self, selected: set[str]) -> list[str]:
        """Return the files whose links to examine: the manifest's, or all."""
        if self._job.loaded.manifest.update_references != "workspace":
            return sorted(selected)
        with self._job.tree.open() as workspace:
            paths: set[str] = set(selected)
            for root in workspace.roots:
                names = workspace.iter_files(f"{root.name}:." if root.name else ".", respect_gitignore=True)
                paths.update(map(str, () if isinstance(names, Diagnostic) else names))
            return sorted(paths)

    def _merge(
        self, planner: FilePlanner | None, candidates: list[CandidateFile], together: list[CandidateFile]
    ) -> Proposal:
        """Merge the plans of single files and of files planned `together` by `planner`."""
        findings = self._findings
        all_open: set[str] = set()
        for member in together:
            alone = findings.alone.pop(member.path, None)
            findings.verdicts[FileStatus.SATISFIED if alone is None else FileStatus.CHANGES] -= 1
            if alone is not None and alone.all_open:
                all_open.add(member.path)
        made = [findings.alone[each.path] for each in candidates if each.path in findings.alone]
        findings.alone.clear()
        joint = self._plan_group(planner, together, all_open) if planner is not None else None
        if joint is not None:
            made.append(joint.spooled(self._spool))
        findings.ops.update(*(each.ops for each in made))
        problems = tuple(findings.problems)
        if problems and self._options.all_or_nothing:
            return self._refused(problems)
        if too_many := _too_many(self._job, made):
            return self._refused((too_many,))
        plans, loaded = SpooledPlans(made, self._spool), self._job.loaded
        options = {
            name: value for name, value in loaded.manifest.options.items() if value and value != "none"
        }
        plan = merge_plans(plans, plans.warnings, options, loaded.intent) if made else None
        if plan is not None and not isinstance(plan, Plan):
            return self._refused((*problems, *plan))
        report = replace(bot_report(plan, problems, findings), partial=bool(problems) or None)
        return Proposal(report=report, plan=plan, problems=problems, findings=findings, diff=plans.diffs)

    def _plan_group(
        self, planner: FilePlanner, together: list[CandidateFile], all_open: set[str]
    ) -> PackedPlan | None:
        stops, verdicts = self._options.all_or_nothing, self._findings.verdicts
        plan, refused = plan_group(planner, together, all_open, all_or_nothing=stops)
        for path, problems in refused.items():
            self._refuse(path, problems)
        verdicts[FileStatus.REFUSED] += len(refused)
        if not stops or plan is not None or not refused:
            changed = sum(each.path in plan.written for each in together) if plan is not None else 0
            verdicts[FileStatus.CHANGES] += changed
            verdicts[FileStatus.SATISFIED] += len(together) - changed - len(refused)
        return plan

    def _refused(self, problems: Problems) -> Proposal:
        report = bot_report(None, problems, self._findings)
        return Proposal(
            report=report, plan=None, problems=problems, findings=self._findings, diff=lambda: iter(())
        )


def bot_report(
    plan: Plan | None, problems: Problems, findings: RunFindings, committed: dict[str, Any] | None = None
) -> BotReport:
    """Return the report on `plan`, with the fields of its commit, if there is one."""
    known = committed or ({"no_op": True, "edits_applied": 0} if plan is None else report_fields(plan, None))
    problems = (*known.pop("diagnostics", ()), *problems)
    warnings = (*findings.warnings, *known.pop("warnings", ()))
    error = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    if error is not None and plan is None:
        known = {}
    known |= {"ok": error is None, "error": error, "diagnostics": problems, "warnings": warnings}
    # The plan has these, and they would dominate the report.
    known |= {"edit_results": (), "diff": None, "diff_exact": None}
    return BotReport(
        **known,
        files_named=findings.named,
        files_left_out=findings.verdicts[FileStatus.SKIPPED],
        files_hold=findings.verdicts[FileStatus.SATISFIED],
        files_changed=findings.verdicts[FileStatus.CHANGES],
        files_refused=findings.verdicts[FileStatus.REFUSED],
        replacements=known.get("matches_replaced") if findings.ops == {"replace_match"} else None,
    )


Item = TypeVar("Item")
_CHUNK: Final = 32
_PARTS_EACH: Final = 4


def _too_many(job: Job, plans: Sequence[PackedPlan]) -> Diagnostic | None:
    files, edits = sum(len(plan.written) for plan in plans), sum(plan.edits for plan in plans)
    limits, manifest = job.settings.batch, job.loaded.manifest
    most_files = min(limits.files, manifest.max_files or limits.files)
    for what, count, most in (("files", files, most_files), ("edits", edits, limits.edits)):
        if count > most:
            message = f"the manifest changes {count} {what}, and the limit is {most}"
            limit = Option(f"--max-{what}")
            hint = say("name fewer files, or raise the limit ({}, and `maxFiles` in the manifest)", limit)
            return Code.BATCH_TOO_LARGE.problem(message, hint, file=job.loaded.name)
    return None


def _unused(loaded: LoadedManifest, candidates: Iterable[CandidateFile]) -> list[Diagnostic]:
    """Return warnings about rules without files."""
    used = {number for candidate in candidates for number in candidate.rules}
    unused: list[Diagnostic] = []
    for number, rule in enumerate(loaded.manifest.files):
        # A rule for changed files may match none.
        if number not in used and rule.changed_since is None:
            place = loaded.located.place(("files", number))
            unused.append(
                Code.FILE_NOT_FOUND.warning(
                    "no file matches", "look at glob and exclude", file=loaded.name, place=place
                )
            )
    return unused


def _chunks(items: Iterable[Item], size: int = _CHUNK) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while chunk := tuple(islice(rest, size)):
        yield chunk


_BROKEN: Final = Code.IO_ERROR.problem(
    "a process that planned files has ended, killed by the system or by somebody",
    say("try again with fewer processes ({--jobs}); nothing was written"),
)


# --- Grouping files whose outputs depend on each other
#
# A file is planned on its own unless links connect it with a place that another file changes, in either
# direction, or an edit of one writes to the other. For all others, a plan of all files would give the same
# result.


def changed_places(standalone: Iterable[PackedPlan]) -> ChangedPlaces:
    """Return the union of all changed places; files in different folders can share a name."""
    places: dict[str, frozenset[str] | None] = {}
    for each in standalone:
        for name, keys in each.places.items():
            known = places.get(name, frozenset())
            places[name] = None if keys is None or known is None else keys | known
    return places


def find_coupled_files(
    standalone: Mapping[str, PackedPlan], links: Mapping[str, frozenset[str]], selected: Iterable[str]
) -> frozenset[str]:
    """Return the paths in `selected` that must be planned together.

    `links` maps examined files to the changed names that they may link to.
    """
    linking = Counter(name for names in links.values() for name in names)
    changing = Counter(name for each in standalone.values() for name in each.places)
    written_into = {
        other
        for path, each in standalone.items()
        if each.needs_others
        for other in each.written
        if other != path
    }
    coupled: set[str] = set()
    for path in selected:
        own = standalone.get(path)
        own_names = own.places if own is not None else {}
        links_here = links.get(path, frozenset())
        # Links of a file to itself were planned with it.
        is_linked = any(linking[name] > (name in links_here) for name in own_names)
        links_to_others = any(changing[name] > (name in own_names) for name in links_here)
        may_be_mended = own is not None and own.has_broken_links and bool(changing)
        if (
            is_linked
            or links_to_others
            or may_be_mended
            or path in written_into
            or (own and own.needs_others)
        ):
            coupled.add(path)
    return frozenset(coupled)


def plan_group(
    planner: FilePlanner,
    together: Sequence[CandidateFile],
    all_open: Collection[str],
    *,
    all_or_nothing: bool,
) -> tuple[PackedPlan | None, Mapping[str, Problems]]:
    """Return the plan of the files `together` (None without changes), and problems by path.

    The plan has the files without problems; with `all_or_nothing`, one problem means no plan. In the
    files `all_open` no edit is done yet.
    """
    refused: dict[str, Problems] = {}
    selected: dict[str, SelectedEdits] = {}
    for candidate in together:
        edits = (
            planner.selecting.select(candidate)
            if candidate.path in all_open
            else planner.open_edits(candidate)
        )
        if isinstance(edits, SelectedEdits):
            selected[candidate.path] = edits
        elif edits is not None:
            refused[candidate.path] = edits
    while selected:
        planned = planner.plan_batch(list(selected.values()))
        if isinstance(planned, PlannedBatch):
            return None if planned.plan.is_no_op else PackedPlan.of(planned), refused
        by_file = _by_file(planner, planned, selected)
        refused |= by_file
        if all_or_nothing:
            break
        for path in by_file:
            del selected[path]
    return None, refused


def _by_file(
    planner: FilePlanner, problems: Problems, selected: Mapping[str, SelectedEdits]
) -> dict[str, Problems]:
    """Group `problems` by the file of their edit; problems without file apply to all."""
    owners = [(path, number) for path, each in selected.items() for number in range(len(each.paths))]
    by_file: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for problem in problems:
        if problem.edit_index is not None:
            path, number = owners[problem.edit_index]
            placed = planner.selecting.of_manifest(problem.at(file=path), selected[path].paths[number])
            by_file[path].append(placed)
        elif problem.file in selected:
            by_file[problem.file or ""].append(problem)
        else:
            for path in selected:
                by_file[path].append(problem)
    return {path: tuple(dict.fromkeys(each)) for path, each in by_file.items()}
