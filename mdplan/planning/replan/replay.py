"""A plan on the bytes of today: are they its base or its result, and what do its text edits make of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, overload

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange, Plan
from mdplan.planning.replan.stale import stale_base
from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.source import ByteEdit, EncodeProblem, Source, sha256_hex, splice

# How many bytes of results a replay contains; beyond that a result is made again when it is asked for.
CACHED_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a plan as it is now: its hash, None where there is none, and that of what has its new path.

    `read` gives its text. Where a plan has many files it is read again each time, and may be another by then.
    """

    sha256: str | None
    read: Callable[[], Source | None]
    renamed_sha256: str | None = None

    @classmethod
    def of(cls, source: Source | None, renamed_sha256: str | None = None) -> "FoundFile":
        """A file whose text is held."""
        return cls(source.sha256 if source else None, lambda: source, renamed_sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The result of a plan on its bases: the bytes of every file, None for a deleted one, and the diff.

    Of many `results` only some are held: another is made of its base when it is asked for. Each is proven by
    the hash in the plan; it is None for a file that goes, and when what is its base by then is another one.
    `sizes` are their lengths. `texts` are the results as text, if all of them are held.
    """

    results: Sequence[bytes | None]
    sizes: Sequence[int]
    diff: bytes
    texts: Sequence[Source | None] | None = None


class _Bases(Sequence[Source]):
    """What the text edits of a plan start from, read when it is asked for."""

    def __init__(self, plan: Plan, found: Sequence[FoundFile]) -> None:
        self._plan = plan
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> Source: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Source]: ...
    def __getitem__(self, at: int | slice) -> Source | Sequence[Source]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        return self._found[at].read() or no_text(self._plan.files[at].encoding)


class _Results(Sequence[bytes | None]):
    """What a plan makes of `bases`; `cached` are some of the results, by position."""

    def __init__(self, plan: Plan, bases: Sequence[Source], cached: Mapping[int, bytes]) -> None:
        self._plan = plan
        self._bases = bases
        self._cached = cached

    def __len__(self) -> int:
        return len(self._plan.files)

    @overload
    def __getitem__(self, at: int) -> bytes | None: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes | None]: ...
    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes | None] | None:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        if at in self._cached:
            return self._cached[at]
        replayed = replay_file(self._plan.files[at], self._bases[at])
        return None if isinstance(replayed, Diagnostic) else replayed.result


def is_applied(plan: Plan, found: Sequence[FoundFile]) -> bool:
    """Whether every file has its result already, and the plan changes something."""
    return not plan.is_no_op and all(
        _is_result(change, file) for change, file in zip(plan.files, found, strict=True)
    )


def stale_files(plan: Plan, found: Sequence[FoundFile]) -> Problems:
    """What is not as `plan` saw it; only files that are not the base are parsed.

    Errors: STALE_BASE; FILE_EXISTS where a file is in the way; FILE_NOT_FOUND where one is gone.
    """
    problems = (stale_file(change, file) for change, file in zip(plan.files, found, strict=True))
    return tuple(problem for problem in problems if problem is not None)


def bases_of(plan: Plan, found: Sequence[FoundFile]) -> Sequence[Source]:
    """What the text edits of `plan` start from: the files as `found`, or no text where one is created."""
    return _Bases(plan, found)


def replay(
    plan: Plan,
    relative_paths: Sequence[tuple[str, str | None]],
    bases: Sequence[Source],
    *,
    with_diff: bool = True,
) -> Replay | Problems:
    """The text edits of `plan` on its bases; `relative_paths` are old and new paths without the root's name.

    Without `with_diff` there is none: that of many files is large. Errors: PLAN_TAMPERED where base and edits
    do not give the result hash that the plan names; STALE_BASE.
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
    return Replay(results=_Results(plan, bases, cached), sizes=sizes, diff=b"".join(diff))


@dataclass(frozen=True, slots=True)
class ReplayedFile:
    """The bytes that a plan makes of one file, None where it is deleted, and the edits that make them."""

    result: bytes | None
    byte_edits: tuple[ByteEdit, ...]


def replay_file(change: FileChange, base: Source) -> ReplayedFile | Diagnostic:
    """The text edits of `change` on its base.

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


def _is_result(change: FileChange, file: FoundFile) -> bool:
    if change.new_path is None:
        return file.sha256 == change.result_sha256
    return file.sha256 is None and file.renamed_sha256 == change.result_sha256


def stale_file(change: FileChange, file: FoundFile) -> Diagnostic | None:
    """What is not as the plan of `change` saw it; None when `file` is its base. Errors: as `stale_files`."""
    if file.renamed_sha256 is not None:
        return Diagnostic.file_exists(change.new_path or change.path)
    if file.sha256 == change.base_sha256:
        return None
    source = file.read()
    if source is None:
        return Diagnostic(
            code=Code.FILE_NOT_FOUND,
            message=f"`{change.path}` is gone since it was planned on",
            hint="plan again on the files that are there",
            file=change.path,
        )
    return Diagnostic.file_exists(change.path) if change.base_sha256 is None else _moved_on(change, source)


def _moved_on(change: FileChange, source: Source) -> Diagnostic:
    """STALE_BASE: the file is `source` now."""
    outline = Outline(source, document_format(change.path, source.text, change.format))
    # A plan that comes from the history does not know the sections of its base.
    return stale_base(change.path, change.base_sha256 or "", outline, change.base_sections or None)


def no_text(encoding: str | None) -> Source:
    """What the text edits of a file that is created start from."""
    source = Source.decode(b"", encoding)
    return source if isinstance(source, Source) else Source.from_text("")


def _tampered(change: FileChange) -> Diagnostic:
    return Diagnostic(
        code=Code.PLAN_TAMPERED,
        message=f"the text edits of the plan do not give the result that it names for `{change.path}`",
        hint="plan the batch again",
        file=change.path,
    )
