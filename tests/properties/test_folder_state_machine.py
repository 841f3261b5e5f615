"""Random folders and batches on several of their files: the laws of every plan and of every write.

One machine owns a folder with an INI file and Markdown files that link to each other. It plans batches on the
current content, applies, undoes, redoes and repeats them, and sends old plans again.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from mdplan.diagnostics import Code
from mdplan.documents.documents import BACKUP_SUFFIX
from mdplan.engine.engine import Engine
from mdplan.plan import edit_list_from_json
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.edit import EditList
from mdplan.text.source import DocumentFormat, sha256_hex
from tests.conftest import FULL
from tests.properties.folder_batches import decoded, folder_batches, folders, outline_of
from tests.properties.outline_law import check_outline
from tests.properties.plan_laws import check_wire, spliced
from tests.support.golden_cases import Tree, read_tree

pytestmark = pytest.mark.timeout(7200 if FULL else 240)

SETTINGS = settings(
    max_examples=400 if FULL else 8,
    stateful_step_count=6 if FULL else 4,
    suppress_health_check=list(HealthCheck),
)
NO_SECOND_TIME = {Code.STALE_BASE, Code.FILE_NOT_FOUND, Code.FILE_EXISTS}


class FolderMachine(RuleBasedStateMachine):
    """A folder, the engine over it, and the plans that were made of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.engine = Engine.open([self.folder], settings=Settings(durability=Durability.PROCESS))
        self.plans: list[tuple[str, Tree, Tree]] = []

    def teardown(self) -> None:
        self.engine.workspace.close()
        shutil.rmtree(self.folder)

    @property
    def tree(self) -> Tree:
        """The folder without backups, which stay whatever is undone or planned again."""
        return {
            path: data for path, data in read_tree(self.folder).items() if not path.endswith(BACKUP_SUFFIX)
        }

    @initialize(tree=folders())
    def write(self, tree: Tree) -> None:
        """The folder as its authors left it."""
        lay_out(self.folder, tree)

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        """Plan a batch, check the plan, apply it, undo it, redo it, and send it again.

        If a batch is refused, continue with its faultless edits.
        """
        base = self.tree
        outlines = {path: outline_of(path, data) for path, data in base.items()}
        if not outlines:
            return
        batch = data.draw(folder_batches(outlines), "batch")
        note(repr(base))
        plan = self.plan(batch)
        while not plan.ok:
            self.check_refused(plan, batch)
            smaller = without(batch, {found.edit_index for found in plan.diagnostics})
            if smaller is None:
                return
            batch = smaller
            plan = self.plan(batch)
        for each in (edit for file in batch["files"] for edit in file["edits"]):
            event(f"planned {each['op']}{' to a file' if 'toFile' in each else ''}")
        result = self.check_plan(plan, batch)
        if data.draw(st.integers(0, 3)) == 0:
            check_git(base, self.engine.diff_bytes(plan.plan_id), result)
        self.check_apply(plan, batch, result)
        self.plans.append((plan.plan_id or "", base, result))

    @rule(data=st.data())
    def come_again(self, data: st.DataObject) -> None:
        """An old plan says that it is applied, is applied where it fits, or is refused and writes nothing."""
        if not self.plans:
            return
        plan_id, base, result = data.draw(st.sampled_from(self.plans))
        before = self.tree
        report = self.engine.apply({"planId": plan_id})
        if before == result:
            assert report.ok
            assert bool(report.already_applied) is (base != result)
        if report.ok:
            assert self.tree == before if report.already_applied else self.tree != before or base == result
            event("came again")
        else:
            assert report.error.code in NO_SECOND_TIME
            assert self.tree == before

    def plan(self, batch: dict[str, Any]) -> PlanReport:
        """Plan of `batch`, which wrote nothing and is fit to be sent."""
        before = self.tree
        plan = self.engine.plan(batch)
        assert self.tree == before, "planning wrote"
        check_wire(plan)
        event(f"{len(batch['files'])} files planned" if plan.error is None else f"refused: {plan.error.code}")
        return plan

    def check_refused(self, plan: PlanReport, batch: dict[str, Any]) -> None:
        """A refusal names edits of the batch, and apply says the same and writes nothing.

        Of the very batch that left these files, which may create some, apply says that it is done.
        """
        before = self.tree
        assert (plan.plan_id, plan.diff) == (None, None)
        count = sum(len(file["edits"]) for file in batch["files"])
        assert all((found.edit_index or 0) < count for found in plan.diagnostics)
        report = self.engine.apply(batch)
        assert report.already_applied or to_wire(report.diagnostics) == to_wire(plan.diagnostics)
        assert self.tree == before, "a refused batch wrote"

    def check_plan(self, plan: PlanReport, batch: dict[str, Any]) -> Tree:
        """Return the folder that `plan` makes, after all checks that write nothing."""
        base = self.tree
        result = dict(base)
        allowed = names_in(batch)
        all_edits = self.edits_of(plan)
        ops = frozenset(edit["op"] for file in batch["files"] for edit in file["edits"])
        for file in plan.files:
            before = base.get(file.file)
            if batch.get("updateReferences") != "workspace":
                assert file.file in allowed, "a file that nobody named"
            assert file.base_sha256 == (None if before is None else sha256_hex(before))
            after = spliced(decoded(before or b""), all_edits[file.file])
            if file.result_sha256 is None:
                del result[file.file]
                continue
            assert file.result_sha256 == sha256_hex(after)
            assert file.changed is (before != after or file.new_file is not None)
            if file.new_file is not None:
                del result[file.file]
            result[file.new_file or file.file] = after
            self.check_outline(file.file, before, after, all_edits[file.file], ops, batch)
        assert plan.no_op is (result == base)
        return result

    def check_outline(
        self,
        path: str,
        before: bytes | None,
        after: bytes,
        edits: EditList,
        ops: frozenset[str],
        batch: dict[str, Any],
    ) -> None:
        """The outline of a Markdown file changes only as the operations say."""
        outline = outline_of(path, before or b"")
        is_markdown = outline.format is DocumentFormat.MARKDOWN
        if before is not None and is_markdown and not batch.get("allowOutlineChange"):
            check_outline(outline, outline_of(path, after), edits, ops)

    def check_apply(self, plan: PlanReport, batch: dict[str, Any], result: Tree) -> None:
        """Check that the plan is written once, that undo restores the bytes, and redo the result."""
        base = self.tree
        report = self.engine.apply({"planId": plan.plan_id})
        check_wire(report)
        assert report.ok, report.error
        assert self.tree == result
        if result != base:
            self.check_backups(plan, batch, base)
            self.check_undo(report, base, result)
        again = self.engine.apply({"planId": plan.plan_id})
        assert again.ok, again.error
        assert bool(again.already_applied) is (result != base)
        twice = self.engine.apply(batch)
        assert self.tree == result, "a second copy"
        if twice.ok:
            assert twice.already_applied or twice.no_op or result == base
        else:
            assert twice.error.code in NO_SECOND_TIME, twice.error

    def check_undo(self, report: ApplyReport, base: Tree, result: Tree) -> None:
        undone = self.engine.undo(report.receipt.transaction)
        assert undone.ok, undone.diagnostics
        assert self.tree == base, "the undo left something else"
        redone = self.engine.undo(undone.receipt.transaction)
        assert redone.ok, redone.diagnostics
        assert self.tree == result, "the redo made something else"

    def check_backups(self, plan: PlanReport, batch: dict[str, Any], base: Tree) -> None:
        """With `backup`, the old content of each file that changed stands beside it."""
        for file in plan.files if batch.get("backup") else ():
            if file.changed and file.base_sha256 is not None:
                assert (self.folder / f"{file.file}{BACKUP_SUFFIX}").read_bytes() == base[file.file]

    def edits_of(self, plan: PlanReport) -> dict[str, EditList]:
        """Text edits of the plan's document, by file."""
        document = self.engine.export(plan.plan_id)
        assert isinstance(document, bytes), document
        return {
            file["path"]: edit_list_from_json(file["textEdits"]) for file in json.loads(document)["files"]
        }


def names_in(batch: dict[str, Any]) -> set[str]:
    """Files that `batch` names."""
    named = [edit["toFile"] for file in batch["files"] for edit in file["edits"] if "toFile" in edit]
    return {*named, *(file["file"] for file in batch["files"])}


def without(batch: dict[str, Any], indexes: set[int | None]) -> dict[str, Any] | None:
    """Return `batch` without the edits of these `indexes`; None if that leaves no edits, or all."""
    files, at = [], 0
    for file in batch["files"]:
        numbered = enumerate(file["edits"], start=at)
        kept = [edit for index, edit in numbered if index not in indexes]
        at += len(file["edits"])
        files += [file | {"edits": kept}] if kept else []
    is_smaller = sum(len(file["edits"]) for file in files) < at
    return batch | {"files": files} if files and is_smaller else None


def lay_out(folder: Path, tree: Tree) -> None:
    for path, data in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def check_git(base: Tree, diff: bytes, result: Tree) -> None:
    """`git apply` makes of `base` by `diff` what was planned."""
    if not diff:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder, base)
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn"],
            cwd=folder,
            input=diff,
            capture_output=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
            },
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert read_tree(folder) == result
    event("git apply")


TestFolderMachine = FolderMachine.TestCase
TestFolderMachine.settings = SETTINGS
