"""Another program that replaces a file in the middle of a commit, without asking for the lock."""

import stat
from collections.abc import Iterator

from mdplan.diagnostics import Code, Problems
from mdplan.storage.filesystem import Step, StorageRefused
from mdplan.storage.recovery import recover
from tests.crash.checker import TRANSACTION, Checker, Found
from tests.crash.judge import Tree, documents, mixture, strays
from tests.crash.model_disk import ModelDisk, ModelStore, own
from tests.crash.scenario import digest
from tests.crash.volume import Changed, Made, Named, Volume, numbers_of

WRITTEN = b"written by another program\n"
# What says that something waits for a person.
WAITS = frozenset({Code.RECOVERY_CONFLICT, Code.RECOVERY_REQUIRED})


class SharedDisk(ModelDisk):
    """A disk on which another program replaces `path` before operation number `nth` (from 1)."""

    path = ""
    nth = 0
    reached = 0
    # What that program replaced, if anything.
    replaced: bytes | None = None
    # After how many events it had run.
    ran_at = -1

    def before(self, step: Step) -> None:
        self.reached += 1
        if self.reached == self.nth:
            self._replace()

    def _replace(self) -> None:
        folder, _, name = self.path.rpartition("/")
        there = numbers_of(self.volume)
        if folder and f"{folder}/" not in there:
            return
        if self.path in there:
            self.replaced = self.volume.content[there[self.path]].data
        number = len(self.volume.content)
        self.happens(Made(number, own(), is_folder=False))
        self.happens(Changed(number, own(WRITTEN)))
        self.happens(Named(((there[f"{folder}/" if folder else ""], name, number),)))
        self.ran_at = len(self.events)


def check_stranger(checker: Checker) -> Found:
    """Replace each file at each operation of the commit, and kill the commit at each moment after that."""
    counting = checker.disk(checker.start, SharedDisk)
    assert isinstance(counting, SharedDisk)
    counting.reached = 0
    checker.run(counting)
    found = Found()
    for change in checker.scenario.changes:
        for nth in range(1, counting.reached + 1):
            if len(found.violations) < checker.enough:
                found += _with_stranger(checker, change.path, nth)
    return found


def _with_stranger(checker: Checker, path: str, nth: int) -> Found:
    """The same for one file and one operation; nothing is tried where the file can have no name yet."""
    disk = checker.disk(checker.start, SharedDisk)
    assert isinstance(disk, SharedDisk)
    disk.reached, disk.path, disk.nth = 0, path, nth
    problems = _refused(checker, disk)
    if disk.ran_at < 0:
        return Found()
    told = f"another program wrote {path} before operation {nth}"
    found = Found(points=1)
    found.violations += (f"{told}: {each}" for each in _judge(checker, disk, disk.volume, problems))
    for at, (volume, _) in enumerate(disk.moments()):
        if disk.ran_at <= at < len(disk.events):
            found.states += 1
            for each in _recovered(checker, disk, volume):
                found.violations.append(f"{told}, killed after {at} events: {each}")
    return found


def _refused(checker: Checker, disk: SharedDisk) -> Problems:
    """Why the commit on that disk was refused; nothing when it was not."""
    try:
        checker.commit(disk, checker.scenario.changes, TRANSACTION)
    except StorageRefused as refused:
        return refused.problems
    return ()


def _recovered(checker: Checker, disk: SharedDisk, volume: Volume) -> Iterator[str]:
    """Return faults after `mdplan recover`, and after the person has kept the current content."""
    after = checker.disk(volume)
    with checker.lock(after) as lock:
        problems = recover(lock, settles=True).problems
    yield from _judge(checker, disk, after.volume, problems)
    with checker.lock(after) as lock:
        recover(lock, settles=True, keep="current")
    yield from _judge(checker, disk, after.volume, ())
    yield from strays(after.volume.image(), ModelStore(after))


def _judge(checker: Checker, disk: SharedDisk, volume: Volume, problems: Problems) -> Iterator[str]:
    """Return what was lost: the other program's file, its last version, or the rest of the batch."""
    image = volume.image()
    left = documents(image)
    if disk.path not in left or left[disk.path].data != WRITTEN:
        yield f"its file is {left.get(disk.path)}"
    rest, old, new = (_without(tree, disk.path) for tree in (left, checker.old, checker.new))
    if rest not in (old, new) and not WAITS & {problem.code for problem in problems}:
        yield f"the others are {mixture(rest, old, new)}"
    base = next(change.old for change in checker.scenario.changes if change.path == disk.path)
    kept = base is not None and ModelStore(checker.disk(volume)).content(digest(base) or "")
    if base not in (None, disk.replaced) and not kept and base not in {node.content.data for node in image}:
        yield "the old content, which it has not replaced, is gone"


def _without(tree: Tree, path: str) -> Tree:
    """The files but that one and what recovery left because that one was changed; its folders may stay."""
    return {name: content for name, content in tree.items() if name != path and stat.S_ISREG(content.mode)}
