"""Commits that the forge makes and signs, with the files and the message of one that git made here."""

from collections.abc import Mapping

from dulwich.objects import Blob, Commit, ObjectID
from dulwich.repo import Repo

from mdplan.bot.pulls.forge import Forge
from mdplan.bot.pulls.remote import Remote
from mdplan.diagnostics import Code
from mdplan.git.objects import read_object
from mdplan.git.repository import repository_error


def commit_by_forge(remote: Remote, forge: Forge, branch: str, commit: str) -> str:
    """The commit that `forge` makes in place of `commit`, which the local `branch` is at; it is moved there.

    It is made on a temporary branch, `BRANCH.signing`, so that the pull request never sees a branch without
    commits. A merge stays as git made it: forges make no merges so. Raises `StorageRefused`: IO_ERROR where
    the forge refuses, or makes a commit with other files.
    """
    repository = remote.repository
    own = _commit(repository, commit)
    if len(own.parents) != 1:
        return commit
    base, beside = own.parents[0], f"{branch}.signing"
    remote.put(beside, base.decode())
    try:
        made = forge.commit(beside, base.decode(), own.message.decode(), _changes(repository, own))
        remote.fetch(beside)
        theirs = _commit(repository, made)
        if theirs.tree != own.tree or theirs.parents != [base]:
            message = "the commit that the forge made has other files, or another parent"
            hint = "a forge can set no file mode; run the command again, or with `--commits git`"
            raise repository_error(Code.IO_ERROR, message, hint)
    finally:
        remote.remove(beside)
    remote.move(branch, made, commit)
    return made


def _changes(repository: Repo, commit: Commit) -> Mapping[str, bytes | None]:
    """The files that `commit` writes, with their bytes; None for those that it removes."""
    store = repository.object_store
    base = _commit(repository, commit.parents[0].decode())
    found: dict[str, bytes | None] = {}
    for (old, new), _, (_, blob) in store.tree_changes(base.tree, commit.tree):
        if new is None:
            assert old is not None
            found.setdefault(old.decode(), None)
        else:
            assert blob is not None
            content = read_object(store, blob)
            assert isinstance(content, Blob)
            found[new.decode()] = content.data
    return found


def _commit(repository: Repo, name: str) -> Commit:
    commit = read_object(repository.object_store, ObjectID(name.encode()))
    assert isinstance(commit, Commit)
    return commit
