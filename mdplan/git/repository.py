"""Git repositories: where they are, what names in them mean, and what changed, all as the `git` program says.

Every process of git begins here. Nothing runs that a repository configures, but what its user asks for: the
signing of commits, merge drivers, and the programs that talk to a remote. No `GIT_DIR` is set, so git itself
refuses the repository of another user (`safe.directory`).
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
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct
from mdplan.words import Text, say

BRANCHES: Final = "refs/heads/"
# The trailer of a commit of the bot; its value is the plan ID.
PLAN_TRAILER: Final = "Mdplan-Plan"
TITLE_TRAILER: Final = "Mdplan-Title"
CLIENT_TRAILER: Final = "Mdplan-Client"
# What a name that is none of a ref can begin with, as git completes it.
_PREFIXES: Final = (BRANCHES, "refs/tags/", "refs/remotes/")
_ID: Final = lazy_pattern(r"[0-9a-f]{4,40}")
# Files in which git keeps the branch that an unfinished rebase or bisection will go back to.
_RETURNS: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_SHOWN_DIGITS: Final = 12
_MOST_CHARACTERS: Final = 4096
# Variables that would point git at another repository or index, or give paths another meaning.
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
# What is written survives a power cut. Bare repositories are checked by `RepositoryLocation.of`.
_SETTINGS: Final = {
    "core.alternateRefsCommand": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.fsync": "objects,reference",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "safe.bareRepository": "all",
}
# Name and password in an address; a name alone, as that of `ssh://git@host`, is no secret.
_PASSWORD: Final = lazy_pattern(r"(?<=://)(?!git@)[^\s/]*@")
_ONLY_EXPLICIT: Final = {"safe.bareRepository": "explicit"}
# What git says of one that nobody named, before it reads the configuration of it.
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
    """Start git in `folder` with these configuration `settings` and environment `variables`.

    Its messages are in English. Raises `StorageRefused`: IO_ERROR where git is not installed,
    INVALID_ARGUMENT for a word that no program can be given.
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
    """Run git as `start_git` does, to its end."""
    with start_git(folder, *arguments, settings=settings, variables=variables) as process:
        try:
            stdout, stderr = process.communicate(stdin)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def git_failed(
    done: "subprocess.CompletedProcess[bytes]", hint: str = _LOOK, code: Code = Code.IO_ERROR
) -> StorageRefused:
    """Return the exception for what git refused, with its own words on one line."""
    words = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
    return repository_error(code, f"`git {done.args[0]}` failed: {visible(words)}", hint)


class RepositoryLocation(Struct):
    """A repository at `path`; `below` is the folder of its trees that is the root, empty for all of them."""

    path: str
    below: str

    @classmethod
    def of(cls, workspace: Workspace) -> "RepositoryLocation":
        """Find the repository that the root of `workspace` lies in, or is.

        Raises `StorageRefused`: INVALID_ARGUMENT for several roots, for a folder in no repository, and for a
        bare repository that is content of another one; PERMISSION_DENIED for one of another user.
        """
        if len(workspace.roots) > 1:
            raise repository_error(Code.INVALID_ARGUMENT, "git works on one root", say("give one {--root}"))
        folder = os.path.realpath(workspace.roots[0].path)
        question = (
            "rev-parse",
            *("--is-bare-repository", "--show-object-format", "--show-prefix", "--absolute-git-dir"),
        )
        done = run_git(folder, *question, settings=_ONLY_EXPLICIT)
        if found := _IMPLICIT_BARE.search(done.stderr):
            _must_not_be_content(os.path.realpath(os.fsdecode(found[1])))
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
            return cls(str(Path(folder, "../" * prefix.count("/")).resolve()), prefix.rstrip("/"))
        path = os.path.realpath(control.rstrip("\n"))
        _must_not_be_content(path)
        return cls(path, "")

    def within(self, path: str) -> str:
        """Return `path`, from the root, as the trees of the repository have it."""
        return posixpath.join(self.below, path)

    def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        settings: Mapping[str, str] = _NONE,
        variables: Mapping[str, str | bytes] = _NONE,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git in the repository, as `run_git` does."""
        return run_git(self.path, *arguments, stdin=stdin, settings=settings, variables=variables)

    def from_root(self, path: str) -> str:
        """Return `path`, as the trees of the repository have it, from the root."""
        return path.removeprefix(f"{self.below}/") if self.below else path

    def text(self, *arguments: str, settings: Mapping[str, str] = _NONE) -> str:
        """Return what git prints. Raises `StorageRefused` (IO_ERROR)."""
        done = self.git(*arguments, settings=settings)
        if done.returncode:
            raise git_failed(done)
        return _decoded(done.stdout)

    def words(self, *arguments: str, settings: Mapping[str, str] = _NONE) -> list[str]:
        """Return what git prints, split at NUL. Raises `StorageRefused` (IO_ERROR)."""
        return [word for word in self.text(*arguments, settings=settings).split("\0") if word]

    def is_ancestor(self, first: str, second: str) -> bool:
        """Tell whether the commit `first` is one that led to `second`. Raises `StorageRefused` (IO_ERROR)."""
        return not self.words("rev-list", "--max-count=1", first, f"^{second}")

    def config(self) -> Mapping[str, str]:
        """Return the configuration that holds in the repository; sections and names are in lower case."""
        return dict(word.partition("\n")[::2] for word in self.words("config", "--list", "-z"))

    def diff(self, *arguments: str) -> list[str]:
        """Return the words of `git diff -z`. It runs no filter that is configured, and shows no submodule."""
        filters = {name.rpartition(".")[0] for name in self.config() if name.startswith("filter.")}
        off = (("clean", ""), ("process", ""), ("required", "false"))
        settings = {f"{each}.{name}": value for each in filters for name, value in off}
        options = ("-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "--no-relative")
        return self.words("diff", *options, *arguments, settings=settings)

    def untracked(self, *places: str) -> list[str]:
        """Return the files below `places` that git neither tracks nor ignores."""
        return self.words("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *places)


class Commit(Struct):
    """A commit of the repository, whose name is its ID."""

    name: str
    tree: str
    parents: list[str]
    committer: bytes
    message: bytes

    @classmethod
    def of(cls, place: RepositoryLocation, *revisions: str) -> "list[Commit]":
        """Read the commits that `git log` lists for `revisions`. Raises `StorageRefused` (IO_ERROR)."""
        shown = ("--no-show-signature", "--encoding=UTF-8", "--format=%H%n%T%n%P%n%cn <%ce>%n%B")
        words = place.words("log", "-z", *shown, *revisions, "--")
        lines = (_encoded(word).split(b"\n", 4) for word in words)
        return [
            cls(name.decode(), tree.decode(), parents.decode().split(), committer, message)
            for name, tree, parents, committer, message in lines
        ]


class BaseCommit(Struct):
    """A commit to plan on, and the full name of the branch by which it was named; None for any other name."""

    commit: str
    branch: str | None

    @property
    def shown(self) -> str:
        """The commit, for messages."""
        return self.commit[:_SHOWN_DIGITS]


def find_base(place: RepositoryLocation, given: str) -> BaseCommit:
    """Find what `given` names: a branch, tag, remote branch, other ref, or commit (4 or more digits of it).

    Raises `StorageRefused`: INVALID_ARGUMENT for no such name, for one of several things, and for what is no
    commit.
    """
    name = _real_name(place, given) if given == "HEAD" else given
    if name == "HEAD":
        return BaseCommit(_commit(place, name, given), None)
    names = [name] if name.startswith("refs/") else [prefix + name for prefix in _PREFIXES]
    found = _refs(place, *names)
    if len(found) > 1:
        several = " and ".join(f"`{visible(each)}`" for each in found)
        message = f"`{visible(given)}` names more than one thing: {several}"
        raise repository_error(Code.INVALID_ARGUMENT, message, "write the full name")
    for full, (real, value) in found.items():
        branch = real if is_branch(full) and is_branch(real) else None
        return BaseCommit(_commit(place, value, given), branch)
    commits = _commits(place, given.lower()) if _ID.fullmatch(given.lower()) else []
    if len(commits) > 1:
        message = f"`{given}` begins the ID of more than one commit"
        raise repository_error(Code.INVALID_ARGUMENT, message, "write more digits of it")
    if not commits:
        message = f"`{visible(given)}` names no branch, tag or commit of the repository"
        raise repository_error(Code.INVALID_ARGUMENT, message, _NAMES)
    return BaseCommit(commits[0], None)


def find_commit(place: RepositoryLocation, reference: str) -> str:
    """Find the commit that `reference` names, as git reads it: HEAD~2 and main@{yesterday} too.

    Raises `StorageRefused` (INVALID_ARGUMENT) for a name of no commit.
    """
    named = place.git("rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}")
    if named.returncode:
        message = f"`{visible(reference)}` names no commit of the repository"
        raise repository_error(Code.INVALID_ARGUMENT, message, f"{_NAMES}; a shallow clone lacks old commits")
    return named.stdout.decode().strip()


def target_branch(place: RepositoryLocation, given: str | None, base: BaseCommit) -> str:
    """Return the full name of the branch that a commit on `base` goes to: `given`, else what named `base`.

    It need not exist. A branch that represents another one is that other one. Raises `StorageRefused`:
    INVALID_ARGUMENT where there is none, or it can be none.
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
    """Return the commit that the branch of this full name is at; None where there is no such branch."""
    return next((value for _, value in _refs(place, branch).values()), None)


def is_branch(name: str) -> bool:
    """Tell whether `name` is the full name of a branch."""
    return name.startswith(BRANCHES)


def checked_out_in(place: RepositoryLocation, branch: str) -> str | None:
    """Find the work tree where the branch of this full name is checked out, or will be again; None for none.

    As git sees it: also one whose folder is gone, and that is not pruned.
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
    """Find the paths, from the root, of the files of `commit` that differ from the commit `reference`.

    Without `commit`, of the work tree, with the files that git does not track. Raises `StorageRefused`:
    INVALID_ARGUMENT for a name of no commit, IO_ERROR where git fails.
    """
    commits = (find_commit(place, reference), *([commit] if commit else []))
    within = f":(top,literal){place.below}"
    names = place.diff("--name-only", "--no-renames", *commits, "--", within)
    names += [] if commit else place.untracked(within)
    return frozenset(map(place.from_root, names))


def file_history(
    place: RepositoryLocation, paths: Collection[str], commit: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return facts on those of `paths` (from the root) that have a commit, from `commit` or HEAD back.

    Each is a map of `changed` and `created` (dates of ISO 8601), `authors` (names, those with the most
    commits first), and `tag`, the newest tag that the commit has; null for none. Commits of the bot do not
    count: a page that says when it changed would change again. Raises `StorageRefused` (IO_ERROR).
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
            "tag": _decoded(tag).strip() or None,
        }
        for path, commits in found.items()
    }


def is_tracked(path: str) -> bool:
    """Tell whether `path` is in the files of a repository, so that others may have written it."""
    outer, name = os.path.split(path)
    around = run_git(outer, "ls-files", "--", f":(literal,icase){name}", settings=_ONLY_EXPLICIT)
    return bool(around.stdout or _IMPLICIT_BARE.search(around.stderr))


def repository_error(code: Code, message: str, hint: str) -> StorageRefused:
    """Return the exception that carries this one problem, in which no address has a password."""
    shown, advice = without_password(message), hint if isinstance(hint, Text) else without_password(hint)
    return StorageRefused((Diagnostic(code=code, message=shown, hint=advice),))


def without_password(text: str) -> str:
    """Return `text` without the names and passwords that the addresses in it contain."""
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
    """Raise `StorageRefused` (INVALID_ARGUMENT) for a bare repository `path` in the files of another one.

    Whoever can write files of a repository must not write the configuration of one.
    """
    if is_tracked(path):
        message = f"`{visible(path)}` is a bare repository in the files of another one"
        raise repository_error(Code.INVALID_ARGUMENT, message, say("name the outer repository with {--root}"))


def _refs(place: RepositoryLocation, *names: str) -> dict[str, tuple[str, str]]:
    """Return those of the full `names` that exist, with the ref that each comes to, and its value."""
    shown = "--format=%(refname)%00%(symref)%00%(objectname)"
    listed = (line.split("\0") for line in place.text("for-each-ref", shown, *names).splitlines())
    return {name: (real or name, value) for name, real, value in listed if name in names}


def _real_name(place: RepositoryLocation, name: str) -> str:
    """Return what `name` comes to in the end when it is symbolic; it need not exist."""
    done = place.git("symbolic-ref", "--quiet", name)
    return name if done.returncode else _decoded(done.stdout).rstrip("\n")


def _commit(place: RepositoryLocation, value: str, given: str) -> str:
    """Return the commit that `value`, which `given` names, is or is a tag of."""
    done = place.git("rev-parse", "--verify", "--quiet", f"{value}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    if place.git("rev-parse", "--verify", "--quiet", f"{value}^{{}}").returncode:
        message = f"`{visible(given)}` names an object that the repository lacks"
        raise repository_error(Code.IO_ERROR, message, "`git fsck` says what is missing; fetch it")
    raise repository_error(
        Code.INVALID_ARGUMENT, f"`{visible(given)}` names no commit", "name a branch, tag or commit"
    )


def _commits(place: RepositoryLocation, digits: str) -> list[str]:
    """Return the commits whose IDs begin with `digits`."""
    listed = place.git("rev-parse", f"--disambiguate={digits}").stdout
    told = place.git("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=listed).stdout
    return [name for name, kind in map(str.split, told.decode().splitlines()) if kind == "commit"]


def _first_line(path: Path) -> str:
    """Return the first line of a small file; nothing where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_MOST_CHARACTERS).strip()
    except OSError:
        return ""


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
