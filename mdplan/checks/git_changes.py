"""Which documents of a root differ from a commit: in the work tree, with files that git does not track."""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.git.repository import RepositoryLocation, find_commit
from mdplan.git.tree import CommitTree
from mdplan.markdown.paths import MARKDOWN_SUFFIXES
from mdplan.storage.workspace import Workspace

_SUFFIXES: Final = (*MARKDOWN_SUFFIXES, ".txt")


class CommittedVersion:
    """The root of `workspace` as it was in the commit that `reference` names.

    Raises `StorageRefused`: INVALID_ARGUMENT for several roots, a folder in no repository, or a name of no
    commit.
    """

    def __init__(self, workspace: Workspace, reference: str) -> None:
        self._place = RepositoryLocation.of(workspace)
        self._commit = find_commit(self._place, reference)
        scope = workspace.roots[0].scope
        self._tree = CommitTree(self._place, self._commit, scope.allow, scope.deny)

    def open(self) -> Workspace:
        """The files of the commit."""
        return self._tree.open()

    def changes(self, paths: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
        """Old and new path, from the root, of each document below `paths` that differs; None for neither.

        Without `paths` of all of them. Raises `StorageRefused` where git fails.
        """
        places = [f":(top,literal){self._place.within(path)}" for path in paths or [""]]
        words = self._place.diff("--name-status", "-M", self._commit, "--", *places)
        at = 0
        while at < len(words):
            kind = words[at][:1]
            step = 3 if kind in {"R", "C"} else 2
            old, new = words[at + 1], words[at + step - 1]
            yield from self._documents(None if kind in {"A", "C"} else old, None if kind == "D" else new)
            at += step
        for path in self._place.untracked(*places):
            yield from self._documents(None, path)

    def _documents(self, old: str | None, new: str | None) -> Iterator[tuple[str | None, str | None]]:
        pair = [self._place.from_root(path) if path is not None else None for path in (old, new)]
        if any(path is not None and path.lower().endswith(_SUFFIXES) for path in pair):
            yield pair[0], pair[1]
