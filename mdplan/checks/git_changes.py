"""Which documents of a root differ from a commit: in the work tree, with files that git does not track."""

import os
from collections.abc import Iterator, Sequence
from subprocess import CompletedProcess
from typing import Final

from dulwich.objects import ObjectID

from mdplan.bot.git.command import run_git
from mdplan.bot.git.repository import RepositoryLocation, repository_error
from mdplan.bot.git.tree import CommitTree
from mdplan.diagnostics import Code
from mdplan.markdown.links.link_path import MARKDOWN_SUFFIXES
from mdplan.storage.fs.file_name import visible
from mdplan.storage.workspace import Workspace

_SUFFIXES: Final = (*MARKDOWN_SUFFIXES, ".txt")


class CommittedVersion:
    """The root of `workspace` as it was in the commit that `reference` names.

    Raises `StorageRefused`: INVALID_ARGUMENT for several roots, a folder in no repository, or a name of no
    commit.
    """

    def __init__(self, workspace: Workspace, reference: str) -> None:
        self._place = RepositoryLocation.of(workspace)
        # As git reads it: HEAD~2 and main@{yesterday} are references too.
        named = self._run("rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}")
        if named.returncode:
            raise repository_error(
                Code.INVALID_ARGUMENT,
                f"`{visible(reference)}` names no commit of the repository",
                "`git branch --all` and `git tag` list the names; a shallow clone lacks old commits",
            )
        self._commit = ObjectID(named.stdout.strip())
        scope = workspace.roots[0].scope
        self._tree = CommitTree(self._place, self._commit, scope.allow, scope.deny)

    def open(self) -> Workspace:
        """The files of the commit."""
        return self._tree.open()

    def changes(self, paths: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
        """Old and new path, from the root, of each document below `paths` that differs; None for neither.

        Without `paths` of all of them. Raises `StorageRefused` where git fails.
        """
        places = [f":(top){self._place.within(path)}" for path in paths or [""]]
        words = self._git("diff", "--name-status", "-z", "-M", self._commit, "--", *places)
        at = 0
        while at < len(words):
            kind = words[at][:1]
            step = 3 if kind in {"R", "C"} else 2
            old, new = words[at + 1], words[at + step - 1]
            yield from self._documents(None if kind in {"A", "C"} else old, None if kind == "D" else new)
            at += step
        for path in self._git(
            "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *places
        ):
            yield from self._documents(None, path)

    def _documents(self, old: str | None, new: str | None) -> Iterator[tuple[str | None, str | None]]:
        prefix = f"{self._place.below}/" if self._place.below else ""
        pair = [path.removeprefix(prefix) if path is not None else None for path in (old, new)]
        if any(path is not None and path.lower().endswith(_SUFFIXES) for path in pair):
            yield pair[0], pair[1]

    def _git(self, *arguments: str | bytes) -> list[str]:
        done = self._run(*arguments)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip()
            raise repository_error(Code.IO_ERROR, f"git failed: {words}", "run `git status` in that folder")
        return [word for word in done.stdout.decode("utf-8", "surrogateescape").split("\0") if word]

    def _run(self, *arguments: str | bytes) -> "CompletedProcess[bytes]":
        with self._place.open() as repository:
            tree = os.fsencode(repository.path)
            return run_git(repository, *arguments, variables={b"GIT_WORK_TREE": tree}, settings={})
