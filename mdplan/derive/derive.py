"""Derives the edits that turn one version of a document into another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from mdplan.derive.candidate import Candidate
from mdplan.derive.change import Change, Hunk
from mdplan.derive.line_candidates import diff_candidate, line_candidates
from mdplan.derive.match_candidates import MatchCandidates
from mdplan.derive.structure_candidates import structure_candidates
from mdplan.derive.trial import ALLOW_ALL, Trials
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.planning import RequestedFile

_OVERRIDES: Sequence[dict[str, Any]] = (
    {},
    {"allowOutlineChange": True},
    {"allowDuplicateHeadings": True},
    ALLOW_ALL,
)
# Trials that are kept for the whole batch.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Derivation:
    """A batch that turns the old version into the new one, to the byte; None where they are the same.

    `hunks` counts the runs of lines that differ, and `refusals` has the codes for which the batch needs an
    override.
    """

    batch: dict[str, Any] | None
    hunks: int
    refusals: frozenset[Code] = frozenset()


def derive_batch(old: Outline, new: Outline, requested: RequestedFile) -> Derivation | Problems:
    """The smallest batch found that turns `old` into `new`, two versions of the document `requested`.

    Small is counted in characters of compact JSON. Every edit carries a guard where one can, so that the
    batch applies to another version of the document in which these places are unchanged; else the batch
    has `baseSha256`.

    Errors: INVALID_ARGUMENT where another encoding or byte order mark is needed, which no edit can change.
    """
    if (old.source.encoding, old.source.bom) != (new.source.encoding, new.source.bom):
        return (_other_encoding(old, new),)
    change = Change(old, new, requested.name)
    if not change.hunks:
        return Derivation(None, 0)
    return _Deriver(change, requested).derive()


class _Deriver:
    def __init__(self, change: Change, requested: RequestedFile) -> None:
        self._change = change
        self._trials = Trials(change.old, requested)
        self._matches = MatchCandidates(change)

    def derive(self) -> Derivation | Problems:
        ways = [self._candidates(hunk) for hunk in self._change.hunks]
        chosen = {hunk: found[0] for hunk, found in zip(self._change.hunks, ways, strict=True)}
        whole = self._proven(chosen)
        if whole is None:
            chosen = {
                hunk: self._first_proven((hunk,), found)
                for hunk, found in zip(self._change.hunks, ways, strict=True)
            }
        joined = self._join(chosen)
        for edits in (joined, chosen):
            whole = whole if edits is chosen and whole is not None else self._proven(edits)
            if whole is not None:
                return whole
        lines = {
            hunk: self._first_proven((hunk,), list(line_candidates(self._change, hunk)))
            for hunk in self._change.hunks
        }
        diff = {hunk: diff_candidate(self._change, hunk) for hunk in self._change.hunks}
        for fallback in (lines, diff):
            whole = self._proven(fallback)
            if whole is not None:
                return whole
        return (_not_expressible(),)

    def _candidates(self, hunk: Hunk) -> list[Candidate]:
        """All ways to make `hunk`, the best first."""
        found = [
            *structure_candidates(self._change, hunk),
            *self._matches.of_hunk(hunk),
            *line_candidates(self._change, hunk),
            diff_candidate(self._change, hunk),
        ]
        return sorted(found, key=lambda candidate: (candidate.is_weak, candidate.cost))

    def _first_proven(self, hunks: Sequence[Hunk], candidates: Sequence[Candidate]) -> Candidate:
        """The first of `candidates` that makes these hunks alone; past the allowance the last, unproven."""
        wanted = self._change.text_with(hunks)
        for candidate in candidates:
            if self._trials.left <= _KEPT:
                break
            if self._makes(candidate, wanted):
                return candidate
        return diff_candidate(self._change, hunks[0])

    def _makes(self, candidate: Candidate, wanted: str) -> bool:
        outcome = self._trials.plan(candidate.edits, ALLOW_ALL)
        return outcome.is_guarded and outcome.text == wanted

    def _join(self, chosen: dict[Hunk, Candidate]) -> dict[Hunk, Candidate]:
        """`chosen` with one edit in place of several, where that is proven and smaller."""
        joined = dict(chosen)
        for hunks, candidate in self._matches.everywhere(self._change.hunks):
            if self._trials.left <= _KEPT:
                break
            spent = sum(chosen[hunk].cost for hunk in hunks)
            if candidate.cost < spent and self._makes(candidate, self._change.text_with(hunks)):
                joined.update(dict.fromkeys(hunks, Candidate(())))
                joined[hunks[0]] = candidate
        return joined

    def _proven(self, chosen: dict[Hunk, Candidate]) -> Derivation | None:
        """The batch of all that is `chosen`, with the overrides it needs, if it makes the new version."""
        edits = list(chain.from_iterable(candidate.edits for candidate in chosen.values()))
        refusals: frozenset[Code] = frozenset()
        for overrides in _OVERRIDES:
            outcome = self._trials.plan(edits, overrides)
            refusals = refusals or outcome.codes
            if outcome.text is not None:
                is_weak = any(candidate.is_weak for candidate in chosen.values())
                is_guarded = outcome.is_guarded and not is_weak
                base = {} if is_guarded else {"baseSha256": self._change.old.source.sha256[:16]}
                if outcome.data != self._change.new.source.data:
                    return None
                batch = self._trials.batch(edits, base | overrides)
                return Derivation(batch, len(self._change.hunks), refusals)
            if not outcome.codes <= {Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING}:
                return None
        return None


def _other_encoding(old: Outline, new: Outline) -> Diagnostic:
    return Diagnostic.invalid(
        f"the versions differ in encoding or byte order mark: {_described(old)}, then {_described(new)}",
        "convert one of them first: edits keep the encoding of a file",
    )


def _described(outline: Outline) -> str:
    return outline.source.encoding + (" with a byte order mark" if outline.source.bom else "")


def _not_expressible() -> Diagnostic:
    return Diagnostic.invalid(
        "no batch of edits makes these bytes of the old version", "replace the file as a whole"
    )
