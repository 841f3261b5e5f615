"""A program that ignores the lock loses nothing, whenever it writes, also when the commit is killed then."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mdplan.storage.names import NOTE
from tests.crash.aftermath import committed, digest, engine, in_memory, unclean
from tests.crash.checker import Checker
from tests.crash.commands import Commands
from tests.crash.scenario import Scenario, created, deleted, renamed, replaced
from tests.crash.stranger import check_stranger
from tests.surfaces.test_mcp_stdio import SECONDS, Lines, lines_to

SCENARIOS = (
    Scenario("replace", replaced("a.md", "d/b.md"), (replaced("before.md"),)),
    Scenario("create", created("new.md"), (replaced("before.md"),)),
    Scenario("delete", deleted("gone.md"), (replaced("before.md"),)),
    Scenario("rename", renamed("d/from.md", "to.md"), (replaced("before.md"),)),
)


@pytest.mark.requirement("commit-6")
@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SCENARIOS])
def test_file_of_another_program_is_never_replaced(scenario: Scenario, tmp_path: Path) -> None:
    found = check_stranger(Checker(scenario, tmp_path))

    assert found.points > 0
    assert not found.violations, "\n".join(found.violations)


# --- A server that is stopped amidst a commit (cases 70, 71): all is old or all is new, as the history
# says.

FILES = 300
OLD, NEW = "# File\n\nOld text.\n", "# File\n\nNew text.\n"
APPLY = 7


@pytest.fixture
def folder() -> Iterator[Path]:
    with in_memory() as folder:
        for number in range(FILES):
            (folder / f"{number}.md").write_text(OLD)
        yield folder


def request() -> bytes:
    """A call of `md_apply` that has a lot to do."""
    edit = {"op": "replace_match", "pattern": "Old", "replacement": "New"}
    base = digest(OLD.encode())
    files = [{"file": f"{number}.md", "baseSha256": base, "edits": [edit]} for number in range(FILES)]
    params = {"name": "md_apply", "arguments": {"files": files}}
    return json.dumps({"jsonrpc": "2.0", "id": APPLY, "method": "tools/call", "params": params}).encode()


def close(lines: Lines) -> None:
    lines.server.stdin.close()
    lines.server.wait(SECONDS)


def terminate(lines: Lines) -> None:
    lines.server.send_signal(signal.SIGTERM)
    lines.server.wait(SECONDS)


def interrupt(lines: Lines) -> None:
    lines.server.send_signal(signal.SIGINT)
    lines.server.wait(SECONDS)


def kill(lines: Lines) -> None:
    lines.server.kill()
    lines.server.wait(SECONDS)


def cancel(lines: Lines) -> None:
    """The server goes on; when it answers the next call, it is done with the one before."""
    params = {"requestId": APPLY, "reason": "no longer wanted"}
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    lines.send(json.dumps(notification).encode())
    lines.send(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "ping"}).encode())
    replies = lines._replies  # noqa: SLF001 - All replies, and not only the one that was asked for.
    while json.loads(replies.get(timeout=SECONDS)).get("id") != 8:
        pass
    close(lines)


SLOW = [pytest.param(stop, marks=pytest.mark.slow) for stop in (terminate, interrupt, kill)]


@pytest.mark.parametrize("stop", [close, cancel, *SLOW])
def test_commit_of_a_stopped_server_is_all_old_or_all_new(
    folder: Path, stop: Callable[[Lines], None]
) -> None:
    with lines_to("--root", str(folder)) as lines:
        lines.send(request())
        while not (folder / NOTE).exists():
            assert lines.server.poll() is None
        stop(lines)
    with engine(folder) as opened:
        assert opened.recover().ok
    expected = NEW if committed(folder) else OLD
    assert {(folder / f"{number}.md").read_text() for number in range(FILES)} == {expected}
    assert list(unclean(folder)) == []


# --- The watcher of a command is attached before the command starts its work.


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to look at another process")
def test_watched_command_opens_its_files_before_it_waits(mdplan: Commands, tmp_path: Path) -> None:
    """Otherwise its opening would count as one of the command's, and could be made to fail."""
    seen: list[set[str]] = []

    @contextmanager
    def watch(process: int) -> Iterator[None]:
        opened = Path("/proc", str(process), "fd")
        seen.append({each.readlink().name for each in opened.iterdir()})
        yield

    for _ in range(5):
        assert mdplan.run(tmp_path, "doctor", watch=watch).code == 0

    assert all({"go"} <= names and "pid" not in names for names in seen), seen
