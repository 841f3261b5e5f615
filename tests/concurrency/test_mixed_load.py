"""Two servers and two command lines on one root (case 72): one chain."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.attempts import Apply
from tests.concurrency.crowd import Crowd
from tests.concurrency.worker import in_threads
from tests.crash.aftermath import in_memory
from tests.crash.commands import Commands, commands
from tests.surfaces.mcp_calls import Calls, calls_to, process


def through_mcp(calls: Calls) -> Apply:
    def apply(batch: dict[str, Any]) -> str | None:
        result = calls.call("md_apply", batch)
        return result.text.partition(" ")[0].rstrip(":") if result.is_error else None

    return apply


def through_command_line(mdplan: Commands, folder: Path) -> Apply:
    def apply(batch: dict[str, Any]) -> str | None:
        ended = mdplan.run(folder, "apply", "-", "--json", stdin=batch)
        return str(ended.json["error"]["code"]) if ended.code else None

    return apply


@pytest.mark.slow
@pytest.mark.parametrize("edits", [6, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_servers_and_command_lines_form_one_chain(edits: int) -> None:
    with in_memory() as folder, ExitStack() as stack:
        crowd = Crowd.of(folder, 3)
        opened: list[Callable[[], Apply]] = [
            lambda: through_mcp(stack.enter_context(calls_to(process("--root", str(crowd.folder)), "auto"))),
            lambda: through_command_line(stack.enter_context(commands()), crowd.folder),
        ]
        applies = [each() for each in opened * 2]
        in_threads([crowd.job(number, edits, at_once=2) for number in range(4)], applies)

        crowd.check(applied=4 * edits)
