"""Commands of mdplan that get a signal before any of their disk operations."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdplan.storage.filesystem import Step

Watch = Callable[[int], AbstractContextManager[object]]
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: by a signal, or with a code; what it wrote; its disk operations, unless killed."""

    killed: bool
    code: int | None
    out: str
    err: str
    steps: tuple[Step, ...] = ()

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        decoded = json.loads(self.out)
        assert isinstance(decoded, dict)
        return decoded


@dataclass(frozen=True)
class Commands:
    """Runs commands. `environment` extends that of this process."""

    server: subprocess.Popen[str]
    work: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        folder: Path,
        *arguments: str,
        stdin: object = None,
        signals: Mapping[int, int] | None = None,
        watch: Watch | None = None,
    ) -> Ended:
        """Run `mdplan ARGUMENTS` in `folder`, with `signals` before some of its disk operations (from 1).

        `watch` makes a block of the number of its process, in which the command runs.
        """
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        (self.work / "in").write_text("" if stdin is None else json.dumps(stdin))
        for name in ("pid", "go") if watch else ():
            os.mkfifo(self.work / name)
        request = {
            "folder": str(folder),
            "arguments": arguments,
            "work": str(self.work),
            "environment": {**self.environment, "MDPLAN_STATE_DIR": os.environ["MDPLAN_STATE_DIR"]},
            "signals": list((signals or {}).items()),
            "waits": watch is not None,
        }
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        with ExitStack() as stack:
            if watch:
                # Open for both, so that what is written waits for its reader, whom a tracer may interrupt.
                go = stack.enter_context((self.work / "go").open("r+b", buffering=0))
                stack.enter_context(watch(int((self.work / "pid").read_text())))
                go.write(b"!")
            answer = json.loads(self.server.stdout.readline())
        out, err = ((self.work / name).read_text() for name in ("out", "err"))
        steps = tuple(map(Step, answer["steps"]))
        return Ended(answer["killed"], answer["code"], out, err, steps)


@contextmanager
def commands(environment: Mapping[str, str] | None = None) -> Iterator[Commands]:
    """A server of commands, for as long as the block lasts."""
    with (
        tempfile.TemporaryDirectory() as work,
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.command_server"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        yield Commands(server, Path(work, "request"), environment or {})
        assert server.stdin is not None
        server.stdin.close()
