"""What it costs that a commit is whole: against the same files written one by one, each by a renaming.

The clock is that of the wall, since waiting for the disk is most of the cost. All candidates of a part run in
turns, on files of their own in one folder; each number is the median of the ratios of the rounds. Files
differ from each other, as documents do.
"""

import hashlib
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from measure import Measure, Part, times
from scratch import scratch_folder

from mdplan.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.commit import StagedFile, publish, stage
from mdplan.storage.durability import Durability
from mdplan.storage.history import collect
from mdplan.storage.lock import locked
from mdplan.storage.recovery import recover
from mdplan.storage.root import Root

SECTIONS = 40
MAX_BYTES = 1 << 20
PLAIN = "plain"
# By durability and number of files: how often a commit may cost what the plain way costs.
AT_MOST = {
    (Durability.FULL, 1): 6.0,
    (Durability.FULL, 100): 1.5,
    (Durability.PROCESS, 1): 2.0,
    (Durability.PROCESS, 100): 1.3,
}
PLAINLY = {Durability.FULL: "write + fsync + rename", Durability.PROCESS: "write + rename"}
ROUNDS = {1: 60, 100: 12}


@dataclass(frozen=True)
class Documents:
    """The files of one candidate. Every round makes the next version of all of them."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def make(cls, folder: Path, count: int) -> "Documents":
        made = cls(folder, tuple(f"document-{number:03d}.md" for number in range(count)))
        folder.mkdir()
        for name in made.names:
            (folder / name).write_bytes(text(name, 0))
        return made


def text(name: str, version: int) -> bytes:
    """A version of a document, about 10 KB; versions differ in one line."""
    lines = [f"# Version {version:06d}\n\nThis is {name}.\n"]
    lines += [f"\n## Part {number}\n\n{'All work and no play. ' * 10}\n" for number in range(SECTIONS)]
    return "".join(lines).encode()


def durability_parts() -> Iterator[Part]:
    for durability in Durability:
        title = f"A commit with `durability: {durability}` against {PLAINLY[durability]} of each file"
        measures = tuple(measure for count in ROUNDS for measure in commit_measures(count, durability))
        yield Part(title, f"the clock, {ROUNDS[1]} rounds of one file, {ROUNDS[100]} of 100", measures)


def commit_measures(count: int, durability: Durability) -> Iterator[Measure]:
    files = "1 file" if count == 1 else f"{count} files"
    with scratch_folder() as folder:
        taken = ratios_in_turns(candidates(folder, count, durability), ROUNDS[count])
    bar = AT_MOST[durability, count]
    yield Measure(
        what=f"{files}, the commit: lock, recovery, staging, history", ratio=taken["commit"], bar=bar
    )
    yield Measure(what=f"{files}, a plan applied: loaded, replayed, committed, reported", ratio=taken["plan"])
    yield Measure(what=f"{files}, a batch applied: planned, committed, reported", ratio=taken["batch"])


def candidates(folder: Path, count: int, durability: Durability) -> dict[str, Callable[[int], object]]:
    """What is measured: each takes the number of a round and writes that version of its files."""
    made = {name: Documents.make(folder / name, count) for name in (PLAIN, "commit", "plan", "batch")}
    settings = Settings(durability=durability)
    root = Root.open(made["commit"].folder)
    engines = {name: Engine.open([made[name].folder], settings=settings) for name in ("plan", "batch")}

    def planned(version: int) -> Callable[[], object]:
        report = engines["plan"].plan(batch(made["plan"], version))
        assert report.ok, report
        return lambda: applied(engines["plan"], {"planId": report.plan_id})

    return {
        PLAIN: lambda version: lambda: plainly(made[PLAIN], version, durability),
        "commit": lambda version: lambda: commit(root, made["commit"], version, durability),
        "plan": planned,
        "batch": lambda version: lambda: applied(engines["batch"], batch(made["batch"], version)),
    }


def plainly(documents: Documents, version: int, durability: Durability) -> None:
    """What programs do that care about one file at a time."""
    for name in documents.names:
        data = text(name, version)
        temporary = documents.folder / f"{name}.tmp"
        with temporary.open("wb") as file:
            file.write(data)
            if durability is Durability.FULL:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(documents.folder / name)


def commit(root: Root, documents: Documents, version: int, durability: Durability) -> None:
    """What the engine does with the results of a plan."""
    files = [staged_file(name, version) for name in documents.names]
    with locked(root) as lock:
        recover(lock, foreign=False)
        staged = stage(
            lock,
            files,
            transaction=secrets.token_hex(8),
            note={"version": version},
            max_bytes=MAX_BYTES,
            durability=durability,
        )
        facts = publish(staged)
        collect(lock)
    assert facts.undoable, facts
    assert facts.durable is (durability is Durability.FULL), facts


def staged_file(name: str, version: int) -> StagedFile:
    result = text(name, version)
    return StagedFile(name, digest(text(name, version - 1)), result, digest(result))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def batch(documents: Documents, version: int) -> dict[str, object]:
    edit = {
        "op": "rename_heading",
        "headingPath": [f"Version {version - 1:06d}"],
        "newTitle": f"Version {version:06d}",
    }
    return {
        "files": [
            {"file": name, "baseSha256": digest(text(name, version - 1)), "edits": [edit]}
            for name in documents.names
        ]
    }


def applied(engine: Engine, data: object) -> None:
    report = engine.apply(data)
    assert report.applied, report


def ratios_in_turns(
    actions: Mapping[str, Callable[[int], Callable[[], object]]], rounds: int
) -> dict[str, float]:
    """Median of what each action costs against the plain one in the same round, by the clock on the wall."""
    ratios: dict[str, list[float]] = {name: [] for name in actions}
    for version in range(1, rounds + 1):
        taken: dict[str, float] = {}
        for name, prepared in actions.items():
            action = prepared(version)
            start = time.perf_counter()
            action()
            taken[name] = time.perf_counter() - start
        if version > 2:  # The first rounds import, make the state folders and try the exchange.
            for name in actions:
                ratios[name].append(taken[name] / taken[PLAIN])
    return {name: statistics.median(found) for name, found in ratios.items()}


if __name__ == "__main__":
    for part in durability_parts():
        print(part.title)
        for measure in part.measures:
            print(f"  {measure.what}: {times(measure.ratio or 0)}{'' if measure.is_met else ' (too much)'}")
