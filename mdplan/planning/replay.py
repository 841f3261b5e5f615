"""A plan on the bytes of today: are they its base or its result, and what do its text edits make of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic, Problems, file_exists
from mdplan.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange, Plan
from mdplan.planning.stale import stale_base
from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.source import ByteEdit, EncodeProblem, Source, sha256_hex, splice


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a plan as it is now, None where there is none; `renamed` is what its new path holds."""

    source: Source | None
    renamed: Source | None = None

    @property
    def sha256(self) -> str | None:
        """Hash of the file at its path."""
        return self.source.sha256 if self.source else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a plan makes of its bases: the bytes of every file, None for a deleted one, and the diff."""

    results: tuple[bytes | None, ...]
    diff: bytes


def is_applied(plan: Plan, found: Sequence[FoundFile]) -> bool:
    """Whether every file has its result already, and the plan changes something."""
    return not plan.is_no_op and all(
        _is_result(change, file) for change, file in zip(plan.files, found, strict=True)
    )


def stale_files(plan: Plan, found: Sequence[FoundFile]) -> Problems:
    """What is not as `plan` saw it; only files that are not the base are parsed.

    Errors: STALE_BASE; FILE_EXISTS where a file stands in the way; FILE_NOT_FOUND where one is gone.
    """
    problems = (stale_file(change, file) for change, file in zip(plan.files, found, strict=True))
    return tuple(problem for problem in problems if problem is not None)


def bases_of(plan: Plan, found: Sequence[FoundFile]) -> list[Source]:
    """What the text edits of `plan` start from: the files as `found`, or no text where one is created."""
    return [file.source or no_text(change.encoding) for change, file in zip(plan.files, found, strict=True)]


def replay(
    plan: Plan, relative_paths: Sequence[tuple[str, str | None]], bases: Sequence[Source]
) -> Replay | Problems:
    """The text edits of `plan` on its bases; `relative_paths` are old and new paths without the root's name.

    Errors: PLAN_TAMPERED where base and edits do not give the result hash that the plan names.
    """
    results: list[bytes | None] = []
    diff: list[bytes] = []
    for change, (path, new_path), base in zip(plan.files, relative_paths, bases, strict=True):
        replayed = replay_file(change, base)
        if isinstance(replayed, Diagnostic):
            return (replayed,)
        results.append(replayed.result)
        old = None if change.base_sha256 is None else path
        new = None if change.result_sha256 is None else new_path or path
        diff.append(file_diff(old, new, find_hunks(base.data, replayed.byte_edits)))
    return Replay(results=tuple(results), diff=b"".join(diff))


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
    return file.source is None and file.renamed is not None and file.renamed.sha256 == change.result_sha256


def stale_file(change: FileChange, file: FoundFile) -> Diagnostic | None:
    """What is not as the plan of `change` saw it; None when `file` is its base. Errors: as `stale_files`."""
    if file.renamed is not None:
        return file_exists(change.new_path or change.path)
    if file.sha256 == change.base_sha256:
        return None
    if file.source is None:
        return Diagnostic(
            code=Code.FILE_NOT_FOUND,
            message=f"`{change.path}` is gone since it was planned on",
            hint="plan again on the files that are there",
            file=change.path,
        )
    if change.base_sha256 is None:
        return file_exists(change.path)
    outline = Outline(file.source, document_format(change.path, file.source.text, change.format))
    # A plan that comes from the history does not know the sections of its base.
    return stale_base(change.path, change.base_sha256, outline, change.base_sections or None)


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
