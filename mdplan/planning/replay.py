"""Apply a plan to files as they are now, or say which of them changed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, overload

from mdplan.diagnostics import Candidate, Code, Diagnostic, Problems
from mdplan.markdown.addresses import candidate
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange, Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.plan_document import effects_of
from mdplan.planning.results import report_fields
from mdplan.reports.plan import PlanReport
from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.source import ByteEdit, EncodeProblem, Source, sha256_hex, splice
from mdplan.values import Struct
from mdplan.words import say

Entry = TypeVar("Entry")

# How many bytes of results a replay keeps; it makes other results again when they are read.
CACHED_BYTES: Final = 1 << 24


class FoundFile(Struct):
    """The current state of a file of a plan: its hash, or None if it does not exist.

    `renamed_sha256` is the hash of the file at its new path, or None if the plan moves that file away. `read`
    returns its text; plans of many files read it each time, so it may have changed.
    """

    sha256: str | None
    read: Callable[[], Source | None]
    renamed_sha256: str | None = None

    @classmethod
    def of(cls, source: Source | None, renamed_sha256: str | None = None) -> "FoundFile":
        """Return a file whose text is held."""
        return cls(source.sha256 if source else None, lambda: source, renamed_sha256)


class Replay(Struct, kw_only=True):
    """The result of a plan on its bases: the bytes of every file, None for a deleted one, and the diff.

    Only some of many `results` are in memory; others are made from their bases on access, verified by the
    hash in the plan, and None if the base has changed. `sizes` are their lengths. `texts` are the decoded
    results, if all are in memory.
    """

    results: Sequence[bytes | None]
    sizes: Sequence[int]
    diff: bytes
    texts: Sequence[Source | None] | None = None


class LazySequence(Sequence[Entry]):
    """A sequence of `count` entries; `load` makes the one at an index each time it is read."""

    def __init__(self, count: int, load: Callable[[int], Entry]) -> None:
        self._count, self._load = count, load

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        index = range(len(self))[at]
        return self._load(index) if isinstance(index, int) else tuple(map(self._load, index))


def is_applied(plan: Plan, files: Sequence[FoundFile]) -> bool:
    """Return True if every file has its result already, and the plan changes something."""
    renamed: list[tuple[FileChange, FoundFile]] = []
    for change, file in zip(plan.files, files, strict=True):
        if change.new_path is not None:
            renamed.append((change, file))
        elif file.sha256 != change.result_sha256:
            return False
    paths = {change.path for change, _ in renamed}
    arrived = {change.new_path: change.result_sha256 for change, _ in renamed}
    return not plan.is_no_op and all(
        file.sha256 == arrived.get(change.path)
        and (change.new_path in paths or file.renamed_sha256 == change.result_sha256)
        for change, file in renamed
    )


def stale_files(plan: Plan, files: Sequence[FoundFile]) -> Problems:
    """Return what is not as `plan` saw it; only files that are not the base are parsed.

    Errors: STALE_BASE; FILE_EXISTS where a file is in the way; FILE_NOT_FOUND where one is gone.
    """
    problems = (stale_file(change, file) for change, file in zip(plan.files, files, strict=True))
    return tuple(problem for problem in problems if problem is not None)


def bases_of(plan: Plan, files: Sequence[FoundFile]) -> Sequence[Source]:
    """Return what the text edits of `plan` start from: the current `files`, or no text for a new file."""
    return LazySequence(len(files), lambda at: files[at].read() or no_text(plan.files[at].encoding))


def replay(
    plan: Plan,
    relative_paths: Sequence[tuple[str, str | None]],
    bases: Sequence[Source],
    *,
    with_diff: bool = True,
) -> Replay | Problems:
    """Apply the text edits of `plan` to its bases; `relative_paths` are paths without the root's name.

    `with_diff` false omits the diff, which is large for many files. Errors: PLAN_TAMPERED if base and edits
    do not give the result hash in the plan; STALE_BASE.
    """
    cached: dict[int, bytes] = {}
    sizes: list[int] = []
    diff: list[bytes] = []
    room = CACHED_BYTES
    for index, (change, (path, new_path), base) in enumerate(
        zip(plan.files, relative_paths, bases, strict=True)
    ):
        if change.base_sha256 is not None and base.sha256 != change.base_sha256:
            return (_moved_on(change, base),)
        replayed = replay_file(change, base)
        if isinstance(replayed, Diagnostic):
            return (replayed,)
        sizes.append(len(replayed.result or b""))
        room -= sizes[-1]
        if replayed.result is not None and room >= 0:
            cached[index] = replayed.result
        old = None if change.base_sha256 is None else path
        new = None if change.result_sha256 is None else new_path or path
        if with_diff:
            diff.append(file_diff(old, new, find_hunks(base.data, replayed.byte_edits)))

    def result_at(index: int) -> bytes | None:
        if index in cached:
            return cached[index]
        replayed = replay_file(plan.files[index], bases[index])
        return None if isinstance(replayed, Diagnostic) else replayed.result

    results = LazySequence(len(plan.files), result_at)
    return Replay(results=results, sizes=sizes, diff=b"".join(diff))


class ReplayedFile(Struct):
    """The new bytes of a file, None if it is deleted, and the edits that produce them."""

    result: bytes | None
    byte_edits: tuple[ByteEdit, ...]


def replay_file(change: FileChange, base: Source) -> ReplayedFile | Diagnostic:
    """Apply the text edits of `change` to its base.

    Errors: PLAN_TAMPERED where they do not give the result hash that the plan names.
    """
    fits = all(edit.span.end <= len(base.text) for edit in change.edits)
    byte_edits = base.planned_byte_edits(change.edits) if fits else EncodeProblem(0, None)
    if isinstance(byte_edits, EncodeProblem):
        return _tampered(change)
    result = splice(base.data, byte_edits)
    if change.result_sha256 is None:
        return ReplayedFile(None, (ByteEdit(0, len(base.data), b""),))  # With its byte order mark.
    return (
        ReplayedFile(result, byte_edits) if sha256_hex(result) == change.result_sha256 else _tampered(change)
    )


def stale_file(change: FileChange, file: FoundFile) -> Diagnostic | None:
    """Return how `file` differs from the base of `change`; None if it is. Errors: as `stale_files`."""
    if file.renamed_sha256 is not None:
        return Code.FILE_EXISTS.of(file=change.new_path or change.path)
    if file.sha256 == change.base_sha256:
        return None
    source = file.read()
    if source is None:
        return Code.FILE_NOT_FOUND.problem(
            f"`{change.path}` is gone since it was planned on",
            "plan again on the files that are there",
            file=change.path,
        )
    return Code.FILE_EXISTS.of(file=change.path) if change.base_sha256 is None else _moved_on(change, source)


def _moved_on(change: FileChange, source: Source) -> Diagnostic:
    """Return STALE_BASE: the file is `source` now."""
    outline = Outline(source, document_format(change.path, source.text, change.format))
    # Plans from the history lack the section hashes of their base.
    return stale_base(change.path, change.base_sha256 or "", outline, change.base_sections or None)


def no_text(encoding: str | None) -> Source:
    """Return what the text edits of a file that is created start from."""
    source = Source.decode(b"", encoding)
    return source if isinstance(source, Source) else Source.from_text("")


def _tampered(change: FileChange) -> Diagnostic:
    return Code.PLAN_TAMPERED.problem(
        f"the text edits of the plan do not give the result that it names for `{change.path}`",
        "plan the batch again",
        file=change.path,
    )


# --- A plan and the files it was made of


class PlannedBatch(Struct, kw_only=True):
    """A plan, the files that it was made of, and of a part the accepted and rejected indexes of the batch."""

    plan: Plan
    files: Sequence[BuiltFile] = ()
    accepted: tuple[int, ...] | None = None
    rejected: tuple[int, ...] | None = None
    rebased: bool | None = None

    @property
    def bases(self) -> list[Source]:
        """The bases of its files."""
        return [built.base.source for built in self.files]

    @property
    def diff(self) -> bytes:
        """The exact unified diff."""
        return b"".join(built.diff for built in self.files)

    def replayed(self) -> Replay:
        """Return what a replay on the bases would give, from the results that planning made."""
        sources = [None if built.file.is_deleted else built.result.source for built in self.files]
        return Replay(
            results=[source.data if source else None for source in sources],
            sizes=[len(source.data) if source else 0 for source in sources],
            diff=self.diff,
            texts=sources,
        )

    def report_fields(self) -> dict[str, Any]:
        """Return what a report says of it."""
        fields = report_fields(self.plan, self.diff)
        return fields | {"accepted": self.accepted, "rejected": self.rejected}


class PlanResult(Struct):
    """A report on a new plan, with the exact bytes of its diff and its document; empty for a refusal."""

    report: PlanReport
    diff: bytes = b""
    document: bytes = b""
    # What `Engine.keep` stores.
    planned: PlannedBatch | None = None


# --- The same edits on a base that changed, if they still do the same to the same text


def request_of(plan: Plan, *, with_bases: bool) -> dict[str, Any]:
    """Return the batch that `plan` was made of, as decoded JSON.

    `with_bases` adds the base hashes of the plan as preconditions. Files without edits are omitted, because
    planning derives their changes again.
    """
    files = []
    for change, edits in zip(plan.files, plan.requested, strict=True):
        if not edits:
            continue
        file: dict[str, Any] = {"file": change.path, "edits": [dict(edit) for edit in edits]}
        file |= {
            name: value
            for name, value in (("encoding", change.encoding), ("format", change.format))
            if value is not None
        }
        pins = with_bases and change.base_sha256 is not None
        files.append(file | ({"baseSha256": change.base_sha256} if pins else {}))
    return {"files": files, **plan.options, **plan.intent.fields}


def other_bases(whole: Plan, part: Plan) -> Problems:
    """Return STALE_BASE for every file of `part` whose base differs from the plan `whole`.

    The request itself does not guard files without edits.
    """
    bases = {change.path: change.base_sha256 for change in whole.files}
    return tuple(
        Code.STALE_BASE.problem(
            f"`{change.path}` is not the file that the plan was made on",
            "plan again on the files as they are now",
            file=change.path,
        )
        for change in part.files
        if bases.get(change.path, "") != change.base_sha256
    )


def other_effects(plan: Plan, built_files: Sequence[BuiltFile]) -> Problems:
    """Return STALE_BASE for every edit that would now remove or insert something else, or elsewhere."""
    now, numbers = effects_of(built_files), plan.edit_numbers
    return tuple(
        Code.STALE_BASE.problem(
            f"{numbers.named(index)} would not do the same on the changed file",
            "look at the file and plan again",
            edit_index=index,
        )
        for index, (before, after) in enumerate(zip(plan.effects, now, strict=True))
        if before != after
    )


# --- Which sections of a stale file changed

_LISTED = 5


def stale_base(
    path: str, expected: str, current: Outline, base_sections: Mapping[str, str] | None = None
) -> Diagnostic:
    """Return STALE_BASE for the file `path`, whose hash should have been `expected`.

    With `base_sections` (hashes by section ID in the base), the changed sections are candidates, and new and
    missing ones are counted.
    """
    sha256 = current.source.sha256
    message = (
        f"`{path}` has changed since it was read: its SHA-256 is now {sha256[:16]}…, not {expected[:16]}…"
    )
    changed: tuple[Candidate, ...] = ()
    if base_sections is not None:
        now = current.own_hashes()
        differing = [
            section
            for section in current.sections
            if section.section_id not in base_sections
            or base_sections[section.section_id] != now[section.section_id]
        ]
        gone = len(base_sections.keys() - now.keys())
        lines = ", ".join(f"{section.first_line}-{section.last_line}" for section in differing[:_LISTED])
        noun = "section" if len(differing) == 1 else "sections"
        message += f"; changed since: {len(differing)} {noun}" + (f" (lines {lines})" if lines else "")
        message += f", gone: {gone}" if gone else ""
        changed = tuple(candidate(section) for section in differing[:_LISTED])
    return Code.STALE_BASE.problem(
        message,
        say("look at what changed with {step stat}, then plan again on the file as it is"),
        file=path,
        candidates=changed,
    )
