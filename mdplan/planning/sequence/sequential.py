"""A batch in which each edit sees the result of those before it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operations.base import Operation
from mdplan.planning.build import BuiltFile, build_file
from mdplan.planning.resolve import ResolvedEdit, has_run_long, resolve_edits
from mdplan.planning.sequence.post_edits import moved_spans
from mdplan.planning.sequence.remap import remap_operation
from mdplan.planning.sequence.state import SequentialState
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.verify import verify_outline
from mdplan.requests.batch import Batch
from mdplan.text.edit import EditList, compose
from mdplan.text.lines import Span
from mdplan.text.source import EncodeProblem


def build_in_sequence(file: SnapshotFile, batch: Batch) -> BuiltFile | Problems:
    """Result of the edits of `file`, each resolved and checked on the result of those before it.

    An edit that cannot be made is omitted, and the next one is tried, so that all problems are reported.
    Errors: those of `resolve_edits`, `build_file` and `verify_outline`.
    """
    done = SequentialState.before_all(file.outline)
    steps: list[BuiltFile] = []
    earlier: dict[int, EditList] = {}
    resolved: list[ResolvedEdit] = []
    written: dict[int, tuple[Span, ...]] = {}
    problems: list[Diagnostic] = []
    for index, operation in enumerate(file.requested.edits, start=file.first_edit):
        remapped = remap_operation(operation, done)
        if not isinstance(remapped, Operation):
            problems += (problem.at(file=file.path, edit_index=index) for problem in remapped)
            continue
        step = replace(
            file,
            requested=file.requested.model_copy(update={"edits": (remapped,)}),
            outline=done.current,
            first_edit=index,
        )
        built = _build_step(step, batch)
        if not isinstance(built, BuiltFile):
            problems += built
            if has_run_long(problems):
                break
            continue
        resolved += _with_overlaps(built, written)
        steps.append(built)
        earlier[index] = done.edits
        written = moved_spans(written, built.edits) | built.written
        done = done.after(built)
    if problems:
        return tuple(problems)
    byte_edits = file.outline.source.byte_edits(done.edits)
    assert not isinstance(byte_edits, EncodeProblem), "every step was encoded"
    return BuiltFile(
        file=file,
        resolved=resolved,
        edits=done.edits,
        byte_edits=byte_edits,
        result=done.current,
        written=written,
        earlier=earlier,
        later=_later(steps),
    )


def _build_step(step: SnapshotFile, batch: Batch) -> BuiltFile | Problems:
    resolved, problems = resolve_edits(step)
    if problems:
        return problems
    built = build_file(step, resolved)
    if not isinstance(built, BuiltFile):
        return built
    return verify_outline(built, batch) or built


def _later(steps: Sequence[BuiltFile]) -> dict[int, EditList]:
    """By the index of each edit, the edits from the document that it saw to the result."""
    later: dict[int, EditList] = {}
    behind = EditList()
    for step in reversed(steps):
        behind = compose(step.edits, behind, len(step.base.source.text))
        later[step.resolved[0].index] = behind
    return later


def _with_overlaps(built: BuiltFile, written: Mapping[int, tuple[Span, ...]]) -> list[ResolvedEdit]:
    """The edit of one step, with a warning for each earlier edit whose text it touches."""
    (item,) = built.resolved
    touched = [
        index
        for index, spans in written.items()
        if any(edit.span.overlaps(span) for edit in built.edits for span in spans)
    ]
    if not touched:
        return [item]
    numbers = built.file.numbers
    notice = Diagnostic.warning(
        Code.OVERLAPPING_EDIT,
        f"{numbers.named(item.index)} changes text that {numbers.listed(touched)} wrote",
        "sequential edits do this; combine the edits if you did not intend it",
    )
    resolution = replace(item.resolution, warnings=(*item.resolution.warnings, notice))
    return [replace(item, resolution=resolution)]
