"""Every golden folder: planned, applied, true from then on, and undone to the byte."""

import json
from pathlib import Path

import pytest

from mdplan.bot.verbs import proposed
from tests.bot.golden import CASES, HERE, BotCase, applied, load, open_engine, planned, problems_of
from tests.golden_case import read_tree
from tests.patch_tools import git_apply

FOLDERS = sorted(CASES.iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_case(folder: Path, tmp_path: Path) -> None:
    check(BotCase(folder), tmp_path / "root")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_document_of_a_manifest_is_applied_where_no_plan_is_stored(folder: Path, tmp_path: Path) -> None:
    case = BotCase(folder)
    if case.after is None:
        pytest.skip("the manifest is refused")
    root = tmp_path / "root"
    case.lay_out(root)
    engine = open_engine(root)
    with proposed(engine, load(case.manifest), HERE, keeps=False) as proposal:
        document = json.loads(proposal.document())

    report = engine.apply(document)

    assert report.ok, report.error
    assert read_tree(root) == case.after


def check(case: BotCase, root: Path) -> None:
    case.lay_out(root)
    before = read_tree(root)
    engine = open_engine(root)
    if case.after is None:
        report = applied(engine, case.manifest)
        assert problems_of(report, case.folder) == case.expected_problems()
        assert (report.ok, report.applied, read_tree(root)) == (False, False, before)
        return
    proposal, diff = planned(engine, case.manifest)
    assert (proposal.ok, proposal.diagnostics, read_tree(root)) == (True, (), before)
    report = applied(engine, case.manifest)
    assert (report.ok, report.applied, report.plan_id) == (True, True, proposal.plan_id)
    assert read_tree(root) == case.after
    again, nothing = planned(engine, case.manifest)
    assert (again.ok, again.no_op, again.plan_id, nothing) == (True, True, None, b"")
    assert engine.undo().ok
    assert read_tree(root) == before
    assert git_apply(before, diff) == case.after
