"""No way to a commit or a decision bypasses the rules of `test_decisions.py`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitRequestURLParams, ElicitResult

from mdplan.decisions import UNDECIDED, Channel, Decision, Remarks, Verdict
from mdplan.diagnostics import Code
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.history import CallerIdentity
from mdplan.engine.reviews import DecisionTerms, ReviewService, ReviewState
from mdplan.mcp import approval as elicitation
from mdplan.mcp.tool import mcp_caller
from mdplan.settings import Settings
from mdplan.storage.plans import DecisionStore
from mdplan.web.sessions import PlanNotes, ReviewSession
from tests.bot.golden import applied as bot_applied
from tests.bot.repository import Repository
from tests.support.servers import build_server
from tests.surfaces.command_line import mdplan
from tests.surfaces.mcp_calls import GENERATIONS, calls_to
from tests.surfaces.review_calls import HOST, TOKEN, ReviewCalls

TEXT = "# A\n\none\n\ntwo\n"
DONE = "# A\n\n1\n\n2\n"
EDITS = [
    {"op": "replace_match", "pattern": "one", "replacement": "1"},
    {"op": "replace_match", "pattern": "two", "replacement": "2"},
]
BATCH = {"file": "a.md", "edits": EDITS}
OVERRIDE = {"overrides": True}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def free(root: Path) -> Engine:
    """An engine that requires no approval."""
    return Engine.open([root])


@pytest.fixture
def strict(root: Path) -> Engine:
    """An engine that requires approvals."""
    return Engine.open([root], settings=Settings(require_approval=True))


@pytest.fixture
def reviewing(strict: Engine) -> ReviewService:
    return ReviewService(strict)


def planned(engine: Engine, batch: object = BATCH) -> str:
    plan_id = engine.plan(batch).plan_id
    assert plan_id is not None
    return plan_id


def code_of(report: Any) -> str | None:
    return None if report.error is None else report.error.code.value


def terms(reviewing: ReviewService, plan_id: str, **more: Any) -> DecisionTerms:
    """Terms that name the version that the plan has now."""
    return DecisionTerms(saw=reviewing.open(plan_id).decisions.version, **more)


# S8: an approval is used once.


def test_approval_is_not_used_twice(strict: Engine, reviewing: ReviewService, root: Path) -> None:
    plan_id = planned(strict)
    assert isinstance(reviewing.decide(plan_id, "ann", Verdict.APPROVED), Decision)
    assert strict.apply({"planId": plan_id}).applied
    assert Engine.open([root]).undo().applied

    report = strict.apply({"planId": plan_id})

    assert code_of(report) == "APPROVAL_REQUIRED"
    assert "used its approval" in report.error.message
    assert (root / "a.md").read_text() == TEXT
    assert reviewing.open(plan_id).state is ReviewState.PENDING


def test_approval_used_where_none_was_required_is_not_used_twice(
    free: Engine, strict: Engine, reviewing: ReviewService
) -> None:
    plan_id = planned(strict)
    reviewing.decide(plan_id, "ann", Verdict.APPROVED)
    assert free.apply({"planId": plan_id}).applied
    assert free.undo().applied

    assert code_of(strict.apply({"planId": plan_id})) == "APPROVAL_REQUIRED"


def test_plan_is_applied_again_after_an_undo_where_no_approval_is_required(free: Engine, root: Path) -> None:
    plan_id = planned(free)
    for _ in range(2):
        assert free.apply({"planId": plan_id}).applied
        assert (root / "a.md").read_text() == DONE
        assert free.undo().applied


def test_second_approval_allows_a_second_commit(
    strict: Engine, free: Engine, reviewing: ReviewService
) -> None:
    plan_id = planned(strict)
    for _ in range(2):
        assert isinstance(
            reviewing.decide(plan_id, "ann", Verdict.APPROVED, terms=terms(reviewing, plan_id)), Decision
        )
        assert strict.apply({"planId": plan_id}).applied
        assert free.undo().applied


def test_approval_of_a_part_is_not_used_twice(strict: Engine, free: Engine, reviewing: ReviewService) -> None:
    decision = reviewing.decide(planned(strict), "ann", Verdict.APPROVED, rejected=[0])
    assert strict.apply({"planId": decision.approved_plan_id}).applied
    free.undo()

    assert code_of(strict.apply({"planId": decision.approved_plan_id})) == "APPROVAL_REQUIRED"


def test_history_keeps_who_approved_and_how(strict: Engine, reviewing: ReviewService) -> None:
    plan_id = planned(strict)
    reviewing.decide(
        plan_id,
        "ann",
        Verdict.APPROVED,
        Remarks(comment="fine"),
        terms=DecisionTerms(channel=Channel.TERMINAL),
    )
    strict.apply({"planId": plan_id})

    (entry,) = strict.history().transactions
    assert (entry.approved.decided_by, entry.approved.channel) == ("ann", "terminal")
    assert entry.actor.startswith("user ")
    assert "approved by ann (terminal)" in mdplan("history").out.decode()


# S9: a rejection refuses everywhere.


def by_id(engine: Engine, plan_id: str) -> Any:
    return engine.apply({"planId": plan_id})


def by_document(engine: Engine, plan_id: str) -> Any:
    return engine.apply(json.loads(engine.export(plan_id)))


def by_batch(engine: Engine, plan_id: str) -> Any:
    base = engine.show(plan_id).base_sha256
    return engine.apply({**BATCH, "baseSha256": base})


def by_write(engine: Engine, plan_id: str) -> Any:
    return engine.write(BATCH)


def by_part(engine: Engine, plan_id: str) -> Any:
    return engine.apply({"planId": plan_id, "accept": [0]})


def by_planned_part(engine: Engine, plan_id: str) -> Any:
    part = engine.apply({"planId": plan_id, "accept": [0], "dryRun": True}).plan_id
    return engine.apply({"planId": part})


def by_rebase(engine: Engine, plan_id: str) -> Any:
    Path("a.md").write_text(TEXT + "\nmore\n")
    return engine.apply({"planId": plan_id, "onStale": "rebase"})


def by_replan(engine: Engine, plan_id: str) -> Any:
    Path("a.md").write_text(TEXT + "\nmore\n")
    return engine.apply({"planId": engine.replan(plan_id).plan_id})


def by_part_of_a_replan(engine: Engine, plan_id: str) -> Any:
    Path("a.md").write_text(TEXT + "\nmore\n")
    again = engine.replan(plan_id).plan_id
    part = engine.apply({"planId": again, "accept": [0], "dryRun": True}).plan_id
    return engine.apply({"planId": part})


WAYS = [
    by_id,
    by_document,
    by_batch,
    by_write,
    by_part,
    by_planned_part,
    by_rebase,
    by_replan,
    by_part_of_a_replan,
]


@pytest.mark.parametrize("way", WAYS)
def test_rejected_plan_is_not_committed(
    free: Engine, reviewing: ReviewService, root: Path, way: Callable[[Engine, str], Any]
) -> None:
    plan_id = planned(free)
    reviewing.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="no"))

    report = way(free, plan_id)

    assert code_of(report) == "PLAN_REJECTED"
    assert '"no"' in report.error.message
    assert "1" not in (root / "a.md").read_text()


@pytest.mark.parametrize("way", [by_id, by_document, by_batch, by_write])
def test_plan_that_was_approved_in_part_is_not_committed_whole(
    free: Engine, reviewing: ReviewService, root: Path, way: Callable[[Engine, str], Any]
) -> None:
    plan_id = planned(free)
    reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[1])

    assert code_of(way(free, plan_id)) == "PLAN_REJECTED"
    assert (root / "a.md").read_text() == TEXT


def test_rejected_undo_is_not_committed(free: Engine, reviewing: ReviewService, root: Path) -> None:
    free.write(BATCH)
    plan_id = free.undo(dry_run=True).plan_id
    reviewing.decide(plan_id, "ann", Verdict.REJECTED)

    assert code_of(free.undo()) == "PLAN_REJECTED"
    assert code_of(free.apply({"planId": plan_id})) == "PLAN_REJECTED"
    assert (root / "a.md").read_text() == DONE


@pytest.mark.parametrize("arguments", [("apply",), ("apply", "--rebase"), ("apply", "--require-approval")])
def test_command_line_does_not_commit_a_rejected_plan(
    free: Engine, reviewing: ReviewService, root: Path, arguments: tuple[str, ...]
) -> None:
    plan_id = planned(free)
    reviewing.decide(plan_id, "ann", Verdict.REJECTED)

    run = mdplan(*arguments, plan_id)

    assert (run.code, "PLAN_REJECTED" in run.err) == (5, True)
    assert (root / "a.md").read_text() == TEXT


def test_bot_does_not_commit_a_rejected_plan(free: Engine, reviewing: ReviewService, root: Path) -> None:
    (root / "bot.json").write_text(json.dumps({"files": [{"glob": "a.md", "edits": EDITS}]}))
    run = mdplan("bot", "plan", "bot.json", "--json")
    reviewing.decide(run.json["planId"], "ann", Verdict.REJECTED)

    assert code_of(bot_applied(free, str(root / "bot.json"))) == "PLAN_REJECTED"
    assert mdplan("bot", "apply", "bot.json").code == 5
    assert (root / "a.md").read_text() == TEXT


@pytest.mark.parametrize("mode", GENERATIONS)
def test_tools_do_not_commit_a_rejected_plan(
    root: Path, free: Engine, reviewing: ReviewService, mode: str
) -> None:
    plan_id = planned(free, {"file": "a.md", "edits": EDITS[:1]})
    reviewing.decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="no"))
    server = build_server(Engine(Workspace.open([root]), caller=mcp_caller()), toolsets=["md"])
    with calls_to(server, mode) as calls:
        for arguments in (
            {"planId": plan_id},
            {"file": "a.md", "edits": EDITS[:1], "baseSha256": free.show(plan_id).base_sha256},
            {"planId": plan_id, "accept": [0]},
        ):
            answer = calls.call("md_apply", arguments)
            assert answer.data["error"]["code"] == "PLAN_REJECTED"
            assert "no" in answer.text
    assert (root / "a.md").read_text() == TEXT


def test_only_an_explicit_override_approves_a_rejected_plan(
    free: Engine, strict: Engine, reviewing: ReviewService
) -> None:
    plan_id = planned(free)
    reviewing.decide(plan_id, "ann", Verdict.REJECTED)

    refused = reviewing.decide(plan_id, "bob", Verdict.APPROVED, terms=terms(reviewing, plan_id))
    assert [problem.code for problem in refused] == [Code.PLAN_REJECTED]
    assert code_of(free.apply({"planId": plan_id})) == "PLAN_REJECTED"

    decision = reviewing.decide(plan_id, "bob", Verdict.APPROVED, terms=terms(reviewing, plan_id, **OVERRIDE))
    assert decision.overrides
    assert free.apply({"planId": plan_id}).applied
    (entry,) = free.history().transactions
    assert entry.approved.overrides
    assert "approved by bob (app) over a rejection" in mdplan("history").out.decode()


def test_rejection_revokes_the_approval_of_a_derived_plan(
    strict: Engine, reviewing: ReviewService, root: Path
) -> None:
    plan_id = planned(strict)
    part = strict.apply({"planId": plan_id, "accept": [0], "dryRun": True}).plan_id
    reviewing.decide(part, "ann", Verdict.APPROVED)
    reviewing.decide(plan_id, "bob", Verdict.REJECTED)

    assert code_of(strict.apply({"planId": part})) == "PLAN_REJECTED"
    assert reviewing.open(part).state is ReviewState.REJECTED


def test_new_decision_revokes_the_part_of_the_earlier_one(strict: Engine, reviewing: ReviewService) -> None:
    plan_id = planned(strict)
    first = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[0])
    second = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[1], terms=terms(reviewing, plan_id))

    assert not strict.apply({"planId": first.approved_plan_id}).ok
    assert strict.apply({"planId": second.approved_plan_id}).applied


# S10: a decision names the version that it saw.


def test_second_window_does_not_decide_over_the_first(strict: Engine, reviewing: ReviewService) -> None:
    plan_id = planned(strict)
    second_window = reviewing.open(plan_id).decisions.version
    first = reviewing.decide(plan_id, "ann", Verdict.APPROVED, rejected=[1])

    problems = reviewing.decide(plan_id, "bob", Verdict.REJECTED, terms=DecisionTerms(saw=second_window))

    assert [problem.code for problem in problems] == [Code.STALE_DECISION]
    assert reviewing.open(plan_id).decision == first
    assert strict.apply({"planId": first.approved_plan_id}).applied


def test_page_of_a_second_window_does_not_decide_over_the_first(strict: Engine) -> None:
    plan_id = planned(strict)
    page = ReviewCalls(strict).visit()
    path = page.plan_path(plan_id)
    form = next(each for each in page.get(path).page.forms if each.action.endswith("/decide"))
    page.post(form.action, {**form.fields, "verb": "approve", "unviewed": "0"})

    page.post(form.action, {**form.fields, "verb": "reject"})

    assert "STALE_DECISION" in page.get(path).text
    assert strict.apply({"planId": plan_id}).applied


def test_form_that_is_sent_twice_decides_once(strict: Engine, free: Engine, root: Path) -> None:
    plan_id = planned(strict)
    page = ReviewCalls(strict).visit()
    form = next(
        each for each in page.get(page.plan_path(plan_id)).page.forms if each.action.endswith("/decide")
    )
    page.post(form.action, {**form.fields, "verb": "apply", "unviewed": "0"})
    free.undo()

    page.post(form.action, {**form.fields, "verb": "apply", "unviewed": "0"})

    assert (root / "a.md").read_text() == TEXT


# S11: one setting for every commit.


@pytest.mark.parametrize("way", [by_id, by_document, by_batch, by_write, by_part, by_rebase])
@pytest.mark.parametrize("setting", ["1", "true", "yes", "TRUE", "on", "of course"])
def test_variable_requires_approval_in_every_engine(
    root: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Engine, str], Any], setting: str
) -> None:
    monkeypatch.setenv("MDPLAN_REQUIRE_APPROVAL", setting)
    engine = Engine.open([root])

    assert code_of(way(engine, planned(engine))) == "APPROVAL_REQUIRED"
    assert "1" not in (root / "a.md").read_text()


@pytest.mark.parametrize("by_option", [True, False])
def test_every_command_that_commits_requires_approval(
    root: Path, free: Engine, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    free.write({"file": "b.md", "edits": [{"op": "create_file", "markdown": "# B\n"}]})
    (root / "bot.json").write_text(json.dumps({"files": [{"glob": "a.md", "edits": EDITS}]}))
    plan_id = planned(free)
    if not by_option:
        monkeypatch.setenv("MDPLAN_REQUIRE_APPROVAL", "1")
    option = ["--require-approval"] if by_option else []

    for command in (["apply", plan_id], ["undo", "-y"], ["bot", "apply", "bot.json"]):
        run = mdplan(*command, *option)
        assert (run.code, "APPROVAL_REQUIRED" in run.err) == (5, True), command
    assert (root / "a.md").read_text() == TEXT
    assert (root / "b.md").exists()


def test_bot_in_git_requires_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.make(tmp_path / "git")
    repository.commit({"a.md": TEXT.encode()})
    monkeypatch.chdir(repository.path)
    manifest = tmp_path / "bot.json"
    manifest.write_text(json.dumps({"files": [{"glob": "a.md", "edits": EDITS}]}))
    before = repository.git("rev-parse", "HEAD")

    run = mdplan("bot", "apply", str(manifest), "--git", "main", "--branch", "other", "--require-approval")

    assert (run.code, "APPROVAL_REQUIRED" in run.err) == (5, True)
    assert repository.git("rev-parse", "HEAD") == before


@pytest.mark.parametrize("toolset", ["md", "text", "editor"])
def test_every_tool_that_writes_requires_approval(
    root: Path, monkeypatch: pytest.MonkeyPatch, toolset: str
) -> None:
    monkeypatch.setenv("MDPLAN_REQUIRE_APPROVAL", "1")
    engine = Engine(Workspace.open([root]), caller=mcp_caller())
    base = engine.source("a.md").sha256
    arguments: dict[str, dict[str, Any]] = {
        "md_apply": {"file": "a.md", "baseSha256": base, "edits": EDITS},
        "TextPatch": {
            "filePath": "a.md",
            "operation": "replace",
            "target": {"lines": {"start": 3, "end": 3}},
            "content": "1\n",
        },
    }
    with calls_to(build_server(engine, toolsets=[toolset]), "auto") as calls:
        names = {tool["name"] for tool in calls.tools()}
        for name in names & arguments.keys():
            assert calls.call(name, arguments[name]).is_error
    assert (root / "a.md").read_text() == TEXT


# S1: no client can decide.


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elicitation, "DECISION_SECONDS", 0.3)


@pytest.mark.parametrize("mode", GENERATIONS)
@pytest.mark.usefixtures("impatient")
def test_client_that_receives_the_elicited_link_cannot_approve(root: Path, strict: Engine, mode: str) -> None:
    page = ReviewCalls(strict)
    received: list[str] = []

    async def client(context: object, params: ElicitRequestURLParams) -> ElicitResult:
        received.append(params.url)
        return ElicitResult(action="accept")

    engine = Engine(Workspace.open([root]), Settings(require_approval=True), caller=mcp_caller())
    with calls_to(build_server(engine), mode, elicitation_callback=client) as calls:
        plan_id = calls.call("md_validate", {**BATCH, "verbosity": "full"}).data["planId"]
        refused = calls.call("md_apply", {"planId": plan_id})
        everything = json.dumps(refused.data) + refused.text
    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert not any(link.partition("token=")[2] in everything for link in page.links)

    (url,) = received
    opened = page.get(url.removeprefix(f"http://{HOST}"))
    assert opened.status == 200
    page.cookie = opened.headers["set-cookie"].partition(";")[0]
    base = url.removeprefix(f"http://{HOST}").partition("view?")[0]
    shown = page.get(f"{base}plan/{plan_id}")
    assert shown.status == 200
    assert "mdplan review" in shown.page.text
    assert [form.action for form in shown.page.forms if form.action] == []
    for action, verb in (
        ("decide", "approve"),
        ("decide", "apply"),
        ("apply", ""),
        ("replan", ""),
        ("comment", ""),
        ("comment/1/delete", ""),
        ("file/0/viewed", ""),
        ("edit/0", ""),
    ):
        fields = {"form_token": _any_token(shown.text), "verb": verb, "verdicts": "", "version": "undecided"}
        assert page.post(f"{base}plan/{plan_id}/{action}", fields).status == 403
        assert page.post(f"{base}plan/{plan_id}/{action}", fields, origin=None).status == 403
        assert page.post(f"{page.plan_path(plan_id)}/{action}", fields).status == 401
    assert (root / "a.md").read_text() == TEXT
    assert DecisionStore(str(root)).of(plan_id) is None


def _any_token(text: str) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', text)
    return found[1] if found else ""


def test_view_link_shows_only_one_plan(strict: Engine) -> None:
    from mdplan.web.sessions import address_of

    plan_id, other = planned(strict), planned(strict, {"file": "a.md", "edits": EDITS[:1]})
    page = ReviewCalls(strict)
    root = strict.workspace.roots[0].path
    address = address_of(root, plan_id).removeprefix(f"http://{HOST}")
    opened = page.get(address)
    page.cookie = opened.headers["set-cookie"].partition(";")[0]

    base = address.partition("view?")[0]
    assert page.get(f"{base}plan/{plan_id}").status == 200
    for path in ("", "news", f"plan/{other}", f"plan/{other}/patch"):
        assert page.get(base + path).status == 403
        assert page.get(page.base + path).status == 401
    page.cookie = ""
    assert page.get(address.replace(plan_id, other)).status == 401
    assert page.get(address.replace("/view", "/open")).status == 401


def test_view_session_receives_no_form_token(
    strict: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page shows it a token, and no guess is accepted, even if nothing asks whether it may decide."""
    from mdplan.web.sessions import address_of

    plan_id = planned(strict)
    (root / "a.md").write_text(TEXT.replace("one", "uno"))
    page = ReviewCalls(strict)
    address = address_of(str(root), plan_id).removeprefix(f"http://{HOST}")
    page.cookie = page.get(address).headers["set-cookie"].partition(";")[0]
    plan = f"{address.partition('view?')[0]}plan/{plan_id}"

    for path in ("", "/merge", "/file/0", "/files?files=0", "/edit/0/section/0"):
        shown = page.get(plan + path)
        assert shown.status == 200, path
        assert _any_token(shown.text) == "", path
        assert [form.action for form in shown.page.forms if form.action] == [], path

    monkeypatch.setattr(ReviewSession, "may_decide", True)
    for token in ("", "None", _any_token(page.get(plan).text)):
        fields = {"form_token": token, "verb": "approve", "verdicts": PlanNotes().key, "version": UNDECIDED}
        for action in ("decide", "apply", "replan", "merge", "comment"):
            assert page.post(f"{plan}/{action}", fields).status == 403, (token, action)
    assert DecisionStore(str(root)).of(plan_id) is None


@pytest.mark.parametrize("path", ["decide", "apply", "replan", "edit/0"])
def test_bearer_token_decides_nothing(strict: Engine, root: Path, path: str) -> None:
    plan_id = planned(strict)
    page = ReviewCalls(strict)
    bearer = {"authorization": f"Bearer {TOKEN}"}

    assert page.post(f"{page.plan_path(plan_id)}/{path}", {"verb": "approve"}, **bearer).status == 401
    assert page.get(page.plan_path(plan_id), **bearer).status == 401
    assert page.get(f"{page.base}open?token={TOKEN}", **bearer).status == 401
    assert DecisionStore(str(root)).of(plan_id) is None


def test_state_directory_contains_no_link_that_may_decide(strict: Engine, state_dir: Path) -> None:
    page = ReviewCalls(strict)
    stored = b"".join(path.read_bytes() for path in state_dir.rglob("*") if path.is_file())

    assert [link for link in page.links if link.partition("token=")[2].encode() in stored] == []
    assert b"/open" not in stored
    assert page.base.encode() not in stored


# Undo by actor.


def engine_of(root: Path, actor: str) -> Engine:
    return Engine(Workspace.open([root]), caller=CallerIdentity(actor=lambda: actor))


def test_undo_without_an_id_undoes_only_own_transactions(root: Path) -> None:
    ann, agent = engine_of(root, "user ann"), engine_of(root, "client bot")
    own = ann.write({"file": "b.md", "edits": [{"op": "create_file", "markdown": "# B\n"}]})
    agent.write(BATCH)

    report = ann.undo()

    assert report.undone.transaction == own.receipt.transaction
    assert report.undone.actor == "user ann"
    assert (root / "a.md").read_text() == DONE
    assert not (root / "b.md").exists()


def test_undo_by_a_client_does_not_undo_the_work_of_a_person(root: Path) -> None:
    engine_of(root, "user ann").write(BATCH)

    report = engine_of(root, "client bot").undo()

    assert code_of(report) == "NOT_UNDOABLE"
    assert "user ann" in report.error.message
    assert (root / "a.md").read_text() == DONE


def test_undo_with_an_id_names_the_author_of_the_transaction(root: Path) -> None:
    committed = engine_of(root, "client bot").write(BATCH).receipt.transaction

    report = engine_of(root, "user ann").undo(committed)

    assert report.undone.actor == "client bot"
    assert (root / "a.md").read_text() == TEXT


def test_undo_tool_does_not_undo_the_work_of_a_person(root: Path, free: Engine) -> None:
    free.write(BATCH)
    server = build_server(Engine(Workspace.open([root]), caller=mcp_caller()))
    with calls_to(server, "auto") as calls:
        answer = calls.call("md_history", {"action": "undo"})

    assert answer.data["error"]["code"] == "NOT_UNDOABLE"
    assert (root / "a.md").read_text() == DONE
