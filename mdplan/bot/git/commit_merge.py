"""Two commits merged without a work tree, by git with mdplan as its merge driver."""

import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mdplan.bot.git.plan_commit import CommitText, commit_tree
from mdplan.diagnostics import Code, Diagnostic
from mdplan.git.repository import Commit, RepositoryLocation, git_failed
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import visible

_DRIVER: Final = "-I -m mdplan merge %O %A %B -o %A --path %P --marker-size %L"
_SUFFIXES: Final = ("md", "markdown", "mdx", "yaml", "yml", "json", "toml")
# How git ends where it merged, without conflicts or with some.
_MERGED: Final = (0, 1)
# What the driver prints for each conflict.
_CONFLICT: Final = "conflict in "


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A merged `tree`, the files that need a person, and what the driver said of them."""

    tree: str
    conflicts: tuple[str, ...]
    said: tuple[str, ...]


def merge_trees(place: RepositoryLocation, branch: str, base: str) -> MergedTree:
    """The tree of `branch` and `base`. Raises `StorageRefused` (IO_ERROR) for a git that cannot do it."""
    with tempfile.TemporaryDirectory() as folder:
        attributes = Path(folder) / "attributes"
        attributes.write_text("".join(f"*.{suffix} merge=mdplan\n" for suffix in _SUFFIXES))
        settings = {
            "core.attributesFile": str(attributes),
            "merge.mdplan.driver": f"{shlex.quote(sys.executable)} {_DRIVER}",
            "merge.mdplan.recursive": "binary",
        }
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", branch, base)
        # A partial clone fetches what it lacks.
        done = place.git(*words, settings=settings, variables={"GIT_NO_LAZY_FETCH": "0"})
    if done.returncode not in _MERGED:
        raise git_failed(done, "a merge without a work tree needs git 2.38 or newer")
    tree, *names = done.stdout.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
    said = done.stderr.decode("utf-8", "replace").splitlines()
    return MergedTree(tree, tuple(filter(None, names)) if done.returncode else (), tuple(said))


def merged_commit(place: RepositoryLocation, branch: str, other: str, text: CommitText) -> str:
    """A commit of `branch` and `other`; `branch` itself where it has all of the other's text and parents.

    Raises `StorageRefused`: MERGE_CONFLICT, IO_ERROR.
    """
    made = merge_trees(place, branch, other)
    if made.conflicts:
        raise StorageRefused(tuple(conflicts_of(made)))
    old, new = Commit.of(place, "--no-walk=unsorted", branch, other)
    if old.tree == made.tree and place.is_ancestor(new.parents[0], branch):
        return branch
    return commit_tree(place, made.tree, (branch, other), text)


def conflicts_of(made: MergedTree) -> list[Diagnostic]:
    """MERGE_CONFLICT for each place, or file, that needs a person."""
    found: list[Diagnostic] = []
    for file in made.conflicts:
        beginning = f"{_CONFLICT}{file}, "
        places = [line.removeprefix(beginning) for line in made.said if line.startswith(beginning)]
        found += [
            Diagnostic(
                code=Code.MERGE_CONFLICT,
                message=f"`{visible(file)}`, {visible(place)}",
                hint="merge the base into the branch, and choose the text that is right",
                file=file,
            )
            for place in places or ["git finds a conflict"]
        ]
    return found
