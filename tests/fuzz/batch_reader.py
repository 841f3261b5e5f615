"""Target: the door, where any JSON becomes a batch, a request with a plan, or all that is wrong with it."""

import json
from copy import deepcopy
from random import Random
from typing import Any, Final

from mdplan.diagnostics import Problems
from mdplan.engine.plans import read_apply_request
from mdplan.limits import DEFAULT_LIMITS
from mdplan.reports.base import refusal, to_wire
from mdplan.reports.plan import PlanReport
from mdplan.requests.batch import Batch, GlobEdits, MatchingEdits, normalized_edits, read_batch
from tests.fuzz.mutation import Json, mutated_json, mutated_text
from tests.fuzz.seeds import batches, edits
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    """Check that input stays unchanged, that a batch sent again means the same, and that refusals can be
    shown.
    """
    try:
        sent = json.loads(data)
    except (ValueError, RecursionError):
        sent = data.decode("utf-8", "surrogateescape")
    was = deepcopy(sent)
    read = read_batch(sent)
    assert repr(sent) == repr(was), "what was sent is changed"
    if isinstance(read, Batch):
        _check_again(read)
    else:
        check_problems(read)
    if isinstance(sent, dict):
        for marks in ({}, {"planId": "sha256-0"}, {"mdplanPlan": 2}):
            request = read_apply_request(sent | marks, DEFAULT_LIMITS)
            if isinstance(request, tuple):
                check_problems(request)


def check_problems(problems: Problems) -> None:
    """Each says what and what to do, in valid Unicode, and there are not too many."""
    assert problems, "a refusal without a reason"
    assert all(problem.message and len(problem.message) < 2_000 for problem in problems)
    wire = json.dumps(to_wire(refusal(PlanReport, problems)), ensure_ascii=False, allow_nan=False)
    assert len(wire.encode()) < 200_000


def _check_again(batch: Batch) -> None:
    again = read_batch(json.loads(json.dumps(_sent_again(batch))))
    assert again == batch, "the batch, sent again, is another"


def _sent_again(batch: Batch) -> dict[str, Any]:
    """A request for `batch`. Edits for the files with a match can only be sent next to the list of files."""
    shared: dict[str, Any] = {}
    files: list[Any] = []
    for file in batch.files:
        fields = file.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"edits", "file"}
        ) | {"edits": list(normalized_edits(file))}
        if isinstance(file, MatchingEdits):
            shared = fields
            files.append(file.file)
        else:
            files.append({**fields, "glob" if isinstance(file, GlobEdits) else "file": file.file})
    options = batch.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"files"})
    return {**options, **shared, "files": files}


def _mutated(data: bytes, dice: Random) -> bytes:
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        return mutated_text(data, dice)
    if dice.random() < 0.1:
        return mutated_text(data, dice)
    known: list[Json] = dice.sample(edits(), 3)
    known += [value for edit in known for value in edit.values()]
    return json.dumps(mutated_json(value, dice, known)).encode()


TARGET: Final = Target(name="batch_reader", check=check, seeds=batches, mutated=_mutated)
