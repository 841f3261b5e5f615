"""A commit out of the files of a plan, and the move of a branch to it.

Files and trees are written as loose objects, which no `git repack` or `git gc` removes before the branch
moves. `git commit-tree` writes the commit, signed as git is configured, and `git update-ref` moves the branch
in one compare-and-swap. So whenever this is killed, the branch is at its old commit or at the new one, and
unused objects go with a later `git gc`.
"""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from dulwich.object_store import DiskObjectStore, tree_lookup_path
from dulwich.objects import ZERO_SHA, Blob, Commit, ObjectID, Tree
from dulwich.repo import Repo

from mdplan.bot.git.identity import Signature
from mdplan.diagnostics import Code
from mdplan.git.git_program import run_git
from mdplan.git.objects import read_object, write_object
from mdplan.git.repository import RepositoryLocation, branch_tip, repository_error
from mdplan.storage.fs.errors import StorageRefused, storage_errors
from mdplan.storage.fs.file_name import visible
from mdplan.storage.transaction.staged import StagedFile

_ORDINARY: Final = stat.S_IFREG | 0o644
_DAMAGED: Final = "run `git fsck` if the repository may be damaged"
_LOCKED: Final = re.compile(rb"Unable to create '(.+)': File exists")
# What becomes of a path, as its components: mode and blob, or None for a file that goes.
_Changes: TypeAlias = "Mapping[tuple[bytes, ...], tuple[int, ObjectID] | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """Message and author of a commit."""

    message: bytes
    author: Signature
    committer: Signature


def write_commit(
    repository: Repo, place: RepositoryLocation, base: ObjectID, files: Iterable[StagedFile], text: CommitText
) -> ObjectID:
    """Write a commit whose parent is `base` and in which `files` have their results; nothing names it yet.

    Raises `StorageRefused`: what making a result gives, FILE_EXISTS where a folder and a file meet, IO_ERROR.
    """
    store = repository.object_store
    changes: dict[tuple[bytes, ...], tuple[int, ObjectID] | None] = {}
    with storage_errors(visible(repository.path), "writing objects into"):
        parent = read_object(store, base)
        assert isinstance(parent, Commit)
        mode_of = _Modes(repository, parent.tree)
        for file in files:
            path = _components(place.within(file.name.path))
            like = _components(place.within(file.like.path)) if file.like else None
            removed = file.result_sha256 is None
            blob = None if removed else write_object(store, Blob.from_string(file.content()))
            changes[path] = None if blob is None else (mode_of(path, like), blob)
        tree = _changed_tree(store, parent.tree, changes) or write_object(store, Tree())
    return commit_tree(repository, tree, (base,), text)


def move_branch(
    repository: Repo, branch: str, base: ObjectID | None, commit: ObjectID, text: CommitText, wait: float
) -> bool:
    """Let `branch` be at `commit` if it is still at `base` (None for no such branch); whether it was.

    Waits up to `wait` seconds for others that move it. Raises `StorageRefused`: LOCK_TIMEOUT, IO_ERROR.
    """
    name = branch.encode("utf-8", "surrogateescape")
    done = run_git(
        repository,
        "update-ref",
        "-m",
        b"commit: " + text.message.partition(b"\n")[0],
        name,
        commit,
        base or ZERO_SHA,
        variables=_people(text),
        settings={"core.filesRefLockTimeout": str(round(wait * 1000))},
    )
    if done.returncode == 0:
        return True
    # Opened again: dulwich remembers packed refs.
    with Repo(repository.path) as fresh:
        if branch_tip(fresh, branch) != base:
            return False
    locked = _LOCKED.search(done.stderr)
    if locked is not None:
        raise _locked(branch, os.fsdecode(locked[1]))
    raise _failed(f"git cannot move the branch `{visible(branch)}`", done.stderr, _DAMAGED)


@dataclass(frozen=True, slots=True)
class _Modes:
    """The modes that files have in a tree."""

    repository: Repo
    tree: ObjectID

    def __call__(self, path: tuple[bytes, ...], like: tuple[bytes, ...] | None) -> int:
        """The mode of `path`, of a new file that of the file `like` it; else that of an ordinary file."""
        for known in (path, like):
            if known is None:
                continue
            try:
                mode, _ = tree_lookup_path(
                    partial(read_object, self.repository.object_store), self.tree, b"/".join(known)
                )
            except (KeyError, ValueError):
                continue
            if stat.S_ISREG(mode):
                return mode
        return _ORDINARY


def _changed_tree(store: DiskObjectStore, base: ObjectID | None, changes: _Changes) -> ObjectID | None:
    """The tree `base` with `changes`; None for one that has become empty. Trees without changes are kept."""
    found = read_object(store, base) if base is not None else Tree()
    assert isinstance(found, Tree)
    entries = {entry.path: (entry.mode, entry.sha) for entry in found.iteritems()}
    here = {path[0]: change for path, change in changes.items() if len(path) == 1}
    for name, change in here.items():
        if change is None:
            entries.pop(name, None)
    for name, inner in _by_folder(changes).items():
        mode, known = entries.pop(name, (stat.S_IFDIR, None))
        if not stat.S_ISDIR(mode):
            raise _in_the_way(name)
        changed = _changed_tree(store, known, inner)
        if changed is not None:
            entries[name] = (mode, changed)
    for name, change in here.items():
        if change is not None:
            if name in entries and not stat.S_ISREG(entries[name][0]):
                raise _in_the_way(name)
            entries[name] = change
    tree = Tree()
    for name, (mode, object_id) in entries.items():
        tree.add(name, mode, object_id)
    return write_object(store, tree) if entries else None


def _by_folder(changes: _Changes) -> Mapping[bytes, _Changes]:
    """Those of `changes` that are in folders, by the first of these."""
    found: defaultdict[bytes, dict[tuple[bytes, ...], tuple[int, ObjectID] | None]] = defaultdict(dict)
    for path, change in changes.items():
        if len(path) > 1:
            found[path[0]][path[1:]] = change
    return found


def commit_tree(repository: Repo, tree: ObjectID, parents: Sequence[ObjectID], text: CommitText) -> ObjectID:
    """Write a commit of `tree` with `parents`; nothing names it yet. Raises `StorageRefused` (IO_ERROR).

    It is signed if `commit.gpgSign` says so: `git commit-tree` does not look at that.
    """
    signs = repository.get_config_stack().get_boolean((b"commit",), b"gpgSign", default=False)
    write = partial(
        run_git,
        repository,
        "commit-tree",
        tree,
        *(word for parent in parents for word in ("-p", parent)),
        *(["-S"] if signs else []),
        "-F",
        "-",
        variables=_people(text),
        settings={"i18n.commitEncoding": "UTF-8"},
        stdin=text.message,
    )
    done = write()
    if b"unable to create temporary file" in done.stderr:
        # A repack removes folders of objects that are empty, also the one that git has just made.
        done = write()
    if done.returncode:
        hint = "check gpg.format and user.signingKey with `git config --list`" if signs else _DAMAGED
        raise _failed("git cannot write the commit", done.stderr, hint)
    return ObjectID(done.stdout.strip())


def _people(text: CommitText) -> dict[bytes, bytes]:
    """Environment variables that tell git who made the commit, and when."""
    variables = {}
    for role, signature in ((b"AUTHOR", text.author), (b"COMMITTER", text.committer)):
        name, _, address = signature.who.rpartition(b" <")
        sign, minutes = "-" if signature.offset < 0 else "+", abs(signature.offset) // 60
        moment = f"@{signature.seconds} {sign}{minutes // 60:02}{minutes % 60:02}"
        variables[b"GIT_" + role + b"_NAME"] = name
        variables[b"GIT_" + role + b"_EMAIL"] = address.removesuffix(b">")
        variables[b"GIT_" + role + b"_DATE"] = moment.encode()
    return variables


def _locked(branch: str, lock: str) -> StorageRefused:
    problem = f"the branch `{visible(branch)}` is locked by another program"
    hint = f"try again; if no git runs, one was killed: remove `{visible(lock)}`"
    return repository_error(Code.LOCK_TIMEOUT, problem, hint)


def _failed(problem: str, stderr: bytes, hint: str) -> StorageRefused:
    message = visible(stderr.decode("utf-8", "replace").strip().removeprefix("fatal: "))
    return repository_error(Code.IO_ERROR, f"{problem}: {message}", hint)


def _components(path: str) -> tuple[bytes, ...]:
    return tuple(path.encode().split(b"/"))


def _in_the_way(name: bytes) -> StorageRefused:
    shown = visible(name.decode("utf-8", "replace"))
    return repository_error(
        Code.FILE_EXISTS, f"`{shown}` is in the way: a file and a folder cannot share a name", ""
    )
