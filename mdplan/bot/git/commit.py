"""A commit out of the files of a plan, and the move of a branch to it.

Objects are written loose, which no `git repack` or `git gc` takes away before the branch moves; and that is
one compare-and-swap under the lock file that git takes too. So whenever this is killed, the branch is at its
old commit or at the new one, and what was written in vain goes with a later `git gc`.
"""

import os
import stat
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from dulwich.file import FileLocked
from dulwich.object_store import DiskObjectStore, tree_lookup_path
from dulwich.objects import ZERO_SHA, Blob, Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from mdplan.bot.git.identity import Signature
from mdplan.bot.git.objects import read_object, write_object
from mdplan.bot.git.repository import Place, refused
from mdplan.diagnostics import Code
from mdplan.storage.fs.errors import StorageRefused, refusing
from mdplan.storage.fs.file_name import visible
from mdplan.storage.transaction.staged import StagedFile

_ORDINARY: Final = stat.S_IFREG | 0o644
_POLL_SECONDS: Final = 0.05
# What becomes of a path, as its components: mode and blob, or None for a file that goes.
_Changes: TypeAlias = "Mapping[tuple[bytes, ...], tuple[int, ObjectID] | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """What a commit says, and who made it."""

    message: bytes
    author: Signature
    committer: Signature


def write_commit(
    repository: Repo, place: Place, base: ObjectID, files: Iterable[StagedFile], text: CommitText
) -> ObjectID:
    """Write a commit whose parent is `base` and in which `files` have their results; nothing names it yet.

    Raises `StorageRefused`: what making a result gives, FILE_EXISTS where a folder and a file meet, IO_ERROR.
    """
    store = repository.object_store
    changes: dict[tuple[bytes, ...], tuple[int, ObjectID] | None] = {}
    with refusing(visible(repository.path), "writing objects into"):
        parent = read_object(store, base)
        assert isinstance(parent, Commit)
        mode_of = _Modes(repository, parent.tree)
        for file in files:
            path = _components(place.within(file.path))
            like = _components(place.within(file.like)) if file.like is not None else None
            removed = file.result_sha256 is None
            blob = None if removed else write_object(store, Blob.from_string(file.content()))
            changes[path] = None if blob is None else (mode_of(path, like), blob)
        tree = _changed_tree(store, parent.tree, changes) or write_object(store, Tree())
        return write_object(store, _commit(tree, base, text))


def move_branch(
    repository: Repo, branch: str, base: ObjectID | None, commit: ObjectID, text: CommitText, wait: float
) -> bool:
    """Let `branch` be at `commit` if it is still at `base` (None for no such branch); whether it was.

    Waits up to `wait` seconds for others that move it. Raises `StorageRefused`: LOCK_TIMEOUT, IO_ERROR.
    """
    until = time.monotonic() + wait
    subject = text.message.partition(b"\n")[0]
    message = b"commit: " + subject if _keeps_log(repository, branch) else None
    with refusing(visible(branch), "moving the branch"):
        while True:
            try:
                return repository.refs.set_if_equals(
                    Ref(branch.encode("utf-8", "surrogateescape")),
                    base or ZERO_SHA,
                    commit,
                    committer=text.committer.who,
                    timestamp=text.committer.seconds,
                    timezone=text.committer.offset,
                    message=message,
                )
            except FileLocked as locked:
                if time.monotonic() >= until:
                    raise _locked(branch, locked) from locked
            except FileNotFoundError:
                # Who packs refs takes away the folder of a branch, which is empty then.
                if time.monotonic() >= until:
                    raise
            time.sleep(_POLL_SECONDS)


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


def _commit(tree: ObjectID, base: ObjectID, text: CommitText) -> Commit:
    commit = Commit()
    commit.tree = tree
    commit.parents = [base]
    commit.author, commit.author_time, commit.author_timezone = _signed(text.author)
    commit.committer, commit.commit_time, commit.commit_timezone = _signed(text.committer)
    commit.message = text.message
    return commit


def _signed(signature: Signature) -> tuple[bytes, int, int]:
    return signature.who, signature.seconds, signature.offset


def _keeps_log(repository: Repo, branch: str) -> bool:
    """Whether git would write the move of `branch` down: where it did so before, and where it is told to."""
    if Path(repository.commondir(), "logs", branch).exists():
        return True
    try:
        told = repository.get_config_stack().get((b"core",), b"logAllRefUpdates").lower()
    except KeyError:
        return not repository.bare
    return told in (b"true", b"yes", b"on", b"1", b"always")


def _locked(branch: str, locked: FileLocked) -> StorageRefused:
    held = visible(os.fsdecode(locked.lockfilename))
    problem = f"the branch `{visible(branch)}` is locked by another program"
    hint = f"try again; if no git runs, one was killed: remove `{held}`"
    return refused(Code.LOCK_TIMEOUT, problem, hint)


def _components(path: str) -> tuple[bytes, ...]:
    return tuple(path.encode().split(b"/"))


def _in_the_way(name: bytes) -> StorageRefused:
    shown = visible(name.decode("utf-8", "replace"))
    return refused(Code.FILE_EXISTS, f"`{shown}` is in the way: a file and a folder cannot share a name", "")
