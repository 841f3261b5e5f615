"""Comparison of plans by their results, and the check of plan documents that callers send."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import LINK_CODES, Code, Diagnostic, Problems
from mdplan.documents.documents import Documents
from mdplan.engine.interrupted import reported
from mdplan.engine.plans import MergeService, PlanDocument, PlanLibrary, Planner, PlanRef
from mdplan.engine.undo import UndoService
from mdplan.limits import Limits
from mdplan.plan import Plan
from mdplan.planning.merging import ready_to_merge
from mdplan.planning.plan_document import read_document, with_plan_id
from mdplan.planning.replan import other_base, plan_together
from mdplan.planning.replay import PlannedBatch, is_applied, request_of
from mdplan.reports.plan import ComparedFile, ComparisonReport, PlanComparison
from mdplan.requests.batch import Batch, read_batch
from mdplan.review.lines import FileSides
from mdplan.storage.filesystem import StorageRefused, granted
from mdplan.storage.plans import PlanLinks
from mdplan.storage.root import Root
from mdplan.text.diff import DiffStat, DiffText, Hunk, LineDrift, file_diff, find_hunks
from mdplan.text.source import EncodeProblem, Source
from mdplan.values import Struct, replace
from mdplan.words import say


class ComparedResults(Struct):
    """The `comparison` of two plans, and the lines (1-based) of the older result that differ, by file."""

    comparison: PlanComparison
    changed_lines: Mapping[str, frozenset[int]]


# The path of a file, and its text; of one that does not exist nothing.
_State: TypeAlias = tuple[str | None, str]
_NOTHING: Final[_State] = (None, "")


class PlanComparer(Struct):
    """Compares plans by their results; `merging` knows their bases."""

    merging: MergeService

    def compare(self, new: Plan, old: Plan) -> ComparedResults:
        """Return how the results of `new` and `old` differ, or result and base if only one has a file.

        Raise `StorageRefused`: STALE_BASE if the old text of a file is no longer known; PLAN_TAMPERED.
        """
        before, after = self._states(old), self._states(new)
        parts: list[bytes] = []
        files: list[ComparedFile] = []
        changed: dict[str, frozenset[int]] = {}
        for path in dict.fromkeys((*after, *before)):
            old_path, old_text = before[path][1] if path in before else after[path][0]
            new_path, new_text = after[path][1] if path in after else before[path][0]
            if (old_path, old_text) == (new_path, new_text):
                continue
            hunks, lines = difference_of(old_text, new_text)
            stat = DiffStat.of(hunks)
            only = "only in the new plan" if path in after else "only in the old plan"
            named = "changed" if path in before and path in after else only
            files.append(
                ComparedFile(file=path, state=named, lines_added=stat.added, lines_removed=stat.removed)
            )
            parts.append(file_diff(old_path, new_path, hunks))
            changed[path] = lines
        shown = DiffText.of(b"".join(parts))
        comparison = PlanComparison(
            plan_id=new.plan_id,
            against=old.plan_id,
            files=tuple(files),
            diff=shown.text,
            diff_exact=shown.exact,
        )
        return ComparedResults(comparison, changed)

    def _states(self, plan: Plan) -> dict[str, tuple[_State, _State]]:
        """Return each file that `plan` changes before and after, by its path before."""
        current_files = granted(self.merging.documents.read_current(plan))
        kept = self.merging.library.bases_of(plan.plan_id)
        states: dict[str, tuple[_State, _State]] = {}
        for change, current in zip(plan.files, current_files, strict=True):
            if change.is_no_op:
                continue
            base = self.merging.base_of(change, current, kept)
            if base is None:
                raise StorageRefused.of(
                    Code.STALE_BASE,
                    f"`{change.path}` has changed, and its text at the time of the plan is not kept",
                    say("look at both plans one by one: {step history}"),
                    file=change.path,
                )
            sides = granted(FileSides.of(change, base))
            states[change.path] = (
                (change.path, base.text) if change.base_sha256 is not None else _NOTHING,
                (change.new_path or change.path, sides.result_text) if change.result_sha256 else _NOTHING,
            )
        return states


def difference_of(old: str, new: str) -> tuple[tuple[Hunk, ...], frozenset[int]]:
    """Return the hunks from `old` to `new`, and the lines of `old` that they remove."""
    source = Source.from_text(old)
    edits = source.planned_byte_edits(LineDrift.between(old, new).edits)
    assert not isinstance(edits, EncodeProblem), "UTF-8 has all characters"
    hunks = find_hunks(source.data, edits)
    return hunks, frozenset(line for hunk in hunks for line in _removed(hunk))


def _removed(hunk: Hunk) -> Iterator[int]:
    number = hunk.old_start
    for line in hunk.lines:
        if line.startswith(b"-"):
            yield number
        number += not line.startswith(b"+")


def compare_plans(comparer: PlanComparer, plan_id: str, against: str) -> ComparisonReport:
    """Return what the plan `plan_id` does otherwise than the plan `against`.

    Errors: as for loading, and of `PlanComparer.compare`.
    """

    def compare() -> ComparisonReport:
        (new, _), (old, _) = (granted(comparer.merging.library.load(named)) for named in (plan_id, against))
        return ComparisonReport(ok=True, comparison=comparer.compare(new, old).comparison)

    return reported(ComparisonReport, compare)


# --- Plan documents that callers send.
#
# A plan ID proves that a document is whole, not that it is honest: its author can leave an edit out of the
# part that a reviewer reads, and hash that. So every member that follows from the others is computed again.


class DocumentCheck(Struct):
    """Checks plan documents against the files of `documents`, the plans of `library` and the history."""

    documents: Documents
    library: PlanLibrary
    planner: Planner
    undoing: UndoService
    limits: Limits

    def named(self, request: PlanRef | PlanDocument) -> tuple[Plan, Root]:
        """Return the plan that `request` names or describes, and its root.

        Raises `StorageRefused` with the errors of `PlanLibrary.load` and `check`, and STALE_BASE where
        `request` names another base.
        """
        if isinstance(request, PlanDocument):
            return self.check(request.body)
        named = dict.fromkeys(request.plan_ids or (request.plan_id,))
        loaded = [granted(self.library.load(plan_id)) for plan_id in named]
        plan, root = loaded[0] if len(loaded) == 1 else self._joined([plan for plan, _ in loaded])
        return granted(other_base(plan, request.base_sha256) or (plan, root))

    def _joined(self, parts: Sequence[Plan]) -> tuple[Plan, Root]:
        """Store the plan that does what all `parts` do. A rejection of one of them covers it, too.

        Once it was committed, it is the plan of that commit.
        """
        planned = plan_together(self.planner.plan, parts, self.limits)
        root = self.library.root_of(parts[0])
        if not isinstance(planned, PlannedBatch):
            links = PlanLinks(root.path, "derived")
            joined = set.intersection(*(set(links.derived_from(part.plan_id)) for part in parts))
            edits = sum(len(part.results) for part in parts)
            for known in map(self.library.load, sorted(joined)):
                if isinstance(known, Diagnostic) or len(known[0].results) != edits:
                    continue
                if self.library.last_commit_of(known[0]) is not None:
                    return known
            return granted(planned)
        self.library.save(planned, origin=parts[0])
        for part in parts[1:]:
            self.library.derive(planned.plan.plan_id, part, root)
        return planned.plan, root

    def check(self, data: Mapping[str, Any]) -> tuple[Plan, Root]:
        """Return the plan in the document `data`, and its root.

        A stored plan with the same ID takes precedence. If the files are no longer its bases, results and
        warnings cannot be computed again and are omitted. Raise `StorageRefused`: PLAN_TAMPERED; as for
        locating files.
        """
        plan = granted(read_document(data))
        workspace = self.documents.workspace
        root = workspace.root_of(granted(workspace.locate(plan.files[0].path)))
        stored = self.library.load(plan.plan_id)
        return (self._proven(plan), root) if isinstance(stored, Diagnostic) else stored

    def _proven(self, plan: Plan) -> Plan:
        """Return `plan` with nothing in it that the files do not confirm."""
        undone = plan.undoes
        batch = read_batch(request_of(plan, with_bases=True), self.limits) if undone is None else None
        if isinstance(batch, tuple):
            raise StorageRefused((_FORGED_PLAN,))
        current_files = granted(self.documents.read_current(plan))
        bare = _without_derived(plan)
        if is_applied(plan, current_files) or self.documents.stale(bare, current_files):
            return bare
        again = self._planned_again(plan, batch) if batch else self._undone_again(plan, undone or "")
        return granted(again or _FORGED_PLAN)

    def _planned_again(self, plan: Plan, batch: Batch) -> Plan | None:
        """Return the plan of the same edits, if it has the same ID."""
        planned = self.planner.plan(batch)
        if not isinstance(planned, PlannedBatch):
            return None
        again = planned.plan
        # The plan of a manifest omits unchanged files, and plans each file on its own, so it may
        # warn of a link to a file that the same plan creates.
        as_manifest = with_plan_id(
            ready_to_merge(replace(again, warnings=_with_link_warnings(again.warnings, plan.warnings)))
        )
        return next((made for made in (again, as_manifest) if made.plan_id == plan.plan_id), None)

    def _undone_again(self, plan: Plan, transaction: str) -> Plan | None:
        """Return the plan that undoes the same transaction, if it has the same ID."""
        try:
            past = granted(self.undoing.find(transaction))
            again = self.undoing.plan(past, "rebase", plan.undone_files).plan
        except StorageRefused:
            return None
        return again if again.plan_id == plan.plan_id else None


def _without_derived(plan: Plan) -> Plan:
    """Return `plan` without what a report would say of its edits."""
    files = tuple(replace(change, base_sections={}) for change in plan.files)
    return replace(plan, files=files, results=(), warnings=())


def _with_link_warnings(warnings: Problems, claimed: Problems) -> Problems:
    """Return `claimed` if it says the same as `warnings` of its files, and of links perhaps more."""
    of_files = tuple(each for each in warnings if each.file is not None or each.code not in LINK_CODES)
    rest = tuple(warning for warning in claimed if warning in of_files or warning.code not in LINK_CODES)
    return claimed if rest == of_files else warnings


_FORGED_PLAN = Code.PLAN_TAMPERED.problem(
    "planning the edits of this document does not give the plan that it describes",
    "plan the batch again; a change of a file that links to these files has the same effect",
)
