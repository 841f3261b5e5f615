"""Random documents and batches of all operations: the laws of every plan and of every write.

One machine owns one file, Markdown or INI. It plans batches on the current content, applies, undoes, redoes
and repeats them, and sends old plans again.
"""

import json
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.plan import edit_list_from_json
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.edit import EditList
from mdplan.text.source import DocumentFormat, sha256_hex
from tests.conftest import FULL
from tests.properties.batches import batches
from tests.properties.folder_batches import decoded, encoded, outline_of
from tests.properties.ini_files import ini_texts
from tests.properties.markdown_documents import documents
from tests.properties.outline_law import check_outline
from tests.properties.plan_laws import check_wire, spliced
from tests.support.strict_patch import apply_strictly

pytestmark = pytest.mark.timeout(7200 if FULL else 240)
NAMES = ("doc.md", "doc.md", "doc.md", "doc.ini")
SETTINGS = settings(
    max_examples=500 if FULL else 12,
    stateful_step_count=12 if FULL else 8,
    suppress_health_check=list(HealthCheck),
)


class Machine(RuleBasedStateMachine):
    """One file, the engine over its folder, and the plans that were made of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.name = NAMES[0]
        self.engine = Engine.open([self.folder], settings=Settings(durability=Durability.PROCESS))
        self.plans: list[tuple[str, bytes, bytes]] = []

    def teardown(self) -> None:
        self.engine.workspace.close()
        shutil.rmtree(self.folder)

    @property
    def path(self) -> Path:
        return self.folder / self.name

    @property
    def content(self) -> bytes:
        return self.path.read_bytes()

    @initialize(name=st.sampled_from(NAMES), data=st.data())
    def write(self, name: str, data: st.DataObject) -> None:
        """The file as its author left it."""
        self.name = name
        text = data.draw(ini_texts() if name.endswith(".ini") else documents())
        self.path.write_bytes(encoded(text))

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        """Plan a batch, check the plan, apply it, and send the batch again.

        If a batch is refused, continue with its faultless edits.
        """
        base = self.content
        outline = outline_of(self.name, base)
        batch = data.draw(batches(outline, self.name), "batch") | (
            {"encoding": "utf-8"} if b"\0" in base else {}
        )
        note(repr(base))
        plan = self.plan(batch)
        while not plan.ok:
            self.check_refused(plan, batch)
            wrong = {found.edit_index for found in plan.diagnostics} or {0}
            rest = [edit for index, edit in enumerate(batch["edits"]) if index not in wrong]
            if not rest or len(rest) == len(batch["edits"]):
                return
            batch = batch | {"edits": rest}
            plan = self.plan(batch)
        for each in batch["edits"]:
            event(f"planned {each['op']}")
        result = self.check_plan(plan, batch, outline)
        check_single_edits(self, batch, outline)
        self.check_apply(plan, batch, result)
        self.plans.append((plan.plan_id or "", base, result))

    @rule(data=st.data(), restores=st.booleans())
    def come_again(self, data: st.DataObject, restores: bool) -> None:
        """An old plan writes what it wrote then, or says that it is applied, or is refused."""
        if not self.plans:
            return
        plan_id, base, result = data.draw(st.sampled_from(self.plans))
        if restores:
            self.path.write_bytes(base)
        before = self.content
        report = self.engine.apply({"planId": plan_id})
        if before == result:
            assert report.ok
            assert bool(report.already_applied) is (base != result)
        if before in {base, result}:
            assert report.ok, report.error
            assert self.content == result
        else:
            assert report.error
            assert report.error.code is Code.STALE_BASE
            assert self.content == before

    def plan(self, batch: dict[str, Any]) -> PlanReport:
        """Plan of `batch`, which wrote nothing and is fit to be sent."""
        before = self.content
        plan = self.engine.plan(batch)
        assert self.content == before, "planning wrote"
        check_wire(plan)
        event(f"{len(batch['edits'])} edits planned" if plan.error is None else f"refused: {plan.error.code}")
        return plan

    def check_refused(self, plan: PlanReport, batch: dict[str, Any]) -> None:
        """A refusal names its edits, and apply says the same and writes nothing."""
        before = self.content
        assert plan.error is not None
        assert plan.plan_id is None
        assert plan.diff is None
        assert all((found.edit_index or 0) < len(batch["edits"]) for found in plan.diagnostics)
        report = self.engine.apply(batch)
        assert not report.ok
        assert to_wire(report.diagnostics) == to_wire(plan.diagnostics)
        assert self.content == before, "a refused batch wrote"

    def check_plan(self, plan: PlanReport, batch: dict[str, Any], outline: Outline) -> bytes:
        """Return the result bytes of `plan` after all checks that write nothing."""
        base, source = outline.source.data, outline.source
        edits = self.edits_of(plan)
        result = spliced(source, edits)
        (file,) = plan.files
        assert file.base_sha256 == sha256_hex(base)
        assert file.result_sha256 == sha256_hex(result)
        assert apply_strictly(base, self.engine.diff_bytes(plan.plan_id)) == result
        text = edits.apply(source.text)
        assert spliced(decoded(result), edits.invert(source.text)) == base
        assert decoded(result).text == text
        assert plan.no_op is (result == base)
        assert [found.edit_index for found in plan.edit_results] == list(range(len(batch["edits"])))
        if outline.format is DocumentFormat.MARKDOWN and not batch.get("allowOutlineChange"):
            ops = frozenset(edit["op"] for edit in batch["edits"])
            check_outline(outline, Outline(decoded(result)), edits, ops)
        return result

    def check_apply(self, plan: PlanReport, batch: dict[str, Any], result: bytes) -> None:
        """Check that the plan is written once."""
        base = self.content
        dry = self.engine.apply(batch | {"dryRun": True})
        assert (dry.plan_id, dry.diff, self.content) == (plan.plan_id, plan.diff, base)
        report = self.engine.apply({"planId": plan.plan_id})
        check_wire(report)
        assert report.ok, report.error
        assert self.content == result
        if result != base:
            self.check_undo(report, base, result)
        again = self.engine.apply({"planId": plan.plan_id})
        assert again.ok, again.error
        assert bool(again.already_applied) is (result != base)
        twice = self.engine.apply(batch)
        assert twice.ok, twice.error
        if result != base:
            assert twice.already_applied, "the same batch was applied twice"
            assert twice.receipt.transaction == report.receipt.transaction
        assert self.content == result, "a second copy"
        self.path.write_bytes(base)
        self.check_evidence({name: value for name, value in batch.items() if name != "baseSha256"}, result)
        self.path.write_bytes(result)

    def check_undo(self, report: ApplyReport, base: bytes, result: bytes) -> None:
        """Undo gives the same bytes, and the undo of that the result."""
        undone = self.engine.undo(report.receipt.transaction)
        assert undone.ok, undone.diagnostics
        assert self.content == base, "the undo left something else"
        redone = self.engine.undo(undone.receipt.transaction)
        assert redone.ok, redone.diagnostics
        assert self.content == result, "the redo made something else"

    def check_evidence(self, batch: dict[str, Any], result: bytes) -> None:
        """Check that a batch guarded only by its evidence, or refused, makes no second copy either."""
        base = self.content
        first = self.engine.apply(batch)
        if not first.ok:
            assert first.error.code is Code.PRECONDITION_REQUIRED
            return
        if first.already_applied:
            # The same batch produced the base.
            assert self.content == base
            return
        again = self.engine.apply(batch)
        assert again.ok, again.error
        assert bool(again.already_applied) is (result != base)
        assert self.content == result, "a second copy by evidence"
        event("pinned by evidence")

    def edits_of(self, plan: PlanReport) -> EditList:
        """Text edits of the plan's document."""
        document = self.engine.export(plan.plan_id)
        assert isinstance(document, bytes), document
        return edit_list_from_json(json.loads(document)["files"][0]["textEdits"])


def check_single_edits(machine: Machine, batch: dict[str, Any], outline: Outline) -> None:
    """Check that separate edits of a snapshot batch do together what each does by itself."""
    # A table of contents is made last, from the result of all edits.
    is_whole = any(edit["op"] == "update_toc" for edit in batch["edits"])
    if batch.get("sequential") or len(batch["edits"]) == 1 or is_whole:
        return
    free = batch | {"allowOutlineChange": True, "allowDuplicateHeadings": True}
    whole = machine.edits_of(machine.engine.plan(free))
    plans = [machine.engine.plan(free | {"edits": [edit]}) for edit in batch["edits"]]
    assert all(plan.ok for plan in plans), [plan.error for plan in plans]
    singles = [machine.edits_of(plan) for plan in plans]
    every = [each for edits in singles for each in edits]
    # Adjacent edits share the blank lines between them.
    edges = sorted((each.span for each in every), key=lambda span: (span.start, span.end))
    if any(left.end >= right.start for left, right in pairwise(edges)):
        return
    assert EditList.of(every) == whole
    check_from_the_back(machine, free, outline, plans, singles)


def touches_headings(edit: dict[str, Any]) -> bool:
    """Return True if `edit` can give other sections new neighbours, to which new levels are fitted."""
    ops = {"set_heading_level", "delete_section", "move_section", "insert_section", "upsert_section"}
    return edit["op"] in ops or any(mark in edit.get("markdown", "") for mark in ("#", "=", "--"))


def shares_a_block(batch: dict[str, Any], outline: Outline, singles: list[EditList]) -> bool:
    """Return True if an edit that keeps the style of a block is in one that another edit changes."""
    styled = [bool(set(edit) & {"list", "item", "table", "key", "values"}) for edit in batch["edits"]]
    if outline.format is DocumentFormat.INI:
        # A key is written as those around it are, which may be in another section.
        return any(styled)
    for block in (*outline.tree.roots, *filter(None, [outline.front_matter])):
        inside = [
            index
            for index, edits in enumerate(singles)
            if any(each.span.start <= block.span.end and block.span.start <= each.span.end for each in edits)
        ]
        if len(inside) > 1 and any(styled[index] for index in inside):
            return True
    return False


def check_from_the_back(
    machine: Machine,
    batch: dict[str, Any],
    outline: Outline,
    plans: list[PlanReport],
    singles: list[EditList],
) -> None:
    """They come to the same one by one, from the end of the file, while their addresses mean the same."""
    order = sorted((edits.edits, index) for index, edits in enumerate(singles) if edits)
    is_apart = all(left[-1].span.end < right[0].span.start for (left, _), (right, _) in pairwise(order))
    if not is_apart or any(map(touches_headings, batch["edits"])) or shares_a_block(batch, outline, singles):
        return
    back = machine.path.with_stem("back")
    data, text = outline.source.data, outline.source.text
    for _, index in reversed(order):
        back.write_bytes(data)
        edit = {name: value for name, value in batch["edits"][index].items() if name != "sectionSha256"}
        alone = batch | {"file": back.name, "baseSha256": sha256_hex(data), "edits": [edit]}
        plan = machine.engine.plan(alone)
        if not plan.ok or plan.edit_results[0].ranges != plans[index].edit_results[0].ranges:
            return
        assert machine.edits_of(plan) == singles[index]
        text = singles[index].apply(text)
        assert machine.engine.apply(alone).ok
        data = back.read_bytes()
        assert decoded(data).text == text
    event("from the back")


TestMachine = Machine.TestCase
TestMachine.settings = SETTINGS
