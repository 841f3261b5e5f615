"""The review App for clients with MCP Apps: its tools, and a nonce for each plan."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.mcp.calls import mcp_caller
from mdplan.mcp.server import build_server
from mdplan.settings import Settings
from mdplan.storage.root import Workspace
from tests.surfaces.mcp_calls import GENERATIONS, Calls, calls_to, compact
from tests.surfaces.test_mcp_schemas import MOST_OF_INPUT

APP = "ui://mdplan/review"
BATCH = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}
FILES = {"a.md": "# A\n\nold\n"}


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
def test_app_and_its_tools_are_listed(root: Path, mode: str) -> None:
    with host(root, mode) as calls:
        tools = {tool["name"]: tool for tool in calls.tools()}
        app = calls.read(APP)
        extensions = calls.client.server_capabilities.extensions

    # The older generation has no place for extensions of servers.
    assert extensions is None or EXTENSION_ID in extensions
    assert extensions is not None or mode == "legacy"
    linked = {name: tool["_meta"]["ui"] for name, tool in tools.items() if "ui" in tool["_meta"]}
    only_app = {"resourceUri": APP, "visibility": ["app"]}
    shows = {"resourceUri": APP}
    assert linked == {"md_validate": shows, "md_apply": shows, "md_review": only_app, "md_decide": only_app}
    assert app.mime_type == APP_MIME_TYPE
    offered = [[tool[each] for each in ("name", "description", "inputSchema")] for tool in tools.values()]
    assert (
        len(compact([each for each in offered if each[0] not in ("md_review", "md_decide")])) <= MOST_OF_INPUT
    )


def test_app_loads_no_other_resources(root: Path) -> None:
    with host(root) as calls:
        html = calls.read(APP).text

    assert re.findall(r"(?:src|href|action)=|url\(|@import|https?://|fetch\(", html) == []


@pytest.mark.parametrize("mode", GENERATIONS)
def test_app_decides_with_its_nonce_once(root: Path, mode: str) -> None:
    with host(root, mode, approve_in_chat=True) as calls:
        facts = facts_of(called(calls, "md_validate", BATCH))
        decision = {name: facts[name] for name in ("planId", "version", "nonce")} | {"verb": "approve"}
        decided = called(calls, "md_decide", decision)
        again = called(calls, "md_decide", decision)
        applied = called(calls, "md_apply", {"planId": facts["planId"]})

    assert decided["structuredContent"]["approvedPlanId"] == facts["planId"]
    assert facts_of(decided)["nonce"] != facts["nonce"]
    assert again["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert applied["structuredContent"]["approved"]["channel"] == "chat app"
    assert (root / "a.md").read_text() == "# A\n\nnew\n"


@pytest.mark.parametrize("needs_approval", [True, False])
@pytest.mark.parametrize("verb", ["approve", "approve_and_apply"])
def test_leaked_nonce_approves_nothing_without_the_option(
    root: Path, needs_approval: bool, verb: str
) -> None:
    with host(root, needs_approval=needs_approval) as calls:
        facts = facts_of(called(calls, "md_validate", BATCH))
        decision = {name: facts[name] for name in ("planId", "version", "nonce")}
        refused = called(calls, "md_decide", {**decision, "verb": verb})

    assert refused["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert "--approve-in-chat" in refused["content"][0]["text"]
    assert ReviewService(Engine.open([root])).open(facts["planId"]).decision is None
    assert (root / "a.md").read_text() == "# A\n\nold\n"


def test_refused_apply_brings_the_plan_to_the_app_and_asks_in_no_form(root: Path) -> None:
    with host(root, approve_in_chat=True) as calls:
        plan_id = called(calls, "md_validate", {**BATCH, "verbosity": "full"})["structuredContent"]["planId"]
        refused = called(calls, "md_apply", {"planId": plan_id})

    assert refused["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert facts_of(refused)["planId"] == plan_id
    assert facts_of(refused)["nonce"] not in json.dumps([refused["content"], refused["structuredContent"]])


def test_read_only_server_shows_plans_and_refuses_decisions(root: Path) -> None:
    with host(root, read_only=True) as calls:
        names = [tool["name"] for tool in calls.tools()]
        result = called(calls, "md_validate", BATCH)
        plan_id = result["structuredContent"]["planId"]
        shown = called(calls, "md_review", {"planId": plan_id})

    assert "md_decide" not in names
    assert "mdplan/review" not in result.get("_meta", {})
    assert "a.md" in shown["structuredContent"]["html"]
