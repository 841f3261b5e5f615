"""Git repositories through the `git` program: location, revisions, and changes.

All git processes start here. No repository-configured program runs, except what the user requests: commit
signing, merge drivers, and transport helpers. `GIT_DIR` is never set, so git refuses repositories of other
users (`safe.directory`).
"""

import os
import posixpath
import subprocess
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import real_path
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct
from mdplan.words import Text, say

BRANCHES: Final = "refs/heads/"
# The commit trailer of the bot, with the plan ID.
PLAN_TRAILER: Final = "Mdplan-Plan"
TITLE_TRAILER: Final = "Mdplan-Title"
CLIENT_TRAILER: Final = "Mdplan-Client"
# Files with the branch to which an unfinished rebase or bisection returns.
_RETURNS: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_SHOWN_DIGITS: Final = 12
_MOST_CHARACTERS: Final = 4096
# How long git may talk to a remote, which may hang, or send a huge repository.
_REMOTE_SECONDS: Final = 1800
_REMOTE_COMMANDS: Final = frozenset({"fetch", "ls-remote", "push"})
# Variables that would change git's repository, index, or interpretation of paths.
_OTHERS: Final = lazy_pattern(
    "GIT_(DIR|CONFIG|WORK_TREE|COMMON_DIR|INDEX_FILE|NAMESPACE|PREFIX|EXTERNAL_DIFF|OBJECT_DIRECTORY"
    "|ALTERNATE_OBJECT_DIRECTORIES|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE"
    "|(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)"
)
_VARIABLES: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Writes survive a power loss. `RepositoryLocation.of` checks bare repositories.
_SETTINGS: Final = {
    "core.alternateRefsCommand": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.fsync": "objects,reference",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "safe.bareRepository": "all",
}
# Credentials in a URL; just a user name, as in `ssh://git@host`, is not secret.
_PASSWORD: Final = lazy_pattern(r"(?<=://)(?!git@)[^\s/]*@")
_ONLY_EXPLICIT: Final = {"safe.bareRepository": "explicit"}
# git's message about an implicit bare repository, before it reads its configuration.
_IMPLICIT_BARE: Final = lazy_pattern(rb"cannot use bare repository '(.+)' \(safe\.bareRepository")
FSCK: Final = "run `git fsck` if the repository may be damaged"
_LOOK: Final = "run `git status` in that folder"
_NAMES: Final = "`git branch --all` and `git tag` list the names"
_NONE: Final = MappingProxyType[str, Any]({})


def start_git(
    folder: str,
    *arguments: str,
    settings: Mapping[str, str] = _NONE,
    variables: Mapping[str, str | bytes] = _NONE,
    stderr: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start git in `folder` with configuration `settings` and environment `variables`.

    Messages are in English. Raise `StorageRefused`: IO_ERROR if git is not installed, INVALID_ARGUMENT for an
    argument that cannot be passed.
    """
    kept = {name: value for name, value in os.environ.items() if not _OTHERS.fullmatch(name)}
    configured = [word for item in {**_SETTINGS, **settings}.items() for word in ("-c", "=".join(item))]
    try:
        return subprocess.Popen(  # noqa: S603 (no shell; a fixed program)
            ["git", "--no-pager", "-C", folder, *configured, *arguments],  # noqa: S607 (the git of the user)
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**kept, **_VARIABLES, **variables},
        )
    except FileNotFoundError as error:
        raise repository_error(
            Code.IO_ERROR, "git is not installed", "install git: it reads and writes repositories"
        ) from error
    except ValueError as error:
        message = f"a name for `git {arguments[0]}` has a NUL, or is no text"
        raise repository_error(Code.INVALID_ARGUMENT, message, _NAMES) from error


def run_git(
    folder: str,
    *arguments: str,
    stdin: bytes = b"",
    settings: Mapping[str, str] = _NONE,
    variables: Mapping[str, str | bytes] = _NONE,
) -> "subprocess.CompletedProcess[bytes]":
    """Run git to completion; arguments as in `start_git`.

    Raise also `StorageRefused` (IO_ERROR) for a remote that takes more than half an hour.
    """
    limit = _REMOTE_SECONDS if arguments[0] in _REMOTE_COMMANDS else None
    with start_git(folder, *arguments, settings=settings, variables=variables) as process:
        try:
            stdout, stderr = process.communicate(stdin, limit)
        except subprocess.TimeoutExpired as error:
            process.kill()
            message = f"`git {arguments[0]}` was ended after {limit} seconds"
            hint = "the remote may hang, or the repository be too large"
            raise repository_error(Code.IO_ERROR, message, hint) from error
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def git_failed(
    done: "subprocess.CompletedProcess[bytes]", hint: str = _LOOK, code: Code = Code.IO_ERROR
) -> StorageRefused:
    """Return an exception with git's own error message on one line."""
    words = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
    return repository_error(code, f"`git {done.args[0]}` failed: {visible(words)}", hint)


class RepositoryLocation(Struct):
    """A repository at `path`; `below` is the root's folder in its trees, or empty."""

    path: str
    below: str

    @classmethod
    def of(cls, workspace: Workspace) -> "RepositoryLocation":
        """Return the repository that contains the root of `workspace`.

        Raise `StorageRefused`: INVALID_ARGUMENT for several roots, a folder outside repositories, or a bare
        repository inside another one; PERMISSION_DENIED for another user's.
        """
        if len(workspace.roots) > 1:
            raise repository_error(Code.INVALID_ARGUMENT, "git works on one root", say("give one {--root}"))
        folder = real_path(workspace.roots[0].path)
        question = (
            "rev-parse",
            *("--is-bare-repository", "--show-object-format", "--show-prefix", "--absolute-git-dir"),
        )
        done = run_git(folder, *question, settings=_ONLY_EXPLICIT)
        if found := _IMPLICIT_BARE.search(done.stderr):
            _must_not_be_content(real_path(os.fsdecode(found[1])))
            done = run_git(folder, *question)
        if done.returncode:
            raise _unusable(folder, done)
        bare, names_objects_by, prefix, control = os.fsdecode(done.stdout).split("\n", 3)
        if names_objects_by != "sha1":
            message = f"the repository names its objects by {names_objects_by}"
            raise repository_error(
                Code.INVALID_ARGUMENT, message, "only those with SHA-1 can be worked on; check it out"
            )
        if bare != "true":
            return cls(real_path(f"{folder}/{'../' * prefix.count('/')}"), prefix.rstrip("/"))
        path = real_path(control.rstrip("\n"))
        _must_not_be_content(path)
        return cls(path, "")

    def within(self, path: str) -> str:
        """Convert `path` from the root to the repository's trees."""
        return posixpath.join(self.below, path)

    def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Mapping[str, str] = _NONE,
        variables: Mapping[str, str | bytes] = _NONE,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git in the repository, as `run_git`."""
        return run_git(self.path, *arguments, stdin=stdin, settings=settings, variables=variables)

    def from_root(self, path: str) -> str:
        """Convert `path` in the repository's trees to the root."""
        return path.removeprefix(f"{self.below}/") if self.below else path

    def text(self, *arguments: str, settings: Mapping[str, str] = _NONE) -> str:
        """Return git's output. Raise `StorageRefused` (IO_ERROR)."""
        done = self.git(*arguments, settings=settings)
        if done.returncode:
            raise git_failed(done)
        return decoded(done.stdout)

    def words(self, *arguments: str, settings: Mapping[str, str] = _NONE) -> list[str]:
        """Return git's output, split at NUL. Raise `StorageRefused` (IO_ERROR)."""
        return [word for word in self.text(*arguments, settings=settings).split("\0") if word]

    def is_ancestor(self, first: str, second: str) -> bool:
        """Return True if commit `first` is an ancestor of `second`. Raise `StorageRefused` (IO_ERROR)."""
        return not self.words("rev-list", "--max-count=1", first, f"^{second}")

    def config(self) -> Mapping[str, str]:
        """Return the effective configuration; sections and names in lower case."""
        return dict(word.partition("\n")[::2] for word in self.words("config", "--list", "-z"))

    def diff(self, *arguments: str) -> list[str]:
        """Return the words of `git diff -z`, without configured filters and submodules."""
        filters = {name.rpartition(".")[0] for name in self.config() if name.startswith("filter.")}
        off = (("clean", ""), ("process", ""), ("required", "false"))
        settings = {f"{each}.{name}": value for each in filters for name, value in off}
        options = ("-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "--no-relative")
        return self.words("diff", *options, *arguments, settings=settings)

    def untracked(self, *places: str) -> list[str]:
        """Return the files below `places` that git neither tracks nor ignores."""
        return self.words("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *places)


class Commit(Struct):
    """A commit; `name` is its ID."""

    name: str
    tree: str
    parents: list[str]
    committer: bytes
    message: bytes

    @classmethod
    def of(cls, place: RepositoryLocation, *revisions: str) -> "list[Commit]":
        """Return the commits that `git log` lists for `revisions`. Raise `StorageRefused` (IO_ERROR)."""
        shown = ("--no-show-signature", "--encoding=UTF-8", "--format=%H%n%T%n%P%n%cn <%ce>%n%B")
        words = place.words("log", "-z", *shown, *revisions, "--")
        lines = (encoded(word).split(b"\n", 4) for word in words)
        return [
            cls(name.decode(), tree.decode(), parents.decode().split(), committer, message)
            for name, tree, parents, committer, message in lines
        ]


class BaseCommit(Struct):
    """A commit to plan on, and the full name of the branch if one named it."""

    commit: str
    branch: str | None

    @property
    def shown(self) -> str:
        """The abbreviated ID, for messages."""
        return self.commit[:_SHOWN_DIGITS]


def find_base(place: RepositoryLocation, given: str) -> BaseCommit:
    """Resolve `given` as `find_commit`, and tell which branch it names.

    Raise `StorageRefused` (INVALID_ARGUMENT) for a name of several things, too.
    """
    named = place.git("rev-parse", "--verify", "--symbolic-full-name", "--end-of-options", given)
    if b"ambiguous" in named.stderr:
        message = f"`{visible(given)}` names more than one thing"
        raise repository_error(Code.INVALID_ARGUMENT, message, "write the full name, or more digits")
    full = decoded(named.stdout).strip()
    return BaseCommit(find_commit(place, given), full if is_branch(full) else None)


def find_commit(place: RepositoryLocation, reference: str) -> str:
    """Resolve `reference` like git, including HEAD~2 and main@{yesterday}.

    Raise `StorageRefused` (INVALID_ARGUMENT) if it is not a commit.
    """
    named = place.git("rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}")
    if named.returncode:
        message = f"`{visible(reference)}` names no commit of the repository"
        raise repository_error(Code.INVALID_ARGUMENT, message, f"{_NAMES}; a shallow clone lacks old commits")
    return named.stdout.decode().strip()


def target_branch(place: RepositoryLocation, given: str | None, base: BaseCommit) -> str:
    """Return the full name of the target branch of a commit on `base`: `given`, else the branch of `base`.

    It need not exist. Symbolic refs are resolved. Raise `StorageRefused`: INVALID_ARGUMENT without a branch,
    or for an invalid one.
    """
    if given is None:
        if base.branch is not None:
            return base.branch
        message = f"{base.shown} was named by no branch, so there is none that could move"
        raise repository_error(
            Code.INVALID_ARGUMENT, message, say("say which branch gets the commit: {--branch}")
        )
    full = given if is_branch(given) else BRANCHES + given
    if given.startswith("-") or given == "HEAD" or place.git("check-ref-format", full).returncode:
        raise repository_error(
            Code.INVALID_ARGUMENT, f"`{visible(given)}` cannot be the name of a branch", ""
        )
    real = _real_name(place, full)
    if not is_branch(real):
        message = f"`{visible(given)}` stands for `{visible(real)}`, which is not a branch"
        raise repository_error(Code.INVALID_ARGUMENT, message, "name the branch that gets the commit")
    return real


def branch_tip(place: RepositoryLocation, branch: str) -> str | None:
    """Return the commit of the branch with this full name, or None."""
    return place.git("show-ref", "--verify", "--hash", "--", branch).stdout.decode().strip() or None


def is_branch(name: str) -> bool:
    """Return True if `name` is the full name of a branch."""
    return name.startswith(BRANCHES)


def checked_out_in(place: RepositoryLocation, branch: str) -> str | None:
    """Return the work tree that has, or will again have, this branch checked out, or None.

    Includes work trees whose folder is gone but that are not pruned.
    """
    folder = ""
    for line in place.text("worktree", "list", "--porcelain").splitlines():
        kind, _, value = line.partition(" ")
        if kind == "worktree":
            folder = value
        elif (kind, value) == ("branch", branch):
            return folder
    common = Path(place.path, place.text("rev-parse", "--git-common-dir").rstrip("\n"))
    for control in (common, *sorted(common.glob("worktrees/*"))):
        heads = (_first_line(control / name) for name in _RETURNS)
        if branch in (head if head.startswith("refs/") else BRANCHES + head for head in heads):
            return str(Path(_first_line(control / "gitdir") or control).parent)
    return None


def changed_files(place: RepositoryLocation, reference: str, commit: str | None = None) -> frozenset[str]:
    """Return the paths, from the root, of files that differ between `commit` and `reference`.

    Without `commit`, compare the work tree, including untracked files. Raise `StorageRefused`:
    INVALID_ARGUMENT for an unknown commit, IO_ERROR.
    """
    commits = (find_commit(place, reference), *([commit] if commit else []))
    within = f":(top,literal){place.below}"
    names = place.diff("--name-only", "--no-renames", *commits, "--", within)
    names += [] if commit else place.untracked(within)
    return frozenset(map(place.from_root, names))


def file_history(
    place: RepositoryLocation, paths: Collection[str], commit: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return facts about those of `paths` (from the root) with a commit, from `commit` or HEAD back.

    Each has `changed` and `created` (ISO 8601 dates), `authors` (names, most commits first), and `tag`, the
    newest tag containing it, or null. Commits of the bot do not count: a page that shows its change date
    would change again. Raise `StorageRefused` (IO_ERROR).
    """
    start = commit or "HEAD"
    words = place.words(
        *("log", "--name-only", "--no-renames", "-z", "--no-show-signature", "--format=%x01%aI%x09%aN"),
        *("--invert-grep", f"--grep=^{PLAN_TRAILER}: ", start, "--", f":(top,literal){place.below}"),
    )
    wanted = frozenset(paths)
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    date = author = ""
    for word in words:
        name = word.removeprefix("\n")
        if name.startswith("\x01"):
            date, _, author = name[1:].partition("\t")
        elif (path := place.from_root(name)) in wanted:
            found[path].append((date, author))
    tag = place.git("describe", "--tags", "--abbrev=0", start).stdout
    return {
        path: {
            "changed": commits[0][0],
            "created": commits[-1][0],
            "authors": [name for name, _ in Counter(author for _, author in commits).most_common()],
            "tag": decoded(tag).strip() or None,
        }
        for path, commits in found.items()
    }


def is_tracked(path: str) -> bool:
    """Return True if `path` is inside the files of a repository, so others may have written it."""
    outer, name = os.path.split(path)
    around = run_git(outer, "ls-files", "--", f":(literal,icase){name}", settings=_ONLY_EXPLICIT)
    return bool(around.stdout or _IMPLICIT_BARE.search(around.stderr))


def repository_error(code: Code, message: str, hint: str) -> StorageRefused:
    """Return the exception for one problem, without passwords of URLs."""
    shown, advice = without_password(message), hint if isinstance(hint, Text) else without_password(hint)
    return StorageRefused((Diagnostic(code=code, message=shown, hint=advice),))


def without_password(text: str) -> str:
    """Return `text` without user names and passwords in URLs."""
    return _PASSWORD.sub("", text)


def _unusable(folder: str, done: "subprocess.CompletedProcess[bytes]") -> StorageRefused:
    """Return why git does not work in `folder`."""
    shown = visible(folder)
    if b"safe.directory" in done.stderr:
        message = f"the repository of `{shown}` belongs to another user"
        hint = "if you trust it: `git config --global --add safe.directory FOLDER`"
        return repository_error(Code.PERMISSION_DENIED, message, hint)
    if b"not a git repository" in done.stderr:
        message = f"`{shown}` is in no git repository"
        return repository_error(Code.INVALID_ARGUMENT, message, say("name one with {--root}, bare or not"))
    return git_failed(done, say("check it out, and work without {--git}"), Code.INVALID_ARGUMENT)


def _must_not_be_content(path: str) -> None:
    """Raise `StorageRefused` (INVALID_ARGUMENT) if the bare repository `path` is in another one's files.

    Write access to files of a repository must not give control over a configuration.
    """
    if is_tracked(path):
        message = f"`{visible(path)}` is a bare repository in the files of another one"
        raise repository_error(Code.INVALID_ARGUMENT, message, say("name the outer repository with {--root}"))


def _real_name(place: RepositoryLocation, name: str) -> str:
    """Resolve the symbolic ref `name`, which need not exist."""
    done = place.git("symbolic-ref", "--quiet", name)
    return name if done.returncode else decoded(done.stdout).rstrip("\n")


def _first_line(path: Path) -> str:
    """Return the first line of a small file; nothing where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_MOST_CHARACTERS).strip()
    except OSError:
        return ""


def encoded(name: str) -> bytes:
    """Return `name` as git's bytes."""
    return name.encode("utf-8", "surrogateescape")


def decoded(name: bytes) -> str:
    """Return git's bytes as text."""
    return name.decode("utf-8", "surrogateescape")
