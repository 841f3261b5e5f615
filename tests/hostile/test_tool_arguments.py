"""Whatever the arguments, a tool answers with a result or a clear error, and a refusal writes nothing."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.mcp.tool import INTRODUCTIONS, ToolDefinition, ToolResult, tool_names
from mdplan.mcp.toolsets import chosen_tools
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.hostile.arguments import FILES, arguments_of
from tests.hostile.tally import Record

MOST = 200_000


class Tools:
    """All tools over one root, which is laid out anew after each call that wrote."""

    def __init__(self, root: Path) -> None:
        self.root = root
        fast = Settings(
            durability=Durability.PROCESS, history_transactions=3, pattern_seconds=0.2, lock_timeout=5.0
        )
        self.engine = Engine.open([root], settings=fast)
        tools = chosen_tools(self.engine, list(INTRODUCTIONS), (), read_only=False)
        self.by_name: dict[str, ToolDefinition] = {tool.name: tool for tool in tools}
        self.lay_out()

    def found(self) -> dict[str, bytes]:
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in paths
            if ".mdplan" not in path.parts
        }

    def lay_out(self) -> None:
        for name in self.found():
            (self.root / name).unlink()
        for name, text in FILES.items():
            (self.root / name).write_bytes(text.encode())

    def is_as_laid_out(self) -> bool:
        return self.found() == {name: text.encode() for name, text in FILES.items()}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "root").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        made = Tools(folder / "root")
        yield made
        made.engine.workspace.close()


def check_answer(tool: ToolDefinition, answer: ToolResult) -> None:
    """It can leave as UTF-8, is of the published shape, is not huge, and a refusal says what is wrong."""
    wire = json.dumps(answer.structured, ensure_ascii=False, allow_nan=False)
    wire.encode("utf-8")
    answer.text.encode("utf-8")
    Draft202012Validator(tool.output_schema).validate(answer.structured)
    assert len(wire) < MOST
    if answer.is_refusal:
        assert answer.text.strip()
        if "ok" in answer.structured:
            assert not answer.structured["ok"]
            assert answer.structured["error"]["code"] in set(Code)
            assert answer.structured["error"]["message"]


# Calls that ended in an exception once.
FOUND: list[tuple[str, dict[str, Any]]] = [
    ("md_search", {"pattern": "old", "format": "old"}),
    ("md_read", {"file": "guide.md", "format": "old"}),
]


@pytest.mark.hostile_case(65)
@pytest.mark.parametrize(("name", "arguments"), FOUND)
def test_checker_detects_an_unanswered_call(
    tools: Tools, record: Record, name: str, arguments: dict[str, Any]
) -> None:
    answer = tools.by_name[name].call(arguments)
    record(f"65 {name} that once failed", "refused" if answer.is_refusal else "escaped", 0.0)

    assert answer.is_refusal
    check_answer(tools.by_name[name], answer)


@pytest.mark.hostile_case(65)
@pytest.mark.requirement("protocol-1")
@pytest.mark.parametrize("name", tool_names(list(INTRODUCTIONS)))
@given(data=st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_every_call_is_answered(tools: Tools, record: Record, name: str, data: st.DataObject) -> None:
    tool = tools.by_name[name]
    edits = tools.by_name["md_apply"].input_schema["properties"]["edits"]
    arguments: dict[str, Any] = data.draw(arguments_of(tool.input_schema, edits), label="arguments")
    started = time.perf_counter()
    answer = tool.call(arguments)
    seconds = time.perf_counter() - started
    is_unchanged = tools.is_as_laid_out()
    if not is_unchanged:
        tools.lay_out()
    wrote_though_refused = answer.is_refusal and not is_unchanged
    outcome = (
        "escaped" if wrote_though_refused else "refused" if answer.is_refusal else "accepted as expected"
    )
    record(f"65 arguments of {name}", outcome, seconds)

    assert not wrote_though_refused
    assert is_unchanged or tool.writes
    check_answer(tool, answer)
