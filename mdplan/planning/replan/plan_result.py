"""A plan together with what it was made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.replan.replay import Replay
from mdplan.planning.results.summary import report_fields
from mdplan.reports.plan import PlanReport
from mdplan.text.source import Source


@dataclass(frozen=True, slots=True)
class PlanSelection:
    """A plan; of a subset, also the indexes in the batch that it was asked of."""

    plan: Plan
    accepted: tuple[int, ...] | None = None
    rejected: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A plan as it was chosen, and the files that it was made of."""

    chosen: PlanSelection
    files: Sequence[BuiltFile]
    rebased: bool | None = None

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.chosen.plan

    @property
    def bases(self) -> list[Source]:
        """The bases of its files."""
        return [built.base.source for built in self.files]

    @property
    def diff(self) -> bytes:
        """The exact unified diff."""
        return b"".join(built.diff for built in self.files)

    def replayed(self) -> Replay:
        """What a replay of the plan on its bases would give: to plan it was to make it."""
        sources = [None if built.file.is_deleted else built.result.source for built in self.files]
        return Replay(
            results=[source.data if source else None for source in sources],
            sizes=[len(source.data) if source else 0 for source in sources],
            diff=self.diff,
            texts=sources,
        )

    def report_fields(self) -> dict[str, Any]:
        """What a report says of it."""
        fields = report_fields(self.plan, self.diff)
        return fields | {"accepted": self.chosen.accepted, "rejected": self.chosen.rejected}


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A report on a new plan, with the exact bytes of its diff and its document; empty for a refusal."""

    report: PlanReport
    diff: bytes = b""
    document: bytes = b""
    # What `Engine.keep` stores.
    planned: PlannedBatch | None = None
