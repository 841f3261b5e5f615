"""Measure atomic commits against the same files written one at a time with a rename.

Times are wall times, since most of the cost is waiting for the disk. Files differ, like real documents, and
their contents are prepared before the clock starts.

The cost of a new file depends on its folder. ext4 without a journal, common on virtual machines, allocates an
inode near the folder and skips inodes freed in the last minutes: creating a file costs ten times as much
after many deletions, and each replacement deletes one. So all candidates run in turns, in another order each
time, on separate files in folders created side by side; after a few rounds they get new folders, and nothing
is deleted before the end. The result is the median over folders of the medians of the ratios of each round.

After a rename over a file, ext4 writes the new file at once, which waits if others use the disk; an exchange
does not. A busy disk therefore favours commits: measure on an idle one.
"""

import hashlib
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from measure import Measure, Part, times
from scratch import scratch_folder

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.commit import StagedFile, publish, stage
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import Durability
from mdplan.storage.lock import locked
from mdplan.storage.recovery import recover
from mdplan.storage.root import Root

SECTIONS = 40
MAX_BYTES = 1 << 20
PLAIN = "plain"
CANDIDATES = (PLAIN, "commit", "plan", "batch")
# By durability and number of files: how often a commit may cost what the plain way costs.
AT_MOST = {
    (Durability.FULL, 1): 6.0,
    (Durability.FULL, 100): 1.5,
    (Durability.PROCESS, 1): 2.0,
    (Durability.PROCESS, 100): 1.3,
}
PLAINLY = {Durability.FULL: "write + fsync + rename", Durability.PROCESS: "write + rename"}
# By the number of files: how often there are fresh folders, and the rounds in each of them.
FOLDERS = {1: 12, 100: 5}
ROUNDS = {1: 10, 100: 5}
# The first rounds import, make the state folders and try the exchange.
UNCOUNTED_ROUNDS = 2


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
        how = " and ".join(f"{FOLDERS[count]} times {ROUNDS[count]} rounds of {count}" for count in ROUNDS)
        yield Part(title, f"the clock, {how} in fresh folders", measures)


def commit_measures(count: int, durability: Durability) -> Iterator[Measure]:
    files = "1 file" if count == 1 else f"{count} files"
    taken = ratios(count, durability)
    bar = AT_MOST[durability, count]
    yield Measure(
        what=f"{files}, the commit: lock, recovery, staging, history", ratio=taken["commit"], bar=bar
    )
    yield Measure(what=f"{files}, a plan applied: loaded, replayed, committed, reported", ratio=taken["plan"])
    yield Measure(what=f"{files}, a batch applied: planned, committed, reported", ratio=taken["batch"])


def ratios(count: int, durability: Durability) -> dict[str, float]:
    """What each candidate costs against the plain one: the median of several folders."""
    with scratch_folder() as folder:
        found = [in_fresh_folders(folder, number, count, durability) for number in range(FOLDERS[count])]
    return {name: statistics.median(each[name] for each in found) for name in CANDIDATES}


def in_fresh_folders(folder: Path, number: int, count: int, durability: Durability) -> dict[str, float]:
    """The same of one folder for each candidate; the `number` of these folders says which is made first."""
    beside = folder / str(number)
    beside.mkdir()
    order = [*CANDIDATES[number % len(CANDIDATES) :], *CANDIDATES[: number % len(CANDIDATES)]]
    made = {name: Documents.make(beside / name, count) for name in order}
    with ExitStack() as opened:
        actions = candidates(made, durability, opened)
        return ratios_in_turns({name: actions[name] for name in order}, ROUNDS[count])


def candidates(
    made: Mapping[str, Documents], durability: Durability, opened: ExitStack
) -> dict[str, Callable[[int], Callable[[], object]]]:
    """What is measured: each takes the number of a round, and gives what writes that version of its files."""
    settings = Settings(durability=durability)
    root = Root.open(made["commit"].folder)
    opened.callback(root.close)
    engines = {name: Engine.open([made[name].folder], settings=settings) for name in ("plan", "batch")}
    for engine in engines.values():
        opened.enter_context(engine.workspace)

    def plain(version: int) -> Callable[[], object]:
        contents = {name: text(name, version) for name in made[PLAIN].names}
        return lambda: plainly(made[PLAIN].folder, contents, durability)

    def committed(version: int) -> Callable[[], object]:
        files = [staged_file(name, version) for name in made["commit"].names]
        return lambda: commit(root, files, version, durability)

    def planned(version: int) -> Callable[[], object]:
        report = engines["plan"].plan(batch(made["plan"], version))
        assert report.ok, report
        return lambda: applied(engines["plan"], {"planId": report.plan_id})

    def batched(version: int) -> Callable[[], object]:
        data = batch(made["batch"], version)
        return lambda: applied(engines["batch"], data)

    return dict(zip(CANDIDATES, (plain, committed, planned, batched), strict=True))


def plainly(folder: Path, contents: Mapping[str, bytes], durability: Durability) -> None:
    """Write files as a program does that protects one file at a time."""
    for name, data in contents.items():
        temporary = folder / f"{name}.tmp"
        with temporary.open("wb") as file:
            file.write(data)
            if durability is Durability.FULL:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(folder / name)


def commit(root: Root, files: Sequence[StagedFile], version: int, durability: Durability) -> None:
    """Commit the results of a plan as the engine does."""
    with locked(root) as lock:
        recover(lock)
        staged = stage(
            lock,
            files,
            transaction=secrets.token_hex(8),
            note=b"{}",
            now=time.time(),
            max_bytes=MAX_BYTES,
            durability=durability,
        )
        facts = publish(staged)
        lock.store.collect_if_due(200, 1 << 28, 0.0)
    assert facts.durable is (durability is Durability.FULL), facts


def staged_file(name: str, version: int) -> StagedFile:
    result = text(name, version)
    return StagedFile(FileName("", name), digest(text(name, version - 1)), result, digest(result))


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
    """Return the median ratio of each action to the plain one of the same round, in wall time."""
    found: dict[str, list[float]] = {name: [] for name in actions}
    for version in range(1, rounds + 1):
        taken: dict[str, float] = {}
        for name, prepared in actions.items():
            action = prepared(version)
            start = time.perf_counter()
            action()
            taken[name] = time.perf_counter() - start
        if version > UNCOUNTED_ROUNDS:
            for name in actions:
                found[name].append(taken[name] / taken[PLAIN])
    return {name: statistics.median(each) for name, each in found.items()}


if __name__ == "__main__":
    for part in durability_parts():
        print(part.title)
        for measure in part.measures:
            print(f"  {measure.what}: {times(measure.ratio or 0)}{'' if measure.is_met else ' (too much)'}")
