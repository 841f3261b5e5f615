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
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from mdplan.bot.git.identity import Signature
from mdplan.diagnostics import Code
from mdplan.git.repository import (
    FSCK,
    RepositoryLocation,
    branch_tip,
    git_failed,
    repository_error,
)
from mdplan.git.tree import FOLDER, FOLDER_GONE, AddObject, Objects, TreeEntry, tree_data, write_objects
from mdplan.storage.commit import StagedFile
from mdplan.storage.filesystem import StorageRefused, storage_errors
from mdplan.storage.names import visible

_ORDINARY: Final = stat.S_IFREG | 0o644
_NO_COMMIT: Final = "0" * 40
# The ID of a tree without entries.
_EMPTY: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_LOCKED: Final = re.compile(rb"Unable to create '(.+)': File exists")
# What becomes of a path, as its components; None for a file that goes.
_Changes: TypeAlias = "Mapping[tuple[str, ...], TreeEntry | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """Message and author of a commit."""

    message: bytes
    author: Signature
    committer: Signature


def write_commit(place: RepositoryLocation, base: str, files: Sequence[StagedFile], text: CommitText) -> str:
    """Write a commit whose parent is `base` and in which `files` have their results; nothing names it yet.

    Raises `StorageRefused`: what making a result gives, FILE_EXISTS where a folder and a file meet, IO_ERROR.
    """
    paths = [_components(place.within(file.name.path)) for file in files]
    folders = {path[:length] for path in paths for length in range(len(path))}
    count = len(folders) + sum(file.result_sha256 is not None for file in files)
    with storage_errors(visible(place.path), "reading objects of"), closing(Objects(place)) as objects:
        old = objects.tree_of(base)

        def write(add: AddObject) -> str:
            changes: dict[tuple[str, ...], TreeEntry | None] = {}
            for path, file in zip(paths, files, strict=True):
                changes[path] = None
                if file.result_sha256 is not None:
                    like = _components(place.within((file.like or file.name).path))
                    mode = _mode(objects, old, path, like)
                    changes[path] = TreeEntry(mode, add("blob", file.content()))
            return _write_tree(objects, add, old, changes).name

        tree = write_objects(place, count, write)
    return commit_tree(place, tree, (base,), text)


def move_branch(
    place: RepositoryLocation, branch: str, base: str | None, commit: str, text: CommitText, wait: float
) -> bool:
    """Let `branch` be at `commit` if it is still at `base` (None for no such branch); whether it was.

    Waits up to `wait` seconds for others that move it. Raises `StorageRefused`: LOCK_TIMEOUT, IO_ERROR.
    """
    subject = text.message.partition(b"\n")[0].decode("utf-8", "surrogateescape")
    done = place.git(
        *("update-ref", "-m", f"commit: {subject}", branch, commit, base or _NO_COMMIT),
        variables=_people(text),
        settings={"core.filesRefLockTimeout": str(round(wait * 1000))},
    )
    if done.returncode == 0:
        return True
    if branch_tip(place, branch) != base:
        return False
    locked = _LOCKED.search(done.stderr)
    if locked is not None:
        raise _locked(branch, os.fsdecode(locked[1]))
    raise git_failed(done, FSCK)


def _mode(objects: Objects, tree: str, *paths: tuple[str, ...]) -> int:
    """Return the mode of the first of `paths` that is a file of the tree; else that of an ordinary file."""
    found = (objects.find(tree, "/".join(path)) for path in paths)
    return next((each.mode for each in found if each is not None and stat.S_ISREG(each.mode)), _ORDINARY)


def _write_tree(objects: Objects, add: AddObject, base: str | None, changes: _Changes) -> TreeEntry:
    """Write the tree `base` with `changes`, without folders that become empty; others stay as they are."""
    entries = dict(objects.tree(base)) if base is not None else {}
    here = {path[0]: change for path, change in changes.items() if len(path) == 1}
    for name, change in here.items():
        if change is None:
            entries.pop(name, None)
    for name, inner in _by_folder(changes).items():
        known = entries.pop(name, None)
        if known is not None and not stat.S_ISDIR(known.mode):
            raise _in_the_way(name)
        made = _write_tree(objects, add, known.name if known is not None else None, inner)
        if made.name != _EMPTY:
            entries[name] = made
    for name, change in here.items():
        if change is not None:
            if name in entries and not stat.S_ISREG(entries[name].mode):
                raise _in_the_way(name)
            entries[name] = change
    return TreeEntry(FOLDER, add("tree", tree_data(entries)))


def _by_folder(changes: _Changes) -> Mapping[str, _Changes]:
    """Return those of `changes` that are in folders, by the first of these."""
    found: defaultdict[str, dict[tuple[str, ...], TreeEntry | None]] = defaultdict(dict)
    for path, change in changes.items():
        if len(path) > 1:
            found[path[0]][path[1:]] = change
    return found


def commit_tree(place: RepositoryLocation, tree: str, parents: Sequence[str], text: CommitText) -> str:
    """Write a commit of `tree` with `parents`; nothing names it yet. Raises `StorageRefused` (IO_ERROR).

    It is signed if `commit.gpgSign` says so: `git commit-tree` does not look at that.
    """
    signs = place.git("config", "--type=bool", "--get", "commit.gpgSign").stdout.strip() == b"true"
    write = partial(
        place.git,
        *("commit-tree", tree, *(word for parent in parents for word in ("-p", parent))),
        *(["-S"] if signs else []),
        *("-F", "-"),
        variables=_people(text),
        settings={"i18n.commitEncoding": "UTF-8"},
        stdin=text.message,
    )
    done = write()
    if FOLDER_GONE in done.stderr:
        # A repack removes folders of objects that are empty, also the one that git has just made.
        done = write()
    if done.returncode:
        hint = "check gpg.format and user.signingKey with `git config --list`" if signs else FSCK
        raise git_failed(done, hint)
    return done.stdout.decode().strip()


def _people(text: CommitText) -> dict[str, bytes]:
    """Environment variables that tell git who made the commit, and when."""
    variables = {}
    for role, signature in (("AUTHOR", text.author), ("COMMITTER", text.committer)):
        name, _, address = signature.who.rpartition(b" <")
        sign, minutes = "-" if signature.offset < 0 else "+", abs(signature.offset) // 60
        moment = f"@{signature.seconds} {sign}{minutes // 60:02}{minutes % 60:02}"
        variables[f"GIT_{role}_NAME"] = name
        variables[f"GIT_{role}_EMAIL"] = address.removesuffix(b">")
        variables[f"GIT_{role}_DATE"] = moment.encode()
    return variables


def _locked(branch: str, lock: str) -> StorageRefused:
    problem = f"the branch `{visible(branch)}` is locked by another program"
    hint = f"try again; if no git runs, one was killed: remove `{visible(lock)}`"
    return repository_error(Code.LOCK_TIMEOUT, problem, hint)


def _components(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))


def _in_the_way(name: str) -> StorageRefused:
    return repository_error(
        Code.FILE_EXISTS, f"`{visible(name)}` is in the way: a file and a folder cannot share a name", ""
    )
