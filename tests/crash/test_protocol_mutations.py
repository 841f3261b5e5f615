"""Every sync of a commit and every look at what it displaces is needed: the checker fails without it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from mdplan.storage import commit as swap
from mdplan.storage import recovery as restore
from mdplan.storage.commit import StagedTarget
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.neighbours import FoundContents, StagedPlace
from mdplan.storage.recovery import RestoreAction, RootState, recover
from mdplan.storage.store import FileEntry
from tests.crash.checker import EITHER, NEW, TRANSACTION, Checker, State
from tests.crash.model_disk import ModelDisk
from tests.crash.scenario import Scenario, created, deleted, renamed, replaced
from tests.crash.stranger import check_stranger
from tests.crash.volume import Volume, numbers_of

ROW = "protocol mutations"
BEFORE = (replaced("before.md"),)
MIXED = (
    *replaced("a.md", "d/b.md"),
    *created("x/y/new.md"),
    *deleted("d/gone.md"),
    *renamed("d/from.md", "to.md"),
)
# Whoever wrote the files has not synced them. The first commit also makes the state folder.
SYNCED = (
    Scenario("first-commit", replaced("a.md"), synced_bases=False),
    Scenario("mixed", MIXED, BEFORE, synced_bases=False),
    Scenario("link", replaced("a.md", "d/b.md"), BEFORE, exchange=False, synced_bases=False),
    Scenario("copy", replaced("a.md"), BEFORE, exchange=False, links=False, synced_bases=False),
)


RECOVERED = Scenario(
    "recovered",
    (*replaced("a.md"), *created("x/new.md"), *deleted("d/gone.md"), *renamed("d/from.md", "to.md")),
    BEFORE,
)


# By path and number of earlier syncs: restored files, then removed ones, the history, and the commit point
# behind which a process was killed.
NEEDED_BY_RECOVERY = (("the root", 0), ("d/", 0), ("the root", 1), (f".mdplan-{TRANSACTION}-0.tmp", 0))


class ForgetfulDisk(ModelDisk):
    """A disk whose sync number `ignored` (from 0), of a file or folder, does nothing and says nothing."""

    ignored = -1
    # The paths of all that was to be synced, in order.
    synced: Sequence[str] = ()

    def sync(self, descriptor: int) -> None:
        if not self._ignores(descriptor):
            super().sync(descriptor)

    def sync_directory(self, directory: int) -> bool:
        return self._ignores(directory) or super().sync_directory(directory)

    def _ignores(self, descriptor: int) -> bool:
        paths = {number: path for path, number in numbers_of(self.volume).items()}
        number = self.opened[descriptor]
        # A folder that was made for the commit may be gone by now.
        self.synced = [*self.synced, paths.get(number, "what has no name") or "the root"]
        return len(self.synced) - 1 == self.ignored


def forgetful(checker: Checker, volume: Volume, ignored: int) -> ForgetfulDisk:
    """A disk that holds `volume` and ignores that sync; what was synced while it was made does not count."""
    disk = checker.disk(volume, ForgetfulDisk)
    disk.ignored, disk.synced = ignored, ()
    return disk


@pytest.mark.requirement("commit-3")
@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SYNCED])
def test_removing_any_sync_of_a_commit_can_lose_data(scenario: Scenario, tmp_path: Path) -> None:
    checker = Checker(scenario, tmp_path, enough=1)
    healthy = forgetful(checker, checker.start, -1)
    checker.run(healthy)
    not_needed = []
    for ignored, path in enumerate(healthy.synced):
        disk = forgetful(checker, checker.start, ignored)
        checker.run(disk)
        found = checker.check(disk, depth=0)
        if not found.violations:
            found = checker.check(disk, depth=1)
        if not found.violations:
            not_needed.append(f"sync {ignored}, of {path}")

    assert healthy.synced
    assert not_needed == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_removing_any_sync_of_recovery_can_lose_data(tmp_path: Path) -> None:
    """Each is needed after some crash; others, of folders in which nothing happened, are for all cases."""
    checker = Checker(RECOVERED, tmp_path, enough=1)
    # With the earlier commit out of the way, no sync is made for its sake that would stand in for another.
    settled = checker.disk(checker.start)
    with checker.lock(settled) as lock:
        recover(lock)
    checker.start = Volume(settled.volume.image())
    states = {state.volume.key(): state for state in checker.crashed(checker.run(), EITHER, NEW)}
    wanted = set(NEEDED_BY_RECOVERY)
    for state in states.values():
        healthy = forgetful(checker, state.volume, -1)
        checker.recovered(healthy, state)
        for ignored, path in enumerate(healthy.synced):
            sync = path, healthy.synced[:ignored].count(path)
            if sync in wanted and can_lose(checker, state, ignored):
                wanted.discard(sync)

    assert wanted == set()


def can_lose(checker: Checker, state: State, ignored: int) -> bool:
    """Return True if a recovery from that state without one sync, or a crash of it, ends in a violation."""
    disk = forgetful(checker, state.volume, ignored)
    outcome, problems = checker.recovered(disk, state)
    if problems or outcome is None:
        return True
    crashed = checker.crashed(disk, state.may_be, outcome, state.crashes)
    return bool(checker.check_states(crashed, depth=0).violations)


def exchange_blindly(state: RootState, target: StagedTarget) -> None:
    place = target.place
    state.root.filesystem.exchange(place.folder, place.temporary, place.leaf)


def delete_blindly(disk: FileSystem, target: StagedTarget) -> None:
    disk.rename(target.place.folder, target.place.leaf, target.place.aside)


def create_blindly(disk: FileSystem, target: StagedTarget) -> None:
    disk.rename(target.place.folder, target.place.temporary, target.place.leaf)


def way_of_created_without_hash(entry: FileEntry, found: FoundContents) -> RestoreAction:
    return RestoreAction.NOTHING if found.target is None else RestoreAction.TAKE_AWAY


def take_away_without_hash(place: StagedPlace, found: FoundContents) -> bool:
    place.folders.root.filesystem.unlink(place.folder, place.leaf)
    return True


def way_of_replaced_without_hash(entry: FileEntry, found: FoundContents) -> RestoreAction:
    return RestoreAction.NOTHING if found.temporary in (None, entry.result) else RestoreAction.PUT_BACK


def exchange_back_blindly(place: StagedPlace, source: str) -> bool:
    place.folders.root.filesystem.exchange(place.folder, source, place.leaf)
    return True


def restore_blindly(place: StagedPlace, source: str) -> bool:
    place.folders.root.filesystem.rename(place.folder, source, place.leaf)
    return True


def way_of_deleted_without_look(found: FoundContents) -> RestoreAction:
    return RestoreAction.NOTHING if found.aside is None else RestoreAction.RESTORE


REPLACE = Scenario("replace", replaced("a.md", "b.md"), BEFORE)
CREATE = Scenario("create", created("new.md"), BEFORE)
DELETE = Scenario("delete", deleted("gone.md"), BEFORE)
LOOKS = (
    pytest.param(REPLACE, {(swap, "_exchange"): exchange_blindly}, id="at what an exchange displaced"),
    pytest.param(DELETE, {(swap, "_delete"): delete_blindly}, id="at what was deleted"),
    pytest.param(CREATE, {(swap, "_create"): create_blindly}, id="at what is there already"),
    pytest.param(
        CREATE,
        {
            (restore, "_plan_for_created"): way_of_created_without_hash,
            (restore, "_take_away"): take_away_without_hash,
        },
        id="at a created file that is taken away",
    ),
    pytest.param(
        REPLACE,
        {
            (restore, "_plan_for_replaced"): way_of_replaced_without_hash,
            (restore, "exchange_back"): exchange_back_blindly,
        },
        id="at a replaced file that is put back",
    ),
    pytest.param(
        DELETE,
        {(restore, "_plan_for_deleted"): way_of_deleted_without_look, (restore, "_restore"): restore_blindly},
        id="at the place of a deleted file that is put back",
    ),
)


@pytest.mark.parametrize(("scenario", "changed"), LOOKS)
def test_removing_any_recheck_of_a_commit_can_lose_foreign_writes(
    scenario: Scenario,
    changed: dict[tuple[ModuleType, str], Callable[..., object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checker = Checker(scenario, tmp_path, enough=1)
    for (module, name), blind in changed.items():
        monkeypatch.setattr(module, name, blind)
    found = check_stranger(checker)

    assert found.violations
