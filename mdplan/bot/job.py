"""Jobs and outcomes: the picklable values that the bot exchanges with its planning processes."""

import os
import pickle
import secrets
import stat
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from tempfile import SpooledTemporaryFile
from typing import Any, Final, Protocol, TypeAlias

from mdplan.bot.expansion import Path
from mdplan.bot.manifest import LoadedManifest
from mdplan.diagnostics import LINK_CODES, Code, Diagnostic, Problems
from mdplan.documents.workspace import Workspace
from mdplan.operations.base import Operation
from mdplan.planning.merging import ready_to_merge
from mdplan.planning.replay import PlannedBatch
from mdplan.settings import Settings
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, field, replace

# The value of a manifest that has the history of the file.
GIT_FACTS: Final = "git"

# Disks keep times in steps of up to two seconds.
_RACY_NS: Final = 2_000_000_000


# Keys of anchors that change, by the page key of their file; None where the path of the file changes.
ChangedPlaces: TypeAlias = Mapping[str, frozenset[str] | None]

# Most files have none, and there may be many files.
NO_PLACES: Final[ChangedPlaces] = {}


class Tree(Protocol):
    """Files that can be opened in any process."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Texts that say where the files are, and which of them may be named."""

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """For `paths` what changes when the content of the file does; empty where that is not certain.

        A path without a stamp is missing.
        """

    def open(self) -> Workspace:
        """The files, to be listed and read. Raises `StorageRefused`."""

    def changed_since(self, reference: str) -> frozenset[str]:
        """Paths, from the root, of the files that differ from the commit `reference`.

        Raises `StorageRefused`: INVALID_ARGUMENT for a folder in no repository, and for a name of no commit.
        """

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """What git knows of the files at `paths`, from the root: see `file_history`.

        Raises `StorageRefused`: INVALID_ARGUMENT for a folder in no repository.
        """


class FolderTree(Struct):
    """The folders of a workspace, which every process of this machine can open."""

    roots: Mapping[str, str]
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @classmethod
    def of(cls, workspace: Workspace) -> "FolderTree":
        """Those of `workspace`."""
        scope = workspace.roots[0].scope
        return cls({root.name: root.path for root in workspace.roots}, scope.allow, scope.deny)

    @property
    def identity(self) -> tuple[str, ...]:
        """The folders, and what of them is excluded."""
        return (*self.roots, *self.roots.values(), repr(self.allow), repr(self.deny))

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """Identity, size and times of files, which are empty where a later change may have the same times.

        Files that are missing, or reached through a link, have none.
        """
        latest = time.time_ns() - _RACY_NS
        is_real: dict[str, bool] = {}
        stamps: dict[str, str] = {}
        for path in paths:
            root_name, _, relative = ("", "", path) if "" in self.roots else path.partition(":")
            path_on_disk = f"{self.roots.get(root_name, '')}/{relative}"
            folder = path_on_disk.rpartition("/")[0]
            if folder not in is_real:
                is_real[folder] = os.path.realpath(folder) == os.path.normpath(folder)
            with suppress(OSError, ValueError):
                status = os.lstat(path_on_disk)
                if is_real[folder] and stat.S_ISREG(status.st_mode):
                    times = (status.st_mtime_ns, status.st_ctime_ns)
                    facts = (status.st_dev, status.st_ino, status.st_size, *times)
                    stamps[path] = ".".join(map(str, facts)) if max(times) < latest else ""
        return stamps

    def open(self) -> Workspace:
        """A second handle of the same workspace. Raises `StorageRefused`."""
        return Workspace.open(self.roots, self.allow, self.deny)

    def changed_since(self, reference: str) -> frozenset[str]:
        """Paths of the files that differ, untracked files too. Raises `StorageRefused`."""
        from mdplan.git.repository import RepositoryLocation, changed_files

        with self.open() as workspace:
            return changed_files(RepositoryLocation.of(workspace), reference)

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """What git knows of the files at `paths`. Raises `StorageRefused`."""
        from mdplan.git.repository import RepositoryLocation, file_history

        with self.open() as workspace:
            return file_history(RepositoryLocation.of(workspace), paths)


class Job(Struct, kw_only=True):
    """A manifest on the files of `tree`; `history` is what git knows of them, if the manifest asks."""

    tree: Tree
    settings: Settings
    loaded: LoadedManifest
    history: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_history(self, candidates: Iterable["CandidateFile"]) -> "Job":
        """The job with the git history of `candidates`, if a rule uses it. Raises `StorageRefused`."""
        if not any(self.loaded.uses(rule, GIT_FACTS) for rule in self.loaded.manifest.files):
            return self
        return replace(self, history=self.tree.history([each.path for each in candidates]))


class PackedJob(Struct):
    """A pickled job, and the key of this run, by which a process recognizes what it has unpacked before."""

    key: str
    data: bytes

    @classmethod
    def of(cls, job: Job) -> "PackedJob":
        """`job`, packed."""
        # Another run may find other files.
        return cls(secrets.token_hex(8), _packed(job))

    def unpacked(self) -> Job:
        """The job. It comes from the process that started this one, over a channel of its own."""
        job = pickle.loads(self.data)  # noqa: S301 (made by `of` in the process that started this one)
        assert isinstance(job, Job)
        return job


class PackedPlan(Struct, kw_only=True):
    """A plan in pieces, with what the bot needs to know of it before all files are planned.

    It has no files that stay as they are. The `pieces` are its files with the edits that were requested, its
    effects and its results, each pickled, and its exact diff; in a spool they are `at` these places. The plan
    changes the files `written`, with so many `edits`. Links to `places` may have to change in other files. If
    it is `all_open`, no edit that the manifest asks for is done yet.
    """

    pieces: tuple[bytes, ...]
    at: tuple[int, ...] = ()
    written: tuple[str, ...]
    edits: int
    warnings: Problems
    places: ChangedPlaces
    needs_others: bool
    all_open: bool

    @classmethod
    def of(
        cls,
        planned: PlannedBatch,
        places: ChangedPlaces = NO_PLACES,
        *,
        needs_others: bool = False,
        all_open: bool = False,
    ) -> "PackedPlan":
        """Pack what was `planned`."""
        kept = ready_to_merge(planned.plan)
        changes = tuple(zip(kept.files, kept.requested, strict=True))
        return cls(
            pieces=(*map(_packed, (changes, kept.effects, kept.results)), planned.diff),
            written=tuple(change.path for change in kept.files),
            edits=len(kept.results),
            warnings=kept.warnings,
            places=places or NO_PLACES,
            needs_others=needs_others,
            all_open=all_open,
        )

    def spooled(self, spool: "Spool") -> "PackedPlan":
        """The plan with its pieces in `spool`."""
        return replace(self, pieces=(), at=tuple(map(spool.put, self.pieces)))

    @property
    def has_broken_links(self) -> bool:
        """Whether a link in it would lead to nothing, if no other file changed."""
        return any(warning.code in LINK_CODES for warning in self.warnings)


def _packed(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(piece: bytes) -> tuple[Any, ...]:
    """A piece of a packed plan. It comes from a process that this one started, or gave work to."""
    values = pickle.loads(piece)  # noqa: S301 (made by `PackedPlan.of` in this run)
    assert isinstance(values, tuple)
    return values


class CandidateFile(Struct):
    """A file, as callers write its path, and the numbers of the rules of a manifest that name it.

    `known` is the verdict on it if its bytes have this SHA-256.
    """

    path: str
    rules: tuple[int, ...]
    known: "tuple[bytes, FileStatus] | None" = None


class FileStatus(StrEnum):
    """The outcome of a candidate. `SATISFIED` is a file that already matches the manifest."""

    SKIPPED = "skipped"
    SATISFIED = "holds"
    CHANGES = "changes"
    REFUSED = "refused"


class SkippedNearMiss(Struct, kw_only=True):
    """A section nearly of the name that the edit at `asked` of a manifest gives: in `file`, on `line`."""

    asked: Path
    file: str
    line: int
    wanted: tuple[str, ...]
    found: tuple[str, ...]


class FileOutcome(Struct, kw_only=True):
    """The outcome of the file `path`.

    Of one that changes: its `plan`, which the process that asks puts on the disk as it is. `misses` are
    sections that are nearly those that were to be deleted. `digest` is the SHA-256 of the bytes that were
    read.
    """

    path: str
    verdict: FileStatus
    problems: Problems = ()
    plan: PackedPlan | None = None
    misses: tuple[SkippedNearMiss, ...] = ()
    digest: bytes = b""


Chunk = Sequence[CandidateFile]


# --- Near misses: a section to delete is missing, and the file has one with nearly the same name
#
# Such an edit is already satisfied: the section is gone. But the name in the manifest may be mistyped, and
# then the mistake would go unnoticed. Likeness is strict here: `Instalation` is like `Installation`, `Step 1`
# is not like `Step 2`.

_LEAST: Final = 0.85
_DIGITS: Final = lazy_pattern(r"[0-9]+")
_SHOWN: Final = 80


def near_miss(operation: Operation, problem: Diagnostic, asked: Path, file: str) -> SkippedNearMiss | None:
    """What `problem`, which says that the section of `operation` is not there, knows of a similar one."""
    # The problem means that there is no such section to remove; for other edits it is an error.
    if Code.SECTION_NOT_FOUND not in operation.satisfied_by or problem.code is not Code.SECTION_NOT_FOUND:
        return None
    heading = getattr(operation, "heading", None)
    wanted = getattr(operation, "heading_path", None) or ((heading,) if heading else ())
    for candidate in problem.candidates:
        similar = candidate.heading_path[-len(wanted) :]
        if wanted and _is_like(wanted, similar):
            return SkippedNearMiss(
                asked=asked, file=file, line=candidate.start_line, wanted=wanted, found=similar
            )
    return None


def near_miss_warnings(misses: Iterable[SkippedNearMiss], loaded: LoadedManifest) -> list[Diagnostic]:
    """A warning for each edit of the manifest that has `misses`, about the first of them and their number."""
    of_edits: dict[Path, list[SkippedNearMiss]] = {}
    for miss in misses:
        of_edits.setdefault(miss.asked, []).append(miss)
    return [
        Code.SECTION_NOT_FOUND.warning(
            f"no section {_shown(first.wanted)} to delete, but `{first.file}` has {_shown(first.found)}"
            f" at line {first.line}{_and_more(len(others))}",
            f"if that is meant, write {_shown(first.found)}; otherwise there is nothing to do",
            place=loaded.located.place(asked),
        ).at(file=loaded.name)
        for asked, (first, *others) in of_edits.items()
    ]


def _is_like(wanted: Sequence[str], found: Sequence[str]) -> bool:
    from difflib import SequenceMatcher

    one, other = (" / ".join(title.lstrip("# \t").casefold() for title in path) for path in (wanted, found))
    if len(wanted) != len(found) or _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= _LEAST


def _and_more(number: int) -> str:
    return f", and so have {number} more files" if number > 1 else ", and so has another file" * number


def _shown(path: Sequence[str]) -> str:
    text = " / ".join(path)
    return f"`{text if len(text) <= _SHOWN else f'{text[: _SHOWN - 1]}…'}`"


# --- Spool: bytes that are read again later, on the disk if they are many

_IN_MEMORY: Final = 1 << 20
_LENGTH_BYTES: Final = 8


class Spool:
    """A file without a name, which goes with this object."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (it is closed with its owner)
        self._end = 0

    def put(self, data: bytes) -> int:
        """Put `data` aside; the number by which `get` finds it."""
        start = self._end
        self._file.seek(start)
        self._file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
        self._file.write(data)
        self._end += _LENGTH_BYTES + len(data)
        return start

    def get(self, start: int) -> bytes:
        """What was put aside there."""
        self._file.seek(start)
        return self._file.read(int.from_bytes(self._file.read(_LENGTH_BYTES), "big"))

    def close(self) -> None:
        """Delete all of it."""
        self._file.close()
