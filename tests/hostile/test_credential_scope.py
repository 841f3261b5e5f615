"""Credentials and decisions of one root, plan or server do not work for another."""

import json
import unicodedata
from pathlib import Path

import pytest

from mdplan.decisions import Verdict
from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.storage.plans import DecisionStore
from mdplan.web.sessions import address_of
from tests.hostile.trial import read_verb, search_verb, stat_verb
from tests.support.case_tables import CaseTables
from tests.surfaces.review_calls import HOST, TOKEN, ReviewCalls

CASE_TABLES = CaseTables(__file__)


TEXT = "# A\n\none\n"
BATCH = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "one", "replacement": "1"}]}


def strict_engine(folder: Path) -> Engine:
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    return Engine.open([folder], approval=approved_only)


@pytest.fixture
def own(tmp_path: Path) -> Engine:
    """An engine over a root where a person approved the plan of `BATCH`."""
    engine = strict_engine(tmp_path / "own")
    ReviewService(engine).decide(plan_of(engine), "ann", Verdict.APPROVED)
    return engine


@pytest.fixture
def other(tmp_path: Path) -> Engine:
    """An engine over another root, with the same file and the same plan, which nobody approved."""
    engine = strict_engine(tmp_path / "other")
    plan_of(engine)
    return engine


def plan_of(engine: Engine) -> str:
    plan_id = engine.plan(BATCH).plan_id
    assert plan_id is not None
    return plan_id


def is_refused(engine: Engine, request: object) -> bool:
    report = engine.apply(request)
    text = (Path(engine.workspace.roots[0].path) / "a.md").read_text()
    return report.error is not None and report.error.code == "APPROVAL_REQUIRED" and text == TEXT


def test_approval_of_a_plan_never_counts_in_another_root(own: Engine, other: Engine) -> None:
    plan_id = plan_of(own)
    document = own.export(plan_id)

    assert plan_of(other) == plan_id
    assert is_refused(other, {"planId": plan_id})
    assert is_refused(other, json.loads(document) if isinstance(document, bytes) else {})
    assert own.apply({"planId": plan_id}).applied


@pytest.mark.parametrize("query", ["token", "access_token", "authorization"])
def test_bearer_token_in_a_url_is_never_accepted(own: Engine, query: str) -> None:
    """Addresses are logged and stored, so the token is only accepted in its header."""
    calls = ReviewCalls(own)

    for path in (calls.base, f"{calls.base}open", calls.plan_path(plan_of(own)), "/mcp"):
        assert calls.get(f"{path}?{query}={TOKEN}").status == 401
        assert calls.get(f"{path}?{query}=Bearer%20{TOKEN}").status == 401


def test_review_link_of_one_server_never_opens_another(own: Engine, other: Engine) -> None:
    first, second = ReviewCalls(own), ReviewCalls(other)

    assert second.get(first.link).status == 401
    assert second.get(second.base + first.link.removeprefix(first.base)).status == 401
    second.cookie = first.visit().cookie
    assert second.get(second.base).status == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8080", "localhost.:8080", ""])
def test_page_is_never_served_for_a_rebound_host_name(own: Engine, host: str) -> None:
    calls = ReviewCalls(own)

    assert calls.get(calls.link, host=host).status == 421
    assert calls.visit().get(calls.base, host=host).status == 421


def test_page_of_a_plan_never_approves_its_rebased_plan(own: Engine) -> None:
    plan_id = plan_of(own)
    file = Path(own.workspace.roots[0].path) / "a.md"
    file.write_text(f"{TEXT}\nmore\n")
    calls = ReviewCalls(own).visit()
    carried = own.replan(plan_id).plan_id or ""

    assert carried != plan_id
    assert own.apply({"planId": carried}).error is not None
    assert own.apply({"planId": plan_id, "onStale": "rebase"}).error is not None
    form = next(
        each for each in calls.get(calls.plan_path(carried)).page.forms if each.action.endswith("/decide")
    )
    calls.post(form.action.replace(carried, plan_id), {**form.fields, "verb": "approve"})
    assert DecisionStore(own.workspace.roots[0].path).of(carried) is None
    assert file.read_text() == f"{TEXT}\nmore\n"


def test_view_link_of_a_plan_never_shows_its_rebased_plan(own: Engine) -> None:
    plan_id = plan_of(own)
    (Path(own.workspace.roots[0].path) / "a.md").write_text(f"{TEXT}\nmore\n")
    calls = ReviewCalls(own)
    carried = own.replan(plan_id).plan_id or ""
    link = (address_of(calls.root, plan_id) or "").removeprefix(f"http://{HOST}")
    calls.cookie = calls.get(link).headers["set-cookie"].partition(";")[0]
    base = link.partition("view?")[0]

    assert calls.get(f"{base}plan/{plan_id}").status == 200
    assert calls.get(f"{base}plan/{carried}").status == 403


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@CASE_TABLES.parametrize("spelling")
def test_no_spelling_of_a_denied_name_shows_its_text(tmp_path: Path, spelling: str, form: str) -> None:
    """Also if the names on the disk and in `--deny` are composed differently."""
    name = unicodedata.normalize("NFD" if form == "NFC" else "NFC", "drafts/secrét.md")
    (tmp_path / "drafts").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / name).write_text("# Diary\n\nultramarine\n")
    asked = unicodedata.normalize(form, spelling.format("drafts/secrét.md"))
    denied = unicodedata.normalize(form, "secrét.md")
    for rules in (["drafts/"], [f"drafts/{denied}"], [denied]):
        with Engine.open([tmp_path], deny=rules) as engine:
            for verb in (read_verb, stat_verb, search_verb):
                assert "ultramarine" not in str(verb(engine, asked)), (rules, verb)
                assert "ultramarine" not in str(verb(engine, name)), (rules, verb)
