"""One run of a bot: its branch is built again from the base, pushed, and asked to be merged.

Each step can be repeated: a run that is killed leaves a state from which the next one goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dulwich.objects import ObjectID
from dulwich.repo import Repo

from mdplan.bot.bot import RunOptions
from mdplan.bot.bot_report import BotReport
from mdplan.bot.git.command import run_git
from mdplan.bot.git.repository import BRANCHES, RepositoryLocation, branch_tip, repository_error
from mdplan.bot.git.verbs import GitCommit, apply_to_branch, must_be_free, must_be_of_the_bot
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.pulls.forge import Forge, PullText
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.reports.base import refusal
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import visible

_MOST_FILES: Final = 100
_CLOSED: Final = "The base has all of this already, so that nothing is left to merge."


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """The pull request of a manifest: from `branch` into `base`, on `remote`.

    `title` is None for what the manifest says. `forge` makes the forge of the address of the remote; None
    for a branch without a pull request.
    """

    base: str
    branch: str
    remote: str = "origin"
    title: str | None = None
    labels: Sequence[str] = ()
    author: str | None = None
    forge: Callable[[str], Forge] | None = None


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
        with place.open() as repository:
            remote = _Remote(repository, wanted.remote)
            forge = wanted.forge(remote.address()) if wanted.forge is not None else None
            pushed = remote.fetch(wanted)
        title = wanted.title or loaded.manifest.description or f"Apply {_name(loaded)}"
        commit = GitCommit(branch=wanted.branch, message=title, author=wanted.author, rebuilds=True)
        report = apply_to_branch(engine, loaded, options, _tracking(wanted.remote, wanted.base), commit)
        if not report.ok:
            return report
        with place.open() as repository:
            remote = _Remote(repository, wanted.remote)
            if report.commit is None:
                return replace(report, pull_request=_close(remote, forge, wanted, pushed))
            if report.commit != pushed:
                remote.push(wanted.branch, report.commit, pushed)
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


def _close(remote: "_Remote", forge: Forge | None, wanted: PullOptions, pushed: str | None) -> str | None:
    """Close the pull request, if one is open, and delete its branch; the address of the pull request."""
    pull = forge.find(wanted.branch) if forge is not None else None
    if forge is not None and pull is not None:
        forge.close(pull, _CLOSED)
    if pushed is not None:
        remote.push(wanted.branch, "", pushed)
    return pull.url if pull is not None else None


@dataclass(frozen=True, slots=True)
class _Remote:
    """The remote `name` of a repository, which the `git` program talks to, with the credentials it has."""

    repository: Repo
    name: str

    def address(self) -> str:
        """The address that it is pushed to."""
        return self._git("remote", "get-url", "--push", "--", self.name)

    def fetch(self, wanted: PullOptions) -> str | None:
        """Fetch base and branch, and let the local branch be where the remote one is; that commit, if any."""
        here, there = BRANCHES + wanted.branch, _tracking(self.name, wanted.branch)
        tip = self._git("ls-remote", "--", self.name, here).partition("\t")[0]
        base = f"+{BRANCHES}{wanted.base}:{_tracking(self.name, wanted.base)}"
        self._git(
            "fetch", "--quiet", "--no-tags", "--", self.name, base, *([f"+{here}:{there}"] if tip else [])
        )
        if not tip:
            return None
        must_be_free(self.repository, here)
        local = branch_tip(self.repository, here)
        if local is not None:
            must_be_of_the_bot(self.repository, here, local, ObjectID(tip.encode()))
        self._git("update-ref", "-m", f"mdplan: follow {self.name}", here, there)
        return tip

    def push(self, branch: str, commit: str, expected: str | None) -> None:
        """Let the remote branch be at `commit` (empty to delete it) if it is still at `expected`."""
        lease = f"--force-with-lease={BRANCHES}{branch}:{expected or ''}"
        self._git("push", "--quiet", "--porcelain", lease, "--", self.name, f"{commit}:{BRANCHES}{branch}")

    def _git(self, *arguments: str) -> str:
        done = run_git(self.repository, *arguments, variables={b"GIT_TERMINAL_PROMPT": b"0"}, settings={})
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace").strip()
        said = visible((done.stderr or done.stdout).decode("utf-8", "replace").strip())
        if b"stale info" in done.stdout + done.stderr:
            message = f"the branch was pushed by others while this ran: {said}"
            raise repository_error(Code.STALE_BASE, message, "run the command again")
        message = f"`git {arguments[0]}` failed: {said}"
        raise repository_error(Code.IO_ERROR, message, f"check the remote `{visible(self.name)}`")


def _tracking(remote: str, branch: str) -> str:
    return f"refs/remotes/{remote}/{branch}"


def _name(loaded: LoadedManifest) -> str:
    return visible(loaded.name.replace("\\", "/").rpartition("/")[2])


def _body(loaded: LoadedManifest, report: BotReport) -> str:
    """What the pull request says: the manifest, the files, and the plan by which it is recognised."""
    files = [file.file for file in report.files if file.changed]
    shown = [f"- `{visible(file)}`" for file in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        shown.append(f"- and {len(files) - _MOST_FILES} more")
    lines = [f"`mdplan bot` applied `{_name(loaded)}` to {len(files)} files.", "", *shown, ""]
    if loaded.manifest.description:
        lines = [loaded.manifest.description.strip(), "", *lines]
    return "\n".join([*lines, f"Plan: `{report.plan_id}`. Each run builds this branch again from its base."])
