"""Candidates that name list items, table rows, tasks, code blocks and keys of front matter."""

from collections.abc import Iterator
from mdplan.derive.candidate import Candidate
from mdplan.derive.change import Change, Hunk


def element_candidates(change: Change, hunk: Hunk, *, guarded: bool) -> Iterator[Candidate]:
    yield from ()
