"""The first messages of real clients: each is answered, and a person is asked only where the client can."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.stdio_lines import lines_to

CASE_TABLES = CaseTables(__file__)
TEXT = "# A\n\nold\n"
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}


@pytest.mark.requirement("clients-1")
@CASE_TABLES.parametrize("knows", "hello")
def test_recorded_handshake_leads_to_tools_and_to_an_approval_that_the_client_can_show(
    tmp_path: Path, knows: list[str], hello: dict[str, Any]
) -> None:
    (tmp_path / "a.md").write_text(TEXT)
    # Since 2026-07-28 each request says what `initialize` said before.
    meta = hello["params"].get("_meta", {})
    capabilities = hello["params"].get("capabilities", meta.get("io.modelcontextprotocol/clientCapabilities"))
    with lines_to("--root", str(tmp_path), "--require-approval", hello=None) as lines:

        def said(message: dict[str, Any]) -> dict[str, Any]:
            lines.send(json.dumps({"jsonrpc": "2.0", **message}).encode())
            return lines.hear()

        def asked(method: str, **params: Any) -> dict[str, Any]:
            return said({"id": 50, "method": method, "params": {**params, "_meta": meta}})

        def called(tool: str, **arguments: Any) -> dict[str, Any]:
            return asked("tools/call", name=tool, arguments=arguments)

        greeting = said(hello)
        if hello["method"] == "initialize":
            lines.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        names = {tool["name"] for tool in asked("tools/list")["result"]["tools"]}
        stat = called("md_stat", file="a.md")["result"]["structuredContent"]
        plan = called("md_validate", file="a.md", edits=[EDIT])["result"]["structuredContent"]
        waits = called("md_apply", planId=plan["planId"])
        asks = "method" in waits or waits["result"].get("resultType") == "input_required"
        if "method" in waits:
            assert waits["method"] == "elicitation/create"
            waits = said({"id": waits["id"], "result": {"action": "decline"}})

    told = greeting["result"]
    assert greeting["id"] == hello["id"]
    assert set(knows) & {told.get("protocolVersion"), *told.get("supportedVersions", ())}
    assert {"md_stat", "md_validate", "md_apply"} <= names
    assert ("md_decide" in names) == ("io.modelcontextprotocol/ui" in capabilities.get("extensions", {}))
    assert stat["ok"]
    assert asks == ("elicitation" in capabilities)
    if "structuredContent" in waits["result"]:
        assert waits["result"]["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert (tmp_path / "a.md").read_text() == TEXT
