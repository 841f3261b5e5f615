"""The files of a repository that differ from a commit."""

import os
from typing import Final

from dulwich.objects import ObjectID

from mdplan.diagnostics import Code
from mdplan.git.git_program import run_git
from mdplan.git.repository import RepositoryLocation, repository_error
from mdplan.storage.fs.file_name import visible

_DIFF: Final = ("diff", "--name-only", "--no-renames", "-z")
_UNTRACKED: Final = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z")


def find_commit(place: RepositoryLocation, reference: str) -> ObjectID:
    """The commit that `reference` names, as git reads it: HEAD~2 and main@{yesterday} too.

    Raises `StorageRefused` (INVALID_ARGUMENT) for a name of no commit.
    """
    with place.open() as repository:
        named = run_git(
            repository,
            *("rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}"),
            variables={},
            settings={},
        )
    if named.returncode:
        raise repository_error(
            Code.INVALID_ARGUMENT,
            f"`{visible(reference)}` names no commit of the repository",
            "`git branch --all` and `git tag` list the names; a shallow clone lacks old commits",
        )
    return ObjectID(named.stdout.strip())


def changed_files(
    place: RepositoryLocation, reference: str, commit: ObjectID | None = None
) -> frozenset[str]:
    """Paths, from the root, of the files of `commit` that differ from the commit `reference`.

    Without `commit`, of the work tree, with the files that git does not track. Raises `StorageRefused`:
    INVALID_ARGUMENT for a name of no commit, IO_ERROR where git fails.
    """
    since = find_commit(place, reference)
    if commit is not None:
        names = git_words(place, *_DIFF, since, commit, "--", f":(top){place.below}")
    else:
        names = git_words(place, *_DIFF, since, "--", f":(top){place.below}")
        names += git_words(place, *_UNTRACKED, "--", f":(top){place.below}")
    prefix = f"{place.below}/" if place.below else ""
    return frozenset(name.removeprefix(prefix) for name in names)


def git_words(place: RepositoryLocation, *arguments: str | bytes) -> list[str]:
    """What git prints in the repository at `place`, split at NUL. Raises `StorageRefused` (IO_ERROR)."""
    with place.open() as repository:
        tree = os.fsencode(repository.path)
        done = run_git(repository, *arguments, variables={b"GIT_WORK_TREE": tree}, settings={})
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()
        raise repository_error(Code.IO_ERROR, f"git failed: {words}", "run `git status` in that folder")
    return [word for word in done.stdout.decode("utf-8", "surrogateescape").split("\0") if word]
