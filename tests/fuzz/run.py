"""Fuzz every target for a while, and print one table: ``python -m tests.fuzz.run [--seconds N] [TARGET…]``.

What was learnt stays in ``.fuzz/`` for the next run. Exits with 1 when an input failed, and with 2 where
atheris cannot be imported.
"""

import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

HOME = REPOSITORY / ".fuzz"
REGRESSIONS = REPOSITORY / "tests" / "fuzz" / "regressions"
_EXECUTIONS = re.compile(r"^#(\d+)\t", re.MULTILINE)
_DONE = re.compile(r"^Done (\d+) runs in (\d+) second", re.MULTILINE)
_TRACE_LINES = 12
# Longer than any input may take, on a machine that does other things too.
_SLOW_SECONDS = 60


@dataclass
class Outcome:
    """The outcome of a target."""

    target: str
    seconds: int
    executions: int = 0
    crashes: list[Path] = field(default_factory=list)
    trouble: str = ""


def main() -> int:
    """Run the targets that the command line names, else all; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description="Fuzz targets.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--home", type=Path, default=HOME, help="folder for what is learnt (.fuzz)")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all")
    given = parser.parse_args()
    unknown = set(given.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"there is no target {min(unknown)}; there are {', '.join(TARGETS)}")
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: run `make fuzz`, which installs the group `fuzz`", file=sys.stderr)
        return 2
    home = given.home.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        # Nothing is sealed with the key of whoever runs it; what libFuzzer ends leaves no folders.
        os.environ |= {"TMPDIR": scratch, "MDPLAN_STATE_DIR": str(Path(scratch, "state"))}
        outcomes = [_fuzzed(TARGETS[name], given.seconds, home / name) for name in given.targets or TARGETS]
    print(_table(outcomes))
    for outcome in outcomes:
        for path in outcome.crashes:
            command = [sys.executable, "-m", "tests.fuzz.replay", outcome.target, str(_short(path))]
            print(f"{outcome.target} failed; to see it again: {shlex.join(command)}")
        if outcome.trouble:
            print(f"{outcome.target} did not run to its end:\n{outcome.trouble}")
    return 1 if any(outcome.crashes or outcome.trouble for outcome in outcomes) else 0


def _fuzzed(target: Target, seconds: int, home: Path) -> Outcome:
    print(f"{target.name}: {seconds} s …", file=sys.stderr, flush=True)
    folders = {name: home / name for name in ("corpus", "seeds", "crashes")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    for path in folders["crashes"].iterdir():
        path.unlink()
    for seed in target.seeds():
        (folders["seeds"] / sha256(seed).hexdigest()[:16]).write_bytes(seed)
    inputs = [folders["corpus"], folders["seeds"]]
    if (REGRESSIONS / target.name).is_dir():
        inputs.append(REGRESSIONS / target.name)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.fuzz.fuzz_one", target.name, str(folders["crashes"])),
            *(f"-max_total_time={seconds}", f"-timeout={_SLOW_SECONDS}", "-rss_limit_mb=3000"),
            *(f"-max_len={target.most_bytes}", "-len_control=0"),
            *(f"-artifact_prefix={folders['crashes']}{os.sep}", *map(str, inputs)),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    (home / "log").write_text(said, encoding="utf-8")
    ended = _DONE.search(said)
    reached = max(map(int, _EXECUTIONS.findall(said)), default=0)
    return Outcome(
        target=target.name,
        # Existing inputs are read first, without a time limit.
        seconds=int(ended[2]) if ended else seconds,
        executions=int(ended[1]) if ended else reached,
        crashes=sorted(folders["crashes"].iterdir()),
        trouble="\n".join(said.split("\n")[-_TRACE_LINES:]) if done.returncode else "",
    )


def _table(outcomes: list[Outcome]) -> str:
    rows = [("target", "executions", "a second", "crashes")]
    for outcome in outcomes:
        each = outcome.executions // max(outcome.seconds, 1)
        rows.append((outcome.target, f"{outcome.executions:,}", f"{each:,}", str(len(outcome.crashes))))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    )


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(main())
