"""`mdplan.tools` in agent frameworks, each with a model that follows a script. Skips those not installed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mdplan import tools
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\n\n## Install\n\nUse 1.0.\n"
EDIT: dict[str, Any] = CASE_TABLES.value("EDIT")


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    path = tmp_path / "guide.md"
    path.write_text(GUIDE, encoding="utf-8")
    return path


def test_pydantic_ai_agent_edits_a_file(guide: Path) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    messages = pytest.importorskip("pydantic_ai.messages")
    function = pytest.importorskip("pydantic_ai.models.function")

    def scripted(history: list[Any], info: Any) -> Any:
        names = {tool.name for tool in info.function_tools}
        assert {"md_stat", "md_read", "md_apply"} <= names
        if len(history) == 1:
            call = messages.ToolCallPart("md_stat", {"file": "guide.md"})
        elif len(history) == 3:
            call = messages.ToolCallPart("md_apply", EDIT)
        else:
            return messages.ModelResponse(parts=[messages.TextPart("done")])
        return messages.ModelResponse(parts=[call])

    agent = pydantic_ai.Agent(function.FunctionModel(scripted), tools=tools(guide.parent))

    assert agent.run_sync("Raise the version.").output == "done"
    assert guide.read_text(encoding="utf-8") == GUIDE.replace("1.0", "2.0")


def test_langchain_tools_edit_a_file(guide: Path) -> None:
    core = pytest.importorskip("langchain_core.tools")
    made = {each.name: each for each in map(core.tool, tools(guide.parent))}

    assert "## Install" in made["md_read"].invoke({"file": "guide.md", "heading": "Install"})
    assert made["md_apply"].args["edits"]
    made["md_apply"].invoke(EDIT)

    assert guide.read_text(encoding="utf-8") == GUIDE.replace("1.0", "2.0")


def test_openai_agents_tools_edit_a_file(guide: Path) -> None:
    import json

    agents = pytest.importorskip("agents")
    context = pytest.importorskip("agents.tool_context")
    made = {
        each.name: each
        for each in (agents.function_tool(tool, strict_mode=False) for tool in tools(guide.parent))
    }

    def call(name: str, arguments: dict[str, Any]) -> str:
        text = json.dumps(arguments)
        given = context.ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
        return str(asyncio.run(made[name].on_invoke_tool(given, text)))

    assert "## Install" in call("md_read", {"file": "guide.md", "heading": "Install"})
    assert "file" in made["md_stat"].params_json_schema["properties"]
    call("md_apply", EDIT)

    assert guide.read_text(encoding="utf-8") == GUIDE.replace("1.0", "2.0")


def test_openai_strict_mode_accepts_the_tools_without_free_form_keys(guide: Path) -> None:
    agents = pytest.importorskip("agents")
    made = {each.__name__: each for each in tools(guide.parent)}
    strict = {name: made.pop(name) for name in ("md_stat", "md_history")}

    assert [agents.function_tool(each, strict_mode=True).name for each in strict.values()] == list(strict)
    for each in made.values():
        with pytest.raises(agents.UserError, match="additionalProperties"):
            agents.function_tool(each, strict_mode=True)
