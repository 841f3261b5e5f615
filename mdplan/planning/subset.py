"""The plan of some edits of a batch: what was accepted, and whether it stands without the rest."""

from collections.abc import Sequence

from mdplan.batch import Batch
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.planning.build import BuiltFile
from mdplan.planning.effects import effects_of


def accepted_batch(batch: Batch) -> Batch | Diagnostic:
    """`batch` with its accepted edits only. Errors: INVALID_ARGUMENT for an index that it does not have."""
    accept = frozenset(batch.accept or ())
    if not accept or max(accept) >= batch.edit_count:
        return Diagnostic(
            code=Code.INVALID_ARGUMENT,
            message=f"accept must name edits from 0 to {batch.edit_count - 1}",
            hint="leave accept out to take all edits",
        )
    files = []
    index = 0
    for file in batch.files:
        edits = tuple(edit for number, edit in enumerate(file.edits, start=index) if number in accept)
        index += len(file.edits)
        if edits:
            files.append(file.model_copy(update={"edits": edits}))
    return batch.model_copy(update={"files": tuple(files), "accept": None})


def needs_rejected(full: Sequence[BuiltFile], chosen: Sequence[BuiltFile], accept: Sequence[int]) -> Problems:
    """CONFLICTING_EDITS for accepted edits that do something else without the rejected ones.

    `full` and `chosen` are the files with all edits and with the accepted ones.
    """
    in_full = [effects for built in full for effects in effects_of(built)]
    in_chosen = [effects for built in chosen for effects in effects_of(built)]
    kept = sorted(set(accept))
    return tuple(
        Diagnostic(
            code=Code.CONFLICTING_EDITS,
            message=f"edit {index} does something else without edits {_listed(index, kept)}",
            hint="accept them too, or reject it",
            edit_index=index,
        )
        for position, index in enumerate(kept)
        if in_full[index] != in_chosen[position]
    )


def _listed(index: int, kept: Sequence[int]) -> str:
    """The rejected edits that stand before `index`."""
    rejected = sorted(set(range(index)) - set(kept))
    return ", ".join(map(str, rejected)) or "that were rejected"
