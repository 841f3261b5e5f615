"""The plan of the accepted edits of a batch, which must do the same without the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.edit_numbers import EditNumbers
from mdplan.planning.build import BuildResult, BuiltFile
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.results.fingerprints import changes_of
from mdplan.planning.snapshot import SnapshotFile
from mdplan.requests.batch import Batch


def accepted_batch(batch: Batch) -> Batch | Diagnostic:
    """`batch` with its accepted edits only. Errors: INVALID_ARGUMENT for an index that it does not have."""
    accept = frozenset(batch.accept or ())
    if not accept or max(accept) >= batch.edit_count:
        return Diagnostic.invalid(
            f"accept must name edits from 0 to {batch.edit_count - 1}", "leave accept out to take all edits"
        )
    files = []
    index = 0
    for file in batch.files:
        edits = tuple(edit for number, edit in enumerate(file.edits, start=index) if number in accept)
        index += len(file.edits)
        if edits:
            files.append(file.model_copy(update={"edits": edits}))
    return batch.model_copy(update={"files": tuple(files), "accept": None})


def needs_rejected(batch: Batch, full: BuildResult, chosen: BuildResult | Problems) -> Problems:
    """CONFLICTING_EDITS for accepted edits that cannot do without the rejected ones what they do with them.

    `full` are the files with all edits of `batch`, `chosen` those with the accepted ones, or why they cannot
    be made. The spans and texts of an edit are compared as they are in the base.
    """
    files = [built.file for built in full.files for _ in built.resolved]
    subset = _Subset(sorted(set(batch.accept or ())), files)
    if not isinstance(chosen, BuildResult):
        return tuple(subset.want(problem) for problem in chosen)
    in_full, in_chosen = _changes(full.files), _changes(chosen.files)
    return tuple(
        subset.conflict(f"{subset.numbers.named(index)} does something else without", index)
        for position, index in enumerate(subset.kept)
        if in_full[index] != in_chosen[position]
    )


_Changes = tuple[tuple[int | None, int | None, str, str], ...]


def _changes(built_files: Sequence[BuiltFile]) -> list[_Changes]:
    """By edit, where what it replaces is in the base, that text, and the new one."""
    there = {item.index: _changes_of(built, item) for built in built_files for item in built.arriving_edits}
    return [
        _changes_of(built, item) + there.get(item.index, ())
        for built in built_files
        for item in built.resolved
    ]


def _changes_of(built: BuiltFile, item: ResolvedEdit) -> _Changes:
    seen, outline = built.edits_before(item.index), item.outline
    return tuple(
        (seen.unmap_offset(span.start), seen.unmap_offset(span.end), outline.text_of(span), new_text)
        for span, new_text in changes_of(item)
    )


@dataclass(frozen=True, slots=True)
class _Subset:
    """Indexes of the accepted edits, and the file of every edit of the batch."""

    kept: Sequence[int]
    files: Sequence[SnapshotFile]

    @property
    def numbers(self) -> EditNumbers:
        return self.files[0].numbers if self.files else EditNumbers()

    def want(self, problem: Diagnostic) -> Diagnostic:
        """What a `problem` of the accepted edits alone says of the rejected ones."""
        if problem.edit_index is not None:
            index = self.kept[problem.edit_index]
            return self.conflict(f"{self.numbers.named(index)} cannot be made without", index)
        if problem.code in {Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING}:
            # A file that only a move writes into has no edits of its own: then any edit may be what it lacks.
            own = [index for index, file in enumerate(self.files) if file.path == problem.file]
            index = max(own or range(len(self.files)))
            return replace(self.conflict(f"{problem.message}, without", index), edit_index=None)
        return problem

    def conflict(self, what: str, index: int) -> Diagnostic:
        """`what`, and the rejected edits of the same file that `index` needs: those before it, if any are."""
        file = self.files[index]
        rejected = [
            other
            for other in range(file.first_edit, file.first_edit + len(file.requested.edits))
            if other not in self.kept
        ]
        before = [other for other in rejected if other < index] or rejected
        return Diagnostic(
            code=Code.CONFLICTING_EDITS,
            message=f"{what} {self.numbers.listed(before)}",
            hint="accept them too, or reject it",
            file=file.path,
            edit_index=index,
        )
