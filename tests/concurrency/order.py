"""Checks that concurrent writers got answers that some sequential order would give."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, pairwise

from tests.concurrency.attempts import Attempt

Chain = list[Attempt]


def chain_of(name: str, first: str, last: str, attempts: Iterable[Attempt]) -> Chain:
    """Return the attempts that led the file from the content `first` to `last`, which must form one path.

    It contains all applied attempts, and possibly some with unknown ends.
    """
    steps: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if name in attempt.edges and (attempt.is_applied or attempt.is_unknown):
            steps.setdefault(attempt.edges[name][0], []).append(attempt)
    applied = sum(attempt.is_applied for each in steps.values() for attempt in each)
    results = {attempt.edges[name][1]: attempt for each in steps.values() for attempt in each}
    chain: Chain = []
    # Backwards, since of several unknown ends the content of the file tells which one came about.
    while last != first:
        assert last in results, f"nobody wrote what {name} held after {len(chain)} steps back"
        chain.append(results[last])
        last = results[last].edges[name][0]
    chain.reverse()
    left = applied - sum(attempt.is_applied for attempt in chain)
    assert left == 0, f"{left} edits of {name} were applied and are lost"
    return chain


def disorder(name: str, first: str, chain: Chain, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Attempts whose place in the chain, or whose refusal, contradicts the order in which they were made.

    `chain` begins at the content `first`.
    """
    latest = accumulate((attempt.began for attempt in chain), max)
    for attempt, began in zip(chain, latest, strict=True):
        if attempt.ended and attempt.ended < began:
            yield f"{attempt} ended before something began that comes before it"
    made = {attempt.edges[name][1]: attempt for attempt in chain}
    replaced = {attempt.edges[name][0]: attempt for attempt in chain}
    for attempt in attempts:
        if attempt.code == "STALE_BASE" and set(attempt.edges) == {name}:
            base = attempt.edges[name][0]
            maker, next_one = made.get(base), replaced.get(base)
            was_made = base == first or (maker is not None and 0 < maker.ended < attempt.began)
            if not was_made or (next_one is not None and next_one.began < attempt.ended):
                continue
            if not any(_replaced_for_a_moment(name, base, other, attempt) for other in attempts):
                yield f"{attempt} was refused, though its base was there all the time"


def _replaced_for_a_moment(name: str, base: str, other: Attempt, refused: Attempt) -> bool:
    """Return True if a killed process may have replaced the content until recovery."""
    is_of_base = name in other.edges and other.edges[name][0] == base
    return other.is_unknown and is_of_base and other.began < refused.ended


def contradictions(chains: Mapping[str, Chain]) -> Iterator[str]:
    """Return conflicts between the chains of several files, which allow no common order of all attempts."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for chain in chains.values():
        for before, after in pairwise(chain):
            sorter.add(after.began, before.began)
    try:
        sorter.prepare()
    except CycleError as cycle:
        yield f"attempts came before each other: {cycle.args[1]}"
