"""Writes that wait for an approval: the answer to the agent, and the link for the person."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from mcp import MCPError
from mcp.types import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult

from mdplan.decisions import Remarks, Verdict
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.mcp import approval as elicitation
from mdplan.mcp.tool import mcp_caller
from mdplan.settings import Settings
from mdplan.web.sessions import address_of, announce, view_token, withdraw
from tests.support.case_tables import CaseTables
from tests.support.commits import change_store
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import GENERATIONS, Calls, calls_to, process

CASE_TABLES = CaseTables(__file__)


KEY = "secret-of-the-page"
ADDRESS = "http://127.0.0.1:9/review/view"
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}
OTHER = {"op": "replace_match", "pattern": "more", "replacement": "less"}


@dataclass
class Person:
    """The user of a client: opens the requested address or not, and decides on the page."""

    decide: Callable[[str], object] | None
    opens: bool = True
    asked: list[ElicitRequestURLParams] = field(default_factory=list)

    async def __call__(self, context: object, params: ElicitRequestURLParams) -> ElicitResult:
        self.asked.append(params)
        if self.decide is not None:
            self.decide(parse_qs(urlsplit(params.url).query)["plan"][0])
        return ElicitResult(action="accept" if self.opens else "decline")


FILES = {"a.md": "# A\n\nold\n\nmore\n"}


@pytest.fixture
def reviewing(root: Path) -> ReviewService:
    return ReviewService(Engine.open([root]))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elicitation, "DECISION_SECONDS", 0.6)


@contextmanager
def agent(
    root: Path, mode: str, person: "Person | FormPerson | None", *toolsets: str, approve_in_chat: bool = False
) -> Iterator[Calls]:
    """An agent whose client can send `person` to a page or show a form, or cannot."""
    engine = Engine(Workspace.open([root]), Settings(require_approval=True), caller=mcp_caller())
    server = build_server(
        engine, toolsets=toolsets or ["md"], needs_approval=True, approve_in_chat=approve_in_chat
    )
    options = {} if person is None else {"elicitation_callback": person}
    with calls_to(server, mode, **options) as calls:
        yield calls


def view_url(plan_id: str) -> str:
    return f"{ADDRESS}?{urlencode({'plan': plan_id, 'token': view_token(KEY, plan_id)})}"


def planned(calls: Calls, *edits: object) -> str:
    arguments = {"file": "a.md", "edits": list(edits) or [EDIT], "verbosity": "full"}
    return calls.call("md_validate", arguments).data["planId"]


@pytest.mark.parametrize("mode", GENERATIONS)
def test_client_without_url_support_is_told_to_ask_the_person(
    root: Path, reviewing: ReviewService, mode: str
) -> None:
    announce(str(root), ADDRESS, KEY)
    with agent(root, mode, None) as calls:
        plan_id = planned(calls)
        refused = calls.call("md_apply", {"planId": plan_id})

        assert refused.is_error
        assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
        assert plan_id in refused.text
        assert "`mdplan review --terminal" in refused.text
        assert "Nothing was written." in refused.text
        assert KEY not in refused.text + json.dumps(refused.data)

        reviewing.decide(plan_id, "ann", Verdict.APPROVED, Remarks(comment="go on"))
        applied = calls.call("md_apply", {"planId": plan_id})
    assert applied.data["approved"]["decidedBy"] == "ann"
    assert "go on" in applied.text
    assert (root / "a.md").read_text() == "# A\n\nnew\n\nmore\n"


@pytest.mark.requirement("review-7")
@pytest.mark.parametrize("mode", GENERATIONS)
def test_call_continues_after_approval_on_the_page(root: Path, reviewing: ReviewService, mode: str) -> None:
    announce(str(root), ADDRESS, KEY)
    person = Person(lambda plan_id: reviewing.decide(plan_id, "ann", Verdict.APPROVED))
    with agent(root, mode, person) as calls:
        plan_id = planned(calls)
        applied = calls.call("md_apply", {"planId": plan_id})

    assert applied.data["applied"]
    (asked,) = person.asked
    assert asked.url == view_url(plan_id)
    assert KEY not in asked.message
    assert KEY not in applied.text + json.dumps(applied.data)


@pytest.mark.parametrize("mode", GENERATIONS)
def test_rejection_in_part_comes_back_in_the_same_call(
    root: Path, reviewing: ReviewService, mode: str
) -> None:
    announce(str(root), ADDRESS, KEY)
    person = Person(
        lambda plan_id: reviewing.decide(
            plan_id, "ann", Verdict.APPROVED, Remarks(edit_comments={1: "keep it"}), rejected=[1]
        )
    )
    with agent(root, mode, person) as calls:
        plan_id = planned(calls, EDIT, OTHER)
        refused = calls.call("md_apply", {"planId": plan_id})
        part = reviewing.open(plan_id).decision.approved_plan_id

        assert refused.data["error"]["code"] == "PLAN_REJECTED"
        assert "keep it" in refused.text
        assert part in refused.text
        assert calls.call("md_apply", {"planId": part}).data["applied"]
    assert (root / "a.md").read_text() == "# A\n\nnew\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
@pytest.mark.parametrize("opens", [True, False])
def test_opening_the_page_is_not_an_approval(root: Path, mode: str, opens: bool) -> None:
    announce(str(root), ADDRESS, KEY)
    person = Person(None, opens=opens)
    with agent(root, mode, person) as calls:
        refused = calls.call("md_apply", {"planId": planned(calls)})

    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert len(person.asked) == 1
    assert (root / "a.md").read_text() == "# A\n\nold\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_no_link_is_sent_without_a_running_page(root: Path, mode: str) -> None:
    person = FormPerson({"decision": "approve"})
    with agent(root, mode, person) as calls:
        refused = calls.call("md_apply", {"planId": planned(calls)})

    assert "`mdplan review`" in refused.text
    assert all(isinstance(asked, ElicitRequestFormParams) for asked in person.asked)


@dataclass
class FormPerson:
    """The user of a client that shows forms: answers each with `answer`, or cancels, after `before`."""

    answer: dict[str, str] | None
    before: Callable[[], object] = lambda: None
    asked: list[ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(self, context: object, params: ElicitRequestFormParams) -> ElicitResult:
        self.asked.append(params)
        self.before()
        if self.answer is None:
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=dict(self.answer))


@pytest.mark.parametrize("mode", GENERATIONS)
def test_form_shows_the_plan_and_offers_no_approval(root: Path, reviewing: ReviewService, mode: str) -> None:
    person = FormPerson({"decision": "request changes", "comment": "say newer"})
    with agent(root, mode, person) as calls:
        plan_id = planned(calls)
        refused = calls.call("md_apply", {"planId": plan_id})

    (asked,) = person.asked
    assert "-old\n+new" in asked.message
    assert f"To approve, run this in your own terminal: mdplan review {plan_id[:23]}" in asked.message
    assert asked.requested_schema["properties"]["decision"]["enum"] == ["request changes", "reject"]
    assert "say newer" in refused.text
    decision = reviewing.open(plan_id).decision
    assert (decision.channel, decision.remarks.comment) == ("chat form", "say newer")
    assert not decision.approves
    assert (root / "a.md").read_text() == "# A\n\nold\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_form_approves_with_the_trust_option(root: Path, reviewing: ReviewService, mode: str) -> None:
    person = FormPerson({"decision": "approve", "comment": "go on"})
    with agent(root, mode, person, approve_in_chat=True) as calls:
        plan_id = planned(calls)
        applied = calls.call("md_apply", {"planId": plan_id})

    assert applied.data["applied"]
    assert person.asked[0].requested_schema["properties"]["decision"]["enum"][0] == "approve"
    assert (applied.data["approved"]["channel"], applied.data["approved"]["comment"]) == (
        "chat form",
        '"go on"',
    )
    assert (root / "a.md").read_text() == "# A\n\nnew\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_form_approves_only_what_it_shows(root: Path, reviewing: ReviewService, mode: str) -> None:
    (root / "a.md").write_text("".join(f"old {number}\n" for number in range(400)))
    person = FormPerson({"decision": "approve"})
    everywhere = {**EDIT, "matchSelection": "all"}
    with agent(root, mode, person, approve_in_chat=True) as calls:
        plan_id = planned(calls, everywhere)
        refused = calls.call("md_apply", {"planId": plan_id})

    (asked,) = person.asked
    assert "The diff goes on: it is too long to be approved here." in asked.message
    assert "approve" not in asked.requested_schema["properties"]["decision"]["enum"]
    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert reviewing.open(plan_id).decision is None


@pytest.mark.parametrize("mode", GENERATIONS)
@CASE_TABLES.parametrize("answer", "approve_in_chat")
def test_declined_form_is_not_an_approval(
    root: Path, reviewing: ReviewService, mode: str, answer: dict[str, str] | None, approve_in_chat: bool
) -> None:
    with agent(root, mode, FormPerson(answer), approve_in_chat=approve_in_chat) as calls:
        plan_id = planned(calls)
        refused = calls.call("md_apply", {"planId": plan_id})

    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert reviewing.open(plan_id).decision is None
    assert (root / "a.md").read_text() == "# A\n\nold\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_form_never_decides_over_a_decision_that_it_did_not_show(
    root: Path, reviewing: ReviewService, mode: str
) -> None:
    def reject() -> None:
        reviewing.decide(
            reviewing.entries()[0].review.plan_id, "ann", Verdict.REJECTED, Remarks(comment="no")
        )

    with agent(root, mode, FormPerson({"decision": "approve"}, reject), approve_in_chat=True) as calls:
        plan_id = planned(calls)
        refused = calls.call("md_apply", {"planId": plan_id})

    assert refused.is_error
    assert reviewing.open(plan_id).decision.remarks.comment == "no"
    assert (root / "a.md").read_text() == "# A\n\nold\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_clients_without_apps_get_no_app_tools(root: Path, mode: str) -> None:
    with agent(root, mode, None, approve_in_chat=True) as calls:
        listed = {tool["name"]: tool for tool in calls.tools()}
        plan_id = planned(calls)
        result = calls.portal.call(
            calls.client.call_tool, "md_validate", {"file": "a.md", "edits": [EDIT]}
        ).model_dump(by_alias=True)
        resources = calls.portal.call(calls.client.list_resources).resources
        with pytest.raises(MCPError, match="Unknown tool: md_decide"):
            calls.call("md_decide", {"planId": plan_id})
        with pytest.raises(MCPError, match="clients that declare MCP Apps"):
            calls.read("ui://mdplan/review")

    assert not {"md_review", "md_decide"} & listed.keys()
    assert not any("ui" in tool["_meta"] for tool in listed.values())
    assert "mdplan/review" not in json.dumps(result["_meta"])
    assert not any(str(each.uri).startswith("ui://") for each in resources)


def test_failed_elicitation_falls_back_to_instructions(root: Path) -> None:
    def fail(plan_id: str) -> None:
        raise ValueError(plan_id)

    announce(str(root), ADDRESS, KEY)
    with agent(root, "legacy", Person(fail)) as calls:
        refused = calls.call("md_apply", {"planId": planned(calls)})

    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert "`mdplan review`" in refused.text


@pytest.mark.parametrize("mode", GENERATIONS)
def test_other_toolsets_require_approval(root: Path, reviewing: ReviewService, mode: str) -> None:
    announce(str(root), ADDRESS, KEY)
    person = Person(lambda plan_id: reviewing.decide(plan_id, "ann", Verdict.APPROVED))
    arguments = {"filePath": "a.md", "searchText": "old", "replaceText": "new"}
    with agent(root, mode, person, "text") as calls:
        tool = next(each for each in calls.tools() if each["name"] == "TextReplace")
        names = list(tool["inputSchema"]["properties"])
        given = dict(zip(names[:3], arguments.values(), strict=True))
        answer = calls.call("TextReplace", given)

    assert not answer.is_error, answer.text
    assert len(person.asked) == 1
    assert (root / "a.md").read_text() == "# A\n\nnew\n\nmore\n"


@pytest.mark.parametrize("mode", GENERATIONS)
def test_undo_tool_requires_approval(root: Path, reviewing: ReviewService, mode: str) -> None:
    announce(str(root), ADDRESS, KEY)
    person = Person(lambda plan_id: reviewing.decide(plan_id, "ann", Verdict.APPROVED))
    with agent(root, mode, person) as calls:
        calls.call("md_apply", {"planId": planned(calls)})
        undone = calls.call("md_history", {"action": "undo"})

    assert undone.data["applied"]
    assert len(person.asked) == 2
    assert (root / "a.md").read_text() == "# A\n\nold\n\nmore\n"


def test_option_makes_the_server_require_approval(root: Path) -> None:
    with calls_to(process("--root", str(root), "--require-approval"), "auto") as calls:
        refused = calls.call("md_apply", {"planId": planned(calls)})
        assert "A person approves" in calls.client.instructions

    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"


def test_page_address_belongs_to_the_serving_process(root: Path) -> None:
    assert address_of(str(root), "p") is None
    assert announce(str(root), ADDRESS, KEY)
    assert address_of(str(root), "p") == view_url("p")
    assert address_of("/other", "p") is None

    withdraw(str(root))
    assert address_of(str(root), "p") is None


def test_page_address_of_a_dead_process_is_ignored(root: Path) -> None:
    announce(str(root), ADDRESS, KEY)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    change_store(root, "UPDATE review SET process = ?", ended.pid)

    assert address_of(str(root), "p") is None
    withdraw(str(root))
    # What another process announced stays.
    change_store(root, "UPDATE review SET process = ?", os.getpid())
    assert address_of(str(root), "p") == view_url("p")
