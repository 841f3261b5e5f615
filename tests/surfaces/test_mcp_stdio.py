"""`mdplan serve` as a process: the SDK's client over stdio, and lines that this client would not send."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.types import ResourceTemplateReference

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from tests.support.case_tables import CaseTables
from tests.support.servers import build_server
from tests.surfaces.command_line import mdplan
from tests.surfaces.mcp_calls import GENERATIONS, REPOSITORY, Calls, calls_to, process
from tests.surfaces.stdio_lines import SECONDS, Lines, lines_to

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\r\n\r\nVersion\u2028 1.0.\r\n"
EDIT = {"op": "replace_match", "pattern": "1.0", "replacement": "2.0\x85"}
FILES = {"guide.md": GUIDE}


def server_of(root: Path) -> object:
    """Return a server in this process, for tests that do not concern its start."""
    return build_server(Engine.open([root]))


@pytest.mark.requirement("mcp-1")
@pytest.mark.parametrize("mode", GENERATIONS)
def test_read_preview_and_apply_work_over_stdio(root: Path, mode: str) -> None:
    with calls_to(process("--root", str(root)), mode) as calls:
        stat = calls.call("md_stat", {"file": "guide.md"}).data
        preview = calls.call(
            "md_apply",
            {"file": "guide.md", "baseSha256": stat["baseSha256"], "edits": [EDIT], "dryRun": True},
        ).data
        applied = calls.call("md_apply", {**preview, "dryRun": False, "verbosity": "full"})
        batch = {"file": "guide.md", "baseSha256": stat["baseSha256"], "edits": [EDIT]}
        repeated = calls.call("md_apply", batch)
        refused = calls.call("md_apply", batch | {"edits": [EDIT | {"replacement": "3.0"}]})

    assert applied.data["applied"]
    assert (root / "guide.md").read_bytes().decode() == GUIDE.replace("1.0", "2.0\x85")
    assert "Version\u2028 2.0\x85.\r" in applied.data["diff"]
    assert repeated.data["alreadyApplied"], "one write, and one receipt"
    assert refused.is_error
    assert refused.text.startswith("STALE_BASE (guide.md)")


def test_plan_is_applied_by_another_server_process(root: Path) -> None:
    with calls_to(process("--root", str(root)), "auto") as calls:
        preview = calls.call("md_validate", {"file": "guide.md", "edits": [EDIT]}).data
    with calls_to(process("--root", str(root)), "legacy") as calls:
        assert calls.call("md_apply", {"planId": preview["planId"]}).data["applied"]


@pytest.mark.parametrize("mode", GENERATIONS)
def test_unknown_tool_is_an_error_of_the_protocol(root: Path, mode: str) -> None:
    with calls_to(server_of(root), mode) as calls:
        with pytest.raises(MCPError, match="Unknown tool: md_edit; this server has md_stat") as refused:
            calls.portal.call(calls.client.call_tool, "md_edit", {})
        assert calls.is_alive()

    assert refused.value.error.code == -32602


@pytest.mark.parametrize("needs_approval", [False, True])
def test_tools_have_claude_code_metadata(root: Path, needs_approval: bool) -> None:
    engine = Engine.open([root], settings=Settings(require_approval=needs_approval))
    with calls_to(build_server(engine), "auto") as calls:
        meta = {tool["name"]: tool["_meta"] for tool in calls.tools()}

    loaded = {name for name, hints in meta.items() if hints.get("anthropic/alwaysLoad")}
    asking = {name for name, hints in meta.items() if hints.get("anthropic/requiresUserInteraction")}
    assert loaded == {"md_stat", "md_read", "md_apply"}
    assert all(hints["anthropic/searchHint"] for name, hints in meta.items() if name not in loaded)
    assert asking == ({"md_apply"} if needs_approval else set())


@pytest.mark.parametrize("tool", ["md_validate", "md_apply"])
def test_cancelled_call_is_all_or_nothing_and_the_server_continues(root: Path, tool: str) -> None:
    names = [f"{number:03}.md" for number in range(300)]
    for name in names:
        (root / name).write_text("# A\n\nold\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new", "expectedMatchCount": 1}

    async def cancelled(calls: Calls, seconds: float) -> bool:
        with anyio.move_on_after(seconds) as scope:
            await calls.client.call_tool(tool, {"files": names, "edits": [edit]})
        return bool(scope.cancelled_caught)

    with calls_to(process("--root", str(root)), "auto") as calls:
        was_cancelled = calls.portal.call(cancelled, calls, 0.1)
        after = calls.call("md_apply", {"file": "guide.md", "edits": [EDIT | {"expectedMatchCount": 1}]})
        texts = {(root / name).read_text() for name in names}
        doctor = mdplan("doctor", "--root", str(root))

    assert was_cancelled
    assert after.data["applied"]
    assert len(texts) == 1, "all files are old, or all are new"
    assert tool == "md_apply" or "old" in texts.pop()
    assert doctor.code == 0, doctor.err
    assert not [path for path in root.iterdir() if path.name.startswith(".mdplan-")]


def complete(calls: Calls, uri: str, name: str, typed: str, **known: str) -> list[str]:
    reference = ResourceTemplateReference(uri=uri)
    argument = {"name": name, "value": typed}
    ask = partial(calls.client.complete, reference, argument, context_arguments=known or None)
    return list(calls.portal.call(ask).completion.values)


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_outlines_and_sections_are_completable_resources(root: Path, mode: str) -> None:
    (root / "docs").mkdir()
    (root / "docs" / "use.md").write_text("# Use\n\n## First steps\n\nWalk.\n\n## Last\n\nRest.\n")
    (root / "secret.md").write_text("# S\n")
    section = "mdplan://section/{heading}/{+path}"
    with calls_to(process("--root", str(root), "--deny", "secret*"), mode) as calls:
        planned = calls.call("md_validate", {"file": "guide.md", "edits": [EDIT], "verbosity": "full"})
        outline = calls.read("mdplan://outline/docs/use.md")
        text = calls.read("mdplan://section/First%20steps/docs/use.md")
        paths = complete(calls, "mdplan://outline/{+path}", "path", "")
        headings = complete(calls, section, "heading", "st", path="docs/use.md")
        plans = complete(calls, "mdplan://plans/{plan_id}/diff", "plan_id", "sha256-")
        with pytest.raises(MCPError):
            calls.read("mdplan://outline/secret.md")
        with pytest.raises(MCPError):
            calls.read("mdplan://outline/../secret.md")

    assert "First steps" in outline.text
    assert text.text == "## First steps\n\nWalk.\n\n"
    assert paths == ["docs/use.md", "guide.md"]
    assert headings == ["First steps", "Last"]
    assert plans == [planned.data["planId"]]


def test_allow_and_deny_limit_readable_files(root: Path) -> None:
    (root / "secret.md").write_text("# S\n")
    (root / "note.txt").write_text("n\n")
    options = ("--root", str(root), "--allow", "*.md", "--deny", "secret*")
    with calls_to(process(*options), "auto") as calls:
        names = ("guide.md", "secret.md", "note.txt")
        seen = [name for name in names if not calls.call("md_stat", {"file": name}).is_error]

    assert seen == ["guide.md"]


@pytest.fixture
def lines(root: Path) -> Iterator[Lines]:
    with lines_to("--root", str(root)) as connected:
        yield connected


@pytest.fixture(scope="module")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the servers that nothing is written through."""
    folder = tmp_path_factory.mktemp("stdio")
    (folder / "guide.md").write_bytes(GUIDE.encode())
    return folder


@pytest.fixture(scope="module")
def shared(shared_root: Path) -> Iterator[Lines]:
    with lines_to("--root", str(shared_root)) as connected:
        yield connected


@pytest.fixture(scope="module")
def shared_toolsets(shared_root: Path) -> Iterator[Lines]:
    with lines_to("--root", str(shared_root), "--toolsets", "text,editor,files") as connected:
        yield connected


@pytest.mark.requirement("mcp-4")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("md_stat", {"file": "a\ud800.md"}),
        ("md_stat", {"file\udfff": "guide.md"}),
        ("md_validate", {"file": "guide.md", "edits": [{**EDIT, "replacement": "\ud83d"}]}),
        ("md_apply", {"planId": "\udc80"}),
    ],
)
def test_lone_surrogate_is_refused_and_answered(
    shared: Lines, shared_root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    refused = shared.call(tool, arguments)

    assert refused["isError"]
    assert refused["structuredContent"]["error"]["code"] == "INVALID_ARGUMENT"
    assert "lone surrogate" in refused["content"][0]["text"]
    assert (shared_root / "guide.md").read_bytes().decode() == GUIDE
    assert shared.ask("ping", number=2)["result"] == {}


@CASE_TABLES.parametrize("tool", "arguments")
def test_other_toolsets_refuse_a_lone_surrogate(
    shared_toolsets: Lines, shared_root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    refused = shared_toolsets.call(tool, arguments)

    assert shared_toolsets.ask("ping", number=2)["result"] == {}
    assert refused["isError"]
    assert "lone surrogate" in refused["content"][0]["text"]
    assert [path.name for path in shared_root.iterdir()] == ["guide.md"]
    assert (shared_root / "guide.md").read_bytes().decode() == GUIDE


@pytest.mark.parametrize(
    "line",
    [
        b"{nonsense",
        b"[]",
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}',
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"md_stat","arguments":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}",
        b"\xff\xfe",
    ],
    ids=["no json", "a batch", "surrogate in a name", "deep", "no utf-8"],
)
def test_malformed_line_does_not_stop_the_server(shared: Lines, line: bytes) -> None:
    shared.send(line)

    assert shared.ask("ping", number=2)["result"] == {}
    assert shared.call("md_stat", {"file": "guide.md"}, 3)["structuredContent"]["ok"]


@pytest.mark.requirement("mcp-4")
def test_argument_of_five_megabytes_is_answered(shared: Lines) -> None:
    refused = shared.call("md_stat", {"file": "x" * 5_000_000})

    assert refused["isError"]
    assert len(json.dumps(refused)) < 10_000


def test_server_stops_at_end_of_input(lines: Lines) -> None:
    lines.server.stdin.close()

    assert lines.server.wait(SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_the_server_with_open_input(lines: Lines, number: signal.Signals) -> None:
    lines.server.send_signal(number)

    assert lines.server.wait(SECONDS) == 130


def test_root_is_required() -> None:
    refused = mdplan("serve")

    assert refused.code == 2
    assert "--root" in refused.err
    assert refused.out == b""


def test_root_that_is_not_a_folder_is_reported(tmp_path: Path) -> None:
    refused = mdplan("serve", "--root", str(tmp_path / "gone"))

    assert refused.code not in {0, 70}
    assert "FILE_NOT_FOUND" in refused.err
    assert "hint: " in refused.err
    assert refused.out == b""


def test_server_on_a_terminal_explains_itself(root: Path) -> None:
    ours, theirs = pty.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "serve", "--root", str(root)],
        cwd=REPOSITORY,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    os.close(theirs)
    told = server.stderr.readline()
    server.send_signal(signal.SIGINT)
    output, more = server.communicate(timeout=SECONDS)
    os.close(ours)

    assert "Press Ctrl-C to stop" in told
    assert output == ""
    assert "Traceback" not in more
    # On a busy machine the signal can arrive before the server handles it: a shell reports 130 for both.
    assert server.returncode in {130, -signal.SIGINT}


LOGGING = CASE_TABLES.value("LOGGING")


def test_log_goes_to_standard_error_or_to_its_file(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    runs = [
        subprocess.run(
            [sys.executable, "-c", LOGGING, "--root", str(root), *options],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        for options in ((), ("--log-file", str(log)))
    ]

    assert "ERROR mdplan: a bug \\udcff" in runs[0].stderr
    assert runs[1].stderr == ""
    assert "ERROR mdplan: a bug \\udcff" in log.read_text()
    assert [run.stdout for run in runs] == ["", ""]
