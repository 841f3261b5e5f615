"""Commits that the forge makes and signs, with the files and the message of one that git made here."""

from collections.abc import Mapping
from contextlib import closing

from mdplan.bot.pulls.forge import Forge
from mdplan.bot.pulls.remote import Remote
from mdplan.diagnostics import Code
from mdplan.git.repository import Commit, RepositoryLocation, repository_error
from mdplan.git.tree import Objects
from mdplan.storage.filesystem import storage_errors
from mdplan.storage.names import visible


def commit_by_forge(remote: Remote, forge: Forge, branch: str, commit: str) -> str:
    """The commit that `forge` makes in place of `commit`, which the local `branch` is at; it is moved there.

    It is made on a temporary branch, `BRANCH.signing`, so that the pull request never sees a branch without
    commits. A merge stays as git made it: forges make no merges so. Raises `StorageRefused`: IO_ERROR where
    the forge refuses, or makes a commit with other files.
    """
    place = remote.place
    (own,) = Commit.of(place, "--no-walk", commit)
    if len(own.parents) != 1:
        return commit
    base, beside = own.parents[0], f"{branch}.signing"
    remote.put(beside, base)
    try:
        made = forge.commit(beside, base, own.message.decode(), _changes(place, own))
        remote.fetch(beside)
        (theirs,) = Commit.of(place, "--no-walk", made)
        if theirs.tree != own.tree or theirs.parents != [base]:
            message = "the commit that the forge made has other files, or another parent"
            hint = "a forge can set no file mode; run the command again, or with `--commits git`"
            raise repository_error(Code.IO_ERROR, message, hint)
    finally:
        remote.remove(beside)
    remote.move(branch, made, commit)
    return made


def _changes(place: RepositoryLocation, commit: Commit) -> Mapping[str, bytes | None]:
    """Return the files that `commit` writes, with their bytes; None for those that it removes."""
    words = place.words("diff-tree", "-r", "-z", "--no-renames", commit.parents[0], commit.name)
    with storage_errors(visible(place.path), "reading objects of"), closing(Objects(place)) as objects:
        return {
            path: None if kind == "D" else objects.read(blob, "blob")
            for facts, path in zip(words[::2], words[1::2], strict=True)
            for _, _, _, blob, kind in [facts.split()]
        }
