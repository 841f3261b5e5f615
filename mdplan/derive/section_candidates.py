"""Candidates that name sections."""

from collections.abc import Iterator
from mdplan.derive.candidate import Candidate
from mdplan.derive.change import Change, Hunk


def section_candidates(change: Change, hunk: Hunk, *, guarded: bool) -> Iterator[Candidate]:
    yield from ()
