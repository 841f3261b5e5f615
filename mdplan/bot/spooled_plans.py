"""Plans of files, on the disk until all files are planned; what the bot needs of each is in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mdplan.bot.job import ChangedPlaces, PackedPlan, unpacked
from mdplan.bot.spool import Spool
from mdplan.diagnostics import Problems
from mdplan.plan import EditResult, Effect, FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class StandalonePlan:
    """A file that is to be changed as it was planned alone, and what others may link to of it.

    `changes`, `effects` and `results` say where the pieces of the packed plan are in a spool, and `diff`
    where the diff is. The other facts are those of `PackedPlan` and `FileOutcome`.
    """

    changes: int
    effects: int
    results: int
    diff: int
    written: tuple[str, ...]
    edits: int
    warnings: Problems
    has_broken_links: bool
    places: ChangedPlaces = field(default_factory=dict)
    needs_others: bool = False
    all_open: bool = False

    @classmethod
    def of(
        cls,
        plan: PackedPlan,
        diff: bytes,
        spool: Spool,
        places: ChangedPlaces | None = None,
        *,
        needs_others: bool = False,
        all_open: bool = False,
    ) -> "StandalonePlan":
        """Put `plan` and `diff` into `spool`."""
        return cls(
            changes=spool.put(plan.changes),
            effects=spool.put(plan.effects),
            results=spool.put(plan.results),
            diff=spool.put(diff),
            written=plan.written,
            edits=plan.edits,
            warnings=plan.warnings,
            has_broken_links=plan.has_broken_links,
            places=places or _NO_PLACES,
            needs_others=needs_others,
            all_open=all_open,
        )


# Most files have none, and there may be many files.
_NO_PLACES: ChangedPlaces = {}


@dataclass(frozen=True, slots=True)
class SpooledPlans:
    """The plans `made`, in `spool`, as `merge_plans` takes them."""

    made: Sequence[StandalonePlan]
    spool: Spool

    @property
    def warnings(self) -> Problems:
        """Those of all plans."""
        return tuple(warning for each in self.made for warning in each.warnings)

    def sizes(self) -> Iterable[tuple[int, int]]:
        """How many files and edits each has."""
        return [(len(each.written), each.edits) for each in self.made]

    def changes(self, number: int) -> Sequence[tuple[FileChange, Sequence[Mapping[str, Any]]]]:
        """The files of a plan, each with the edits that were requested."""
        return unpacked(self.spool.get(self.made[number].changes))

    def effects(self, number: int) -> Sequence[tuple[Effect, ...]]:
        """What its edits remove and insert."""
        return unpacked(self.spool.get(self.made[number].effects))

    def results(self, number: int) -> Sequence[EditResult]:
        """What its edits do."""
        return unpacked(self.spool.get(self.made[number].results))

    def diffs(self) -> Iterator[bytes]:
        """The exact diff, plan by plan."""
        return (self.spool.get(each.diff) for each in self.made)
