"""The line of the bot: list, plan each file, find who has a word in whom, plan these together, join.

What comes out is one plan, which is stored, shown, committed and undone like any other: all files or none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

from mdplan.bot.candidates import find_candidates
from mdplan.bot.coupling import changed_places, find_coupled_files
from mdplan.bot.executors import in_order, open_executor
from mdplan.bot.file_planner import FilePlanner, links_of_chunk, plan_chunk
from mdplan.bot.job import (
    CandidateFile,
    FileOutcome,
    FileStatus,
    Job,
    PackedJob,
)
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.plan_group import GroupPlan, plan_group
from mdplan.bot.section_near_misses import SkippedNearMiss, near_miss_warnings
from mdplan.bot.spool import Spool
from mdplan.bot.spooled_plans import SpooledPlans, StandalonePlan
from mdplan.bot.verdict_cache import VerdictCache, is_kept
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.paths import MARKDOWN_SUFFIXES
from mdplan.plan import Plan
from mdplan.planning.merging import merge_plans

# What happened, and facts about it, as JSON.
EventListener: TypeAlias = Callable[[str, Mapping[str, Any]], None]
Item = TypeVar("Item")

_CHUNK: Final = 32
_PARTS_EACH: Final = 4


def ignore_events(_event: str, _facts: Mapping[str, Any]) -> None:
    """For callers that do not ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to plan: in up to `jobs` processes, or on the cluster at the address `executor`.

    With `keep_going` files that cannot be planned are skipped and reported. `on_event` is called for each
    step. With `only` no other files (paths from the root) are planned.
    """

    jobs: int
    executor: str | None = None
    keep_going: bool = False
    only: frozenset[str] | None = None
    on_event: EventListener = ignore_events


@dataclass(kw_only=True)
class RunFindings:
    """The findings of planning so far."""

    named: int = 0
    verdicts: dict[FileStatus, int] = field(default_factory=lambda: dict.fromkeys(FileStatus, 0))
    alone: dict[str, StandalonePlan] = field(default_factory=dict)
    satisfied: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    warnings: list[Diagnostic] = field(default_factory=list)
    misses: list[SkippedNearMiss] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class BotResult:
    """The result of a manifest: its `plan`, None for a refusal or without changes.

    `problems` are all that were found, `found` has the counts, and `diff` gives the parts of the exact diff.
    """

    plan: Plan | None
    problems: Problems
    found: RunFindings
    diff: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Bot:
    """Plans what a manifest asks of the files of `job`."""

    job: Job
    options: RunOptions

    def plan(self, resources: ExitStack) -> BotResult:
        """The plan of all files, or what is wrong with them; it lasts as long as `resources`.

        Raises `StorageRefused` for an executor or a folder that cannot be opened.
        """
        spool = Spool()
        resources.callback(spool.close)
        found = RunFindings()
        with self.job.tree.open() as workspace:
            candidates = find_candidates(self.job.loaded, workspace, self.job.tree)
            if not isinstance(candidates, list):
                return _refused(candidates, found)
            if self.options.only is not None:
                candidates = [each for each in candidates if each.path in self.options.only]
            found.named = len(candidates)
            if self.options.only is None:
                found.warnings += _unused(self.job.loaded, candidates)
            self.options.on_event("listed", {"files": len(candidates)})
            informed = replace(self, job=self.job.with_history(candidates))
            return informed.plan_candidates(candidates, found, spool)

    def plan_candidates(self, candidates: list[CandidateFile], found: RunFindings, spool: Spool) -> BotResult:
        """The plan of `candidates`, with what is `found` and the diffs in `spool`."""
        packed = PackedJob.of(self.job)
        cache, kept = VerdictCache.of(self.job), dict[str, FileOutcome]()
        unread: list[CandidateFile] = []
        for each in cache.known(candidates, self.job.tree.stamps([each.path for each in candidates])):
            if isinstance(each, FileOutcome):
                self._take(each, found, spool)
            else:
                unread.append(each)
        chunks = -(-len(unread) // _CHUNK)
        try:
            with open_executor(self.options.executor, self.options.jobs, chunks) as executor:
                for outcome in self._outcomes(executor, packed, unread):
                    if is_kept(outcome):
                        kept[outcome.path] = outcome
                    self._take(outcome, found, spool)
                together = self._find_coupled(executor, packed, candidates, found)
        except BrokenExecutor:
            return _refused((_BROKEN,), found)
        cache.keep(unread, kept)
        found.warnings += near_miss_warnings(found.misses, self.job.loaded)
        return self._merge(candidates, together, found, spool)

    def _outcomes(
        self, executor: Executor, packed: PackedJob, candidates: list[CandidateFile]
    ) -> Iterator[FileOutcome]:
        done = 0
        for outcomes in in_order(executor, plan_chunk, _chunks(candidates), packed, jobs=self.options.jobs):
            done += len(outcomes)
            yield from outcomes
            self.options.on_event("planned", {"done": done, "files": len(candidates)})

    def _take(self, outcome: FileOutcome, found: RunFindings, spool: Spool) -> None:
        found.verdicts[outcome.verdict] += 1
        found.misses += outcome.misses
        if outcome.verdict is FileStatus.SATISFIED:
            found.satisfied.append(outcome.path)
        elif outcome.verdict is FileStatus.REFUSED:
            self._refuse(outcome.path, outcome.problems, found)
        elif outcome.plan is not None:
            found.alone[outcome.path] = StandalonePlan.of(
                outcome.plan,
                outcome.diff,
                spool,
                outcome.places,
                needs_others=outcome.needs_others,
                all_open=outcome.all_open,
            )

    def _refuse(self, path: str, problems: Problems, found: RunFindings) -> None:
        found.refused.add(path)
        found.problems += problems
        for problem in problems:
            self.options.on_event(
                "refused", {"file": path, "code": problem.code.value, "message": problem.message}
            )

    def _find_coupled(
        self, executor: Executor, packed: PackedJob, candidates: list[CandidateFile], found: RunFindings
    ) -> list[CandidateFile]:
        """The files that have to be planned together, in order."""
        places = changed_places(found.alone.values())
        selected = {*found.alone, *found.satisfied}
        links: dict[str, frozenset[str]] = {}
        if places:
            paths = [path for path in self._linking(selected) if path.lower().endswith(MARKDOWN_SUFFIXES)]
            # Each part is sent with all places, so that there are few parts.
            parts = _chunks(paths, max(_CHUNK, -(-len(paths) // (self.options.jobs * _PARTS_EACH))))
            for part in in_order(executor, links_of_chunk, parts, packed, places, jobs=self.options.jobs):
                links.update(part)
        elif not any(each.needs_others for each in found.alone.values()):
            return []
        members = find_coupled_files(found.alone, links, selected)
        return [candidate for candidate in candidates if candidate.path in members]

    def _linking(self, selected: set[str]) -> list[str]:
        """The files whose links are examined: those of the manifest, or all."""
        if self.job.loaded.manifest.update_references != "workspace":
            return sorted(selected)
        with self.job.tree.open() as workspace:
            found: set[str] = set(selected)
            for root in workspace.roots:
                names = workspace.iter_files(f"{root.name}:." if root.name else ".", respect_gitignore=True)
                found.update(map(str, () if isinstance(names, Diagnostic) else names))
            return sorted(found)

    def _merge(
        self, candidates: list[CandidateFile], together: list[CandidateFile], found: RunFindings, spool: Spool
    ) -> BotResult:
        """One plan of what was planned alone and what is planned together."""
        all_open: set[str] = set()
        for member in together:
            alone = found.alone.pop(member.path, None)
            found.verdicts[FileStatus.SATISFIED if alone is None else FileStatus.CHANGES] -= 1
            if alone is not None and alone.all_open:
                all_open.add(member.path)
        made = [found.alone[each.path] for each in candidates if each.path in found.alone]
        found.alone.clear()
        joint = self._plan_group(together, frozenset(all_open), found) if together else None
        if joint is not None and joint.plan is not None:
            made.append(StandalonePlan.of(joint.plan, joint.diff, spool))
        problems = tuple(found.problems)
        if problems and not self.options.keep_going:
            return _refused(problems, found)
        too_many = _too_many(
            self.job, sum(len(each.written) for each in made), sum(each.edits for each in made)
        )
        if too_many is not None:
            return _refused((too_many,), found)
        plans = SpooledPlans(made, spool)
        plan = merge_plans(plans, plans.warnings, self._options(), self.job.loaded.intent) if made else None
        if plan is not None and not isinstance(plan, Plan):
            return _refused((*problems, *plan), found)
        return BotResult(plan=plan, problems=problems, found=found, diff=plans.diffs)

    def _plan_group(
        self, together: list[CandidateFile], all_open: frozenset[str], found: RunFindings
    ) -> GroupPlan:
        planner = FilePlanner(self.job)
        try:
            joint = plan_group(planner, together, all_open, keep_going=self.options.keep_going)
        finally:
            planner.workspace.close()
        for path, problems in joint.refused.items():
            self._refuse(path, problems, found)
        for verdict, count in joint.verdicts.items():
            found.verdicts[verdict] += count
        return joint

    def _options(self) -> dict[str, bool | str]:
        options = self.job.loaded.manifest.options
        return {name: value for name, value in options.items() if value and value != "none"}


def _too_many(job: Job, files: int, edits: int) -> Diagnostic | None:
    limits, manifest = job.settings.batch, job.loaded.manifest
    most_files = min(limits.files, manifest.max_files or limits.files)
    for what, count, most in (("files", files, most_files), ("edits", edits, limits.edits)):
        if count > most:
            return Diagnostic(
                code=Code.BATCH_TOO_LARGE,
                message=f"the manifest changes {count} {what}, and the limit is {most}",
                hint=f"name fewer files, or raise the limit (`--max-{what}`, and `maxFiles` in the manifest)",
                file=job.loaded.name,
            )
    return None


def _unused(loaded: LoadedManifest, candidates: Iterable[CandidateFile]) -> list[Diagnostic]:
    """Warnings about rules that name no file."""
    used = {number for candidate in candidates for number in candidate.rules}
    unused: list[Diagnostic] = []
    for number, rule in enumerate(loaded.manifest.files):
        # That nothing changed is no mistake.
        if number not in used and rule.changed_since is None:
            place = loaded.located.place(("files", number))
            unused.append(
                Diagnostic.warning(
                    Code.FILE_NOT_FOUND,
                    "no file matches",
                    "look at glob and exclude",
                    file=loaded.name,
                    place=place,
                )
            )
    return unused


def _chunks(items: Iterable[Item], size: int = _CHUNK) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while chunk := tuple(islice(rest, size)):
        yield chunk


def _refused(problems: Problems, found: RunFindings) -> BotResult:
    return BotResult(plan=None, problems=problems, found=found, diff=lambda: iter(()))


_BROKEN: Final = Diagnostic(
    code=Code.IO_ERROR,
    message="a process that planned files has ended, killed by the system or by somebody",
    hint="try again with fewer processes (`--jobs`); nothing was written",
)
