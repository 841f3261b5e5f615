"""Plans that are not in memory: what is asked of them is loaded, file by file."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeVar, overload

from mdplan.plan import EditResult, Effect, FileChange

Entry = TypeVar("Entry")


class PlansByNumber(Protocol):
    """Plans by their number, from 0. Each counts its edits from 0."""

    def sizes(self) -> Iterable[tuple[int, int]]:
        """How many files and edits each has."""

    def changes(self, number: int) -> Sequence[tuple[FileChange, Sequence[Mapping[str, Any]]]]:
        """The files of a plan, each with the edits that were requested."""

    def effects(self, number: int) -> Sequence[tuple[Effect, ...]]:
        """What its edits remove and insert."""

    def results(self, number: int) -> Sequence[EditResult]:
        """What its edits do."""


class StoredEntries(Sequence[Entry]):
    """The entries of several plans one after the other, of which those of one plan are in memory.

    `counts` are the numbers of entries of the plans, and `load` gives the entries of one of them.
    """

    def __init__(self, counts: Iterable[int], load: Callable[[int], Sequence[Entry]]) -> None:
        self._starts = [0, *accumulate(counts)]
        self._load = load
        self._last: tuple[int, Sequence[Entry]] = (-1, ())

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        found = range(len(self))[at]
        return self._entry(found) if isinstance(found, int) else tuple(map(self._entry, found))

    def _entry(self, at: int) -> Entry:
        number = bisect_right(self._starts, at) - 1
        if self._last[0] != number:
            self._last = (number, self._load(number))
        return self._last[1][at - self._starts[number]]
