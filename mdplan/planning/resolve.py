"""Every edit against the base: its text edits, or what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from mdplan.diagnostics import AND_MORE, MOST_PROBLEMS, Code, Diagnostic, Problems
from mdplan.edit_numbers import EditNumbers
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Operation, Resolution, SectionTargeted
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.source import DocumentFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedEdit:
    """One edit with its text edits, against `outline`. `index` counts through the whole batch, from 0.

    Of an edit that moves text here from another file, `origin` is the path of that file, from the root.
    """

    index: int
    operation: Operation
    resolution: Resolution
    outline: Outline
    origin: str | None = None


def resolve_edits(file: SnapshotFile) -> tuple[tuple[ResolvedEdit, ...], Problems]:
    """All edits of `file` against its base in one pass; it goes on after the first problem.

    But not after one that took all the time or memory that an edit may take: the time
    and memory of a batch are those of one of its edits. Errors: those of the operations; FILE_TOO_LARGE;
    INVALID_ARGUMENT for an operation on a file of another format; PRECONDITION_REQUIRED for an ID that counts
    equal headings and is not guarded.
    """
    resolved: list[ResolvedEdit] = []
    problems: list[Diagnostic] = []
    written = 0
    for index, operation in enumerate(file.requested.edits, start=file.first_edit):
        outcome = _resolve(operation, file)
        if isinstance(outcome, Resolution):
            resolved.append(
                ResolvedEdit(index=index, operation=operation, resolution=outcome, outline=file.outline)
            )
        else:
            problems += (
                _with_order(problem, operation, resolved, file.numbers).at(file=file.path, edit_index=index)
                for problem in outcome
            )
        if len(problems) > MOST_PROBLEMS:
            problems[MOST_PROBLEMS:] = [AND_MORE]
        if has_run_long(problems) or problems[-1:] == [AND_MORE]:
            break
        written += _characters(outcome)
        if written > file.outline.limits.result_characters + len(file.outline.source.text):
            most = f"{file.outline.limits.result_characters} bytes"
            problem = too_long(file.path, f"{written} characters or more", most)
            problems.append(problem.at(edit_index=index))
            break
    return tuple(resolved), tuple(problems)


def _with_order(
    problem: Diagnostic, operation: Operation, before: Iterable[ResolvedEdit], numbers: EditNumbers
) -> Diagnostic:
    """`problem`, with a hint to `sequential` where an edit `before` writes the heading that is missing."""
    if problem.code is not Code.SECTION_NOT_FOUND or not isinstance(operation, SectionTargeted):
        return problem
    path = operation.heading_path or (operation.heading or "",)
    title = path[-1].lstrip("# \t")
    for earlier in before:
        done = earlier.resolution
        written = (*(edit.new_text for edit in done.edits), *(each.payload.text for each in done.insertions))
        if title and any(title in text for text in written):
            hint = f"{numbers.named(earlier.index)} writes it; with sequential: true it is seen"
            return replace(problem, hint=hint)
    return problem


_COSTLY: Final = frozenset({Code.REGEX_TIMEOUT, Code.BATCH_TOO_LARGE, Code.FILE_TOO_LARGE})


def has_run_long(problems: Iterable[Diagnostic]) -> bool:
    """Whether one of `problems` has taken all the time or memory that an edit may take."""
    return any(problem.code in _COSTLY for problem in problems)


def too_long(path: str, size: str, limit: str, option: str = "--max-file-bytes") -> Diagnostic:
    """FILE_TOO_LARGE for a file whose result would have that size; `option` raises the limit."""
    return Diagnostic(
        code=Code.FILE_TOO_LARGE,
        message=f"the result of `{path}` would have {size}, and the limit is {limit}",
        hint=f"write less, or raise `{option}`",
        file=path,
    )


def _characters(outcome: Resolution | Problems) -> int:
    if not isinstance(outcome, Resolution):
        return 0
    return sum(len(edit.new_text) for edit in outcome.edits)


def _resolve(operation: Operation, file: SnapshotFile) -> Resolution | Problems:
    other_format = _other_format(operation, file.outline.format)
    if other_format is not None:
        return (other_format,)
    located = operation.located(file.outline)
    if isinstance(located, Diagnostic):
        return (located,)
    outcome = located.resolve(file.outline)
    if isinstance(outcome, Resolution) and _lacks_precondition(operation, outcome, file):
        return (
            Diagnostic(
                code=Code.PRECONDITION_REQUIRED,
                message="this sectionId counts equal headings, so an edit elsewhere could have moved it",
                hint="look at the file, and send the baseSha256 or sectionSha256 that you get with it",
            ),
        )
    return outcome


def _other_format(operation: Operation, actual: DocumentFormat) -> Diagnostic | None:
    if operation.needs_ini and actual is not DocumentFormat.INI:
        is_data = actual in {DocumentFormat.YAML, DocumentFormat.JSON, DocumentFormat.TOML}
        needed = DocumentFormat.INI
        instead = (
            "leave out `section`, `occurrence` and `sectionSha256`, or send"
            if is_data
            else "edit INI files with it, or send"
        )
    elif operation.needs_markdown and actual is not DocumentFormat.MARKDOWN:
        needed, instead = DocumentFormat.MARKDOWN, "use replace_match or replace_range, or"
    else:
        return None
    return Diagnostic.invalid(
        f"{operation.op} needs {_NAMES[needed]}, and this file counts as {_NAMES[actual]}",
        f'{instead} `"format": "{needed}"` next to `file`',
    )


_NAMES: Final = {
    DocumentFormat.MARKDOWN: "Markdown",
    DocumentFormat.INI: "INI",
    DocumentFormat.YAML: "YAML",
    DocumentFormat.JSON: "JSON",
    DocumentFormat.TOML: "TOML",
    DocumentFormat.TEXT: "plain text",
}


def _lacks_precondition(operation: Operation, resolution: Resolution, file: SnapshotFile) -> bool:
    return (
        isinstance(operation, SectionTargeted)
        and file.requested.base_sha256 is None
        and operation.needs_precondition(resolution)
    )
