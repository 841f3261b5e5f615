"""Clients of the official SDKs read, preview and apply, over stdio and over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mdplan import __version__
from mdplan.mcp.tool import DEFAULT_TOOLSETS, tool_names
from tests.clients.node_tools import node_tools
from tests.clients.python_tools import environment_of
from tests.surfaces.http_calls import HttpServer, http_server
from tests.surfaces.mcp_calls import GENERATIONS, REPOSITORY, Calls, calls_to, process

HERE = Path(__file__).parent
EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}
# Planning these takes long enough to report progress.
MANY = 50
PAGE = "# Page\n\nold\n"
TELLING = "tests.clients.eager_progress_mdplan"
SECONDS = 300
Outcome = dict[str, Any]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\nold\n\n## Install\n\nSteps.\n")
    for number in range(MANY):
        (folder / f"{number}.md").write_text(PAGE)
    return folder


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, root: Path) -> Iterator[HttpServer | None]:
    """Start a server over HTTP; None if the client starts one."""
    with ExitStack() as stack:
        is_http = request.param == "http"
        yield stack.enter_context(http_server("--root", str(root), program=TELLING)) if is_http else None


def target(root: Path, server: HttpServer | None) -> str:
    """Return the address of the server for a client script."""
    if server is not None:
        return json.dumps({"url": server.url, "token": server.token, "many": MANY})
    args = ["-m", TELLING, "serve", "--root", str(root)]
    return json.dumps({"command": sys.executable, "args": args, "cwd": str(REPOSITORY), "many": MANY})


def typescript(root: Path, server: HttpServer | None) -> Outcome:
    tools = node_tools()
    done = tools.run_script(HERE / "typescript_client.mjs", [target(root, server)], cwd=root)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def python_1(root: Path, server: HttpServer | None) -> Outcome:
    python = environment_of("mcp") / "python"
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, HERE / "python_1_client.py", target(root, server)],
        cwd=root,
        env=environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def python_2(mode: str) -> Callable[[Path, HttpServer | None], Outcome]:
    def run(root: Path, server: HttpServer | None) -> Outcome:
        opened = (
            calls_to(process("--root", str(root), program=TELLING), mode)
            if server is None
            else server.calls(mode)
        )
        with opened as calls:
            return seen(calls)

    return run


def seen(calls: Calls) -> Outcome:
    stat = calls.call("md_stat", {"file": "guide.md"}).data
    pinned = {"file": "guide.md", "baseSha256": stat["baseSha256"], "edits": [EDIT]}
    preview = calls.call("md_validate", pinned).data
    applied = calls.call("md_apply", {"planId": preview["planId"]}).data
    stale = calls.call("md_apply", pinned)
    files = [{"file": f"{number}.md", "edits": [EDIT]} for number in range(MANY)]
    long, progress = calls.call_with_progress("md_validate", {"files": files})
    about = calls.client.server_info
    return {
        "server": {"name": about.name, "version": about.version},
        "tools": [tool["name"] for tool in calls.tools()],
        "resources": [str(each.uri) for each in calls.portal.call(calls.client.list_resources).resources],
        "guide": calls.read("mdplan://guide").text,
        "prompts": calls.prompts(),
        "prompt": calls.prompt("way-of-working"),
        "stat": stat,
        "preview": preview,
        "applied": applied,
        "stale": {"isError": stale.is_error, "text": stale.text},
        "long": long.data["ok"],
        "progress": [list(each) for each in progress],
    }


CLIENTS = {
    "typescript": typescript,
    "python-1": python_1,
    **{f"python-2-{GENERATIONS[mode]}": python_2(mode) for mode in GENERATIONS},
}


@pytest.mark.requirement("clients-1")
@pytest.mark.parametrize("client", CLIENTS)
def test_sdk_client_reads_previews_applies_and_receives_progress(
    client: str, root: Path, server: HttpServer | None
) -> None:
    outcome = CLIENTS[client](root, server)

    assert (outcome["server"]["name"], outcome["server"]["version"]) == ("mdplan", __version__)
    assert outcome["tools"] == tool_names(DEFAULT_TOOLSETS)
    assert [each["headingPath"] for each in outcome["stat"]["sections"]] == [["Guide"], ["Guide", "Install"]]
    assert outcome["preview"]["diff"].endswith("-old\n+new\n \n ## Install\n \n")
    assert outcome["applied"]["applied"]
    assert outcome["applied"]["planId"] == outcome["preview"]["planId"]
    assert (root / "guide.md").read_text() == "# Guide\n\nnew\n\n## Install\n\nSteps.\n"
    assert outcome["stale"]["isError"]
    assert outcome["stale"]["text"].startswith("STALE_BASE (guide.md)")
    assert (root / "0.md").read_text() == PAGE, "a preview writes nothing"
    assert sorted(outcome["resources"]) == ["mdplan://guide", "mdplan://schema/batch"]
    assert outcome["guide"].startswith("# Editing with mdplan\n")
    assert outcome["prompts"] == ["way-of-working"]
    assert outcome["guide"].startswith(outcome["prompt"].rstrip("\n"))
    assert outcome["long"]
    assert outcome["progress"]
    assert outcome["progress"] == sorted(outcome["progress"])
    assert {total for _, total in outcome["progress"]} == {2 * MANY}
