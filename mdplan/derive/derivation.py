"""Derives the edits that turn one version of a document into another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from mdplan.derive.candidate import CandidateEdits, Edit
from mdplan.derive.data_candidates import changed_keys
from mdplan.derive.element_candidates import element_candidates, task_candidates
from mdplan.derive.line_candidates import diff_candidate, line_candidates
from mdplan.derive.match_candidates import MatchCandidates
from mdplan.derive.section_candidates import (
    Group,
    moved_sections,
    named_section_candidates,
    section_candidates,
)
from mdplan.derive.trial import ALLOW_ALL, Trials
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile

_OVERRIDES: Sequence[dict[str, Any]] = (
    {},
    {"allowOutlineChange": True},
    {"allowDuplicateHeadings": True},
    ALLOW_ALL,
)
# Trials that are kept for the whole batch.
_KEPT = 8
# Changes that one edit may make together, and unchanged lines between two of them.
_MOST_JOINED = 6
_MOST_BETWEEN = 2
# What the hash of the whole file costs; it refuses every other version besides.
_WEAK = 30


@dataclass(frozen=True, slots=True)
class Derivation:
    """A batch that turns the old version into the new one, to the byte; None where they are the same.

    `hunks` counts the runs of lines that differ, and `refusals` has the codes for which the batch needs an
    override.
    """

    batch: dict[str, Any] | None
    hunks: int
    refusals: frozenset[Code] = frozenset()


def derive_batch(
    old: Outline, new: Outline, requested: RequestedFile, *, prefers_structure: bool = False
) -> Derivation | Problems:
    """The smallest batch found that turns `old` into `new`, two versions of the document `requested`.

    Small is counted in about the tokens of a model, of JSON in the short form. Every edit carries a guard
    where one can, so that the batch applies to another version of the document in which these places are
    unchanged; else the batch has `baseSha256`. One that `prefers_structure` names keys, sections, items,
    rows and code blocks where it can, and text before lines, though it is longer.

    Errors: INVALID_ARGUMENT where another encoding or byte order mark is needed, which no edit can change.
    """
    if (old.source.encoding, old.source.bom) != (new.source.encoding, new.source.bom):
        return (_other_encoding(old, new),)
    change = Change(old, new, requested.name)
    if not change.hunks:
        return Derivation(None, 0)
    found = _Deriver(change, requested, prefers_structure=prefers_structure).derive()
    if not isinstance(found, Derivation) or not found.refusals:
        return found
    # To delete a heading and insert it again looks like a loss; where it stays, its surroundings change.
    anchored = Change(old, new, requested.name, by_headings=True)
    if anchored.hunks == change.hunks:
        return found
    other = _Deriver(anchored, requested, prefers_structure=prefers_structure).derive()
    return other if isinstance(other, Derivation) and not other.refusals else found


class _Deriver:
    def __init__(self, change: Change, requested: RequestedFile, *, prefers_structure: bool) -> None:
        self._change = change
        self._requested = requested
        self._trials = Trials(change.old, requested)
        self._matches = MatchCandidates(change)
        self._prefers_structure = prefers_structure

    def derive(self) -> Derivation | Problems:
        shared = self._everywhere()
        rest = [hunk for hunk in self._change.hunks if hunk not in shared]
        ways = self._smallest(rest)
        chosen = {hunk: found[0] for hunk, found in ways.items()} | shared
        whole = self._proven(chosen)
        if whole is not None:
            return whole
        proven = {hunk: self._first_proven((hunk,), found) for hunk, found in ways.items()} | shared
        whole = self._proven(proven)
        if whole is not None:
            return whole
        if self._prefers_structure:
            return self._reconciled(proven)
        lines = {
            hunk: self._first_proven((hunk,), list(line_candidates(self._change, hunk)))
            for hunk in self._change.hunks
        }
        diff = {hunk: diff_candidate(self._change, hunk) for hunk in self._change.hunks}
        return self._proven(lines) or self._proven(diff) or (_not_expressible(),)

    def _reconciled(self, proven: dict[ChangedRun, CandidateEdits]) -> Derivation | Problems:
        """The batch of what is `proven` hunk by hunk, with text or lines where edits refuse each other."""
        plain = _Deriver(self._change, self._requested, prefers_structure=False)
        chosen = dict(proven)
        while self._trials.left > _KEPT:
            owners = [hunk for hunk, candidate in _in_order(chosen) for _ in candidate.edits]
            problems = self._trials.plan(_edits_of(chosen), ALLOW_ALL).problems
            named = [owners[problem.edit_index] for problem in problems if problem.edit_index is not None]
            # What takes a section that lines are edited in comes before them.
            until = max((hunk.index for hunk in named), default=-1)
            refused = [hunk for hunk in owners if hunk.index <= until and not chosen[hunk].is_of_text]
            if not refused:
                break
            hunk = refused[-1]
            chosen[hunk] = plain._first_proven((hunk,), plain._candidates(hunk))
        return self._proven(chosen) or plain.derive()

    def _smallest(self, hunks: Sequence[ChangedRun]) -> dict[ChangedRun, list[CandidateEdits]]:
        """The ways to make `hunks`, those next to each other joined where that is smaller."""
        best: list[tuple[float, dict[ChangedRun, list[CandidateEdits]]]] = [(0, {})]
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
                joined = first.joined(last)
                found = self._candidates(joined)
                if start < end - 1 and self._prefers_structure and found[0].is_of_text:
                    continue
                cost, before = best[start]
                ways.append((cost + _rank(found[0]), {**before, joined: found}))
            best.append(min(ways, key=lambda way: way[0]))
        return best[-1][1]

    def _candidates(self, hunk: ChangedRun) -> list[CandidateEdits]:
        """All ways to make `hunk`, the best first; of equal ones, those by structure, and then by text."""
        change = self._change
        sections = [*section_candidates(change, hunk)]
        elements = [*task_candidates(change, hunk)]
        if self._prefers_structure:
            sections += named_section_candidates(change, hunk)
            elements += element_candidates(change, hunk)
        matches = list(self._matches.of_hunk(hunk))
        lines = [*line_candidates(change, hunk), diff_candidate(change, hunk)]
        if self._prefers_structure:
            # Text in one line says more than a line, and a line more than pieces of several.
            pieces = [each for each in matches if each.breaks_lines]
            words = [each for each in matches if not each.breaks_lines]
            parts = (elements, sections, words, lines, pieces)
            return [each for part in parts for each in sorted(part, key=_rank)]
        return sorted((*elements, *sections, *matches, *lines), key=_rank)

    def _first_proven(
        self, hunks: Sequence[ChangedRun], candidates: Sequence[CandidateEdits]
    ) -> CandidateEdits:
        """The first of `candidates` that makes these hunks alone; past the allowance the last, unproven."""
        wanted = self._change.text_with(hunks)
        for candidate in candidates:
            if self._trials.left <= _KEPT:
                break
            if self._makes(candidate, wanted):
                return candidate
        return diff_candidate(self._change, hunks[0])

    def _makes(self, candidate: CandidateEdits, wanted: str) -> bool:
        outcome = self._trials.plan(candidate.edits, ALLOW_ALL)
        return (outcome.is_guarded or candidate.is_weak) and outcome.text == wanted

    def _everywhere(self) -> dict[ChangedRun, CandidateEdits]:
        """Hunks that some edits make together, where that is proven, and smaller than an edit of each.

        By structure it need not be smaller, where that is preferred.
        """
        found: dict[ChangedRun, CandidateEdits] = {}
        for (hunks, candidate), is_preferred in self._groups():
            if self._trials.left <= _KEPT:
                break
            is_chosen = found.keys().isdisjoint(hunks) and (
                is_preferred or candidate.cost < sum(self._candidates(hunk)[0].cost for hunk in hunks)
            )
            if is_chosen and self._makes(candidate, self._change.text_with(hunks)):
                found.update(dict.fromkeys(hunks, CandidateEdits(())))
                found[hunks[0]] = candidate
        return found

    def _groups(self) -> Iterator[tuple[Group, bool]]:
        """Hunks that some edits may make together, and whether these are preferred."""
        change = self._change
        if self._prefers_structure:
            for group in chain(changed_keys(change, change.hunks), moved_sections(change, change.hunks)):
                yield group, True
        for group in self._matches.everywhere(change.hunks):
            yield group, False

    def _proven(self, chosen: dict[ChangedRun, CandidateEdits]) -> Derivation | None:
        """The batch of all that is `chosen`, with the overrides it needs, if it makes the new version."""
        edits = _edits_of(chosen)
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


def _in_order(chosen: dict[ChangedRun, CandidateEdits]) -> list[tuple[ChangedRun, CandidateEdits]]:
    return sorted(chosen.items(), key=lambda item: item[0].index)


def _edits_of(chosen: dict[ChangedRun, CandidateEdits]) -> list[Edit]:
    """The edits of all that is `chosen`, in the order of their places."""
    return list(chain.from_iterable(candidate.edits for _, candidate in _in_order(chosen)))


def _rank(candidate: CandidateEdits) -> int:
    """What `candidate` costs; one that needs the hash of the file, that too."""
    return candidate.cost + (_WEAK if candidate.is_weak else 0)


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
