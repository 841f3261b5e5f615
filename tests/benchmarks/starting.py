"""What a command costs before it does anything: processes, from start to end."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from documents import document
from measure import ENVIRONMENT, Measure, Part, Timed, against
from scratch import scratch_folder

ROUNDS = 15


def starting_parts() -> Iterator[Part]:
    how = f"processor time of whole processes, {ROUNDS} rounds"
    yield Part("Commands on a file of 10 kB, against `python -c pass`", how, tuple(measures()))


def measures() -> Iterator[Measure]:
    program = str(Path(sys.executable).with_name("mdplan"))
    with scratch_folder() as folder:
        path = folder / "a.md"
        path.write_text(document(10_000), encoding="utf-8")
        commands: dict[str, Sequence[str]] = {
            "pass": (sys.executable, "-c", "pass"),
            "click": (sys.executable, "-c", "import click"),
            "version": (program, "--version"),
            "brief": (program, "stat", "--detail", "brief", str(path)),
            "stat": (program, "stat", str(path)),
            "read": (program, "read", str(path)),
            "search": (program, "search", "the", str(path)),
        }
        costs = against("pass", {name: process(command) for name, command in commands.items()}, ROUNDS)
    yield Measure(what="`mdplan stat`", ratio=costs["stat"], bar=5)
    yield Measure(what="`mdplan stat --detail brief`", ratio=costs["brief"])
    yield Measure(what="`mdplan read`", ratio=costs["read"])
    yield Measure(what="`mdplan search`", ratio=costs["search"])
    yield Measure(what="`mdplan --version`", ratio=costs["version"])
    yield Measure(what="`python -c 'import click'`", ratio=costs["click"])


def process(command: Sequence[str]) -> Timed:
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]

    def timed() -> float:
        child = os.posix_spawn(command[0], command, ENVIRONMENT, file_actions=nowhere)
        _, status, usage = os.wait4(child, 0)
        assert status == 0, command
        return usage.ru_utime + usage.ru_stime

    return timed
