"""Bytes to start from: the files and batches of the golden cases, the samples, and our own pages."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

from tests.conftest import REPOSITORY
from tests.fuzz.mutation import Json
from tests.support.expected_diff import expected_diff
from tests.support.golden_cases import Case, find_cases

MOST_BYTES: Final = 2_000


@cache
def documents() -> tuple[bytes, ...]:
    """Files of Markdown, INI and text that are not long; each once."""
    trees = chain.from_iterable((case.before, case.after) for case in find_cases())
    of_cases = (data for tree in trees for data in tree.values())
    ours = chain((REPOSITORY / "docs" / "samples").rglob("*"), (REPOSITORY / "docs").rglob("*.md"))
    files = (path for path in sorted(ours) if path.suffix in {".md", ".ini", ".txt"})
    found = chain(of_cases, (path.read_bytes() for path in files if path.is_file()))
    return tuple(dict.fromkeys(data[:MOST_BYTES] for data in found if data))


@cache
def diffs() -> tuple[bytes, ...]:
    """Unified diffs of plans."""
    return tuple(
        case.diff or expected_diff(case.before, case.after) for case in find_cases() if case.is_accepted
    )


@cache
def cases() -> tuple[tuple[Case, dict[str, Json]], ...]:
    """Golden cases with a batch that is an object, and that batch with its hashes."""
    found = ((case, case.request("batch")) for case in find_cases())
    return tuple((case, batch) for case, batch in found if isinstance(batch, dict))


@cache
def edits() -> tuple[dict[str, Json], ...]:
    """Edits of all golden cases."""
    return tuple(edit for _, batch in cases() for edit in edits_of(batch))


def edits_of(batch: Json) -> Iterator[dict[str, Json]]:
    """The edits of `batch` that are objects, whatever else it is."""
    entries = batch.get("files", [batch]) if isinstance(batch, dict) else []
    for entry in entries if isinstance(entries, list) else []:
        found = entry.get("edits") if isinstance(entry, dict) else None
        yield from (edit for edit in (found if isinstance(found, list) else []) if isinstance(edit, dict))


def batches() -> Iterator[bytes]:
    """Batches as callers send them, and what they send with a plan."""
    for _, batch in cases():
        yield json.dumps(batch).encode()
    for case in find_cases():
        request = case.request("apply", plan_id=f"sha256-{0:064}")
        if request is not None:
            yield json.dumps(request).encode()
