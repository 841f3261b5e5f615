"""One run of a bot: its branch is built again from the base, pushed, and asked to be merged.

Each step can be repeated: a run that is killed leaves a state from which the next one goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.bot.bot import RunOptions
from mdplan.bot.bot_report import BotReport, PullRequestPart
from mdplan.bot.git.commit_verbs import (
    GitCommit,
    apply_to_branch,
    propose_on_commit,
)
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.pulls.forge import Forge, PullText
from mdplan.bot.pulls.forge_commit import commit_by_forge
from mdplan.bot.pulls.remote import Remote, tracking
from mdplan.bot.pulls.split import Split, split_files
from mdplan.engine.engine import Engine
from mdplan.git.repository import RepositoryLocation, find_base
from mdplan.git.tree import CommitTree
from mdplan.reports.base import refusal
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import visible

_MOST_FILES: Final = 100
_CLOSED: Final = "The base has all of this already, so that nothing is left to merge."


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """The pull request of a manifest: from `branch` into `base`, on `remote`.

    `title` is None for what the manifest says; the name of the `part` of a split follows it. `forge` makes
    the forge of the address of the remote; None for a branch without a pull request. With `merges` a branch
    with commits by others is kept, and merged with the commit of the plan. With `signed_by_forge` the forge
    makes the commit again, and signs it.
    """

    base: str
    branch: str
    remote: str = "origin"
    title: str | None = None
    part: str | None = None
    labels: Sequence[str] = ()
    author: str | None = None
    forge: Callable[[str], Forge] | None = None
    merges: bool = False
    signed_by_forge: bool = False


def run_pull_request(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, wanted: PullOptions
) -> BotReport:
    """Build the branch of `wanted` from its base, push it, and open or update its pull request.

    Where nothing is left to do, the pull request is closed and the branch deleted. Errors: those of
    `apply_to_branch`; STALE_BASE for a branch with commits of others, and where another bot pushed
    concurrently; IO_ERROR for what git or the forge refuses.
    """
    try:
        place = RepositoryLocation.of(engine.workspace)
        remote = Remote(place, wanted.remote)
        forge = wanted.forge(remote.address()) if wanted.forge is not None else None
        pushed = remote.follow(wanted.base, wanted.branch)
        title = _title(loaded, wanted)
        message = _message(title, loaded, wanted)
        commit = GitCommit(
            branch=wanted.branch,
            message=message,
            author=wanted.author,
            rebuilds=True,
            merges=wanted.merges,
            forge=forge.committer if forge is not None else None,
            is_by_forge=wanted.signed_by_forge,
        )
        report = apply_to_branch(engine, loaded, options, tracking(wanted.remote, wanted.base), commit)
        if not report.ok and not report.applied:
            return report
        if report.commit is None:
            return replace(report, pull_request=_close(remote, forge, wanted, pushed))
        if report.commit != pushed:
            made = report.commit
            if forge is not None and wanted.signed_by_forge:
                made = commit_by_forge(remote, forge, wanted.branch, made)
            remote.push(wanted.branch, made, pushed)
            report = replace(report, commit=made)
        if forge is None:
            return report
        text = PullText(title=title, body=_body(loaded, report), labels=wanted.labels)
        pull = forge.find(wanted.branch)
        if pull is None:
            pull = forge.open(wanted.branch, wanted.base, text)
        else:
            forge.update(pull, text)
        return replace(report, pull_request=pull.url)
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)


def run_pull_requests(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, wanted: PullOptions, split: Split
) -> BotReport:
    """As `run_pull_request` for each part of the files that change: branches `BRANCH/PART`.

    Branches of parts that have nothing left to do are closed. The report is on all files together; a part
    that fails does not keep the others back.
    """
    try:
        place = RepositoryLocation.of(engine.workspace)
        remote = Remote(place, wanted.remote)
        known = remote.branches_of(wanted.branch)
        remote.fetch(wanted.base)
        base = find_base(place, tracking(wanted.remote, wanted.base))
        with propose_on_commit(engine, loaded, options, base.commit) as proposal:
            report = proposal.report
        if not report.ok and (proposal.plan is None or not options.keep_going):
            return report
        scope = engine.workspace.roots[0].scope
        tree = CommitTree(place, base.commit, scope.allow, scope.deny)
        changed = [file.file for file in report.files if file.changed]
        parts = split_files(split, changed, tree, engine.settings)
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)
    done = [
        _run_part(engine, loaded, options, wanted, name, parts.get(name, []))
        for name in sorted({*parts, *known}, key=lambda name: (name in parts, name))
    ]
    problems = tuple(part.error for part in done if part.error is not None)
    return replace(
        report,
        ok=report.ok and not problems,
        applied=any(part.commit is not None for part in done),
        error=report.error or next(iter(problems), None),
        diagnostics=(*report.diagnostics, *problems),
        pull_requests=tuple(done),
        stored=False,
        plan_id=None,
    )


def _run_part(
    engine: Engine,
    loaded: LoadedManifest,
    options: RunOptions,
    wanted: PullOptions,
    name: str,
    files: Sequence[str],
) -> PullRequestPart:
    """The part `name` with `files`; without files its pull request is closed. No name: the whole branch."""
    branch = f"{wanted.branch}/{name}" if name else wanted.branch
    report = run_pull_request(
        engine,
        loaded,
        replace(options, only=frozenset(files)),
        replace(wanted, branch=branch, part=name or None),
    )
    return PullRequestPart(
        name=name,
        branch=branch,
        files=len(files),
        commit=report.commit,
        pull_request=report.pull_request,
        error=report.error,
    )


def _close(remote: Remote, forge: Forge | None, wanted: PullOptions, pushed: str | None) -> str | None:
    """Close the pull request, if one is open, and delete its branch; the address of the pull request."""
    pull = forge.find(wanted.branch) if forge is not None else None
    if forge is not None and pull is not None:
        forge.close(pull, _CLOSED)
    if pushed is not None:
        remote.push(wanted.branch, "", pushed)
        remote.forget(wanted.branch)
    return pull.url if pull is not None else None


def _title(loaded: LoadedManifest, wanted: PullOptions) -> str:
    title = wanted.title or loaded.intent.title or loaded.intent.description or f"Apply {_name(loaded)}"
    return f"{title.strip()} ({wanted.part})" if wanted.part is not None else title


def _message(title: str, loaded: LoadedManifest, wanted: PullOptions) -> str:
    """What the commit says: its title, and where that is not the description, that as well."""
    says_more = wanted.title is None and loaded.intent.title and loaded.intent.description
    return f"{title}\n\n{loaded.intent.description}" if says_more else title


def _name(loaded: LoadedManifest) -> str:
    return visible(loaded.name.replace("\\", "/").rpartition("/")[2])


def _body(loaded: LoadedManifest, report: BotReport) -> str:
    """What the pull request says: the manifest, the files, and the plan by which it is recognised."""
    files = [file.file for file in report.files if file.changed]
    shown = [f"- `{visible(file)}`" for file in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        shown.append(f"- and {len(files) - _MOST_FILES} more")
    lines = [f"`mdplan bot` applied `{_name(loaded)}` to {len(files)} files.", "", *shown, ""]
    if loaded.intent.description:
        lines = [loaded.intent.description, "", *lines]
    return "\n".join([*lines, f"Plan: `{report.plan_id}`. Each run builds this branch again from its base."])
