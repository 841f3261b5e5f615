"""Jobs and outcomes: the picklable values that the bot exchanges with its planning processes."""

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.near_misses import SkippedNearMiss
from mdplan.diagnostics import Problems
from mdplan.plan import Plan
from mdplan.settings import Settings
from mdplan.storage.workspace import Workspace


class Tree(Protocol):
    """Files that can be opened in any process."""

    def open(self) -> Workspace:
        """The files, to be listed and read. Raises `StorageRefused`."""


@dataclass(frozen=True, slots=True)
class FolderTree:
    """The folders of a workspace, which every process of this machine can open."""

    roots: Mapping[str, str]
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @classmethod
    def of(cls, workspace: Workspace) -> "FolderTree":
        """Those of `workspace`."""
        scope = workspace.roots[0].scope
        return cls({root.name: root.path for root in workspace.roots}, scope.allow, scope.deny)

    def open(self) -> Workspace:
        """The same workspace once more. Raises `StorageRefused`."""
        return Workspace.open(self.roots, self.allow, self.deny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A manifest on the files of `tree`."""

    tree: Tree
    settings: Settings
    loaded: LoadedManifest


@dataclass(frozen=True, slots=True)
class PackedJob:
    """A pickled job and its digest, by which a process recognizes a job that it has unpacked before."""

    digest: str
    data: bytes = field(repr=False)

    @classmethod
    def of(cls, job: Job) -> "PackedJob":
        """`job`, packed."""
        data = pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)
        return cls(hashlib.sha256(data).hexdigest(), data)

    def unpacked(self) -> Job:
        """The job. It comes from the process that started this one, over a channel of its own."""
        job = pickle.loads(self.data)  # noqa: S301
        assert isinstance(job, Job)
        return job


@dataclass(frozen=True, slots=True)
class CandidateFile:
    """A file, as callers write its path, and the numbers of the rules of a manifest that name it."""

    path: str
    rules: tuple[int, ...]


class FileStatus(StrEnum):
    """What became of a candidate."""

    SKIPPED = "skipped"
    SATISFIED = "holds"
    CHANGES = "changes"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What became of the file `path`.

    Of one that changes: its `plan`, which holds no file that stays as it is, and the exact `diff`. `names`
    are the page keys of files that links can name otherwise afterwards: then others have a word in it.
    `misses` are sections that are nearly those that were to be deleted.
    """

    path: str
    verdict: FileStatus
    problems: Problems = ()
    plan: Plan | None = None
    diff: bytes = b""
    names: frozenset[str] = frozenset()
    needs_others: bool = False
    misses: tuple[SkippedNearMiss, ...] = ()


Chunk = Sequence[CandidateFile]
