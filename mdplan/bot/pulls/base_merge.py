"""The base of a pull request merged into its branch, by git with mdplan as its merge driver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.bot.bot_report import BotReport
from mdplan.bot.git.commit_merge import conflicts_of, merge_trees
from mdplan.bot.git.identity import signature
from mdplan.bot.git.plan_commit import CommitText, commit_tree
from mdplan.bot.pulls.forge import Forge
from mdplan.bot.pulls.remote import Remote, tracking
from mdplan.diagnostics import Diagnostic
from mdplan.engine.engine import Engine
from mdplan.git.repository import BRANCHES, RepositoryLocation, find_base
from mdplan.reports.base import refusal
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import visible

_MARKER: Final = "<!-- mdplan-merge -->"
_MOST_LISTED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMerge:
    """The merge of the branch `base` into `branch`, both on `remote`.

    `forge` makes the forge of the address of the remote; None for a branch without a pull request. `author`
    is ``Name <address>``, None for what git says.
    """

    branch: str
    base: str
    remote: str = "origin"
    author: str | None = None
    forge: Callable[[str], Forge] | None = None


@dataclass(frozen=True, slots=True)
class BranchMerged:
    """The result of the merge: the `files` that both sides changed, and the report."""

    report: BotReport
    files: Sequence[str] = ()


def merge_base_into(engine: Engine, wanted: BranchMerge) -> BranchMerged:
    """Merge the base into the branch, push that, and comment on its pull request what needs a person.

    With a conflict nothing is pushed. The commit is signed as git is configured. Errors: MERGE_CONFLICT for
    each place or file; STALE_BASE where others pushed concurrently; INVALID_ARGUMENT, IO_ERROR.
    """
    try:
        place = RepositoryLocation.of(engine.workspace)
        remote = Remote(place, wanted.remote)
        forge = wanted.forge(remote.address()) if wanted.forge is not None else None
        remote.fetch(wanted.base, wanted.branch)
        made = _merged(engine, remote, wanted)
        return _commented(made, forge, wanted)
    except StorageRefused as problem:
        return BranchMerged(refusal(BotReport, problem.problems))


def _merged(engine: Engine, remote: Remote, wanted: BranchMerge) -> BranchMerged:
    place = remote.place
    base, branch = (
        find_base(place, tracking(wanted.remote, name)).commit for name in (wanted.base, wanted.branch)
    )
    report = BotReport(ok=True, branch=BRANCHES + wanted.branch, base_commit=base)
    if place.is_ancestor(base, branch):
        return BranchMerged(replace(report, no_op=True))
    files = _changed_in_both(place, base, branch)
    made = merge_trees(place, branch, base)
    if made.conflicts:
        problems = tuple(conflicts_of(made))
        return BranchMerged(replace(report, ok=False, error=problems[0], diagnostics=problems), files)
    config, now = place.config(), engine.committing.clock()
    author, committer = signature("author", config, now, wanted.author), signature("committer", config, now)
    if isinstance(author, Diagnostic) or isinstance(committer, Diagnostic):
        raise StorageRefused(tuple(each for each in (author, committer) if isinstance(each, Diagnostic)))
    message = f"Merge branch '{wanted.base}' into {wanted.branch}\n".encode("utf-8", "surrogateescape")
    text = CommitText(message=message, author=author, committer=committer)
    commit = commit_tree(place, made.tree, (branch, base), text)
    remote.push(wanted.branch, commit, branch)
    return BranchMerged(replace(report, applied=True, commit=commit), files)


def _changed_in_both(place: RepositoryLocation, base: str, branch: str) -> tuple[str, ...]:
    first = place.text("merge-base", base, branch).split()[0]
    changed = [set(place.diff("--name-only", first, side)) for side in (base, branch)]
    return tuple(sorted(changed[0] & changed[1]))


def _commented(made: BranchMerged, forge: Forge | None, wanted: BranchMerge) -> BranchMerged:
    pull = forge.find(wanted.branch) if forge is not None else None
    if forge is None or pull is None:
        return made
    if not made.report.no_op:
        forge.comment(pull, _MARKER, _comment(made, wanted))
    return replace(made, report=replace(made.report, pull_request=pull.url))


def _comment(made: BranchMerged, wanted: BranchMerge) -> str:
    base = _code(wanted.base)
    if made.report.ok:
        listed = [_code(each) for each in made.files] or ["No file was changed on both sides."]
        head = f"`mdplan` merged {base} into this branch: {made.report.commit}. Both sides changed:"
    else:
        listed = [_code(each.message.replace("`", "")) for each in made.report.diagnostics]
        head = f"{base} was not merged into this branch. A person must decide:"
    more = [f"and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
    return "\n".join([head, "", *(f"- {each}" for each in (*listed[:_MOST_LISTED], *more))]) + "\n"


def _code(text: str) -> str:
    """`text` of others as code, in which nothing has a meaning."""
    return f"`{visible(' '.join(text.split())).replace('`', '')}`"
