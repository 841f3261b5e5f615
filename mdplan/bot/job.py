"""Jobs and outcomes: picklable values exchanged between the bot and its planning processes."""

import os
import pickle
import secrets
import stat
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import Any, Final, TypeAlias

from mdplan.bot.expansion import Path
from mdplan.bot.manifest import LoadedManifest
from mdplan.diagnostics import LINK_CODES, Code, Diagnostic, Problems
from mdplan.documents.files import OutlinedFiles
from mdplan.documents.workspace import Workspace
from mdplan.git.repository import RepositoryLocation, changed_files, file_history
from mdplan.git.tree import CommitTree
from mdplan.operations.base import Operation
from mdplan.planning.merging import ready_to_merge
from mdplan.planning.replay import PlannedBatch
from mdplan.settings import Settings
from mdplan.storage.names import absolute, real_path
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, field, replace

# The manifest value with the file's history.
GIT_FACTS: Final = "git"

# The manifest value with facts about other pages.
PAGES: Final = "pages"

# File times have a resolution of up to two seconds.
_RACY_NS: Final = 2_000_000_000


# Changed anchor keys by the page key of their file; None if the file's path changes.
ChangedPlaces: TypeAlias = Mapping[str, frozenset[str] | None]

# A shared default, since most files have no places.
NO_PLACES: Final[ChangedPlaces] = {}


class FolderTree(Struct):
    """The folders of a workspace, which every local process can open."""

    roots: Mapping[str, str]
    allow: tuple[str, ...]
    deny: tuple[str, ...]

    @classmethod
    def of(cls, workspace: Workspace) -> "FolderTree":
        """Return the folders of `workspace`."""
        scope = workspace.roots[0].scope
        return cls({root.name: root.path for root in workspace.roots}, scope.allow, scope.deny)

    @property
    def identity(self) -> tuple[str, ...]:
        """Texts that identify the files and their scope: the folders and their globs."""
        return (*self.roots, *self.roots.values(), repr(self.allow), repr(self.deny))

    def stamps(self, paths: Collection[str]) -> Mapping[str, str]:
        """Return stamps from identity, size and times.

        Files have none that are missing or behind a link, or that could change again with the same times.
        """
        latest = time.time_ns() - _RACY_NS
        is_real: dict[str, bool] = {}
        stamps: dict[str, str] = {}
        for path in paths:
            root_name, _, relative = ("", "", path) if "" in self.roots else path.partition(":")
            path_on_disk = f"{self.roots.get(root_name, '')}/{relative}"
            folder = path_on_disk.rpartition("/")[0]
            if folder not in is_real:
                is_real[folder] = real_path(folder) == absolute(folder)
            with suppress(OSError, ValueError):
                status = os.lstat(path_on_disk)
                times = (status.st_mtime_ns, status.st_ctime_ns)
                if is_real[folder] and stat.S_ISREG(status.st_mode) and max(times) < latest:
                    facts = (status.st_dev, status.st_ino, status.st_size, *times)
                    stamps[path] = ".".join(map(str, facts))
        return stamps

    def open(self) -> Workspace:
        """Open the same workspace again. Raise `StorageRefused`."""
        return Workspace.open(self.roots, self.allow, self.deny)

    @property
    def at(self) -> None:
        """None: the files are on disk."""

    def changed_since(self, reference: str) -> frozenset[str]:
        """Return the paths of files that differ, including untracked ones. Raise `StorageRefused`."""
        with self.open() as workspace:
            return changed_files(RepositoryLocation.of(workspace), reference)

    def history(self, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return git's facts about the files at `paths`. Raise `StorageRefused`."""
        with self.open() as workspace:
            return file_history(RepositoryLocation.of(workspace), paths)


# Files that can be opened in any process.
Tree: TypeAlias = FolderTree | CommitTree


class Job(Struct, kw_only=True):
    """A manifest for the files of `tree`.

    By file, `history` has git's facts and `repairs` the edits that repair links, if a rule asks for them.
    """

    tree: Tree
    settings: Settings
    loaded: LoadedManifest
    history: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    repairs: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def informed(self, candidates: Sequence["CandidateFile"]) -> "Job":
        """Return the job with all that its rules ask about `candidates`. Raise `StorageRefused`."""
        job = self
        if self.loaded.uses_anywhere(GIT_FACTS):
            job = replace(job, history=self.tree.history([each.path for each in candidates]))
        rules = self.loaded.manifest.files
        repaired = [each.path for each in candidates if any(rules[number].links for number in each.rules)]
        return replace(job, repairs=self._repairs(repaired)) if repaired else job

    def _repairs(self, paths: Sequence[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        from mdplan.engine.links import examine_links

        with self.tree.open() as workspace:
            site = self.loaded.manifest.links
            files = replace(
                OutlinedFiles.of(workspace, self.settings), given_rules=site.rules() if site else None
            )
            _, repairs = examine_links(files, paths, commit=self.tree.at)
        return {path: [each.edit for each in own] for path, own in groupby(repairs, lambda each: each.path)}


class PackedJob(Struct):
    """A pickled job, and a key by which processes recognise this run."""

    key: str
    data: bytes

    @classmethod
    def of(cls, job: Job) -> "PackedJob":
        """Pack `job`."""
        # Another run may find other files.
        return cls(secrets.token_hex(8), _packed(job))

    def unpacked(self) -> Job:
        """Return the job. It comes from the parent process over a private channel."""
        job = pickle.loads(self.data)  # noqa: S301 (made by `of` in the process that started this one)
        assert isinstance(job, Job)
        return job


class PackedPlan(Struct, kw_only=True):
    """A plan in pieces, with data that the bot needs before all files are planned.

    - `pieces`: changed files with requested edits, effects, results and the exact diff, all pickled; `at` are
      their places in a spool.
    - `written`: the changed files; `edits`: the number of edits, `ops` the operations that change something.
    - `places`: link targets that may change in other files.
    - `all_open`: none of the manifest's edits is done yet.
    """

    pieces: tuple[bytes, ...]
    at: tuple[int, ...] = ()
    written: tuple[str, ...]
    edits: int
    ops: frozenset[str]
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
        """Pack the plan `planned`."""
        kept = ready_to_merge(planned.plan)
        changes = tuple(zip(kept.files, kept.requested, strict=True))
        return cls(
            pieces=tuple(map(_packed, (changes, kept.effects, kept.results, (planned.diff,)))),
            written=tuple(change.path for change in kept.files),
            edits=len(kept.results),
            ops=frozenset(result.op for result in kept.results if not result.no_op),
            warnings=kept.warnings,
            places=places or NO_PLACES,
            needs_others=needs_others,
            all_open=all_open,
        )

    def spooled(self, spool: "Spool") -> "PackedPlan":
        """Return the plan with its pieces moved to `spool`."""
        return replace(self, pieces=(), at=tuple(map(spool.put, self.pieces)))

    @property
    def has_broken_links(self) -> bool:
        """True if a link in it would break without changes of other files."""
        return any(warning.code in LINK_CODES for warning in self.warnings)


def _packed(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


class CandidateFile(Struct):
    """A file, by its path as callers write it, and the indexes of the rules that match it."""

    path: str
    rules: tuple[int, ...]


class FileStatus(StrEnum):
    """The outcome of a candidate. `SATISFIED` is a file that already matches the manifest."""

    SKIPPED = "skipped"
    SATISFIED = "holds"
    CHANGES = "changes"
    REFUSED = "refused"


class FileOutcome(Struct, kw_only=True):
    """The outcome of the file `path`.

    `plan` has the changes, to be spooled by the parent. `misses` are near misses of sections to delete.
    """

    path: str
    verdict: FileStatus
    problems: Problems = ()
    plan: PackedPlan | None = None
    misses: Problems = ()


Chunk = Sequence[CandidateFile]


# --- Near misses: a section to delete is missing, but one with a similar name exists
#
# Such an edit counts as satisfied, but the name may be mistyped. Similarity is strict: `Instalation` is
# similar to `Installation`, but `Step 1` is not to `Step 2`.

_LEAST: Final = 0.85
_DIGITS: Final = lazy_pattern(r"[0-9]+")
_SHOWN: Final = 80


def near_miss(operation: Operation, problem: Diagnostic, asked: Path, loaded: LoadedManifest) -> Problems:
    """Return a warning if `problem`, that the section of `operation` is missing, names a similar section."""
    # For other edits a missing section is an error.
    if Code.SECTION_NOT_FOUND not in operation.satisfied_by or problem.code is not Code.SECTION_NOT_FOUND:
        return ()
    heading = getattr(operation, "heading", None)
    wanted = getattr(operation, "heading_path", None) or ((heading,) if heading else ())
    for each in problem.candidates:
        found = each.heading_path[-len(wanted) :]
        if wanted and _is_like(wanted, found):
            message = f"no section {_shown(wanted)} to delete, but `{problem.file}` has {_shown(found)}"
            warning = Code.SECTION_NOT_FOUND.warning(
                f"{message} at line {each.start_line}",
                f"if that is meant, write {_shown(found)}; otherwise there is nothing to do",
                place=loaded.located.place(asked),
            )
            return (warning.at(file=loaded.name),)
    return ()


def _is_like(wanted: Sequence[str], found: Sequence[str]) -> bool:
    from difflib import SequenceMatcher

    one, other = (" / ".join(title.lstrip("# \t").casefold() for title in path) for path in (wanted, found))
    if len(wanted) != len(found) or _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= _LEAST


def _shown(path: Sequence[str]) -> str:
    text = " / ".join(path)
    return f"`{text if len(text) <= _SHOWN else f'{text[: _SHOWN - 1]}…'}`"


# --- Spool: pickled values to read again later, on disk if there are many

_IN_MEMORY: Final = 1 << 20


class Spool:
    """An anonymous temporary file, deleted with this object."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (it is closed with its owner)

    def put(self, pickled: bytes) -> int:
        """Store a pickled value; return its offset for `get`."""
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(pickled)
        return start

    def get(self, start: int) -> tuple[Any, ...]:
        """Return the values stored at `start`."""
        self._file.seek(start)
        values: tuple[Any, ...] = pickle.load(self._file)  # noqa: S301 (made by `PackedPlan.of` in this run)
        return values

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
