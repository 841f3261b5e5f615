"""Targets of fuzzing hold for what once broke them, and for their seeds with a few changes."""

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.targets import TARGETS

REGRESSIONS = Path(__file__).parent / "regressions"
COUNT = 150


FOUND = [(path.parent.name, path) for path in sorted(REGRESSIONS.glob("*/*"))]


@pytest.mark.parametrize(("name", "path"), FOUND, ids=[f"{name}-{path.name}" for name, path in FOUND])
def test_what_broke_it_once_is_right_now(name: str, path: Path) -> None:
    TARGETS[name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_target_holds_for_its_seeds_and_what_is_made_of_them(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert seeds
    for number, seed in enumerate(islice(seeds, 0, None, len(seeds) // COUNT + 1)):
        target.check(seed)
        target.check(target.mutated(seed, Random(number)))


def test_regressions_are_of_targets() -> None:
    assert {name for name, _ in FOUND} <= TARGETS.keys()
