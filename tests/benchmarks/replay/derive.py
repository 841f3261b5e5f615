"""Derive the batch of edits that turns one version of a document into another.

The replay writes mdplan's calls with it: a search over many candidate edits, each planned in memory and kept
only if it makes the change, for the batch with the fewest tokens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from mdplan.diagnostics import Code
from mdplan.markdown.outline import Outline
from mdplan.memory import plan_in_memory
from mdplan.planning.replan import missing_preconditions
from mdplan.requests.batch import read_batch
from tests.benchmarks.replay.derive_candidates import (
    CandidateEdits,
    ChangedRun,
    DocumentChange,
    Edit,
    MatchCandidates,
    diff_candidate,
    line_candidates,
    section_candidates,
    short_edit,
    task_candidates,
)

# Both overrides: a part of a change may open a fence that another part closes.
_ALLOW_ALL: Final = {"allowOutlineChange": True, "allowDuplicateHeadings": True}
_OVERRIDES: Final[Sequence[dict[str, Any]]] = (
    {},
    {"allowOutlineChange": True},
    {"allowDuplicateHeadings": True},
    _ALLOW_ALL,
)
# Characters that may be planned for one change: about three seconds of work.
_CHARACTERS: Final = 30_000_000
_FEWEST_TRIALS: Final = 12
# Trials that are kept for the whole batch.
_KEPT_TRIALS: Final = 8
# Changes that one edit may make together, and unchanged lines between two of them.
_MOST_JOINED: Final = 6
_MOST_BETWEEN: Final = 2
# What the hash of the whole file costs; it refuses every other version besides.
_WEAK: Final = 30
Chosen = dict[ChangedRun, CandidateEdits]
Ways = dict[ChangedRun, list[CandidateEdits]]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A batch that turns the old version into the new one, to the byte.

    `refusals` has the codes for which the batch needs an override.
    """

    batch: dict[str, Any]
    refusals: frozenset[Code]


def derive_batch(old: Outline, new: Outline, requested: dict[str, Any]) -> Derivation | None:
    """Return the smallest batch found that turns `old` into `new`, versions of the document `requested`.

    A batch is small by the tokens of its JSON in the short form. Every edit carries a guard if it can, so
    that the batch applies to another version of the document in which these places are unchanged; otherwise
    the batch has `baseSha256`.

    Returns None if no edits make the change: another encoding, another byte order mark, or no change at all.
    """
    change = DocumentChange(old, new)
    if (old.source.encoding, old.source.bom) != (new.source.encoding, new.source.bom) or not change.hunks:
        return None
    found = _Search(change, requested).smallest()
    if found is None or not found.refusals:
        return found
    # To delete a heading and insert it again looks like a loss; if it stays, its surroundings change.
    anchored = DocumentChange(old, new, by_headings=True)
    if anchored.hunks == change.hunks:
        return found
    other = _Search(anchored, requested).smallest()
    return other if other is not None and not other.refusals else found


def joined(batches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Join `batches` of one file each; an override of one becomes an override of all."""
    entries = []
    overrides: dict[str, Any] = {}
    for batch in batches:
        overrides |= {name: batch[name] for name in _ALLOW_ALL if name in batch}
        of_file: dict[str, Any] = {name: batch[name] for name in ("file", "baseSha256") if name in batch}
        edit = {name: value for name, value in batch.items() if name not in (*of_file, *_ALLOW_ALL)}
        entries.append({**of_file, "edits": edit.get("edits", [edit])})
    return {**overrides, "files": entries}


def short_batch(batch: dict[str, Any]) -> dict[str, Any]:
    """Return `batch`, of one file or of several, with its edits in their short form."""
    if "files" in batch:
        return {**batch, "files": [short_batch(entry) for entry in batch["files"]]}
    if "edits" in batch:
        return {**batch, "edits": [short_edit(edit) for edit in batch["edits"]]}
    return dict(short_edit(batch))


@dataclass(frozen=True, slots=True)
class _Trial:
    """The result of planning edits: the new version, None if they are refused with `codes`."""

    result: Outline | None
    is_guarded: bool = False
    codes: frozenset[Code] = frozenset()


class _Search:
    """The search for the smallest batch, within an allowance of trials."""

    def __init__(self, change: DocumentChange, requested: dict[str, Any]) -> None:
        self._change = change
        self._requested = requested
        self._matches = MatchCandidates(change)
        self._trials_left = max(_FEWEST_TRIALS, _CHARACTERS // max(len(change.old.source.text), 1))

    def smallest(self) -> Derivation | None:
        change = self._change
        shared = self._everywhere()
        ways = self._ways([hunk for hunk in change.hunks if hunk not in shared])
        found = self._proven({hunk: candidates[0] for hunk, candidates in ways.items()} | shared)
        if found is None:
            each = {hunk: self._first_proven(hunk, candidates) for hunk, candidates in ways.items()}
            found = self._proven(each | shared)
        if found is None:
            found = self._proven(
                {hunk: self._first_proven(hunk, list(line_candidates(change, hunk))) for hunk in change.hunks}
            )
        return found or self._proven({hunk: diff_candidate(change, hunk) for hunk in change.hunks})

    def _ways(self, hunks: Sequence[ChangedRun]) -> Ways:
        """Return the ways to make `hunks`, with neighbours joined if that is smaller."""
        best: list[tuple[float, Ways]] = [(0, {})]
        for end in range(1, len(hunks) + 1):
            ways = []
            for start in range(end - 1, max(end - _MOST_JOINED, 0) - 1, -1):
                first, last = hunks[start], hunks[end - 1]
                is_near = start == end - 1 or hunks[start + 1].old_start - first.old_end <= _MOST_BETWEEN
                if not is_near or last.index - first.index != end - 1 - start:
                    break
                # Lines that are inserted at an edge would leave the line beyond it without proof.
                if start < end - 1 and (first.is_insertion or last.is_insertion):
                    continue
                run = first.joined(last)
                candidates = self._candidates(run)
                cost, before = best[start]
                ways.append((cost + _rank(candidates[0]), {**before, run: candidates}))
            best.append(min(ways, key=lambda way: way[0]))
        return best[-1][1]

    def _candidates(self, hunk: ChangedRun) -> list[CandidateEdits]:
        """Return all ways to make `hunk`, the smallest first; of equal ones, those by structure."""
        change = self._change
        candidates = (
            *task_candidates(change, hunk),
            *section_candidates(change, hunk),
            *self._matches.of_hunk(hunk),
            *line_candidates(change, hunk),
            diff_candidate(change, hunk),
        )
        return sorted(candidates, key=_rank)

    def _everywhere(self) -> Chosen:
        """Return the hunks that one replacement makes together, if that is smaller than an edit of each."""
        shared: Chosen = {}
        for hunks, candidate in self._matches.everywhere(self._change.hunks):
            if self._trials_left <= _KEPT_TRIALS:
                break
            is_smaller = shared.keys().isdisjoint(hunks) and (
                candidate.cost < sum(self._candidates(hunk)[0].cost for hunk in hunks)
            )
            if is_smaller and self._makes(candidate, hunks):
                shared.update(dict.fromkeys(hunks, CandidateEdits(())))
                shared[hunks[0]] = candidate
        return shared

    def _first_proven(self, hunk: ChangedRun, candidates: Sequence[CandidateEdits]) -> CandidateEdits:
        """Return the first of `candidates` that makes only `hunk`, else its diff, which is not proven."""
        for candidate in candidates:
            if self._trials_left <= _KEPT_TRIALS:
                break
            if self._makes(candidate, (hunk,)):
                return candidate
        return diff_candidate(self._change, hunk)

    def _makes(self, candidate: CandidateEdits, hunks: Sequence[ChangedRun]) -> bool:
        trial = self._plan(candidate.edits, _ALLOW_ALL)
        is_guarded = trial.is_guarded or candidate.is_weak
        wanted = self._change.text_with(hunks)
        return is_guarded and trial.result is not None and trial.result.source.text == wanted

    def _proven(self, chosen: Chosen) -> Derivation | None:
        """Return the batch of the `chosen` edits with the overrides it needs, if it makes the change."""
        in_order = sorted(chosen.items(), key=lambda item: item[0].index)
        edits = tuple(chain.from_iterable(candidate.edits for _, candidate in in_order))
        refusals: frozenset[Code] = frozenset()
        for overrides in _OVERRIDES:
            trial = self._plan(edits, overrides)
            refusals = refusals or trial.codes
            if trial.result is not None:
                if trial.result.source.data != self._change.new.source.data:
                    return None
                is_weak = any(candidate.is_weak for candidate in chosen.values())
                is_guarded = trial.is_guarded and not is_weak
                base = {} if is_guarded else {"baseSha256": self._change.old.source.sha256[:16]}
                return Derivation(self._batch(edits, base | overrides), refusals)
            if not trial.codes <= {Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING}:
                return None
        return None

    def _plan(self, edits: Sequence[Edit], options: dict[str, Any]) -> _Trial:
        self._trials_left -= 1
        batch = read_batch(self._batch(edits, options))
        planned = batch if isinstance(batch, tuple) else plan_in_memory(batch, self._change.old)
        if isinstance(planned, tuple):
            return _Trial(None, codes=frozenset(problem.code for problem in planned))
        return _Trial(planned.files[0].result, not missing_preconditions(planned.files))

    def _batch(self, edits: Sequence[Edit], options: dict[str, Any]) -> dict[str, Any]:
        # A single edit needs no list.
        fields = dict(edits[0]) if len(edits) == 1 else {"edits": [dict(edit) for edit in edits]}
        return {**self._requested, **options, **fields}


def _rank(candidate: CandidateEdits) -> int:
    """Return what `candidate` costs, with the hash of the file if it needs that."""
    return candidate.cost + (_WEAK if candidate.is_weak else 0)
