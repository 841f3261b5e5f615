"""Open the documents of batches and plans: snapshots, current files, globs and linked files."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final, TypeGuard, TypeVar

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.files import OutlinedFiles
from mdplan.documents.workspace import Workspace, compiled, cost_problem, glob_problem
from mdplan.limits import Limits
from mdplan.markdown.blocks import extend_parse_time
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.format_detection import decode_document
from mdplan.markdown.links import LABEL_SIGN, labels_of, resolvable_targets
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, NO_RULES, SiteRules, has_page_name, page_key
from mdplan.operations.base import Operation
from mdplan.plan import EditNumbers, Plan
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile, too_long
from mdplan.planning.link_changes import (
    may_list,
    may_name,
    places_of_fragments,
    possible_links,
    text_of_bytes,
)
from mdplan.planning.navigation import TOCTREE, entry_names, is_navigation
from mdplan.planning.replay import CACHED_BYTES, FoundFile, Replay, replay, stale_base, stale_files
from mdplan.requests.batch import Batch, FileEdits, GlobEdits, MatchingEdits, too_large
from mdplan.settings import ProgressCallback, no_progress
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.root import Root
from mdplan.text.source import Source, sha256_hex
from mdplan.values import replace
from mdplan.words import Argument, Option, Send, either, say

BACKUP_SUFFIX: Final = ".bak"

# Git LFS specification, "The Pointer": the first line of a pointer file.
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_Found = TypeVar("_Found")


class Documents(OutlinedFiles):
    """`OutlinedFiles` with snapshots, bases and backups for batches and plans."""

    def snapshot(
        self, batch: Batch, tick: ProgressCallback = no_progress
    ) -> tuple[list[SnapshotFile], list[Diagnostic]]:
        """Return the parsed files of `batch`, then other files that its edits write to, and all problems.

        Calls `tick` for each file. Errors: as opening a file; INVALID_ARGUMENT for a duplicate file or
        several roots; STALE_BASE.
        """
        files: list[SnapshotFile] = []
        problems: list[Diagnostic] = []
        names: set[FileName] = set()
        renamed_to: set[str] = set()
        freed = self._freed_names(batch)
        counts: list[tuple[str, int]] = []
        first_edit = 0
        for number, requested in enumerate(batch.files):
            tick(number, len(batch.files))
            name = self.workspace.locate(requested.file)
            # Warnings are part of the plan ID: another spelling of a path must not change them.
            path = str(name) if isinstance(name, FileName) else requested.file
            counts.append((path, len(requested.edits)))
            file = (
                name
                if isinstance(name, Diagnostic)
                else self._snapshot_file(name, requested, first_edit, freed)
            )
            if isinstance(name, FileName) and (name in names or path in renamed_to - freed):
                file = _named_twice(path)
            if isinstance(file, SnapshotFile) and (new_path := file.new_path) is not None:
                is_taken = new_path in renamed_to or new_path in {str(known) for known in names} - freed
                renamed_to.add(new_path)
                file = _named_twice(new_path) if is_taken else file
            if isinstance(file, Diagnostic):
                problems.append(file.at(file=requested.file))
            else:
                files.append(file)
            names.update([name] if isinstance(name, FileName) else ())
            first_edit += len(requested.edits)
        numbers = EditNumbers(tuple(counts))
        files = [replace(file, numbers=numbers) for file in self._with_other_files(files, names, problems)]
        if len({name.root for name in names}) > 1:
            problems.append(_SEVERAL_ROOTS)
        return files, problems

    def _freed_names(self, batch: Batch) -> set[str]:
        """Return the paths that renamings of `batch` leave, which its other renamings may take."""
        renamed = (file for file in batch.files if file.new_file is not None)
        names = (
            (self.workspace.locate(file.file), self.workspace.locate(file.new_file or "")) for file in renamed
        )
        return {str(old) for old, new in names if isinstance(old, FileName) and old != new}

    def write_refusal(self, built: BuiltFile) -> Diagnostic | None:
        """Return why the file of `built` cannot be replaced now; None if it can, or does not change.

        Errors: as `Workspace.write_refusal`; READ_ONLY for a Git LFS pointer.
        """
        file = built.file
        if not file.exists or not (built.edits or file.is_deleted or file.new_path):
            return None
        name = self.workspace.locate(file.path)
        if isinstance(name, Diagnostic):
            return name
        return self.workspace.write_refusal(name) or _lfs_refusal(name, file.outline.source.data)

    def within_limits(self, built: BuildResult, limits: Limits) -> BuildResult | Problems:
        """Return `built` unless it has too many files, or results too large to read again.

        Errors: BATCH_TOO_LARGE, FILE_TOO_LARGE.
        """
        if len(built.files) > limits.files:
            return (
                Code.BATCH_TOO_LARGE.problem(
                    f"links change in {len(built.files)} files, and the limit is {limits.files}",
                    either("update references in the files of the batch alone", say("raise {--max-files}")),
                ),
            )
        problems = (self._too_large(file) for file in built.files)
        return tuple(problem for problem in problems if problem is not None) or built

    def read_current(self, plan: Plan) -> list[FoundFile] | Problems:
        """Return the current files of `plan`, in its order. Errors: as reading a file."""
        files: list[FoundFile] = []
        problems: list[Diagnostic] = []
        room = CACHED_BYTES
        new_paths: dict[str, int] = {}
        freed: set[str] = set()
        for index, change in enumerate(plan.files):
            if change.new_path is not None:
                new_paths[change.new_path] = index
                freed.add(change.path)
            source = self._read_if_there(change.path, change.encoding)
            renamed = self._read_if_there(change.new_path, change.encoding) if change.new_path else None
            problems += (problem for problem in (source, renamed) if isinstance(problem, Diagnostic))
            if isinstance(source, Diagnostic) or isinstance(renamed, Diagnostic):
                continue
            renamed_sha256 = renamed.sha256 if renamed is not None else None
            room -= len(source.data) if source is not None else 0
            if source is None or room >= 0:
                files.append(FoundFile.of(source, renamed_sha256))
            else:
                again = partial(self._read_again, change.path, change.encoding)
                files.append(FoundFile(source.sha256, again, renamed_sha256))
        if problems:
            return tuple(problems)
        for index in (new_paths[path] for path in freed & new_paths.keys()):
            # The other file is at the new path; its own entry says what it is.
            files[index] = replace(files[index], renamed_sha256=None)
        return files

    def are_bases(self, files: Sequence[BuiltFile]) -> bool:
        """Return True if `files` still equal their bases, comparing bytes without decoding.

        New names are not checked: a commit refuses existing ones.
        """
        return all(map(self._is_base, files))

    def with_timeout_of(self, plan: Plan, read: Callable[[], _Found]) -> _Found | Problems:
        """Return the result of `read`, which parses the files of `plan`. Errors: PARSE_TIMEOUT."""
        outcome = self.with_timeout(plan.files[0].path, read, len(plan.files))
        return (outcome,) if isinstance(outcome, Diagnostic) else outcome

    def stale(self, plan: Plan, files: Sequence[FoundFile]) -> Problems:
        """Return differences between `files` and their state in `plan`.

        Errors: as `stale_files`; PARSE_TIMEOUT.
        """
        return self.with_timeout_of(plan, lambda: stale_files(plan, files))

    def replay(self, plan: Plan, bases: Sequence[Source], *, with_diff: bool = True) -> Replay | Problems:
        """Apply the text edits of `plan` to its bases. Errors: as `replay`; PARSE_TIMEOUT."""
        paths = [(old.path, new.path if new else None) for old, new in self.names_of(plan)]
        return self.with_timeout_of(plan, lambda: replay(plan, paths, bases, with_diff=with_diff))

    def state_of(self, batch: Batch) -> list[tuple[str, str | None]] | None:
        """Return path and SHA-256 (None if absent) of the current files of `batch`, in order.

        Return None if one cannot be read, or still equals the base hash in the batch.
        """
        state: list[tuple[str, str | None]] = []
        for file in batch.files:
            name = self.workspace.locate(file.file)
            source = name if isinstance(name, Diagnostic) else self._read_if_there(file.file, file.encoding)
            if isinstance(source, Diagnostic):
                return None
            sha256 = source.sha256 if isinstance(source, Source) else None
            if file.base_sha256 is not None and (sha256 or "").startswith(file.base_sha256.lower()):
                return None
            state.append((str(name), sha256))
        return state

    def names_of(self, plan: Plan) -> list[tuple[FileName, FileName | None]]:
        """Return old and new names (None if unchanged) of the files of `plan`."""
        return [
            (self._located(change.path), self._located(change.new_path) if change.new_path else None)
            for change in plan.files
        ]

    def backups_of(self, plan: Plan) -> dict[FileName, str | None]:
        """Return the backups that `plan` requests, each with the SHA-256 of an existing file, or None.

        Raise `StorageRefused` if anything but a readable file is in the way.
        """
        backups: dict[FileName, str | None] = {}
        for change in plan.files if plan.options.get("backup") else ():
            if change.is_no_op or change.base_sha256 is None:
                continue
            name = self.workspace.locate(change.path + BACKUP_SUFFIX)
            if isinstance(name, Diagnostic):
                raise StorageRefused((name,))
            content = self.workspace.read(name, self.max_file_bytes)
            if isinstance(content, Diagnostic) and not _is_missing(content):
                raise StorageRefused((content,))
            backups[name] = None if isinstance(content, Diagnostic) else sha256_hex(content.data)
        return backups

    def root_of(self, plan: Plan) -> Root:
        """Return the root of the files of `plan`."""
        return self.workspace.root_of(self._located(plan.files[0].path))

    def _too_large(self, built: BuiltFile) -> Diagnostic | None:
        result, path = built.result.source, built.file.path
        if result.lines.count > self.max_lines:
            return too_long(path, f"{result.lines.count} lines", str(self.max_lines), "--max-lines")
        if len(result.data) > self.max_file_bytes:
            return too_long(path, f"{len(result.data)} bytes", str(self.max_file_bytes))
        return None

    def _snapshot_file(
        self, name: FileName, requested: FileEdits, first_edit: int, freed: Container[str] = ()
    ) -> SnapshotFile | Diagnostic:
        if requested.file_effect == "create":
            return self._new_file(name, requested, first_edit)
        outline = self.open(name, requested.encoding, requested.format)
        only_renames = requested.file_effect == "rename" and len(requested.edits) == 1
        is_binary = isinstance(outline, Diagnostic) and outline.code is Code.NOT_A_TEXT_FILE
        if is_binary and only_renames and requested.encoding is None:
            # Each byte is a character of this encoding, so that an image keeps all of its own.
            requested = requested.model_copy(update={"encoding": "latin-1"})
            outline = self.open(name, requested.encoding, requested.format)
        if isinstance(outline, Diagnostic):
            if _is_missing(outline) and self.workspace.is_several(requested.file):
                many = Send("files", requested.file)
                hint = say("{file} names one file; for all that match, {} beside {edits}", many)
                return replace(outline, hint=hint)
            return outline
        expected = requested.base_sha256
        if expected is not None and not outline.source.sha256.startswith(expected.lower()):
            return stale_base(str(name), expected, outline)
        file = _snapshot_of(name, requested, outline, first_edit)
        return file if requested.new_file is None else self._renamed(file, name, requested.new_file, freed)

    def _with_other_files(
        self, files: list[SnapshotFile], names: set[FileName], problems: list[Diagnostic]
    ) -> list[SnapshotFile]:
        """Return `files` plus other files that their edits write to; extends `names` and `problems`."""
        others: list[SnapshotFile] = []
        for position, file in enumerate(files):
            paths: dict[int, str] = {}
            for index, edit in enumerate(file.requested.edits, start=file.first_edit):
                if (wanted := edit.other_file) is None:
                    continue
                name = self.workspace.locate(wanted.path)
                if isinstance(name, Diagnostic):
                    problems.append(name.at(edit_index=index))
                    continue
                paths[index] = str(name)
                if name in names:
                    continue
                names.add(name)
                other = self._snapshot_file(name, FileEdits.none_of(str(name)), 0)
                if _is_missing(other) and wanted.is_made:
                    other = self._new_file(name, FileEdits.none_of(str(name)), 0)
                if isinstance(other, SnapshotFile):
                    others.append(other)
                    continue
                if _is_missing(other):
                    made = say("make it first by {create_file}, in a separate call")
                    other = replace(other, hint=say("{}; {}", made, other.hint))
                problems.append(other.at(edit_index=index))
            if paths:
                files[position] = replace(file, other_paths=paths)
        return files + others

    def _new_file(self, name: FileName, requested: FileEdits, first_edit: int) -> SnapshotFile | Diagnostic:
        """Return a file to create. Errors: FILE_EXISTS, ENCODING_UNKNOWN, or as `status_of`."""
        problem = self._occupied(name)
        if problem is not None:
            return problem
        empty = decode_document(str(name), b"", requested.encoding, self.max_lines)
        if isinstance(empty, Diagnostic):
            return empty
        file = _snapshot_of(name, requested, self.outline(name, empty, requested.format), first_edit)
        return replace(file, exists=False)

    def _renamed(
        self, file: SnapshotFile, name: FileName, new_file: str, freed: Container[str]
    ) -> SnapshotFile | Diagnostic:
        """Return `file` with its new name, which must not exist or be one of `freed`.

        Errors: as locating it, FILE_EXISTS, INVALID_ARGUMENT.
        """
        new = self.workspace.locate(new_file)
        if isinstance(new, Diagnostic):
            return new
        if new.root != name.root:
            return _SEVERAL_ROOTS
        if new == name:
            return file
        problem = None if str(new) in freed else self._occupied(new)
        return problem or replace(file, new_path=str(new), new_relative=new.path)

    def _occupied(self, name: FileName) -> Diagnostic | None:
        """Return why `name` cannot be created, or None."""
        status = self.workspace.status_of(name)
        if not isinstance(status, Diagnostic):
            return Code.FILE_EXISTS.of(file=str(name))
        return None if _is_missing(status) else status

    def _read_if_there(self, path: str, encoding: str | None) -> Source | Diagnostic | None:
        name = self.workspace.locate(path)
        source = name if isinstance(name, Diagnostic) else self.read(name, encoding)
        return None if _is_missing(source) else source

    def _is_base(self, built: BuiltFile) -> bool:
        file, name = built.file, self.workspace.locate(built.file.path)
        content = name if isinstance(name, Diagnostic) else self.workspace.read(name, self.max_file_bytes)
        if isinstance(content, Diagnostic):
            return _is_missing(content) and not file.exists
        return file.exists and content.data == built.base.source.data

    def _read_again(self, path: str, encoding: str | None) -> Source | None:
        """Read a file again; None if it is no longer readable."""
        source = self._read_if_there(path, encoding)
        return None if isinstance(source, Diagnostic) else source

    def _located(self, path: str) -> FileName:
        name = self.workspace.locate(path)
        assert isinstance(name, FileName), "the files of a plan were located before"
        return name


def _snapshot_of(name: FileName, requested: FileEdits, outline: Outline, first_edit: int) -> SnapshotFile:
    return SnapshotFile(
        path=str(name), relative=name.path, requested=requested, outline=outline, first_edit=first_edit
    )


def _is_missing(file: object) -> TypeGuard[Diagnostic]:
    return isinstance(file, Diagnostic) and file.code is Code.FILE_NOT_FOUND


def _lfs_refusal(name: FileName, data: bytes) -> Diagnostic | None:
    """Return READ_ONLY for a Git LFS pointer: editing it would lose the content."""
    if not data.startswith(_LFS_POINTER):
        return None
    return Code.READ_ONLY.problem(
        f"`{name}` is a pointer of Git LFS, not the document itself",
        "skip it, in a manifest by `exclude`; or fetch the content with `git lfs pull`",
        file=str(name),
    )


def _named_twice(name: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"`{name}` is in the batch twice",
        "put all edits of one file into one list; a new name must be free",
        file=name,
    )


_SEVERAL_ROOTS: Final = Diagnostic.invalid(
    "the batch has files of several roots, and a commit lives in one", "send one batch for each root"
)

# --- Files matching a glob of a batch or manifest

_MOST_LISTED: Final = 20


def files_of(
    workspace: Workspace, glob: str, *, exclude: Sequence[str] = (), git_ignored: bool = False
) -> Iterator[FileName] | Diagnostic:
    """Yield the files matching `glob` and not `exclude`, sorted; `git_ignored` includes ignored ones.

    Errors: as `Workspace.iter_files`; INVALID_ARGUMENT for an invalid `exclude` glob.
    """
    for pattern in exclude:
        problem = cost_problem(pattern) or glob_problem(pattern)
        if problem is not None:
            return problem
    if not workspace.is_several(glob):
        return _existing_file(workspace, glob)
    names = workspace.iter_files(glob, respect_gitignore=not git_ignored)
    if isinstance(names, Diagnostic) or not exclude:
        return names
    excluded = compiled(exclude)
    return (name for name in names if not excluded.match_file(name.path))


def _existing_file(workspace: Workspace, path: str) -> Iterator[FileName] | Diagnostic:
    """Yield the file that a glob without wildcards names, if it exists."""
    name = workspace.locate(path)
    if isinstance(name, Diagnostic):
        return name
    status = workspace.status_of(name)
    if not isinstance(status, Diagnostic):
        return iter((name,))
    # After an I/O error the file may exist.
    return status if status.code is Code.IO_ERROR else iter(())


def expand_globs(batch: Batch, documents: OutlinedFiles, limits: Limits) -> Batch | Problems:
    """Return `batch` with globs replaced by their matching files, except git-ignored ones.

    If all edits of a glob are replace_match, only files with a match count.

    Errors: as `files_of`; FILE_NOT_FOUND for a glob without files, BATCH_TOO_LARGE beyond `limits`.
    """
    if not any(isinstance(entry, GlobEdits) for entry in batch.files):
        return (_NO_GLOB,) if batch.where else _count_mismatch(batch) or batch
    files: list[FileEdits] = []
    problems: list[Diagnostic] = []
    for entry in batch.files:
        expansion = (
            _matching_files(entry, batch.where, documents, limits)
            if isinstance(entry, GlobEdits)
            else [entry]
        )
        if isinstance(expansion, Diagnostic):
            problems.append(expansion)
        else:
            files += expansion
    problem = too_large(len(files), sum(len(file.edits) for file in files), limits)
    if problem is not None:
        problems.append(problem)
    expanded = batch.model_copy(update={"files": tuple(files)})
    return tuple(problems) or _count_mismatch(expanded) or expanded


def _count_mismatch(batch: Batch) -> Problems:
    """Return MATCH_COUNT_MISMATCH if the number of files differs from the batch's expectation."""
    if batch.expected_files in {None, len(batch.files)}:
        return ()
    named = ", ".join(file.file for file in batch.files[:_MOST_LISTED])
    more = ", …" if len(batch.files) > _MOST_LISTED else ""
    return (
        Code.MATCH_COUNT_MISMATCH.problem(
            say(
                "the edits are for {} file{}, and {expectedFiles} is {}: {}{}",
                len(batch.files),
                "s" if len(batch.files) > 1 else "",
                batch.expected_files,
                named,
                more,
            ),
            say(
                "{} is for all of them, also those that the edits leave as they are; "
                "or list the names in {files}",
                Argument("expectedFiles", len(batch.files)),
            ),
        ),
    )


_NO_GLOB: Final = Diagnostic.invalid(
    say("{where} chooses among the files of a glob, and there is none"),
    say("name the files by a glob: {}", Argument("files", "**/*.md")),
)


def _matching_files(
    entry: GlobEdits, where: Mapping[str, Any], documents: OutlinedFiles, limits: Limits
) -> list[FileEdits] | Diagnostic:
    glob, workspace = entry.file, documents.workspace
    names = files_of(workspace, glob)
    if isinstance(names, Diagnostic):
        return names
    needed = [edit.needed_texts for edit in entry.edits] if isinstance(entry, MatchingEdits) else [None]
    texts = [text for each in needed if each is not None for text in each] if None not in needed else []
    matching = (name for name in names if not texts or documents.may_have_any(name, texts, entry.encoding))
    if where:
        from mdplan.reading.data_keys import matching_values
        from mdplan.requests.search import SearchRequest

        conditions = SearchRequest(where=where)
        outlines = ((name, documents.open(name, entry.encoding, entry.format)) for name in matching)
        matching = (
            name
            for name, outline in outlines
            if isinstance(outline, Outline) and matching_values(outline, conditions) is not None
        )
    paths = [str(name) for name in islice(matching, limits.glob_files + 1)]
    if not paths:
        return Code.FILE_NOT_FOUND.problem(
            f"no file matches `{glob}`"
            + (" and has the text that the edits look for" if texts else "")
            + (" and has front matter as in where" if where else ""),
            "a glob is relative to the root, and skips what git ignores",
        )
    if len(paths) > limits.glob_files:
        is_all = limits.glob_files >= limits.files
        return Code.BATCH_TOO_LARGE.problem(
            f"`{glob}` matches more than {limits.glob_files} files",
            either("narrow it", say("raise {}", Option("--max-files" if is_all else "--max-glob-files"))),
        )
    files = [entry.of_file(path) for path in paths]
    if isinstance(entry, MatchingEdits):
        # If no file matches, the plan says why.
        return [file for file in files if _has_match(file, documents)] or files
    return files


def _has_match(file: FileEdits, documents: OutlinedFiles) -> bool:
    """Return True if an edit of `file` has a match, or is not a replace_match."""
    name = documents.workspace.locate(file.file)
    outline = name if isinstance(name, Diagnostic) else documents.open(name, file.encoding, file.format)
    return isinstance(outline, Diagnostic) or any(not _finds_nothing(edit, outline) for edit in file.edits)


def _finds_nothing(edit: Operation, outline: Outline) -> bool:
    from mdplan.operations.matches import ReplaceMatch

    problems = edit.resolved(outline) if isinstance(edit, ReplaceMatch) else None
    return isinstance(problems, tuple) and all(
        edit.already_satisfied(problem, outline)
        or (problem.code is Code.SECTION_NOT_FOUND and not problem.candidates)
        for problem in problems
    )


# --- Guards based on the versions that a client was shown

# Returns the SHA-256 of the version of a file that the caller saw last, by its path in reports.
Seen = Callable[[str], str | None]


def with_seen_bases(
    batch: Batch, workspace: Workspace, seen: Seen, unguarded: Collection[str | None] = ()
) -> Batch:
    """Return `batch` with missing base hashes filled in from the versions `seen`.

    Files at the paths `unguarded`, as in reports, stay without one.
    """

    def base_of(path: str) -> str | None:
        name = workspace.locate(path)
        return seen(str(name)) if isinstance(name, FileName) and str(name) not in unguarded else None

    def guarded_edit(edit: Operation) -> Operation:
        if edit.other_file is None or edit.other_file.base_sha256 is not None:
            return edit
        base = base_of(edit.other_file.path)
        return edit if base is None else edit.model_copy(update={"to_base_sha256": base})

    def guarded(file: FileEdits) -> FileEdits:
        edits = tuple(map(guarded_edit, file.edits))
        is_free = file.base_sha256 is None and file.file_effect != "create"
        base = base_of(file.file) if is_free else file.base_sha256
        return file.model_copy(update={"base_sha256": base, "edits": edits})

    return batch.model_copy(update={"files": tuple(map(guarded, batch.files))})


# --- The other files of a root, read as needed to follow links


class LinkIndex:
    """The files of `root`, read through `documents` with its limits.

    Each folder is listed once. Git-ignored files are not searched for links.
    """

    def __init__(self, documents: OutlinedFiles, root: Root) -> None:
        """Index `root`, which belongs to the workspace of `documents`."""
        self._documents = documents
        self._root = root
        self._folders: dict[str, dict[str, TargetKind] | None] = {}
        self._anchors: dict[str, frozenset[str] | None] = {}
        self._spelled: dict[str, str | None] = {"": ""}

    @classmethod
    def for_file(cls, file: SnapshotFile, documents: OutlinedFiles) -> "LinkIndex":
        """Return the index of the root of `file`."""
        name = documents.workspace.locate(file.path)
        assert isinstance(name, FileName), "the files of a snapshot were located before"
        return cls(documents, documents.workspace.root_of(name))

    def at(self, path: str) -> TargetKind:
        """Return the kind of entry at `path` from the root; links and excluded entries count as OTHER."""
        scope, place = self._root.scope, path
        while place and not (scope.is_limited and scope.refusal(place) is not None):
            folder, _, name = place.rpartition("/")
            names = self._names_in(folder)
            if names is not None:
                kind = names.get(name, TargetKind.NOTHING)
                # A missing folder has no entries; the entries of an unreadable one are unknown.
                return kind if place == path or kind is TargetKind.OTHER else TargetKind.NOTHING
            place = folder
        return TargetKind.OTHER

    def pages(self, key: str) -> Sequence[str]:
        """Return the sorted pages whose `page_key` is `key`."""
        return self._pages.get(key, ())

    def spelled(self, path: str) -> str | None:
        """Return the path that equals `path` except for case; None unless it is unique."""
        known, below = path.casefold(), []
        while known not in self._spelled:
            known, _, name = known.rpartition("/")
            below.append(name)
        here = self._spelled[known]
        for folded in reversed(below):
            entries = () if here is None else self._names_in(here) or ()
            names = [name for name in entries if name.casefold() == folded]
            here = None if len(names) != 1 else f"{here}/{names[0]}" if here else names[0]
            known = f"{known}/{folded}" if known else folded
            self._spelled[known] = here
        return here

    @property
    def rules(self) -> SiteRules:
        """The link rules of the site; none if they cannot be read."""
        return self._site if isinstance(self._site, SiteRules) else NO_RULES

    @property
    def rules_problem(self) -> Diagnostic | None:
        """A warning about unreadable link rules."""
        return self._site if isinstance(self._site, Diagnostic) else None

    @cached_property
    def _site(self) -> SiteRules | Diagnostic:
        return self._documents.site_rules(self._root)

    def anchors(self, path: str) -> frozenset[str] | None:
        """Return the anchors of the Markdown file `path` as `target_key`s; None if unreadable.

        Each file is parsed once.
        """
        if path not in self._anchors:
            self._anchors[path] = self._read_anchors(path)
        return self._anchors[path]

    def outline(self, path: str) -> Outline | None:
        """Return the document `path`, parsed; None if it is no Markdown file, or cannot be read."""
        if not path.lower().endswith(MARKDOWN_SUFFIXES):
            return None
        # A link can name any path.
        name = self._root.locate(path)
        outline = name if isinstance(name, Diagnostic) else self._documents.open(name, None, None)
        return None if isinstance(outline, Diagnostic) else outline

    def named(self, name: str) -> Sequence[str]:
        """Return the files with this `name`, in any case, sorted."""
        return self._by_name.get(name.casefold(), ())

    def documents(self, mark: str = "") -> Iterator[SnapshotFile | Diagnostic]:
        """Yield the Markdown files with the text `mark`, sorted; a warning for one that cannot be read."""
        yield from self._parsed(self._markdown, lambda text: mark in text)

    @cached_property
    def labels(self) -> Mapping[str, frozenset[str]]:
        """The MyST labels in each Markdown file, as returned by `labels_of`."""
        files = self._parsed(self._markdown, lambda text: LABEL_SIGN.search(text) is not None)
        return {file.relative: labels_of(file.outline) for file in files if not isinstance(file, Diagnostic)}

    @cached_property
    def makes_links(self) -> bool:
        """True if the site has mdBook preprocessors, which may create links from code."""
        name = FileName(self._root.name, "book.toml")
        content = self._documents.workspace.read(name, self._documents.max_file_bytes)
        return not isinstance(content, Diagnostic) and b"[preprocessor." in content.data

    def linking_to(
        self, names: frozenset[str], labels: frozenset[str] = frozenset()
    ) -> Iterator[SnapshotFile | Diagnostic]:
        """Yield Markdown files that may link to any of `names` or `labels`, sorted; parse only these.

        Yield a warning for an unreadable file.
        """
        yield from self._parsed(
            self._markdown,
            lambda text: (
                may_name(possible_links(text), names)
                or (f"{{{TOCTREE}}}" in text and may_list(text, names))
                or (bool(labels) and any(places_of_fragments(possible_links(text), labels)))
            ),
        )

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Yield navigation files that may list any of `names`, all for none; otherwise as `linking_to`."""
        known = entry_names(names)
        paths = filter(is_navigation, self._files)
        yield from self._parsed(paths, lambda text: not names or may_list(text, known))

    def _parsed(
        self, paths: Iterable[str], is_relevant: Callable[[str], bool]
    ) -> Iterator[SnapshotFile | Diagnostic]:
        for path in paths:
            name = FileName(self._root.name, path)
            content = self._documents.workspace.read(name, self._documents.max_file_bytes)
            if isinstance(content, Diagnostic):
                yield _not_looked_at(name, content)
            elif is_relevant(text_of_bytes(content.data)):
                source = self._documents.decode(name, content.data, None)
                if isinstance(source, Diagnostic):
                    yield _not_looked_at(name, source)
                else:
                    outline = self._documents.outline(name, source, None)
                    extend_parse_time(self._documents.limits.parse_seconds)
                    yield _snapshot_of(name, FileEdits.none_of(str(name)), outline, first_edit=0)

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        """Return why `file` cannot be replaced now, or None."""
        return self._documents.workspace.write_refusal(FileName(self._root.name, file.relative))

    def _read_anchors(self, path: str) -> frozenset[str] | None:
        outline = self.outline(path)
        return None if outline is None else resolvable_targets(outline)

    def _names_in(self, folder: str) -> dict[str, TargetKind] | None:
        """Return the entries of `folder` with their kinds, listed once; None if it cannot be opened."""
        if folder not in self._folders:
            above, _, name = folder.rpartition("/")
            around = self._folders.get(above) if folder else None
            is_missing = around is not None and around.get(name) is not TargetKind.OTHER
            self._folders[folder] = None if is_missing else self._list(folder)
        return self._folders[folder]

    def _list(self, folder: str) -> dict[str, TargetKind] | None:
        opened = self._root.open_folder(folder)
        if isinstance(opened, Diagnostic):
            return None
        try:
            entries = self._root.filesystem.list(opened)
        except OSError:
            return None
        finally:
            self._root.filesystem.release(opened)
        return {entry.name: TargetKind.FILE if entry.is_file else TargetKind.OTHER for entry in entries}

    @cached_property
    def _markdown(self) -> list[str]:
        return [path for path in self._files if path.lower().endswith(MARKDOWN_SUFFIXES)]

    @cached_property
    def _files(self) -> list[str]:
        everything = f"{self._root.name}:." if self._root.name else "."
        names = self._documents.workspace.iter_files(everything, respect_gitignore=True)
        if isinstance(names, Diagnostic):
            return []
        return [name.path for name in names]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        return _grouped(self._files, lambda path: path.rpartition("/")[2].casefold())

    @cached_property
    def _pages(self) -> dict[str, list[str]]:
        return _grouped(filter(has_page_name, self._files), page_key)


def _grouped(paths: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(key(path), []).append(path)
    return groups


def _not_looked_at(name: FileName, problem: Diagnostic) -> Diagnostic:
    return problem.code.warning(
        f"links in `{name}` were not looked at: {problem.message}",
        "correct them by hand if there are any",
        file=str(name),
    )
