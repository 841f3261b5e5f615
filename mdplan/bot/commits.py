"""Plan, check and apply a manifest on a commit of a repository, without a work tree.

Planning and verification are the same as for files on disk; only reading and writing differ.
"""

import os
import shlex
import stat
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from mdplan.bot.bot import BotReport, EqualEdits, Proposal, RunOptions, planned
from mdplan.bot.manifest import LoadedManifest
from mdplan.client import Client
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.documents import Documents
from mdplan.engine.commit import files_to_stage
from mdplan.engine.engine import Engine
from mdplan.git import repository
from mdplan.git.tree import CommitTree, Objects
from mdplan.plan import NO_INTENT, Intent, Plan
from mdplan.planning.replay import bases_of
from mdplan.reports.base import refusal
from mdplan.requests.verbs import OnStale
from mdplan.review.lines import FileSides
from mdplan.review.shapes import PlacedShape, PlanShapes, classes_of
from mdplan.storage.commit import StagedFile
from mdplan.storage.filesystem import StorageRefused, granted, storage_errors
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import escaped, visible
from mdplan.values import Struct, replace
from mdplan.words import Option, say

# The plan in a commit that takes back what the bot wrote, since the base has all of it.
_NO_PLAN: Final = "none"

# Each attempt was lost to another writer; after this many, a person should look.
MOST_ATTEMPTS: Final = 20


class GitCommit(Struct, kw_only=True):
    """Options for committing a plan.

    - `branch`: None for the branch that was read.
    - `author` (``Name <address>``), `message`: None for the values of git and the manifest.
    - `on_stale`: ``rebase`` plans again if the branch moved; ``merge`` merges a branch that has other
      people's commits.
    - `rebuilds`: a branch with only commits of this bot restarts from the base.
    - `forge`: the committer of commits that a forge makes for the bot; with `is_by_forge`, an unchanged
      branch stays only if the forge made it.
    - `with_classes`: the report has the classes of equal edits.
    """

    branch: str | None = None
    author: str | None = None
    message: str | None = None
    on_stale: OnStale = "refuse"
    rebuilds: bool = False
    forge: bytes | None = None
    is_by_forge: bool = False
    with_classes: bool = False


@contextmanager
def propose_on_commit(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, ref: str
) -> Iterator[Proposal]:
    """Yield what the manifest `loaded` would do to the commit `ref`.

    The plan is not stored, because `mdplan apply` only handles folders. Raise `StorageRefused`:
    INVALID_ARGUMENT for an unknown repository or commit, or as `Bot.plan`.
    """
    place = repository.RepositoryLocation.of(engine.workspace)
    base = repository.find_base(place, ref)
    with planned(engine, loaded, options, tree_of(engine, place, base)) as proposal:
        yield replace(proposal, report=replace(proposal.report, base_commit=base.commit))


def apply_to_branch(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, ref: str, wanted: GitCommit
) -> BotReport:
    """Plan `loaded` on the commit `ref`, and commit it to a branch: all files or none.

    Without changes there is no commit. Errors: as planning; INVALID_ARGUMENT for invalid names or an unknown
    author; TARGET_BUSY for a checked-out branch; STALE_BASE for a branch at, or moved to, another commit;
    LOCK_TIMEOUT, IO_ERROR.
    """
    try:
        place = repository.RepositoryLocation.of(engine.workspace)
        for attempt in range(MOST_ATTEMPTS if wanted.on_stale == "rebase" else 1):
            report = _Attempt(engine, loaded, options, place, ref, wanted).report()
            if report is not None:
                return replace(report, rebased=True) if attempt and report.applied else report
            options.on_event("rebasing", {"attempt": attempt + 1})
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)
    return refusal(BotReport, (_moved(ref, wanted.on_stale),))


class _Attempt(Struct):
    """One attempt to commit."""

    engine: Engine
    loaded: LoadedManifest
    options: RunOptions
    place: repository.RepositoryLocation
    ref: str
    wanted: GitCommit

    def report(self) -> BotReport | None:
        """Return the report, or None if the branch has moved. Raise `StorageRefused`."""
        base = repository.find_base(self.place, self.ref)
        branch = repository.target_branch(self.place, self.wanted.branch, base)
        at = base.commit if branch == base.branch else repository.branch_tip(self.place, branch)
        must_be_free(self.place, branch)
        people = signatures(self.place, self.wanted.author)
        foreign = self._foreign(branch, at, base, people[1])
        if foreign is not None and self.wanted.on_stale != "merge":
            raise foreign
        with planned(
            self.engine, self.loaded, self.options, tree_of(self.engine, self.place, base)
        ) as result:
            report = replace(result.report, base_commit=base.commit)
            if result.plan is None and (foreign is None or result.problems):
                return report
            if result.plan is not None:
                facts = {"files": len(result.plan.files), "planId": result.plan.plan_id}
                self.options.on_event("committing", facts)
            classes = self._classes(result.plan, base) if self.wanted.with_classes else None
            if (
                foreign is None
                and result.plan is not None
                and at is not None
                and at != base.commit
                and self._is_there(result.plan, base, at, people[1])
            ):
                return replace(_committed_report(report, branch, at, at), classes=classes)
            commit = self._committed(result.plan, base, branch, at, people, merges=foreign is not None)
            if commit is None:
                return None
            if commit == base.commit:
                # The base has all that people committed to the branch.
                return report
            self.options.on_event("committed", {"commit": commit, "branch": branch})
            return replace(_committed_report(report, branch, commit, at), classes=classes)

    def _classes(self, plan: Plan | None, base: repository.BaseCommit) -> tuple[EqualEdits, ...] | None:
        """Return the classes of equal edits of `plan`, without files that take too long to parse."""
        if plan is None:
            return None
        of_plan, shapes = PlanShapes(plan), list[PlacedShape]()
        with tree_of(self.engine, self.place, base).open() as workspace:
            documents = Documents.of(workspace, self.engine.settings)
            bases = bases_of(plan, granted(documents.read_current(plan)))
            for change, text in zip(plan.files, bases, strict=True):
                found = documents.with_timeout(change.path, partial(of_plan.of_file, FileSides(change, text)))
                shapes += found if isinstance(found, list) else ()
        return tuple(
            EqualEdits(
                removed=each.removed,
                added=each.added,
                values=len(each.values),
                places=len(each.places),
                files=len(each.files),
            )
            for each in classes_of(plan, shapes)
        )

    def _foreign(
        self, branch: str, at: str | None, base: repository.BaseCommit, bot: bytes
    ) -> StorageRefused | None:
        """Return why `branch` at `at` cannot restart from `base`, or None."""
        if at is None or at == base.commit:
            return None
        if not self.wanted.rebuilds:
            short, ref = _short_name(branch), visible(self.ref)
            tip = repository.BaseCommit(at, None)
            return repository.repository_error(
                Code.STALE_BASE,
                f"the branch `{short}` is at {tip.shown}, and `{ref}` at {base.shown}",
                say(
                    "{--rebuild} makes a branch of the bot again from `{}`; {} adds to it",
                    ref,
                    Option(f"--git {short}"),
                ),
            )
        try:
            must_be_of_the_bot(self.place, branch, at, base.commit, (bot, self.wanted.forge))
        except StorageRefused as foreign:
            return foreign
        return None

    def _is_there(self, plan: Plan, base: repository.BaseCommit, at: str, bot: bytes) -> bool:
        """Return True if `at` is this plan on `base` by the wanted committer, so a rebuilt branch stays."""
        (commit,) = repository.Commit.of(self.place, "--no-walk", at)
        committer = self.wanted.forge if self.wanted.is_by_forge else bot
        is_same = commit.parents == [base.commit] and plan_of(commit.message) == plan.plan_id
        return is_same and commit.committer == committer

    def _committed(
        self,
        plan: Plan | None,
        base: repository.BaseCommit,
        branch: str,
        at: str | None,
        people: tuple[bytes, bytes],
        *,
        merges: bool,
    ) -> str | None:
        """Return the new commit of `branch`, formerly at `at`; None if it moved meanwhile.

        `merges` makes it a merge of `at` and the commit of `plan`. Without a `plan`, the files are those of
        `base`, which is the result if people changed nothing else.
        """
        name = plan.plan_id if plan is not None else _NO_PLAN
        message = commit_message(
            self.wanted.message, self.loaded.name, name, self.loaded.intent, self.engine.caller.client()
        )
        text = CommitText(message=message, author=people[0], committer=people[1], now=self.engine.clock())
        parents = [base.commit]
        if merges and at is not None:
            parents += last_of_the_bot(self.place, at, base.commit, (people[1], self.wanted.forge))
        root = self.engine.workspace.roots[0]
        clearance = granted(self.engine.gate.check(plan, root)) if plan is not None else None
        with tree_of(self.engine, self.place, base).open() as workspace:
            if plan is not None:
                documents = Documents.of(workspace, self.engine.settings)
                found = granted(documents.read_current(plan))
                granted(documents.stale(plan, found))
                bases = bases_of(plan, found)
                replayed = granted(documents.replay(plan, bases, with_diff=False))
                files = files_to_stage(plan, documents, bases, replayed)
                commit = write_commit(self.place, parents, files, text)
            else:
                commit = commit_tree(self.place, f"{base.commit}^{{tree}}", parents, text)
            if merges and at is not None:
                commit = merged_commit(self.place, at, commit, text, may_be_base=plan is None)
                if commit in {at, base.commit}:
                    return commit
            # A branch that was checked out during planning must not move.
            must_be_free(self.place, branch)
            if clearance is not None and plan is not None:
                now = self.engine.clock()
                granted(self.engine.gate.use(clearance, plan.plan_id, root, commit, now))
            wait = self.engine.settings.lock_timeout
            return commit if move_branch(self.place, branch, at, commit, text, wait) else None


def tree_of(engine: Engine, place: repository.RepositoryLocation, base: repository.BaseCommit) -> CommitTree:
    """Return the files of the commit `base` within the scope of `engine`."""
    scope = engine.workspace.roots[0].scope
    return CommitTree(place, base.commit, scope.allow, scope.deny)


def _committed_report(report: BotReport, branch: str, commit: str, at: str | None) -> BotReport:
    return replace(
        report, applied=True, commit=commit, branch=branch, branch_moved=commit != at, undoable=False
    )


def must_be_free(place: repository.RepositoryLocation, branch: str) -> None:
    """Raise `StorageRefused` (TARGET_BUSY) if the branch with this full name is checked out."""
    folder = repository.checked_out_in(place, branch)
    if folder is not None:
        message = f"the branch `{_short_name(branch)}` is checked out in `{visible(folder)}`"
        hint = say("name another branch ({--branch}), or apply the manifest there without {--git}")
        raise repository.repository_error(Code.TARGET_BUSY, message, hint)


def must_be_of_the_bot(
    place: repository.RepositoryLocation, branch: str, at: str, base: str, bots: Collection[bytes | None] = ()
) -> None:
    """Raise `StorageRefused` (STALE_BASE) if `branch` has foreign commits from `base` to `at`.

    Commits of the bot name their plan; with `bots`, these are the valid committers.
    """
    for commit in repository.Commit.of(place, at, f"^{base}"):
        if not _is_of_the_bot(commit, bots):
            who = visible(commit.committer.decode("utf-8", "replace"))
            its_name = repository.BaseCommit(commit.name, None).shown
            message = f"the branch `{_short_name(branch)}` has the commit {its_name} by {who}"
            hint = say(
                'merge the branch, name another with {--branch}, or keep its commits: {onStale="merge"}'
            )
            raise repository.repository_error(Code.STALE_BASE, message, hint)


def last_of_the_bot(
    place: repository.RepositoryLocation, at: str, base: str, bots: Collection[bytes | None]
) -> list[str]:
    """Return the last commit of a plan from `base` to `at`, no merge of the bot; empty if there is none.

    It becomes a parent of the next plan, and so the base of the merge, in which only people's commits differ.
    """
    commits = repository.Commit.of(place, "--date-order", at, f"^{base}")
    on_branch = {commit.name for commit in commits}
    plans = (
        each for each in commits if _is_of_the_bot(each, bots) and on_branch.isdisjoint(each.parents[:1])
    )
    return [each.name for each in plans][:1]


def _is_of_the_bot(commit: repository.Commit, bots: Collection[bytes | None]) -> bool:
    return plan_of(commit.message) is not None and (not bots or commit.committer in bots)


def _short_name(branch: str) -> str:
    return visible(branch.removeprefix(repository.BRANCHES))


def _moved(ref: str, on_stale: OnStale) -> Diagnostic:
    rebases = on_stale == "rebase"
    times = f" {MOST_ATTEMPTS} times" if rebases else ""
    return Code.STALE_BASE.problem(
        f"`{visible(ref)}` was moved by others{times} while it was planned on; nothing was committed",
        "try again later" if rebases else say('{onStale="rebase"} plans again on its new commit'),
    )


# --- Writing a commit and moving a branch
#
# git makes the tree from an index of its own. Files and trees are loose objects, which `git repack` and `git
# gc` keep until the branch moves. `git commit-tree` writes the commit, signed as configured, and `git
# update-ref` moves the branch by compare-and-swap. So after a kill the branch is at the old or the new
# commit, and a later `git gc` removes unused objects.

_ORDINARY: Final = stat.S_IFREG | 0o644
_NO_COMMIT: Final = "0" * 40
_LOCKED: Final = lazy_pattern(rb"Unable to create '(.+)': File exists")
# `git gc` removed the folder for an object, which was still empty.
_FOLDER_GONE: Final = b"unable to create temporary file"
_MOST_TRIES: Final = 20
_IN_THE_WAY: Final = lazy_pattern(rb"'(.+)' appears as both a file and as a directory")


class CommitText(Struct, kw_only=True):
    """The message of a commit, its people as ``Name <address>``, and the default time `now`."""

    message: bytes
    author: bytes
    committer: bytes
    now: float


def write_commit(
    place: repository.RepositoryLocation,
    parents: Sequence[str],
    files: Sequence[StagedFile],
    text: CommitText,
) -> str:
    """Write an unreferenced commit with `parents`: the files of the first one, with the results of `files`.

    Raise `StorageRefused`: as creating a result, FILE_EXISTS for a folder in place of a file or vice versa,
    IO_ERROR.
    """
    removed, written, data = list[str](), list[tuple[int, str]](), list[Path]()
    with tempfile.TemporaryDirectory() as folder:
        with storage_errors(visible(place.path), "reading objects of"), closing(Objects(place)) as objects:
            old = objects.tree_of(parents[0])
            for file in files:
                path = place.within(file.name.path)
                removed.append(f"0 {_NO_COMMIT}\t{path}\0")
                if file.result_sha256 is not None:
                    like = place.within((file.like or file.name).path)
                    written.append((_mode(objects, old, path, like), path))
                    data.append(Path(folder) / str(len(data)))
                    data[-1].write_bytes(file.content())
        paths = "\n".join(map(str, data)).encode()
        names = _written(place, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).split()
        made = [f"{mode:o} {name}\t{path}\0" for (mode, path), name in zip(written, names, strict=True)]
        entries = repository.encoded("".join((*removed, *made)))
        index: dict[str, Any] = {
            "variables": {"GIT_INDEX_FILE": f"{folder}/index"},
            "settings": {"core.splitIndex": "false"},
        }
        _written(place, "read-tree", parents[0], **index)
        _written(place, "update-index", "-z", "--index-info", stdin=entries, **index)
        # A partial clone lacks files that stay.
        tree = _written(place, "write-tree", "--missing-ok", **index)
    return commit_tree(place, tree, parents, text)


def _written(
    place: repository.RepositoryLocation,
    *arguments: str,
    hint: str = repository.FSCK,
    **how: Any,  # noqa: ANN401 (as `git` takes them)
) -> str:
    """Return the output of git, which writes objects; repeat it after a concurrent repack."""
    for left in reversed(range(_MOST_TRIES)):
        done = place.git(*arguments, **how)
        if done.returncode == 0:
            return done.stdout.decode().strip()
        if blocked := _IN_THE_WAY.search(done.stderr):
            message = f"`{visible(os.fsdecode(blocked[1]))}` is in the way: a file and a folder share a name"
            raise repository.repository_error(Code.FILE_EXISTS, message, "")
        if _FOLDER_GONE not in done.stderr or not left:
            raise repository.git_failed(done, hint)
    raise AssertionError


def move_branch(
    place: repository.RepositoryLocation,
    branch: str,
    base: str | None,
    commit: str,
    text: CommitText,
    wait: float,
) -> bool:
    """Move `branch` from `base` (None if it does not exist) to `commit`; return True if moved.

    Wait up to `wait` seconds for other writers. Raise `StorageRefused`: LOCK_TIMEOUT, IO_ERROR.
    """
    subject = text.message.partition(b"\n")[0].decode("utf-8", "surrogateescape")
    done = place.git(
        *("update-ref", "-m", f"commit: {subject}", branch, commit, base or _NO_COMMIT),
        variables=_people(text),
        settings={"core.filesRefLockTimeout": str(round(wait * 1000))},
    )
    if done.returncode == 0:
        return True
    if repository.branch_tip(place, branch) != base:
        return False
    locked = _LOCKED.search(done.stderr)
    if locked is not None:
        lock = visible(os.fsdecode(locked[1]))
        raise repository.repository_error(
            Code.LOCK_TIMEOUT,
            f"the branch `{visible(branch)}` is locked by another program",
            f"try again; if no git runs, one was killed: remove `{lock}`",
        )
    raise repository.git_failed(done, repository.FSCK)


def _mode(objects: Objects, tree: str, *paths: str) -> int:
    """Return the mode of the first existing file among `paths`, or the default mode."""
    entries = (objects.find(tree, path) for path in paths)
    return next((each.mode for each in entries if each is not None and stat.S_ISREG(each.mode)), _ORDINARY)


def commit_tree(
    place: repository.RepositoryLocation, tree: str, parents: Sequence[str], text: CommitText
) -> str:
    """Write an unreferenced commit of `tree`. Raise `StorageRefused` (IO_ERROR).

    `commit.gpgSign` is honoured here, since `git commit-tree` ignores it.
    """
    signs = place.git("config", "--type=bool", "--get", "commit.gpgSign").stdout.strip() == b"true"
    return _written(
        place,
        *("commit-tree", tree, *(word for parent in parents for word in ("-p", parent))),
        *(["-S"] if signs else []),
        *("-F", "-"),
        stdin=text.message,
        variables=_people(text),
        settings={"i18n.commitEncoding": "UTF-8"},
        hint="check gpg.format and user.signingKey with `git config --list`" if signs else repository.FSCK,
    )


def _people(text: CommitText) -> dict[str, bytes]:
    """Return git's environment variables for people and times."""
    variables = {}
    now = time.strftime(f"@{int(text.now)} %z", time.localtime(text.now))
    for role, who in (("AUTHOR", text.author), ("COMMITTER", text.committer)):
        name, _, address = who.rpartition(b" <")
        variables[f"GIT_{role}_NAME"] = name
        variables[f"GIT_{role}_EMAIL"] = address.removesuffix(b">")
        variables[f"GIT_{role}_DATE"] = os.fsencode(os.environ.get(f"GIT_{role}_DATE") or now)
    return variables


# --- Merging two commits without a work tree, by git with mdplan as merge driver

_DRIVER: Final = "-I -m mdplan merge %O %A %B -o %A --path %P --marker-size %L"
_SUFFIXES: Final = ("md", "markdown", "mdx", "yaml", "yml", "json", "toml")

# Exit codes of a merge without and with conflicts.
_MERGED: Final = (0, 1)

_TAKE_BACK: Final = "people changed this text on the branch: undo that there, or merge the branch as it is"

# The driver's output for each conflict.
_CONFLICT: Final = "conflict in "


class MergedTree(Struct):
    """A merged `tree`, its conflicting files, and the driver's output."""

    tree: str
    conflicts: tuple[str, ...]
    said: tuple[str, ...]


def merge_trees(place: repository.RepositoryLocation, branch: str, base: str) -> MergedTree:
    """Merge `branch` and `base`. Raise `StorageRefused` (IO_ERROR) if git is too old."""
    # In the git folder, git reads no `.gitattributes`, which could name another driver.
    folder_of_git = place.text("rev-parse", "--absolute-git-dir").rstrip("\n")
    with tempfile.TemporaryDirectory() as folder:
        attributes = Path(folder) / "attributes"
        attributes.write_text("".join(f"*.{suffix} merge=mdplan\n" for suffix in _SUFFIXES))
        settings = {
            "core.attributesFile": str(attributes),
            "merge.mdplan.driver": f"{shlex.quote(sys.executable)} {_DRIVER}",
            "merge.mdplan.recursive": "binary",
        }
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", branch, base)
        # A partial clone may fetch missing objects.
        variables = {"GIT_NO_LAZY_FETCH": "0"}
        done = repository.run_git(folder_of_git, *words, settings=settings, variables=variables)
    if done.returncode not in _MERGED:
        raise repository.git_failed(done, "a merge without a work tree needs git 2.38 or newer")
    tree, *names = done.stdout.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
    said = done.stderr.decode("utf-8", "replace").splitlines()
    return MergedTree(tree, tuple(filter(None, names)) if done.returncode else (), tuple(said))


def merged_commit(
    place: repository.RepositoryLocation, branch: str, other: str, text: CommitText, *, may_be_base: bool
) -> str:
    """Return a merge commit of `branch` and `other`, or `branch` if that already has everything.

    `may_be_base`: return the base of `other` if nothing of `branch` is left. Raise `StorageRefused`:
    MERGE_CONFLICT, IO_ERROR.
    """
    made = merge_trees(place, branch, other)
    if made.conflicts:
        raise StorageRefused(tuple(conflicts_of(made, _TAKE_BACK)))
    old, new = repository.Commit.of(place, "--no-walk=unsorted", branch, other)
    if may_be_base and new.tree == made.tree:
        return new.parents[0]
    if old.tree == made.tree and place.is_ancestor(new.parents[0], branch):
        return branch
    return commit_tree(place, made.tree, (branch, other), text)


def conflicts_of(made: MergedTree, hint: str) -> list[Diagnostic]:
    """Return MERGE_CONFLICT for each conflicting place or file, with a `hint`."""
    conflicts: list[Diagnostic] = []
    for file in made.conflicts:
        beginning = f"{_CONFLICT}{file}, "
        places = [line.removeprefix(beginning) for line in made.said if line.startswith(beginning)]
        conflicts += [
            Code.MERGE_CONFLICT.problem(f"`{visible(file)}`, {visible(place)}", hint, file=file)
            for place in places or ["git finds a conflict"]
        ]
    return conflicts


# --- Author and message of a commit, by git's rules for variables and configuration

_GIVEN: Final = lazy_pattern(r"([^<>\0\r\n]*[^<>\s\0])\s*<([^<>\0\r\n]+)>")
_TRAILER_LINE: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9-]*: \S.*")


def signatures(place: repository.RepositoryLocation, author: str | None) -> tuple[bytes, bytes]:
    """Return author (``Name <address>``, or else who git says) and committer. Never guessed.

    Raise `StorageRefused` (INVALID_ARGUMENT), also for an invalid time in git's variables.
    """
    written = _GIVEN.fullmatch(author.strip()) if author is not None else None
    if author is not None and written is None:
        message = f"`{visible(author)}` is not an author"
        raise repository.repository_error(Code.INVALID_ARGUMENT, message, "write it as `Name <address>`")
    given = {"GIT_AUTHOR_NAME": written[1], "GIT_AUTHOR_EMAIL": written[2]} if written is not None else {}
    return _person(place, "AUTHOR", given), _person(place, "COMMITTER", {})


def _person(place: repository.RepositoryLocation, role: str, given: Mapping[str, str]) -> bytes:
    """Return the person that git names for the `role`, by variables and configuration."""
    address = f"GIT_{role}_EMAIL"
    if "EMAIL" in os.environ and address not in os.environ and "user.email" not in place.config():
        given = {address: os.environ["EMAIL"], **given}
    settings = {"user.useConfigOnly": "true"}
    done = place.git("var", f"GIT_{role}_IDENT", settings=settings, variables=given)
    if done.returncode:
        hint = f"set GIT_{role}_NAME and {address}, or user.name and user.email with `git config`"
        raise repository.git_failed(done, hint, Code.INVALID_ARGUMENT)
    return done.stdout.rpartition(b"> ")[0] + b">"


def commit_message(
    given: str | None, manifest: str, plan_id: str, intent: Intent = NO_INTENT, client: Client | None = None
) -> bytes:
    """Return the commit message: `given`, else the intent, else the name of `manifest`.

    The plan is the last trailer, after the `client` that made it and a title that is not the subject.
    """
    name = manifest.replace("\\", "/").rpartition("/")[2]
    purpose = "\n\n".join(filter(None, (intent.title, intent.description)))
    text = (given or "").replace("\r\n", "\n").strip() or purpose or f"Apply {visible(name)}"
    lines = [line.rstrip() for line in text.split("\n")]
    last = lines[max((index for index, line in enumerate(lines) if not line), default=len(lines)) + 1 :]
    # Append to existing trailers, or start a new paragraph.
    between = "" if last and all(map(_TRAILER_LINE.fullmatch, last)) else "\n"
    trailers = [f"{repository.TITLE_TRAILER}: {intent.title}"] if intent.title not in ("", lines[0]) else []
    trailers += [f"{repository.CLIENT_TRAILER}: {escaped(str(client))}"] if client is not None else []
    trailers.append(f"{repository.PLAN_TRAILER}: {plan_id}")
    message = "\n".join(lines) + f"\n{between}" + "\n".join(trailers) + "\n"
    return message.encode("utf-8", "surrogateescape").replace(b"\0", b"")


def plan_of(message: bytes) -> str | None:
    """Return the plan ID in a commit `message`, or None."""
    last = message.decode("utf-8", "surrogateescape").rstrip("\n").rpartition("\n")[2]
    name, colon, plan_id = last.partition(": ")
    return plan_id if colon and name == repository.PLAN_TRAILER else None
