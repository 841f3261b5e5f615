"""A batch that comes a second time: evidence alone cannot tell it from a new one, the last commit can."""

import hashlib
from collections.abc import Iterable

from mdplan.plan import PREFIX, Plan, canonical_json
from mdplan.requests.batch import Batch, normalized_edits


def state_id(files: Iterable[tuple[str, str | None]]) -> str:
    """Name of a state of files, given by their paths and the SHA-256 of their bytes; None for no file."""
    return PREFIX + hashlib.sha256(canonical_json(sorted(files, key=lambda file: file[0]))).hexdigest()


def result_id(plan: Plan) -> str:
    """Name of the state that `plan` leaves the files in that its batch names."""
    return state_id(
        (change.path, None if change.new_path else change.result_sha256)
        for change, edits in zip(plan.files, plan.requested, strict=True)
        if edits
    )


def may_repeat(batch: Batch) -> bool:
    """Whether `batch` could be committed again on its own result: no base hash of it would refuse that."""
    has_all_bases = all(file.base_sha256 is not None for file in batch.files)
    return batch.accept is None and (not has_all_bases or batch.on_stale != "refuse")


def is_same_request(plan: Plan, batch: Batch) -> bool:
    """Whether `plan` was made of what `batch` asks for, apart from the spelling of paths."""
    requested = [(file.encoding, file.format, list(normalized_edits(file))) for file in batch.files]
    planned = [
        (change.encoding, change.format, list(edits))
        for change, edits in zip(plan.files, plan.requested, strict=True)
        if edits
    ]
    is_same = canonical_json([planned, dict(plan.options)]) == canonical_json([requested, batch.options])
    return is_same and plan.intent == batch.intent
