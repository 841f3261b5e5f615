"""Two commits merged without a work tree, by git with mdplan as its merge driver."""

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType
from typing import Final

from dulwich.objects import Commit, ObjectID
from dulwich.repo import Repo

from mdplan.bot.git.plan_commit import CommitText, commit_tree
from mdplan.diagnostics import Code, Diagnostic
from mdplan.git.git_program import run_git
from mdplan.git.objects import read_object
from mdplan.git.repository import repository_error
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import visible

_DRIVER: Final = "-I -m mdplan merge %O %A %B -o %A --path %P --marker-size %L"
_SUFFIXES: Final = ("md", "markdown", "mdx", "yaml", "yml", "json", "toml")
# What the driver prints for each conflict.
_CONFLICT: Final = "conflict in "


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A merged `tree`, the files that need a person, and what the driver said of them."""

    tree: ObjectID
    conflicts: tuple[str, ...]
    said: tuple[str, ...]


def merge_trees(repository: Repo, branch: ObjectID, base: ObjectID) -> MergedTree:
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
        done = checked_git(repository, *words, settings=settings, good=(0, 1))
    tree, *names = done.stdout.rstrip(b"\0").split(b"\0")
    said = done.stderr.decode("utf-8", "replace").splitlines()
    conflicts = tuple(name_of(each) for each in names if each)
    return MergedTree(ObjectID(tree), conflicts if done.returncode else (), tuple(said))


def merged_commit(repository: Repo, branch: ObjectID, other: ObjectID, text: CommitText) -> ObjectID:
    """A commit of `branch` and `other`; `branch` itself where it has all of the other's text and parents.

    Raises `StorageRefused`: MERGE_CONFLICT, IO_ERROR.
    """
    made = merge_trees(repository, branch, other)
    if made.conflicts:
        raise StorageRefused(tuple(conflicts_of(made)))
    old, new = (read_object(repository.object_store, each) for each in (branch, other))
    assert isinstance(old, Commit)
    assert isinstance(new, Commit)
    ancestry = ("merge-base", "--is-ancestor", new.parents[0], branch)
    if old.tree == made.tree and checked_git(repository, *ancestry, good=(0, 1)).returncode == 0:
        return branch
    return commit_tree(repository, made.tree, (branch, other), text)


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


def name_of(name: bytes) -> str:
    """A path as git prints it, as text."""
    return name.decode("utf-8", "surrogateescape")


def checked_git(
    repository: Repo,
    *words: str | bytes,
    settings: Mapping[str, str] = MappingProxyType({}),
    good: Sequence[int] = (0,),
) -> "CompletedProcess[bytes]":
    """What git did, with a status of `good`. Raises `StorageRefused` (IO_ERROR) for another one."""
    done = run_git(repository, *words, variables={}, settings=settings)
    if done.returncode not in good:
        said = visible(done.stderr.decode("utf-8", "replace").strip())
        message = f"`git {words[0] if isinstance(words[0], str) else ''}` failed: {said}"
        raise repository_error(Code.IO_ERROR, message, "a merge without a work tree needs git 2.38 or newer")
    return done
