"""Edits planned in memory, to see whether they make what they should."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mdplan.derive.candidate import Edit
from mdplan.diagnostics import Code, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile, plan_in_memory
from mdplan.planning.replan.replanning import missing_preconditions
from mdplan.requests.batch_reader import read_batch

# Both overrides: a part of a change may open a fence that another part closes.
ALLOW_ALL = {"allowOutlineChange": True, "allowDuplicateHeadings": True}
# Characters that may be planned for one change: about three seconds of work.
_CHARACTERS = 30_000_000
_FEWEST = 12


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of planning edits: the `text` they make, and whether their own guards suffice."""

    text: str | None
    data: bytes = b""
    is_guarded: bool = False
    problems: Problems = ()

    @property
    def codes(self) -> frozenset[Code]:
        """Codes of the problems."""
        return frozenset(problem.code for problem in self.problems)


class Trials:
    """Plans edits of one document, as often as the allowance for its size permits."""

    def __init__(self, outline: Outline, requested: RequestedFile) -> None:
        """Plan edits of `outline`."""
        self._outline = outline
        self._requested = requested
        self.left = max(_FEWEST, _CHARACTERS // max(len(outline.source.text), 1))

    def batch(self, edits: Iterable[Edit], options: dict[str, Any]) -> dict[str, Any]:
        """The batch of `edits` on this document."""
        listed = [dict(edit) for edit in edits]
        # A single edit goes next to the file.
        given = listed[0] if len(listed) == 1 else {"edits": listed}
        return {**self._requested.fields(), **options, **given}

    def plan(self, edits: Sequence[Edit], options: dict[str, Any]) -> TrialResult:
        """What `edits` make of the document."""
        self.left -= 1
        batch = read_batch(self.batch(edits, options))
        planned = batch if isinstance(batch, tuple) else plan_in_memory(batch, self._outline)
        if isinstance(planned, tuple):
            return TrialResult(None, problems=planned)
        source = planned.files[0].result.source
        return TrialResult(source.text, source.data, not missing_preconditions(planned.files))
