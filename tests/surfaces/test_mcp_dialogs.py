"""An agent and a person agree on a plan: the whole dialogue, with a server in a separate process.

The agent is the SDK's client over stdio. The person answers in the App of the chat, whose calls use the same
client, or at a terminal with `mdplan review` in another process.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import Implementation

from mdplan.decisions import Channel, Decision, LineComment, Remarks, Side, Verdict
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp.tool import mcp_caller
from mdplan.settings import Settings
from tests.support.case_tables import CaseTables
from tests.support.servers import build_server
from tests.support.three_edits import GUIDE, change
from tests.surfaces.mcp_calls import GENERATIONS, Calls, Result, calls_to, compact, process
from tests.surfaces.test_mcp_schemas import MOST_OF_INPUT
from tests.surfaces.tool_case import lay_out, served

CASE_TABLES = CaseTables(__file__)


APPS: Final = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
AGENT: Final = Implementation(name="robo", version="4.2")
WORDS: Final = {"title": "Write numbers as digits", "description": "The style guide wants it."}
COMMENTS: Final = ((3, "Spell it out."), (11, "Say what three there are."))

# Answers for the person: the plan, whether to approve it, and comments on lines after it.
Answer = Callable[[str, bool, tuple[tuple[int, str], ...]], None]
FILES = {"a.md": GUIDE}


@dataclass
class Dialogue:
    """The agent, with everything that the host of its chat received for the App."""

    calls: Calls
    facts: dict[str, Any]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        result = self.calls.portal.call(self.calls.client.call_tool, tool, arguments)
        meta = result.meta or {}
        self.facts = meta.get("mdplan/review", self.facts)
        text = "".join(getattr(block, "text", "") for block in result.content)
        return Result(text, result.structured_content, bool(result.is_error))

    def in_the_app(self, plan_id: str, approves: bool, comments: tuple[tuple[int, str], ...]) -> None:
        """The person decides in the App on the plan that the chat shows."""
        assert self.facts["planId"].startswith(plan_id)
        lines = [
            {"file": "a.md", "side": "after", "start": line, "end": line, "text": text}
            for line, text in comments
        ]
        decided = self.call(
            "md_decide",
            {
                **{name: self.facts[name] for name in ("planId", "version", "nonce")},
                "verb": "approve" if approves else "request_changes",
                "lineComments": lines,
            },
        )
        assert not decided.is_error, decided.text


def beside_the_chat(root: Path, channel: Channel) -> Answer:
    """The person decides in another process than the server."""

    def decide(plan_id: str, approves: bool, comments: tuple[tuple[int, str], ...]) -> None:
        reviewing = ReviewService(Engine.open([root]))
        opened = reviewing.open(plan_id)
        assert isinstance(opened, OpenPlan)
        terms = DecisionTerms(saw=opened.decisions.version, channel=channel)
        lines = tuple(
            LineComment(file="a.md", side=Side.AFTER, start=line, end=line, text=text)
            for line, text in comments
        )
        verdict = Verdict.APPROVED if approves else Verdict.CHANGES_REQUESTED
        decided = reviewing.decide(plan_id, "ann", verdict, Remarks(line_comments=lines), terms=terms)
        assert isinstance(decided, Decision)

    return decide


@pytest.mark.parametrize("mode", GENERATIONS)
@pytest.mark.parametrize("way", ["chat app", "terminal"])
def test_agent_and_person_agree_on_a_plan(root: Path, mode: str, way: str) -> None:
    server = process("--root", str(root), "--require-approval", "--approve-in-chat")
    options = {"extensions": [APPS], "client_info": AGENT}
    with calls_to(server, mode, **options) as calls:
        agent = Dialogue(calls, {})
        answer: Answer = agent.in_the_app if way == "chat app" else beside_the_chat(root, Channel(way))

        # The agent plans, and may not commit.
        edits = [change("one", "1"), change("two", "2"), change("three", "3")]
        first = agent.call("md_validate", {"file": "a.md", "edits": edits, **WORDS})
        plan_id = first.data["planId"]
        assert "review" not in first.data
        refused = agent.call("md_apply", {"planId": plan_id})
        assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"

        # The person comments on two lines, and requests changes.
        answer(plan_id, False, COMMENTS)
        refused = agent.call("md_apply", {"planId": plan_id})
        assert refused.data["error"]["code"] == "CHANGES_REQUESTED"
        assert f'`"revises": "{plan_id}"`: md_validate' in refused.data["error"]["hint"]

        # The agent reads the comments, by edit and line.
        (review,) = agent.call("md_history", {"planId": plan_id}).data["reviews"]
        assert (review["verdict"], review["channel"]) == ("changes requested", way)
        assert [
            (each["editIndex"], each["startLine"], each["quote"], each["text"]) for each in review["comments"]
        ] == [(0, 3, "1", COMMENTS[0][1]), (2, 11, "3", COMMENTS[1][1])]
        assert agent.call("md_history", {}).data["reviews"] == [review]

        # It revises the plan, and both see what differs.
        revised = [change("two", "2"), change("three", "three of them")]
        second = agent.call("md_validate", {"file": "a.md", "edits": revised, "revises": plan_id, **WORDS})
        compared = second.data["review"]["comparison"]
        assert compared["against"] == plan_id
        changed = [
            line for line in compared["diff"].splitlines() if line[:1] in "+-" and line[1:2] not in "+-"
        ]
        assert changed == ["-1", "+one", "-3", "+three of them"]
        assert [each["outdated"] for each in second.data["review"]["comments"]] == [True, True]
        assert "\ncomparison:\n" in second.text

        # The person approves, and the agent commits exactly that.
        plan_id = second.data["planId"]
        answer(plan_id, True, ())
        applied = agent.call("md_apply", {"planId": plan_id})
        assert applied.data["applied"], applied.text
        assert applied.data["approved"]["channel"] == way
        history = agent.call("md_history", {"verbosity": "full"}).data

    assert (root / "a.md").read_text() == GUIDE.replace("two", "2").replace("three", "three of them")
    assert history.get("reviews", []) == []
    (entry,) = history["transactions"]
    assert (entry["title"], entry["client"]) == (WORDS["title"], {"name": "robo", "version": "4.2"})


# --- The review App for clients with MCP Apps: its tools, and a nonce for each plan.

APP = "ui://mdplan/review"
BATCH = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}
APP_FILES = {"a.md": "# A\n\nold\n"}


@pytest.fixture
def app_root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name, text in APP_FILES.items():
        (folder / name).write_text(text)
    return folder


@contextmanager
def host(root: Path, mode: str = "auto", *, needs_approval: bool = True, **options: Any) -> Iterator[Calls]:
    """A host with Apps, and a server with those options."""
    settings = Settings(require_approval=needs_approval)
    engine = Engine(Workspace.open([root]), settings, caller=mcp_caller())
    apps = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
    with calls_to(build_server(engine, **options), mode, extensions=[apps]) as calls:
        yield calls


def called(calls: Calls, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The whole result, as it is on the wire."""
    result = calls.portal.call(calls.client.call_tool, tool, arguments)
    decoded: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return decoded


def facts_of(result: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = result["_meta"]["mdplan/review"]
    return facts


@pytest.mark.parametrize("mode", GENERATIONS)
def test_app_and_its_tools_are_listed(app_root: Path, mode: str) -> None:
    with host(app_root, mode) as calls:
        tools = {tool["name"]: tool for tool in calls.tools()}
        app = calls.read(APP)
        extensions = calls.client.server_capabilities.extensions

    # The older generation has no place for extensions of servers.
    assert extensions is None or EXTENSION_ID in extensions
    assert extensions is not None or mode == "legacy"
    linked = {name: tool["_meta"]["ui"] for name, tool in tools.items() if "ui" in tool["_meta"]}
    only_app = {"visibility": ["app"]}
    assert linked == {"md_validate": {"resourceUri": APP}, "md_review": only_app, "md_decide": only_app}
    assert all(
        tool["annotations"]["readOnlyHint"]
        for tool in tools.values()
        if "resourceUri" in tool["_meta"].get("ui", {})
    )
    assert app.mime_type == APP_MIME_TYPE
    offered = [[tool[each] for each in ("name", "description", "inputSchema")] for tool in tools.values()]
    assert (
        len(compact([each for each in offered if each[0] not in ("md_review", "md_decide")])) <= MOST_OF_INPUT
    )


def test_app_loads_no_other_resources(app_root: Path) -> None:
    with host(app_root) as calls:
        html = calls.read(APP).text

    assert re.findall(r"(?:src|href|action)=|url\(|@import|https?://|fetch\(", html) == []


@pytest.mark.parametrize("mode", GENERATIONS)
def test_app_decides_with_its_nonce_once(app_root: Path, mode: str) -> None:
    with host(app_root, mode, approve_in_chat=True) as calls:
        facts = facts_of(called(calls, "md_validate", BATCH))
        decision = {name: facts[name] for name in ("planId", "version", "nonce")} | {"verb": "approve"}
        decided = called(calls, "md_decide", decision)
        again = called(calls, "md_decide", decision)
        applied = called(calls, "md_apply", {"planId": facts["planId"]})

    assert decided["structuredContent"]["approvedPlanId"] == facts["planId"]
    assert facts_of(decided)["nonce"] != facts["nonce"]
    assert again["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert applied["structuredContent"]["approved"]["channel"] == "chat app"
    assert (app_root / "a.md").read_text() == "# A\n\nnew\n"


@pytest.mark.parametrize("needs_approval", [True, False])
@pytest.mark.parametrize("verb", ["approve", "approve_and_apply"])
def test_leaked_nonce_approves_nothing_without_the_option(
    app_root: Path, needs_approval: bool, verb: str
) -> None:
    with host(app_root, needs_approval=needs_approval) as calls:
        facts = facts_of(called(calls, "md_validate", BATCH))
        decision = {name: facts[name] for name in ("planId", "version", "nonce")}
        refused = called(calls, "md_decide", {**decision, "verb": verb})

    assert refused["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert "--approve-in-chat" in refused["content"][0]["text"]
    assert ReviewService(Engine.open([app_root])).open(facts["planId"]).decision is None
    assert (app_root / "a.md").read_text() == "# A\n\nold\n"


def test_app_decides_over_a_later_decision_only_after_it_loaded_the_plan(app_root: Path) -> None:
    with host(app_root, approve_in_chat=True) as calls:
        facts = facts_of(called(calls, "md_validate", BATCH))
        named = {"planId": facts["planId"]}
        ReviewService(Engine.open([app_root])).decide(
            facts["planId"], "ann", Verdict.CHANGES_REQUESTED, Remarks(comment="no")
        )
        codes = []
        for shows in (False, False, True):
            facts = facts_of(called(calls, "md_review", named)) if shows else facts
            decision = {name: facts[name] for name in ("planId", "version", "nonce")}
            answer = called(calls, "md_decide", {**decision, "verb": "approve"})
            codes.append((answer["structuredContent"].get("error") or {}).get("code"))
            facts = facts_of(answer)

    assert codes == ["STALE_DECISION", "STALE_DECISION", "CHANGES_REQUESTED"]


def test_preview_by_id_brings_a_refused_plan_to_the_app(app_root: Path) -> None:
    with host(app_root, approve_in_chat=True) as calls:
        plan_id = called(calls, "md_validate", {**BATCH, "verbosity": "full"})["structuredContent"]["planId"]
        refused = called(calls, "md_apply", {"planId": plan_id})
        shown = called(calls, "md_validate", {"planIds": [plan_id]})

    assert refused["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert "mdplan/review" not in refused.get("_meta", {})
    assert facts_of(shown)["planId"] == plan_id
    assert facts_of(shown)["nonce"] not in json.dumps([shown["content"], shown["structuredContent"]])


def test_read_only_server_shows_plans_and_refuses_decisions(app_root: Path) -> None:
    with host(app_root, read_only=True) as calls:
        names = [tool["name"] for tool in calls.tools()]
        result = called(calls, "md_validate", BATCH)
        plan_id = result["structuredContent"]["planId"]
        shown = called(calls, "md_review", {"planId": plan_id})

    assert "md_decide" not in names
    assert "mdplan/review" not in result.get("_meta", {})
    assert "a.md" in shown["structuredContent"]["html"]


# --- Questions of agents: which documents have such front matter, and where a block, a table or a task
# is.

DOCUMENTS = CASE_TABLES.value("DOCUMENTS")


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    lay_out(tmp_path, {name: text.encode() for name, text in DOCUMENTS.items()})
    with served(tmp_path, "md") as connected:
        yield connected


def names_of(calls: Calls, **request: object) -> list[str]:
    found = calls.call("md_search", {"filesOnly": True, **request})
    assert not found.is_error, found.text
    data: dict[str, Any] = found.data
    return [each["file"] for each in data["files"]]


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ({"where": {"status": "Draft"}}, ["draft.md"]),
        ({"where": {"status": "draft"}}, ["scalar.md"]),
        ({"where": {"status": ["Draft", "draft"]}}, ["draft.md", "scalar.md"]),
        ({"where": {"owner.name": "Ann"}}, ["draft.md"]),
        ({"where": {"aliases": "one"}}, ["draft.md", "final.md", "scalar.md"]),
        ({"where": {"aliases": ["one"]}}, ["final.md", "scalar.md"]),
        ({"where": {"year": 2026}}, ["final.md"]),
        ({"where": {"year": "2026"}}, ["scalar.md"]),
        ({"has": ["year"]}, ["final.md", "scalar.md"]),
        ({"has": ["year", "empty"]}, ["final.md"]),
        ({"has": ["owner.name"]}, ["draft.md"]),
        ({"min": {"aliases": 2}}, ["draft.md"]),
        ({"min": {"aliases": 1}}, ["draft.md", "final.md", "scalar.md"]),
        ({"min": {"empty": 1}}, []),
        ({"where": {"aliases": "one"}, "min": {"aliases": 2}, "has": ["status"]}, ["draft.md"]),
        ({"pattern": "water", "where": {"aliases": "one"}}, ["final.md", "scalar.md"]),
        ({"pattern": "WATER", "caseSensitive": False}, ["draft.md", "final.md", "scalar.md"]),
        ({"pattern": "^status", "matchType": "regex"}, ["draft.md", "final.md", "plain.md", "scalar.md"]),
    ],
    ids=str,
)
def test_question_names_the_documents(calls: Calls, question: dict[str, object], files: list[str]) -> None:
    assert names_of(calls, **question) == files


def test_answer_gives_the_values_that_were_asked_about(calls: Calls) -> None:
    found = calls.call("md_search", {"where": {"status": "Draft"}, "min": {"aliases": 2}}).data

    assert found["files"] == [
        {"file": "draft.md", "frontMatter": {"status": "Draft", "aliases": ["one", "two"]}}
    ]


def test_min_of_a_scalar_is_a_warning(calls: Calls) -> None:
    answer = calls.call("md_search", {"min": {"aliases": 2}, "where": {"status": "draft"}})
    found = answer.data

    assert "\nwarnings:\nINVALID_ARGUMENT: `min` counts" in answer.text
    assert [warning["message"] for warning in found["warnings"]] == [
        "`min` counts items of lists, and `aliases` is not a list in `scalar.md`"
    ]


@pytest.mark.parametrize("question", [{}, {"min": {"aliases": "many"}}, {"where": "draft"}, {"has": 3}])
def test_question_of_another_form_is_refused(calls: Calls, question: dict[str, object]) -> None:
    refused = calls.call("md_search", question)

    assert refused.is_error
    assert refused.data["error"]["code"] == "INVALID_ARGUMENT"


def test_search_is_case_sensitive_as_described(calls: Calls) -> None:
    (search,) = (tool for tool in calls.tools() if tool["name"] == "md_search")

    assert calls.call("md_search", {"pattern": "BOIL WATER"}).data["totalMatches"] == 0
    assert "case-sensitive by default" in search["description"]
    assert "caseSensitive" in search["inputSchema"]["properties"]


def test_match_in_front_matter_has_no_section(calls: Calls) -> None:
    found = calls.call("md_search", {"pattern": "Final", "file": "final.md"})

    (group,) = found.data["files"][0]["groups"]
    assert (group["hits"][0]["line"], group["hits"][0]["col"]) == (2, 9)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ({"heading": "Use", "codeBlock": {"language": "sh", "index": 0}}, "one"),
        ({"heading": "Use", "codeBlock": {"language": "sh", "index": 1}}, "three"),
        ({"heading": "Use", "codeBlock": {"index": 1}}, "two"),
        ({"codeBlock": {"language": "sh", "index": 0}}, "zero"),
        ({"heading": "Use", "codeBlock": {"language": "js"}}, "two"),
        ({"heading": "Use", "table": {"header": "City"}}, "Rome"),
        ({"heading": "Use", "table": {"header": ["City", "Size"]}}, "Rome"),
        ({"heading": "Use", "table": {"header": "City | Size"}}, "Rome"),
        ({"heading": "Use", "table": {"index": 0}}, "Ann"),
        ({"heading": "Use", "list": {"index": 1}}, "second"),
    ],
    ids=str,
)
def test_block_is_read_by_its_position(calls: Calls, place: dict[str, object], content: str) -> None:
    read = calls.call("md_read", {"file": "guide.md", **place})

    assert not read.is_error, read.text
    assert content in read.data["results"][0]["content"]


def test_files_whose_values_were_shown_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("---\nstatus: Draft\n---\n")
    edit = {"op": "set_value", "key": "status", "value": "Final"}
    with calls_to(process("--root", str(tmp_path)), "legacy") as calls:
        assert names_of(calls, where={"status": "Draft"}) == ["draft.md"]
        done = calls.call("md_apply", {"files": ["draft.md"], "edits": [edit]})

    assert not done.is_error, done.text


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ({"where": {"status": "DRAFT"}}, 'there are "Draft", "Final", "draft"; case matters'),
        ({"where": {"year": 1999}}, 'there are 2026, "2026"; case matters'),
        ({"where": {"status": "Draft"}}, None),
    ],
    ids=str,
)
def test_question_without_an_answer_names_the_values_that_are_there(
    calls: Calls, question: dict[str, object], hint: str | None
) -> None:
    found = calls.call("md_search", {"filesOnly": True, **question})

    assert [each["hint"] for each in found.data.get("warnings", [])] == ([] if hint is None else [hint])
