"""`mdplan review` as a process: output, browser, address and exit."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.storage.plans import address_of
from tests.conftest import REPOSITORY
from tests.surfaces.command_line import mdplan

SECONDS = 60
HOW_TO = (REPOSITORY / "docs" / "how-to" / "review-plans.md").read_text(encoding="utf-8")
FILES = {"guide.md": "# Guide\n\nold\n"}


@contextmanager
def review(root: Path, *arguments: str, **streams: object) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "review", "--root", str(root), *arguments],
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def wait_for(file: Path) -> None:
    for _ in range(SECONDS * 20):
        if file.exists():
            return
        time.sleep(0.05)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file into which a browser of these tests writes what it opens."""
    program, opened = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}.new" && mv "{opened}.new" "{opened}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return opened


def test_link_is_printed_and_a_signal_stops_the_server(root: Path, opened: Path) -> None:
    with review(root) as process:
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:")
        shown = address_of(str(root), "ID")
        assert shown is not None
        host = re.escape(link.partition("/review/")[0])
        assert re.fullmatch(host + r"/review/[\w-]{22}/view\?plan=ID&token=\w+", shown)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=SECONDS)

    assert process.returncode == 130
    assert told in HOW_TO
    assert address_of(str(root), "ID") is None
    assert not opened.exists(), "nobody would see it"


@pytest.mark.parametrize("no_browser", [True, False])
def test_terminal_with_a_browser_opens_the_page(root: Path, opened: Path, no_browser: bool) -> None:
    terminal, inner = pty.openpty()
    options = ["--no-browser"] if no_browser else []
    with review(root, *options, stdin=inner, stderr=inner) as process:
        link = process.stdout.readline().strip()
        if not no_browser:
            wait_for(opened)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=SECONDS)
    os.close(inner)
    os.close(terminal)

    assert [path.read_text() for path in [opened] if path.exists()] == ([] if no_browser else [link])


def test_link_opens_the_named_plan(root: Path) -> None:
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}
    plan_id = Engine.open([root]).plan({"file": "guide.md", "edits": [edit]}).plan_id
    with review(root, plan_id[:23], "--host", "::1") as process:
        link = process.stdout.readline().strip()
    assert link.startswith("http://[::1]:")
    assert link.endswith(f"&plan={plan_id}")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("0" * 64,), 3, "PLAN_NOT_FOUND"),
        (("--host", "0.0.0.0"), 2, "other machines"),
        (("--host", "nowhere.invalid"), 2, "leads to no address"),
        (("--port", "70000"), 2, "--port"),
        (("--terminal", "--port", "8080"), 2, "does not go with --terminal"),
        (("--list", "--no-browser"), 2, "does not go with --list"),
        (("--json", "--host", "127.0.0.1"), 2, "does not go with --json"),
    ],
)
def test_impossible_options_are_refused(root: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    refused = mdplan("review", "--root", str(root), *arguments)

    assert refused.code == code
    assert told in refused.err


def test_busy_port_is_reported(root: Path) -> None:
    with review(root) as first:
        port = first.stdout.readline().partition(":")[2].partition(":")[2].partition("/")[0]
        with review(root, "--port", port) as second:
            _, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 6
    assert "IO_ERROR" in err


def test_client_configuration_of_the_page_is_json() -> None:
    block = HOW_TO.partition("```json .mcp.json\n")[2].partition("```")[0]
    assert json.loads(block)["mcpServers"]["mdplan"]["args"][-1] == "--require-approval"
