"""Fuzz targets hold for all regressions, and for their seeds with a few changes."""

import importlib.util
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.conftest import FULL, REPOSITORY
from tests.fuzz.crashes import Crashes
from tests.fuzz.targets import TARGETS

REGRESSIONS = Path(__file__).parent / "regressions"
COUNT = 150 if FULL else 40


FOUND = [(path.parent.name, path) for path in sorted(REGRESSIONS.glob("*/*"))]


@pytest.mark.parametrize(("name", "path"), FOUND, ids=[f"{name}-{path.name}" for name, path in FOUND])
def test_fuzz_regressions_pass(name: str, path: Path) -> None:
    TARGETS[name].check(path.read_bytes())


@pytest.mark.requirement("fuzz-1")
@pytest.mark.parametrize("name", TARGETS)
def test_fuzz_target_passes_for_seeds_and_their_mutations(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert seeds
    for number, seed in enumerate(islice(seeds, 0, None, len(seeds) // COUNT + 1)):
        target.check(seed)
        target.check(target.mutated(seed, Random(number)))


def test_every_regression_belongs_to_a_target() -> None:
    assert {name for name, _ in FOUND} <= TARGETS.keys()


def test_shortest_input_of_each_failure_is_kept(tmp_path: Path) -> None:
    crashes = Crashes(tmp_path)
    for data in (b"long", b"a", b"longer"):
        try:
            assert data.isdigit()
        except AssertionError as error:
            crashes.add(data, error)
    try:
        bytes([256])
    except ValueError as error:
        crashes.add(b"elsewhere", error)

    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"a", b"elsewhere"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="no atheris: `make fuzz` installs it, where it can be"
)
def test_fuzzing_prints_a_row_for_its_target(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.run", "--seconds=1", f"--home={tmp_path}", "line_index"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^line_index +[\d,]{2,} +[\d,]+ +0$", done.stdout, re.MULTILINE)
