"""Every golden case of the bot is planned, applied, up to date from then on, and undone to the byte."""

import json
from pathlib import Path

import pytest

from mdplan.bot.bot import propose
from tests.bot.golden import CASES, HERE, WHOLE, BotCase, applied, load, open_engine, planned, problems_of
from tests.support.golden_cases import read_tree
from tests.support.patches import git_apply


@pytest.mark.parametrize("case", CASES, ids=str)
def test_plan_document_is_applied_without_a_stored_plan(case: BotCase, tmp_path: Path) -> None:
    if case.after is None:
        pytest.skip("the manifest is refused")
    root = tmp_path / "root"
    case.lay_out(root)
    engine = open_engine(root)
    manifest = case.write_manifest(tmp_path / "manifest")
    with propose(engine, load(manifest), HERE, keeps=False) as proposal:
        document = json.loads(b"".join(proposal.document()))

    report = engine.apply(document)

    assert report.ok, report.error
    assert read_tree(root) == case.after


@pytest.mark.requirement("bot-1")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: BotCase, tmp_path: Path) -> None:
    folder, root = tmp_path / "manifest", tmp_path / "root"
    manifest = case.write_manifest(folder)
    case.lay_out(root)
    before = read_tree(root)
    engine = open_engine(root)
    if case.after is None:
        report = applied(engine, manifest, WHOLE)
        assert problems_of(report, folder) == case.expected_problems()
        assert (report.ok, report.applied, read_tree(root)) == (False, False, before)
        return
    proposal, diff = planned(engine, manifest)
    assert (proposal.ok, proposal.diagnostics, read_tree(root)) == (True, (), before)
    report = applied(engine, manifest)
    assert (report.ok, report.applied, report.plan_id) == (True, True, proposal.plan_id)
    assert read_tree(root) == case.after
    again, nothing = planned(engine, manifest)
    assert (again.ok, again.no_op, again.plan_id, nothing) == (True, True, None, b"")
    assert engine.undo().ok
    assert read_tree(root) == before
    assert git_apply(before, diff) == case.after
