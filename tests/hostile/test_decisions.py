"""An agent cannot approve its own plan, apply a rejected one, or reuse an approval."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from mcp.types import ElicitRequestURLParams, ElicitResult

from mdplan.decisions import UNDECIDED, Decision, DecisionHistory, Verdict
from mdplan.documents.workspace import Workspace
from mdplan.engine import approval
from mdplan.engine import plans as plan_library
from mdplan.engine import reviews as review_service
from mdplan.engine.approval import ApprovalGate
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp import approval as elicitation
from mdplan.mcp.review_app import ChatReview, Nonces
from mdplan.mcp.tool import mcp_caller
from mdplan.settings import Settings
from mdplan.storage.plans import DecisionStore, PlanLinks
from mdplan.values import asdict, replace
from mdplan.web.sessions import PlanNotes
from tests.conftest import FULL
from tests.hostile.decision_machine import DecisionMachine
from tests.support.case_tables import CaseTables
from tests.support.servers import build_server
from tests.surfaces.command_line import mdplan
from tests.surfaces.http_calls import http_server
from tests.surfaces.mcp_calls import GENERATIONS, calls_to

CASE_TABLES = CaseTables(__file__)


TEXT = "# A\n\nold\n\nmore\n"
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}
OTHER = {"op": "replace_match", "pattern": "more", "replacement": "less"}
BATCH = {"file": "a.md", "edits": [EDIT, OTHER]}
STRICT = Settings(require_approval=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    (folder / ".mdplan").mkdir(mode=0o700)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def strict(root: Path) -> Iterator[Engine]:
    with Engine.open([root], settings=STRICT) as engine:
        yield engine


@pytest.fixture
def free(root: Path) -> Iterator[Engine]:
    with Engine.open([root]) as engine:
        yield engine


def planned(engine: Engine, batch: object = BATCH) -> str:
    plan_id = engine.plan(batch).plan_id
    assert plan_id is not None
    return plan_id


def code(report: object) -> str | None:
    error = getattr(report, "error", None)
    return None if error is None else error.code.value


# S1
@pytest.mark.parametrize("mode", GENERATIONS)
def test_agent_never_receives_an_address_that_can_approve(
    root: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client opens every received address, follows every redirect, and posts every form it finds."""
    monkeypatch.setattr(elicitation, "DECISION_SECONDS", 0.5)
    tried: list[int] = []

    async def attack(context: object, params: ElicitRequestURLParams) -> ElicitResult:
        del context
        tried.extend(_approve_over_http(params.url))
        return ElicitResult(action="accept")

    with http_server("--root", str(root), "--require-approval"):
        engine = Engine(Workspace.open([root]), STRICT, caller=mcp_caller())
        server = build_server(engine, toolsets=["md"], needs_approval=True)
        with calls_to(server, mode, elicitation_callback=attack) as calls:
            refused = calls.call("md_apply", {"planId": planned(engine), "dryRun": False})

    assert tried, "the page was opened"
    assert 403 in tried
    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert (root / "a.md").read_text() == TEXT


def _approve_over_http(url: str) -> list[int]:
    """The statuses of answers to: the pages of the plan, an approval posted to it, and the list of plans.

    The approval is what a form of a person would send, with the token of any form on those pages.
    """
    parts = urllib.parse.urlsplit(url)
    plan_id = urllib.parse.parse_qs(parts.query)["plan"][0]
    origin = f"{parts.scheme}://{parts.netloc}"
    base = url.partition("view?")[0]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    statuses = []
    pages = ""
    approval = {
        "verb": "apply", "comment": "", "version": UNDECIDED, "verdicts": PlanNotes().key, "unviewed": "0"
    }  # fmt: skip
    forms: list[tuple[str, dict[str, str] | None]] = [
        (url, None),
        (f"{base}plan/{plan_id}", None),
        (f"{base}plan/{plan_id}/merge", None),
        (f"{base}plan/{plan_id}/decide", approval),
        (f"{base}plan/{plan_id}/apply", {}),
        (base, None),
        (url.replace("/view", "/open"), None),
    ]
    for address, form in forms:
        fields = (
            None
            if form is None
            else {**form, "form_token": _between(pages, 'name="form_token" value="', '"')}
        )
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(address, data, {"Origin": origin})
        try:
            with opener.open(request, timeout=20) as answer:
                statuses.append(answer.status)
                pages += answer.read().decode()
        except urllib.error.HTTPError as error:
            statuses.append(error.code)
            error.close()
    return statuses


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]


# S7
def test_plan_document_with_another_option_is_not_approved(strict: Engine, root: Path) -> None:
    plan_id = planned(strict)
    ReviewService(strict).decide(plan_id, "ann", Verdict.APPROVED)
    exported = strict.export(plan_id)
    assert isinstance(exported, bytes)
    document = json.loads(exported)
    document["options"] = {**document.get("options", {}), "backup": True}
    (root / "a.md.bak").write_text("precious")

    assert code(strict.apply(document)) in {"PLAN_TAMPERED", "APPROVAL_REQUIRED"}
    assert (root / "a.md.bak").read_text() == "precious"
    assert (root / "a.md").read_text() == TEXT


def test_plan_document_never_changes_what_the_reviewer_sees(strict: Engine) -> None:
    plan_id = planned(strict)
    exported = strict.export(plan_id)
    assert isinstance(exported, bytes)
    document = json.loads(exported)
    document["editResults"] = document["editResults"][:1]

    strict.apply(document)
    opened = ReviewService(strict).open(plan_id)
    assert not isinstance(opened, tuple)
    assert len(opened.review.edits) == 2


# S11
@CASE_TABLES.parametrize("words")
def test_no_command_commits_unapproved_where_the_environment_requires_approval(
    root: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "b.md").write_text("- [ ] task\n")
    (root / "m.yaml").write_text(
        "files: [{file: a.md, edits: [{op: replace_match, pattern: old, replacement: new}]}]\n"
    )
    assert (
        mdplan(
            "apply", stdin={"file": "b.md", "edits": [{"op": "set_task", "item": "task", "done": True}]}
        ).code
        == 0
    )
    assert mdplan("undo", "-y").code == 0
    plan_id = mdplan("plan", "--json", stdin=BATCH).json["planId"]
    before = {path.name: path.read_bytes() for path in root.glob("*.md")}
    monkeypatch.setenv("MDPLAN_REQUIRE_APPROVAL", "1")

    run = mdplan(*[plan_id if word == "PLAN" else word for word in words])

    assert run.code == 5, run.err
    assert "APPROVAL_REQUIRED" in run.err
    assert {path.name: path.read_bytes() for path in root.glob("*.md")} == before


@pytest.mark.parametrize("mode", GENERATIONS)
def test_no_tool_commits_unapproved_where_the_environment_requires_approval(
    root: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDPLAN_REQUIRE_APPROVAL", "1")
    engine = Engine(Workspace.open([root]), Settings(), caller=mcp_caller())
    with calls_to(build_server(engine, toolsets=["md", "text", "editor"]), mode) as calls:
        plan_id = calls.call("md_validate", BATCH).data["planId"]
        calls.call("md_apply", {"planId": plan_id})
        calls.call("TextReplace", {"file": "a.md", "find": "old", "replace": "new"})
        calls.call("md_history", {"action": "undo"})

    assert (root / "a.md").read_text() == TEXT


# --- No sequence of planning, deciding, deriving, undoing and applying breaks a promise of approvals.
#
# The model is in `decision_machine`. So that it is known to find faults, each of these was planted, and
# is
# found within the number of examples of a full run: see `MUTANTS`.

EXAMPLES = 20
FULL_EXAMPLES = 300
STEPS = 20
TestDecisions = DecisionMachine.TestCase

TestDecisions.settings = settings(
    max_examples=FULL_EXAMPLES if FULL else EXAMPLES, stateful_step_count=STEPS, deadline=None
)

Patch = pytest.MonkeyPatch


def an_approval_is_never_used_up(patch: Patch) -> None:
    patch.setattr(ApprovalGate, "use", lambda *_: ())


def a_used_or_revoked_approval_counts(patch: Patch) -> None:
    approves = property(lambda self: self.decision is not None and self.decision.approves)
    patch.setattr(DecisionHistory, "is_approved", approves)


def a_rejection_refuses_nothing(patch: Patch) -> None:
    patch.setattr(ApprovalGate, "rejection", lambda *_: ())


def a_rejection_revokes_nothing_that_was_derived(patch: Patch) -> None:
    patch.setattr(ReviewService, "_revoke_derived", lambda *_: ())


def _remember_roots(patch: Patch) -> dict[int, str]:
    """The path of the root of each store that is made from now on, by the ID of the store."""
    own, roots = DecisionStore.__init__, {}

    def init(self: DecisionStore, root_path: str, *others: Any, **named: Any) -> None:
        own(self, root_path, *others, **named)
        roots[id(self)] = root_path

    patch.setattr(DecisionStore, "__init__", init)
    return roots


def an_approval_counts_for_what_was_derived(patch: Patch) -> None:
    own, roots = DecisionStore.history, _remember_roots(patch)

    def history(self: DecisionStore, plan_id: str) -> DecisionHistory:
        found = own(self, plan_id)
        origins = (own(self, origin) for origin in PlanLinks(roots[id(self)], "derived").of(plan_id))
        approved = next((each for each in origins if each.is_approved), None)
        if found.events or approved is None:
            return found
        lent = Decision(**{**_fields(approved.decision), "plan_id": plan_id, "approved_plan_id": plan_id})
        return DecisionHistory((lent,), found.version)

    patch.setattr(DecisionStore, "history", history)


def a_decision_names_no_version(patch: Patch) -> None:
    patch.setattr(ReviewService, "decide", _with_terms(lambda terms, saw: replace(terms, saw=saw)))


def a_rejection_needs_no_override(patch: Patch) -> None:
    patch.setattr(ReviewService, "decide", _with_terms(lambda terms, _: replace(terms, overrides=True)))


def _with_terms(change: Callable[[DecisionTerms, str], DecisionTerms]) -> Callable[..., Any]:
    """Return a way to decide with other terms, made of the given ones and the current version."""
    own = ReviewService.decide

    def decide(self: ReviewService, plan_id: str, *said: Any, terms: DecisionTerms, **others: Any) -> Any:
        opened = self.open(plan_id)
        saw = opened.decisions.version if isinstance(opened, OpenPlan) else terms.saw
        return own(self, plan_id, *said, terms=change(terms, saw), **others)

    return decide


def an_undo_needs_no_approval(patch: Patch) -> None:
    own = ApprovalGate.check

    def check(self: ApprovalGate, plan: Any, root: Any) -> Any:
        gate = replace(self, is_required=False) if plan.undoes is not None else self
        return own(gate, plan, root)

    patch.setattr(ApprovalGate, "check", check)


def any_nonce_decides(patch: Patch) -> None:
    patch.setattr(Nonces, "use", lambda *_: True)


def every_chat_approves(patch: Patch) -> None:
    own = ChatReview.__init__
    patch.setattr(
        ChatReview,
        "__init__",
        lambda self, engine, **named: own(self, engine, **{**named, "may_approve": True}),
    )


def a_request_for_changes_refuses_nothing(patch: Patch) -> None:
    def decision(self: DecisionHistory) -> Decision | None:
        decisions = (event for event in reversed(self.events) if isinstance(event, Decision))
        return next((each for each in decisions if not each.requests_changes), None)

    patch.setattr(DecisionHistory, "decision", property(decision))


def another_title_makes_another_plan(patch: Patch) -> None:
    for module in (approval, plan_library, review_service):
        patch.setattr(module, "untitled_id", lambda plan: plan.plan_id)


def a_part_of_another_title_comes_from_nothing(patch: Patch) -> None:
    patch.setattr(plan_library, "untitled_id", lambda plan: plan.plan_id)


def a_revision_inherits_the_approval(patch: Patch) -> None:
    own, roots = DecisionStore.history, _remember_roots(patch)

    def history(self: DecisionStore, plan_id: str) -> DecisionHistory:
        found = own(self, plan_id)
        replaced = (own(self, old).decision for old in PlanLinks(roots[id(self)], "revises").of(plan_id))
        decision = next((each for each in replaced if each is not None and each.approves), None)
        if found.events or decision is None:
            return found
        lent = Decision(**{**_fields(decision), "plan_id": plan_id, "approved_plan_id": plan_id})
        return DecisionHistory((lent,), found.version)

    patch.setattr(DecisionStore, "history", history)


def comments_are_on_any_line(patch: Patch) -> None:
    patch.setattr(review_service, "placed_remarks", lambda _, remarks: remarks)


def _fields(decision: Decision | None) -> dict[str, Any]:
    assert decision is not None
    return asdict(decision)


MUTANTS = (
    an_approval_is_never_used_up,
    a_used_or_revoked_approval_counts,
    a_rejection_refuses_nothing,
    a_rejection_revokes_nothing_that_was_derived,
    an_approval_counts_for_what_was_derived,
    a_decision_names_no_version,
    a_rejection_needs_no_override,
    an_undo_needs_no_approval,
    any_nonce_decides,
    every_chat_approves,
    a_request_for_changes_refuses_nothing,
    another_title_makes_another_plan,
    a_part_of_another_title_comes_from_nothing,
    a_revision_inherits_the_approval,
    comments_are_on_any_line,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MUTANTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_detected(plant: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    once = settings(
        # Chance decides which sequences are drawn: the rarest fault needs about 70.
        max_examples=FULL_EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(DecisionMachine, settings=once)
