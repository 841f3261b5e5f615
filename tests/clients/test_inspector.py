"""The Inspector's command line lists and calls every tool of every toolset, over stdio and over HTTP."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients.node_tools import node_tools
from tests.surfaces.http_calls import http_server
from tests.surfaces.mcp_calls import REPOSITORY

GUIDE = "# Guide\n\nold\n\n## Install\n\nSteps.\n"
RANGE = [{"start": 3, "end": 3}]
PATCHES = [{"old_string": "old\n", "new_string": "new\n", "ranges": RANGE}]
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new", "expectedMatchCount": 1}
# In this order, so that each finds what it wants.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("md_stat", {"file": "guide.md"}),
    ("md_read", {"file": "guide.md", "heading": "Install"}),
    ("md_search", {"pattern": "Steps"}),
    ("md_validate", {"file": "guide.md", "edits": [EDIT]}),
    ("md_apply", {"file": "guide.md", "edits": [EDIT]}),
    ("md_history", {"action": "undo"}),
    ("TextInspect", {"filePath": "guide.md"}),
    ("TextRead", {"filePath": "guide.md", "target": {"heading": {"text": "Install"}}}),
    (
        "TextPatch",
        {
            "filePath": "guide.md",
            "operation": "insert",
            "target": {"appendToSection": "Install"},
            "content": "More.",
        },
    ),
    ("TextReplace", {"filePath": "guide.md", "oldText": "Steps", "newText": "Hints"}),
    ("read_files", {"files": [{"path": "guide.md", "start_line": 3}]}),
    ("grep_content", {"pattern": "Hints"}),
    ("get_text_file_contents", {"files": [{"file_path": "guide.md", "ranges": [{"start": 1}]}]}),
    ("patch_text_file_contents", {"files": [{"file_path": "guide.md", "patches": PATCHES}]}),
    ("create_text_file", {"file_path": "app.py", "contents": "a = 1\n"}),
    (
        "append_text_file_contents",
        {"file_path": "app.py", "content_to_append": "b = 2\n", "expected_file_ending": "a = 1"},
    ),
    (
        "insert_text_file_contents",
        {
            "file_path": "app.py",
            "insertions": [
                {
                    "content_to_insert": "c = 3\n",
                    "position": "after",
                    "context_line": "a = 1",
                    "line_number": 1,
                }
            ],
        },
    ),
    (
        "delete_text_file_contents",
        {
            "file_path": "app.py",
            "deletions": [{"expected_content": "c = 3", "ranges": [{"start": 2, "end": 2}]}],
        },
    ),
]
Inspect = Callable[..., dict[str, Any]]


@pytest.fixture(params=["stdio", "http"])
def inspect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Inspect]:
    """Runs the Inspector with options against a server of all toolsets; gives what it prints."""
    tools = node_tools()
    root = tmp_path / "root"
    root.mkdir()
    (root / "guide.md").write_text(GUIDE)
    served = ("--root", str(root), "--toolsets", "md,text,files,editor")
    with ExitStack() as stack:
        if request.param == "http":
            server = stack.enter_context(http_server(*served))
            target = ["--header", f"Authorization: Bearer {server.token}", "--server-url", server.url]
            target += ["--transport", "http"]
        else:
            target = ["--", sys.executable, "-m", "mdplan", "serve", *served]

        def run(*options: str) -> dict[str, Any]:
            done = tools.run(
                "@modelcontextprotocol/inspector",
                "mcp-inspector",
                ["--cli", "--connect-timeout", "120000", *options, *target],
                cwd=REPOSITORY,
                environment={"MCP_CATALOG_PATH": str(tmp_path / "catalog.json")},
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            return json.loads(done.stdout)

        yield run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_inspector_lists_and_calls_every_tool_without_errors(inspect: Inspect) -> None:
    listed = inspect("--method", "tools/list", "--strict")["tools"]
    answers = {}
    for name, arguments in CALLS:
        pairs = [f"{key}={_value(value)}" for key, value in arguments.items()]
        answers[name] = inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", *pairs)

    assert sorted(answers) == sorted(tool["name"] for tool in listed)
    assert [name for name, answer in answers.items() if answer.get("isError")] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_inspector_lists_resources_and_prompts(inspect: Inspect) -> None:
    uris = [resource["uri"] for resource in inspect("--method", "resources/list")["resources"]]
    (prompt,) = inspect("--method", "prompts/list")["prompts"]

    assert sorted(uris) == ["mdplan://guide", "mdplan://schema/batch"]
    assert prompt["name"] == "way-of-working"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
