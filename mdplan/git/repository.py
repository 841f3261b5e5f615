"""Git repositories: where they are, what a name in them means, which of their branches are checked out."""

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dulwich.errors import NotGitRepository, RefFormatError
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref, SymrefLoop, check_ref_format
from dulwich.repo import InvalidWorktreeConfiguration, Repo, UnsupportedExtension, UnsupportedVersion

from mdplan.diagnostics import Code, Diagnostic
from mdplan.git.objects import read_object
from mdplan.storage.fs.errors import StorageRefused, of_error
from mdplan.storage.fs.file_name import visible
from mdplan.storage.workspace import Workspace

BRANCHES: Final = "refs/heads/"
# The trailer of a commit of the bot; its value is the plan ID.
PLAN_TRAILER: Final = "Mdplan-Plan"
TITLE_TRAILER: Final = "Mdplan-Title"
CLIENT_TRAILER: Final = "Mdplan-Client"
# What a name that is none of a ref can begin with, as git completes it.
_PREFIXES: Final = (BRANCHES, "refs/tags/", "refs/remotes/")
_ID: Final = re.compile(r"[0-9a-f]{4,40}")
_SYMBOLIC: Final = "ref: "
# Files in which git keeps the branch that an unfinished rebase or bisection will go back to.
_RETURNS: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_DIGITS: Final = 40
_SHOWN_DIGITS: Final = 12
_MOST_CHARACTERS: Final = 4096


@dataclass(frozen=True, slots=True)
class RepositoryLocation:
    """A repository at `path`; `below` is the folder of its trees that is the root, empty for all of them."""

    path: str
    below: str

    @classmethod
    def of(cls, workspace: Workspace) -> "RepositoryLocation":
        """The repository that the root of `workspace` lies in, or is.

        Raises `StorageRefused`: INVALID_ARGUMENT for several roots, and for a folder in no repository.
        """
        if len(workspace.roots) > 1:
            raise repository_error(Code.INVALID_ARGUMENT, "git works on one root", "give one `--root`")
        folder = workspace.roots[0].path
        with _opening(folder):
            repository = Repo.discover(folder)
        repository.close()
        path = str(Path(repository.path).resolve())
        below = "" if repository.bare else os.path.relpath(folder, path).replace(os.sep, "/")
        return cls(path, "" if below in (".", "..") or below.startswith("../") else below)

    @contextmanager
    def open(self) -> Iterator[Repo]:
        """The repository, open for a while. Raises `StorageRefused` for one that dulwich cannot read."""
        repository = self.opened()
        try:
            yield repository
        finally:
            repository.close()

    def opened(self) -> Repo:
        """The repository; who calls closes it. Raises `StorageRefused`, as `open` does."""
        with _opening(self.path):
            repository = Repo(self.path)
        if repository.object_format.name != "sha1":
            repository.close()
            message = f"the repository names its objects by {repository.object_format.name}"
            raise repository_error(
                Code.INVALID_ARGUMENT, message, "only those with SHA-1 can be worked on; check it out"
            )
        return repository

    def within(self, path: str) -> str:
        """`path`, from the root, as the trees of the repository have it."""
        return posixpath.join(self.below, path)


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """A commit to plan on, and the full name of the branch by which it was named; None for any other name."""

    commit: ObjectID
    branch: str | None

    @property
    def shown(self) -> str:
        """The commit, for messages."""
        return self.commit.decode()[:_SHOWN_DIGITS]


def find_base(repository: Repo, given: str) -> BaseCommit:
    """What `given` names: a branch, tag, remote branch, other ref or commit (4 or more digits of its ID).

    Raises `StorageRefused`: INVALID_ARGUMENT for no such name, for one of several things, and for what is no
    commit.
    """
    is_full = given == "HEAD" or given.startswith("refs/")
    names = [given] if is_full else [prefix + given for prefix in _PREFIXES]
    found = [(name, value) for name in names if (value := _value(repository, name)) is not None]
    if len(found) > 1:
        several = " and ".join(f"`{visible(name)}`" for name, _ in found)
        message = f"`{visible(given)}` names more than one thing: {several}"
        raise repository_error(Code.INVALID_ARGUMENT, message, "write the full name")
    if found:
        name, (real, commit) = found[0]
        named = real if real.startswith(BRANCHES) else None
        return BaseCommit(
            _commit(repository, commit, given), named if name == "HEAD" or is_branch(name) else None
        )
    ids = _ids(repository, given) if _ID.fullmatch(given.lower()) else []
    if len(ids) > 1:
        message = f"`{given}` begins the ID of more than one commit"
        raise repository_error(Code.INVALID_ARGUMENT, message, "write more digits of it")
    if not ids:
        message = f"`{visible(given)}` names no branch, tag or commit of the repository"
        raise repository_error(
            Code.INVALID_ARGUMENT, message, "`git branch --all` and `git tag` list the names"
        )
    return BaseCommit(ids[0], None)


def target_branch(repository: Repo, given: str | None, base: BaseCommit) -> str:
    """The full name of the branch that a commit on `base` goes to: `given`, else the one that named `base`.

    It need not exist. A branch that represents another one is that other one. Raises `StorageRefused`:
    INVALID_ARGUMENT where there is none, or it can be none.
    """
    if given is None:
        if base.branch is not None:
            return base.branch
        message = f"{base.shown} was named by no branch, so there is none that could move"
        raise repository_error(
            Code.INVALID_ARGUMENT, message, "say which branch gets the commit: `--branch NAME`"
        )
    full = given if given.startswith(BRANCHES) else BRANCHES + given
    if given.startswith("-") or given == "HEAD" or not check_ref_format(Ref(_encoded(full))):
        raise repository_error(
            Code.INVALID_ARGUMENT, f"`{visible(given)}` cannot be the name of a branch", ""
        )
    real = _real_name(repository, full)
    if not is_branch(real):
        message = f"`{visible(given)}` stands for `{visible(real)}`, which is not a branch"
        raise repository_error(Code.INVALID_ARGUMENT, message, "name the branch that gets the commit")
    return real


def branch_tip(repository: Repo, branch: str) -> ObjectID | None:
    """The commit that the branch of this full name is at; None where there is no such branch."""
    found = _value(repository, branch)
    return found[1] if found is not None else None


def is_branch(name: str) -> bool:
    """Whether `name` is the full name of a branch."""
    return name.startswith(BRANCHES)


def checked_out_in(repository: Repo, branch: str) -> str | None:
    """The work tree in which the branch of this full name is checked out, or will be again; None for none.

    As git sees it: also one whose folder is gone, and that is not pruned.
    """
    common = Path(repository.commondir()).resolve()
    # Of a bare repository HEAD only says which branch is cloned first.
    own = [] if _is_bare(repository, common) else [common]
    for control in (*own, *sorted(common.glob("worktrees/*"))):
        heads = (_line(control / name).removeprefix(_SYMBOLIC) for name in ("HEAD", *_RETURNS))
        full = (head if head.startswith("refs/") else BRANCHES + head for head in heads if head)
        if any(_real_name(repository, name) == branch for name in full):
            return str(Path(_line(control / "gitdir") or control).parent)
    return None


def repository_error(code: Code, message: str, hint: str) -> StorageRefused:
    """The exception that carries this one problem."""
    return StorageRefused((Diagnostic(code=code, message=message, hint=hint),))


def _value(repository: Repo, name: str) -> tuple[str, ObjectID] | None:
    """The ref that `name` comes to in the end, and its value; None where there is none."""
    try:
        names, value = repository.refs.follow(Ref(_encoded(name)))
    except (KeyError, SymrefLoop, RefFormatError):
        return None
    return (_decoded(names[-1]), value) if value is not None else None


def _real_name(repository: Repo, name: str) -> str:
    """What `name` comes to in the end when it is symbolic; it need not exist."""
    try:
        names, _ = repository.refs.follow(Ref(_encoded(name)))
    except (KeyError, SymrefLoop, RefFormatError):
        return name
    return _decoded(names[-1]) if names else name


def _commit(repository: Repo, value: ObjectID, given: str) -> ObjectID:
    """The commit that `value`, which `given` names, is or is a tag of."""
    try:
        found = read_object(repository.object_store, value)
        while isinstance(found, Tag):
            found = read_object(repository.object_store, found.object[1])
    except OSError as error:
        message = f"`{visible(given)}` names an object that the repository lacks"
        raise repository_error(Code.IO_ERROR, message, "`git fsck` says what is missing; fetch it") from error
    if isinstance(found, Commit):
        return found.id
    raise repository_error(
        Code.INVALID_ARGUMENT, f"`{visible(given)}` names no commit", "name a branch, tag or commit"
    )


def _ids(repository: Repo, digits: str) -> list[ObjectID]:
    """The commits whose IDs begin with `digits`."""
    store, name = repository.object_store, ObjectID(digits.lower().encode())
    found = [name] if len(name) == _DIGITS else sorted(set(store.iter_prefix(name)))
    return [each for each in found if _is_commit(repository, each)]


def _is_commit(repository: Repo, name: ObjectID) -> bool:
    try:
        return isinstance(read_object(repository.object_store, name), Commit)
    except OSError:
        return False


def _is_bare(repository: Repo, common: Path) -> bool:
    with suppress(ValueError):
        bare = repository.get_config().get_boolean((b"core",), b"bare")
        if bare is not None:
            return bool(bare)
    return common.name != ".git"


def _line(path: Path) -> str:
    """The first line of a small file; nothing where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_MOST_CHARACTERS).strip()
    except OSError:
        return ""


@contextmanager
def _opening(folder: str) -> Iterator[None]:
    try:
        yield
    except NotGitRepository as error:
        message = f"`{visible(folder)}` is in no git repository"
        raise repository_error(
            Code.INVALID_ARGUMENT, message, "name one with `--root`, bare or not"
        ) from error
    except (UnsupportedExtension, UnsupportedVersion, InvalidWorktreeConfiguration, ValueError) as error:
        message = f"the repository `{visible(folder)}` is of a kind that cannot be worked on: {error}"
        raise repository_error(
            Code.INVALID_ARGUMENT, message, "check it out, and work without `--git`"
        ) from error
    except OSError as error:
        raise StorageRefused((of_error(error, visible(folder), "opening the repository"),)) from error


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
