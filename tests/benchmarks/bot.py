"""What a manifest over a tree of pages costs: in one process and in two, and in memory as the tree grows."""

import os
from collections.abc import Iterator
from pathlib import Path

from measure import Measure, Part, against, wall
from scratch import scratch_folder

from mdplan.bot.bot import RunOptions, planned
from mdplan.bot.job import FolderTree
from mdplan.bot.manifest import LoadedManifest, ManifestInputs, load_manifest
from mdplan.engine.engine import Engine
from tests.bot.big_tree import make_tree

FEW, MANY = 500, 5000
ROUNDS = 3
MOST_OF_TWO = 0.6
MOST_GROWTH = 1.5
HOW_TIME = f"by the clock, with the start of the processes; {MANY} pages of 3 KB, each gets one edit"
HOW_MEMORY = (
    "largest resident sizes of all processes together, each at its own largest; "
    f"`bot apply --jobs 2` of {FEW} and of {MANY} pages"
)


def bot_parts() -> Iterator[Part]:
    """Everything about manifests."""
    with scratch_folder() as folder:
        make_tree(folder, MANY)
        yield Part("Planning a manifest", HOW_TIME, (workers(folder),))
        yield Part("Memory of a manifest", HOW_MEMORY, tuple(growth(folder)))


def workers(folder: Path) -> Measure:
    """Two processes against one."""
    engine = Engine.open([folder])
    loaded = load_manifest(str(folder / "bot.yml"), ManifestInputs())
    assert isinstance(loaded, LoadedManifest), loaded
    tree = FolderTree.of(engine.workspace)

    def plan(jobs: int) -> None:
        with planned(engine, loaded, RunOptions(jobs=jobs), tree) as proposal:
            assert proposal.plan is not None

    found = against("one", {"one": wall(lambda: plan(1)), "two": wall(lambda: plan(2))}, ROUNDS)
    return Measure(what="two processes against one", ratio=found["two"], bar=MOST_OF_TWO)


def growth(folder: Path) -> Iterator[Measure]:
    """Ten times the pages against the pages."""
    what = f"{MANY} pages against {FEW}"
    try:
        from tests.bot.peak import peaks_of
    except ImportError:
        yield Measure(what=what, bar=MOST_GROWTH, missing="psutil is not installed")
        return
    few = folder.parent / "few"
    make_tree(few, FEW)
    small, large = (
        peaks_of(["bot", "apply", str(root / "bot.yml"), "--root", str(root), "--jobs", "2"], os.environ)
        for root in (few, folder)
    )
    yield Measure(what=what, ratio=large.together / small.together, bar=MOST_GROWTH)
    yield Measure(what=f"{what}, of the process that commits alone", ratio=large.first / small.first)
