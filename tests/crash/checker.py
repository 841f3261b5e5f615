"""Crashes a commit at every point in every way, recovers, and checks that all files are old or all are new.

A crash is a kill, after which the disk is as programs saw it and may still lose what was never synced, or a
loss of power, after which it holds any of `Volume.crash_images`. Recovery itself is crashed in the same ways,
and that recovery too, until there is no state left that was not seen.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from mdplan.diagnostics import Severity
from mdplan.storage.commit import CommitResult, publish, stage
from mdplan.storage.filesystem import Durability
from mdplan.storage.folders import can_exchange
from mdplan.storage.lock import RootLock
from mdplan.storage.recovery import RecoveryResult, recover
from mdplan.storage.root import Root
from tests.crash.judge import Tree, documents, history_problems, mixture, strays
from tests.crash.model_disk import FOLDER, STORE, ModelDisk, ModelStore, disk_image, own
from tests.crash.scenario import Change, Scenario, digest
from tests.crash.volume import Event, Image, Named, Volume, numbers_of

TRANSACTION = "c0" * 8
NEXT = "f0" * 8
OLD, NEW = "old", "new"
KILLED, POWER_LOST = "killed", "power lost"
EITHER = frozenset({OLD, NEW})
MAX_BYTES = 1 << 16
# How many violations are enough to fail.
ENOUGH = 20
NEXT_CHANGE = Change("other.md", b"other\n", b"changed by the next commit\n")


@dataclass(frozen=True, slots=True)
class Crash:
    """How what `disk` went through was cut off: after `at` events, by being killed or by loss of power."""

    disk: ModelDisk
    at: int
    by: str

    def __str__(self) -> str:
        event = self.disk.events[self.at - 1] if self.at else None
        return f"{self.by} after {self.at} of {len(self.disk.events)} events ({told(self.disk, event)})"


@dataclass(frozen=True, slots=True)
class State:
    """A disk after crashes. `may_be` are the outcomes that recovery may have."""

    volume: Volume
    may_be: frozenset[str]
    crashes: tuple[Crash, ...]


@dataclass(slots=True)
class Found:
    """The trials of a check, and the faults."""

    points: int = 0
    states: int = 0
    violations: list[str] = field(default_factory=list)

    def __iadd__(self, other: Self) -> Self:
        self.points += other.points
        self.states += other.states
        self.violations += other.violations
        return self


class Checker:
    """Checks one scenario, up to `enough` violations.

    `folder` is a real, empty one: only the lock between processes is in it.
    """

    def __init__(self, scenario: Scenario, folder: Path, enough: int = ENOUGH) -> None:
        self.scenario = scenario
        self.enough = enough
        self.folder = folder
        self.earlier = {f"e{number}" * 8: changes for number, changes in enumerate(scenario.earlier)}
        volume = Volume(disk_image({**scenario.files(), STORE: b""}), scenario.torn_moves)
        for transaction, changes in self.earlier.items():
            disk = self.disk(volume)
            self.commit(disk, changes, transaction)
            volume = disk.volume
        self.start = scenario.before_commit(volume)
        there = numbers_of(self.start)
        self._bases = {change.path: there[change.path] for change in scenario.changes if change.path in there}
        self.old = documents(self.start.image())
        self.new = self._expected()
        self._judged: dict[tuple[Image, str], list[str]] = {}

    def disk(self, volume: Volume, make: type[ModelDisk] = ModelDisk) -> ModelDisk:
        """A disk of the scenario that holds `volume`, in a process that has tried its exchange before.

        Unless the scenario is about that trial, it would only bury what matters under names that do not.
        """
        disk = make(
            volume, mounted_at=str(self.folder), exchange=self.scenario.exchange, links=self.scenario.links
        )
        if not self.scenario.tries_exchange:
            root = disk.open_root(str(self.folder))
            can_exchange(disk, root, ("trial-a", "trial-b"))
            disk.release(root)
            disk.volume = volume.copy()
            disk.events.clear()
        return disk

    def commit(self, disk: ModelDisk, changes: tuple[Change, ...], transaction: str) -> CommitResult:
        """Commit the changes, as the engine does."""
        with self.lock(disk) as lock:
            recover(lock)
            staged = stage(
                lock,
                [change.staged() for change in changes],
                transaction=transaction,
                note=b"{}",
                now=0.0,
                max_bytes=MAX_BYTES,
                durability=self.scenario.durability,
                removed_folders=self.scenario.removed_folders if transaction == TRANSACTION else (),
            )
            return publish(staged)

    def run(self, disk: ModelDisk | None = None) -> ModelDisk:
        """Return the disk (by default a faultless one) after the scenario's commit, without a crash."""
        disk = disk or self.disk(self.start)
        facts = self.commit(disk, self.scenario.changes, TRANSACTION)
        assert facts.durable is (self.scenario.durability is Durability.FULL)
        assert documents(disk.volume.image()) == self.new
        return disk

    def check(self, disk: ModelDisk, depth: int | None = None) -> Found:
        """Crash the commit that `disk` went through, then `depth` recoveries in a row, or any number."""
        found = self.check_states(self.crashed(disk, EITHER, NEW), depth)
        found.points += len(disk.events) + 1
        return found

    def check_states(self, states: Iterable[State], depth: int | None = None) -> Found:
        """Recover from each of `states`, and from every crash of that recovery, and so on `depth` times."""
        found = Found()
        waiting = deque([iter(states)])
        seen: dict[object, frozenset[str]] = {}
        while waiting and len(found.violations) < self.enough:
            state = next(waiting[0], None)
            if state is None:
                waiting.popleft()
                continue
            key = state.volume.key()
            if key in seen and seen[key] <= state.may_be:
                continue
            seen[key] = state.may_be
            found.states += 1
            disk = self.disk(state.volume)
            outcome, problems = self.recovered(disk, state)
            story = " then ".join(map(str, state.crashes)) if problems else ""
            found.violations += (f"{problem}; {story}" for problem in problems)
            if outcome is not None and not problems and (depth is None or len(state.crashes) <= depth):
                found.points += len(disk.events) + 1
                waiting.append(self.crashed(disk, state.may_be, outcome, state.crashes))
        return found

    def crashed(
        self, disk: ModelDisk, may_be: frozenset[str], outcome: str, crashes: tuple[Crash, ...] = ()
    ) -> Iterator[State]:
        """Every state in which what `disk` went through can be cut off; at its end the outcome is certain.

        The latest come first: a fault of the protocol shows where most was done.
        """
        moments = [(volume.copy(), event) for volume, event in disk.moments()]
        volume, _ = moments.pop()
        at = len(moments)
        yield from self.pending_transactions(volume, frozenset({outcome}), (*crashes, Crash(disk, at, "")))
        while moments:
            at -= 1
            volume, event = moments.pop()
            yield from self.pending_transactions(volume, may_be, (*crashes, Crash(disk, at, "")), event)

    def pending_transactions(
        self, volume: Volume, may_be: frozenset[str], crashes: tuple[Crash, ...], event: Event | None = None
    ) -> Iterator[State]:
        """Return the states that a crash can leave now; with `event`, only those that it added."""
        *before, now = crashes
        yield State(volume, may_be, (*before, Crash(now.disk, now.at, KILLED)))
        if self.scenario.durability is Durability.PROCESS:
            return
        if all(crash.by == KILLED for crash in before):
            volume = self._blameless(volume)
        for image in volume.crash_images(event):
            lost = Volume(image, self.scenario.torn_moves)
            yield State(lost, may_be, (*before, Crash(now.disk, now.at, POWER_LOST)))

    @contextmanager
    def lock(self, disk: ModelDisk) -> Iterator[RootLock]:
        """Hold the lock of the root on `disk`, and see that nothing stays open."""
        root = Root.open(self.folder, filesystem=disk)
        try:
            yield RootLock(root, ModelStore(disk))
        finally:
            root.close()
        assert not disk.opened, "a descriptor stayed open"

    def goes_on(self, state: State) -> list[str]:
        """What is wrong when the next commit finds that state, recovers, and changes another file."""
        disk = self.disk(state.volume)
        self.commit(disk, (NEXT_CHANGE,), NEXT)
        left, old, new = (dict(tree) for tree in (documents(disk.volume.image()), self.old, self.new))
        changed, *_ = [tree.pop(NEXT_CHANGE.path).data for tree in (left, old, new)]
        fits = any(left == {OLD: old, NEW: new}[outcome] for outcome in state.may_be)
        if not fits or changed != NEXT_CHANGE.new:
            return [f"the next commit leaves {mixture(left, old, new)}; {state.crashes[-1]}"]
        return []

    def _expected(self) -> Tree:
        """Return the documents after the commit: bytes from the scenario, everything else unchanged."""
        new = dict(self.old)
        for change in self.scenario.changes:
            path = change.path
            if change.new is None:
                del new[path]
                continue
            for depth in range(1, path.count("/") + 1):
                new.setdefault("/".join(path.split("/")[:depth]) + "/", own(mode=FOLDER))
            new[path] = self.old.get(change.like or path, own())._replace(data=change.new)
        return {
            path: content
            for path, content in new.items()
            if path.rstrip("/") not in self.scenario.removed_folders
        }

    def _blameless(self, volume: Volume) -> Volume:
        """The disk, with bases that their author did not sync kept for as long as nothing replaces them."""
        there = numbers_of(volume)
        dirty = [
            number
            for path, number in self._bases.items()
            if there.get(path) == number and volume.kept[number] != volume.content[number]
        ]
        if not dirty:
            return volume
        volume = volume.copy()
        for number in dirty:
            volume.kept[number] = volume.content[number]
        return volume

    def recovered(self, disk: ModelDisk, state: State) -> tuple[str | None, list[str]]:
        """The outcome of a recovery, and what is wrong with it."""
        with self.lock(disk) as lock:
            recovered = recover(lock, settles=True)
        image = disk.volume.image()
        left = documents(image)
        outcome = next((name for name, tree in ((OLD, self.old), (NEW, self.new)) if left == tree), None)
        problems = [
            f"recovery reports {problem.code} ({problem.message})"
            for problem in recovered.problems
            if problem.severity is Severity.ERROR
        ]
        if outcome is None:
            problems.append(f"files are mixed: {mixture(left, self.old, self.new)}")
        elif outcome not in state.may_be:
            problems.append(f"all files are {outcome}")
        else:
            problems += self._judge(image, outcome)
            # If files have only one name and cannot be exchanged, the plan in the record is dropped.
            if outcome == OLD and (self.scenario.exchange or self.scenario.links):
                problems += self._thrown_away(documents(state.volume.image()), image)
        return outcome, problems

    def _judge(self, image: Image, outcome: str) -> list[str]:
        """What is wrong in the store and the folders after a recovery with that outcome."""
        if (image, outcome) not in self._judged:
            disk = self.disk(Volume(image))
            problems = [*strays(image, ModelStore(disk))]
            with self.lock(disk) as lock:
                again = recover(lock, settles=True)
            if disk.events or again != RecoveryResult():
                problems.append(f"a second recovery finds something to do: {again}, {disk.events}")
            # A file system that loses files in a rename may lose old versions, but nothing else.
            if not self.scenario.torn_moves:
                committed = {*self.earlier} | ({TRANSACTION} if outcome == NEW else set())
                problems += history_problems(ModelStore(disk), committed)
            self._judged[image, outcome] = problems
        return self._judged[image, outcome]

    def _thrown_away(self, before: Tree, image: Image) -> Iterator[str]:
        """Return what was visible before the recovery, and is now neither in place nor in the history."""
        disk = self.disk(Volume(image))
        store = ModelStore(disk)
        for change in self.scenario.changes:
            visible = before.get(change.path)
            if (
                change.new is not None
                and visible is not None
                and visible.data == change.new
                and store.content(digest(change.new) or "") is None
            ):
                yield f"what {change.path} had been changed to is gone"


def told(disk: ModelDisk, event: Event | None) -> str:
    """Return the event with its paths."""
    paths = {number: path for path, number in numbers_of(disk.volume).items()}
    match event:
        case None:
            return "nothing done"
        case Named(names):
            return ", ".join(
                f"{paths.get(folder, folder)}{name} names {'nothing' if number is None else number}"
                for folder, name, number in names
            )
        case _:
            return f"{type(event).__name__} {paths.get(event.number, event.number)}"
