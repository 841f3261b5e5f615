"""Protocol, cases 70 to 72: commits that lose their caller, and several servers on one root."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from tests.concurrency.attempts import START, Log, Moments, Worker, lines_of
from tests.concurrency.test_writers import HOLDER
from tests.hostile.servers import TRANSPORTS, server_over
from tests.surfaces.http_calls import SECONDS, http_server
from tests.surfaces.mcp_calls import GENERATIONS, REPOSITORY, Calls, calls_to, process
from tests.surfaces.stdio_lines import lines_to

FILES = [f"{number:03}.md" for number in range(200)]
# For each of three writers.
EDITS = 3
OLD, NEW = "# A\n\nold\n", "# A\n\nnew\n"
BATCH = {
    "files": [
        {"file": name, "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}
        for name in FILES
    ]
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(OLD)
    return folder


def wait_for_the_middle(root: Path, is_running: Callable[[], bool]) -> None:
    """Until the commit has begun to put files in place."""
    while all((root / name).read_text() == OLD for name in FILES[::20]):
        assert is_running()


def check_settled(root: Path, plan_id: str) -> bool:
    """Check that the commit happened completely or not at all, as the history says; return which.

    The same plan is then applied again, which waits for a running commit, and returns its receipt if there is
    one.
    """
    engine = Engine.open([root])
    report = engine.apply({"planId": plan_id})
    n_transactions = len(engine.history().transactions)
    findings = engine.doctor()
    engine.workspace.close()

    assert report.ok, report.diagnostics
    assert {(root / name).read_text() for name in FILES} == {NEW}
    assert n_transactions == 1, "it was made once"
    assert findings.ok
    return report.already_applied


@pytest.fixture(params=TRANSPORTS)
def connect(request: pytest.FixtureRequest, root: Path) -> Iterator[Callable[[str], Any]]:
    """Connect a client of one protocol generation to a server over one of the transports."""
    with ExitStack() as stack:
        if request.param == "stdio":
            yield lambda mode: calls_to(process("--root", str(root)), mode)
        else:
            server = stack.enter_context(http_server("--root", str(root)))
            yield server.calls


@pytest.mark.hostile_case(70)
@pytest.mark.requirement("protocol-2")
@pytest.mark.slow
@pytest.mark.parametrize("moment", ["at once", "in the middle"])
@pytest.mark.parametrize("mode", GENERATIONS)
def test_cancelled_apply_is_complete_or_absent_as_its_receipt_says(
    root: Path, connect: Callable[[str], Any], mode: str, moment: str
) -> None:
    with connect(mode) as calls:
        assert isinstance(calls, Calls)
        plan_id = calls.call("md_validate", BATCH).data["planId"]
        call = calls.portal.start_task_soon(calls.client.call_tool, "md_apply", {"planId": plan_id})
        if moment == "in the middle":
            wait_for_the_middle(root, lambda: not call.done())
        call.cancel()
        lives = calls.is_alive()
        was_made = check_settled(root, plan_id)
        stat = calls.call("md_stat", {"file": FILES[0]})

    assert lives
    assert not stat.is_error
    assert was_made or moment == "at once"


@pytest.mark.hostile_case(71)
@pytest.mark.requirement("protocol-2")
def test_closed_input_does_not_interrupt_a_commit(root: Path) -> None:
    with lines_to("--root", str(root)) as lines:
        plan_id = lines.call("md_validate", BATCH)["structuredContent"]["planId"]
        params = {"name": "md_apply", "arguments": {"planId": plan_id}}
        request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
        lines.send(json.dumps(request).encode())
        wait_for_the_middle(root, lambda: lines.server.poll() is None)
        lines.server.stdin.close()
        code = lines.server.wait(SECONDS)
    left = {(root / name).read_text() for name in FILES}

    assert code == 0
    assert left in ({OLD}, {NEW})
    assert check_settled(root, plan_id) == (left == {NEW})


def by_command_line(root: Path) -> Callable[[dict[str, Any]], str | None]:
    """Apply a batch with the command line; what refused it."""

    def apply(batch: dict[str, Any]) -> str | None:
        done = subprocess.run(
            [sys.executable, "-m", "mdplan", "apply", "--root", str(root), "--json", "-"],
            cwd=REPOSITORY,
            capture_output=True,
            check=False,
            input=json.dumps(batch).encode(),
            timeout=SECONDS,
        )
        report = json.loads(done.stdout)
        return None if report["ok"] else report["error"]["code"]

    return apply


def through(server: Any) -> Callable[[dict[str, Any]], str | None]:
    """Apply a batch through a server; what refused it."""

    def apply(batch: dict[str, Any]) -> str | None:
        report = server.call("md_apply", batch)["structuredContent"]
        return None if report["ok"] else report["error"]["code"]

    return apply


@pytest.mark.hostile_case(72)
def test_two_servers_and_the_command_line_wait_for_each_other(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    (root / "log.md").write_text(START)
    with ExitStack() as stack:
        servers = [stack.enter_context(server_over(each, "--root", str(root))) for each in TRANSPORTS]
        moments = Moments(tmp_path / "moments")
        workers = [
            Worker(number=number, folder=root, apply=apply, log=Log(tmp_path / f"{number}"), moments=moments)
            for number, apply in enumerate([*map(through, servers), by_command_line(root)])
        ]
        threads = [
            threading.Thread(
                target=lambda worker=worker: [worker.edit(["log.md"], each) for each in range(EDITS)]
            )
            for worker in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lives = all(server.is_alive() for server in servers)
        moments.close()
    written = sorted(lines_of((root / "log.md").read_text()))
    wanted = [f"{worker}-{number}" for worker in range(3) for number in range(EDITS)]

    assert lives
    assert written == wanted


@pytest.mark.hostile_case(72)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_busy_lock_is_reported_with_its_holder(root: Path, transport: str) -> None:
    command = [sys.executable, "-c", HOLDER, root]
    with (
        subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
        server_over(transport, "--root", str(root), "--lock-timeout", "0.2") as server,
    ):
        assert holder.stdout.readline() == "held\n"
        plan = server.call("md_validate", BATCH)["structuredContent"]
        refused = server.call("md_apply", {"planId": plan["planId"]})
        lives = server.is_alive()
        holder.stdin.close()
        holder.wait(SECONDS)
    error = refused["structuredContent"]["error"]

    assert lives
    assert error["code"] == "LOCK_TIMEOUT"
    assert str(holder.pid) in error["message"] + error["hint"]
    assert {(root / name).read_text() for name in FILES} == {OLD}
