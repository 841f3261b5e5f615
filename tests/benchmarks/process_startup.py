"""What a command costs as a process of an installed wheel, from start to end."""

import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from documents import document
from measure import ENVIRONMENT, Measure, Part, Timed, against
from scratch import scratch_folder

PROJECT = Path(__file__).resolve().parents[2]
ROUNDS = 20
EDITS, LOOKS = ("plan", "apply", "set", "replace"), ("outline", "read", "search")
BARS = dict.fromkeys(EDITS, 25) | dict.fromkeys(LOOKS, 10)


def starting_parts() -> Iterator[Part]:
    how = f"processor time of processes of a wheel in an environment of its own, {ROUNDS} interleaved rounds"
    yield Part("Commands on a file of 10 kB, against `python -c pass`", how, tuple(measures()))


def measures() -> Iterator[Measure]:
    with scratch_folder() as folder:
        programs = installed_wheel(folder.parent)
        python, program = str(programs / "python"), str(programs / "mdplan")
        commands = {
            "`mdplan plan`": edited(folder / "plan.md", program, "plan"),
            "`mdplan apply`": edited(folder / "apply.md", program, "apply"),
            "`mdplan set`": on_file(folder, program, "set", "--dry-run", "draft=true"),
            "`mdplan replace`": on_file(folder, program, "replace", "--dry-run", "the", "that"),
            "`mdplan outline`": on_file(folder, program, "outline"),
            "`mdplan read`": on_file(folder, program, "read"),
            "`mdplan search`": on_file(folder, program, "search", "the"),
            "`mdplan --version`": process((program, "--version")),
            "`python -c 'import click'`": process((python, "-c", "import click")),
            "`python` with one pydantic model": process((python, "-c", ONE_MODEL)),
        }
        costs = against("pass", {"pass": process((python, "-c", "pass")), **commands}, ROUNDS)
    for name in commands:
        yield Measure(what=name, ratio=costs[name], bar=BARS.get(name.strip("`").removeprefix("mdplan ")))


ONE_MODEL = "from pydantic import BaseModel\nclass A(BaseModel, defer_build=True):\n  a: int"


def installed_wheel(folder: Path) -> Path:
    """The folder of programs of a new environment with this checkout's wheel; pip compiles its bytecode."""
    wheels, environment = folder / "wheel", folder / "environment"
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels)
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--quiet", *wheels.iterdir())
    return python.parent


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=PROJECT, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def on_file(folder: Path, program: str, verb: str, *arguments: str) -> Timed:
    """A command that reads a document."""
    path = folder / "read.md"
    path.write_text(document(10_000), encoding="utf-8")
    return process((program, verb, *arguments, str(path), "--root", str(folder)))


def edited(path: Path, program: str, verb: str) -> Timed:
    """`verb` of a batch that adds a line to a section, another one each time."""
    text = document(10_000)
    heading = next(line for line in text.split("\n") if line.startswith("#")).strip("# ")
    target = {"op": "append_to_section", "heading": heading, "occurrence": 1}
    guard = {"file": path.name, "baseSha256": hashlib.sha256(text.encode()).hexdigest()}
    batch = path.with_suffix(".json")
    command = process((program, verb, str(batch), "--root", str(path.parent)))
    numbers = itertools.count()

    def timed() -> float:
        path.write_text(text, encoding="utf-8")
        edit = target | {"markdown": f"Line {next(numbers)}.\n"}
        batch.write_text(json.dumps(guard | {"edits": [edit]}), encoding="utf-8")
        return command()

    return timed


def process(command: tuple[str, ...]) -> Timed:
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]

    def timed() -> float:
        # A copy: `scratch_folder` names the state folder in the environment of this process.
        environment = ENVIRONMENT | {"MDPLAN_STATE_DIR": os.environ["MDPLAN_STATE_DIR"]}
        child = os.posix_spawn(command[0], command, environment, file_actions=nowhere)
        _, status, usage = os.wait4(child, 0)
        assert status == 0, command
        return usage.ru_utime + usage.ru_stime

    return timed
