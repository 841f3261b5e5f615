"""`plan`, `check` and `apply` of a manifest on a commit of a repository, without any work tree.

Plans and their verification are the same as for files on disk. Only reading and writing differ.
"""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.bot.bot import Bot, BotResult, RunOptions
from mdplan.bot.bot_report import BotReport
from mdplan.bot.git.commit_merge import merged_commit
from mdplan.bot.git.identity import Signature, commit_message, plan_of, signature
from mdplan.bot.git.plan_commit import CommitText, move_branch, write_commit
from mdplan.bot.job import Job
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.verbs import Proposal, bot_report
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.documents import Documents
from mdplan.engine.approval import Clearance
from mdplan.engine.commit import files_to_stage
from mdplan.engine.engine import Engine
from mdplan.git.repository import (
    BRANCHES,
    BaseCommit,
    Commit,
    RepositoryLocation,
    branch_tip,
    checked_out_in,
    find_base,
    repository_error,
    target_branch,
)
from mdplan.git.tree import CommitTree
from mdplan.plan import Plan
from mdplan.planning.replay import Replay, bases_of
from mdplan.planning.results import report_fields
from mdplan.reports.base import refusal
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import visible

# Each attempt lost to another writer; then a person should look.
MOST_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCommit:
    """Options of the commit of a plan: its branch (None for the branch that was read), author and message.

    `author` is ``Name <address>`` and `message` its text; None for what git and the manifest say. With
    `rebases` the manifest is planned again on a branch that moved concurrently. With `rebuilds` a branch
    whose own commits are all of this bot begins again at the commit that was read. With `merges` a branch
    with commits by others gets a merge of its own commits with those of the plan. `forge` is the committer
    of commits that a forge makes for the bot; where it `is_by_forge`, a branch stays only if that made it.
    """

    branch: str | None = None
    author: str | None = None
    message: str | None = None
    rebases: bool = False
    rebuilds: bool = False
    merges: bool = False
    forge: bytes | None = None
    is_by_forge: bool = False


@contextmanager
def propose_on_commit(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, ref: str
) -> Iterator[Proposal]:
    """What the manifest `loaded` would do to the files of the commit that `ref` names.

    The plan is not stored: `mdplan apply` knows the files of folders alone. Raises `StorageRefused`:
    INVALID_ARGUMENT where there is no such repository or commit, and as `Bot.plan` does.
    """
    place = RepositoryLocation.of(engine.workspace)
    base = find_base(place, ref)
    with ExitStack() as resources:
        result = _bot(engine, loaded, options, place, base).plan(resources)
        report = replace(bot_report(result, {}), base_commit=base.commit)
        yield Proposal(report=report, result=result)


def apply_to_branch(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, ref: str, wanted: GitCommit
) -> BotReport:
    """Plan what `loaded` asks of the commit that `ref` names, and commit it to a branch: all files or none.

    Where there is nothing to do there is no commit. Errors: those of planning; INVALID_ARGUMENT for names
    that are none, and where the author is unknown; TARGET_BUSY for a branch that is checked out;
    STALE_BASE for one that is, or moved, elsewhere; LOCK_TIMEOUT, IO_ERROR.
    """
    try:
        place = RepositoryLocation.of(engine.workspace)
        for attempt in range(MOST_ATTEMPTS if wanted.rebases else 1):
            report = _Attempt(engine, loaded, options, place, ref, wanted).report()
            if report is not None:
                return replace(report, rebased=True) if attempt and report.applied else report
            options.on_event("rebasing", {"attempt": attempt + 1})
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)
    return refusal(BotReport, (_moved(ref, wanted.rebases),))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One way from a commit to the next."""

    engine: Engine
    loaded: LoadedManifest
    options: RunOptions
    place: RepositoryLocation
    ref: str
    wanted: GitCommit

    def report(self) -> BotReport | None:
        """What came of it; None if the branch has moved. Raises `StorageRefused`."""
        base = find_base(self.place, self.ref)
        branch = target_branch(self.place, self.wanted.branch, base)
        at = base.commit if branch == base.branch else branch_tip(self.place, branch)
        must_be_free(self.place, branch)
        text = self._signatures()
        foreign = self._foreign(branch, at, base, text[1])
        if foreign is not None and not self.wanted.merges:
            raise foreign
        with ExitStack() as resources:
            result = _bot(self.engine, self.loaded, self.options, self.place, base).plan(resources)
            if result.plan is None:
                if foreign is not None and not result.problems:
                    # Nothing is left to do, and the branch has more than that.
                    raise foreign
                return replace(bot_report(result, {}), base_commit=base.commit)
            facts = {"files": len(result.plan.files), "planId": result.plan.plan_id}
            self.options.on_event("committing", facts)
            if (
                foreign is None
                and at is not None
                and at != base.commit
                and self._is_there(result.plan, base, at, text[1])
            ):
                return _committed_report(result, base, branch, at)
            commit = self._committed(result.plan, base, branch, at, text, merges=foreign is not None)
            if commit is None:
                return None
            self.options.on_event("committed", {"commit": commit, "branch": branch})
            return _committed_report(result, base, branch, commit)

    def _foreign(
        self, branch: str, at: str | None, base: BaseCommit, bot: Signature
    ) -> StorageRefused | None:
        """Why `branch`, which is at `at`, cannot begin again at `base`; None where it can."""
        if at is None or at == base.commit:
            return None
        if not self.wanted.rebuilds:
            return repository_error(*_elsewhere(branch, at, base, self.ref))
        try:
            must_be_of_the_bot(self.place, branch, at, base.commit, (bot.who, self.wanted.forge))
        except StorageRefused as foreign:
            return foreign
        return None

    def _is_there(self, plan: Plan, base: BaseCommit, at: str, bot: Signature) -> bool:
        """Whether `at` was made of `plan` on `base` by whom it is wanted: then a rebuilt branch stays."""
        (commit,) = Commit.of(self.place, "--no-walk", at)
        committer = self.wanted.forge if self.wanted.is_by_forge else bot.who
        is_same = commit.parents == [base.commit] and plan_of(commit.message) == plan.plan_id
        return is_same and commit.committer == committer

    def _signatures(self) -> tuple[Signature, Signature]:
        """Who is author and committer, asked before anything is planned."""
        config = self.place.config()
        now = self.engine.committing.clock()
        found = (
            signature("author", config, now, self.wanted.author),
            signature("committer", config, now),
        )
        problems = tuple(dict.fromkeys(each for each in found if isinstance(each, Diagnostic)))
        author, committer = found
        if isinstance(author, Diagnostic) or isinstance(committer, Diagnostic):
            raise StorageRefused(problems)
        return author, committer

    def _committed(
        self,
        plan: Plan,
        base: BaseCommit,
        branch: str,
        at: str | None,
        people: tuple[Signature, Signature],
        *,
        merges: bool,
    ) -> str | None:
        """The commit that `branch`, which was at `at`, is at now; None where it moved meanwhile.

        Where it `merges`, it is one of `at` and the commit of the plan.
        """
        text = CommitText(
            message=commit_message(
                self.wanted.message,
                self.loaded.name,
                plan.plan_id,
                plan.intent,
                self.engine.committing.caller.client(),
            ),
            author=people[0],
            committer=people[1],
        )
        clearance = self._cleared(plan)
        tree = _tree(self.engine, self.place, base)
        with tree.open() as workspace:
            documents = Documents.of(workspace, self.engine.settings)
            found = documents.read_current(plan)
            problems = documents.stale(plan, found) if isinstance(found, list) else found
            if problems or not isinstance(found, list):
                raise StorageRefused(problems)
            bases = bases_of(plan, found)
            replayed = documents.replay(plan, bases, with_diff=False)
            if not isinstance(replayed, Replay):
                raise StorageRefused(replayed)
            files = files_to_stage(plan, documents, bases, replayed)
            commit = write_commit(self.place, base.commit, files, text)
            if merges and at is not None:
                commit = merged_commit(self.place, at, commit, text)
                if commit == at:
                    return at
            # What was checked out while this was planned must stay what git thinks it is.
            must_be_free(self.place, branch)
            self._use(clearance, plan, commit)
            wait = self.engine.settings.lock_timeout
            return commit if move_branch(self.place, branch, at, commit, text, wait) else None

    def _cleared(self, plan: Plan) -> Clearance:
        clearance = self.engine.gate.check(plan, self.engine.workspace.roots[0])
        if not isinstance(clearance, Clearance):
            raise StorageRefused(clearance)
        return clearance

    def _use(self, clearance: Clearance, plan: Plan, commit: str) -> None:
        root, now = self.engine.workspace.roots[0], self.engine.committing.clock()
        problems = self.engine.gate.use(clearance, plan.plan_id, root, commit, now)
        if problems:
            raise StorageRefused(problems)


def _bot(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, place: RepositoryLocation, base: BaseCommit
) -> Bot:
    return Bot(Job(tree=_tree(engine, place, base), settings=engine.settings, loaded=loaded), options)


def _tree(engine: Engine, place: RepositoryLocation, base: BaseCommit) -> CommitTree:
    scope = engine.workspace.roots[0].scope
    return CommitTree(place, base.commit, scope.allow, scope.deny)


def _committed_report(result: BotResult, base: BaseCommit, branch: str, commit: str) -> BotReport:
    assert result.plan is not None
    fields: dict[str, Any] = report_fields(result.plan, None)
    report = bot_report(result, fields)
    return replace(
        report, applied=True, base_commit=base.commit, commit=commit, branch=branch, undoable=False
    )


def must_be_free(place: RepositoryLocation, branch: str) -> None:
    """Raise `StorageRefused` (TARGET_BUSY) if the branch of this full name is checked out."""
    folder = checked_out_in(place, branch)
    if folder is not None:
        message = (
            f"the branch `{visible(branch.removeprefix(BRANCHES))}` is checked out in `{visible(folder)}`"
        )
        hint = "name another branch (`--branch NAME`), or apply the manifest there without `--git`"
        raise repository_error(Code.TARGET_BUSY, message, hint)


def must_be_of_the_bot(
    place: RepositoryLocation, branch: str, at: str, base: str, bots: Collection[bytes | None] = ()
) -> None:
    """Raise `StorageRefused` (STALE_BASE) if somebody else made a commit of `branch` from `base` to `at`.

    Those of the bot name their plan; with `bots` their committer is one of these as well.
    """
    for commit in Commit.of(place, at, f"^{base}"):
        if plan_of(commit.message) is None or (bots and commit.committer not in bots):
            short = visible(branch.removeprefix(BRANCHES))
            who = visible(commit.committer.decode("utf-8", "replace"))
            message = f"the branch `{short}` has the commit {BaseCommit(commit.name, None).shown} by {who}"
            hint = (
                "merge the branch, name another with `--branch NAME`, or keep its commits: `--on-stale merge`"
            )
            raise repository_error(Code.STALE_BASE, message, hint)


def _elsewhere(branch: str, at: str, base: BaseCommit, ref: str) -> tuple[Code, str, str]:
    short = visible(branch.removeprefix(BRANCHES))
    message = f"the branch `{short}` is at {BaseCommit(at, None).shown}, and `{visible(ref)}` at {base.shown}"
    hint = f"`--rebuild` makes a branch of the bot again from `{visible(ref)}`; `--git {short}` adds to it"
    return Code.STALE_BASE, message, hint


def _moved(ref: str, rebases: bool) -> Diagnostic:  # noqa: FBT001 (what the caller asked for)
    times = f" {MOST_ATTEMPTS} times" if rebases else ""
    return Diagnostic(
        code=Code.STALE_BASE,
        message=f"`{visible(ref)}` was moved by others{times} while it was planned on; nothing was committed",
        hint="try again later" if rebases else "`--on-stale rebase` plans again on its new commit",
    )
