"""Every sync of a commit and every look at what it displaces is needed: the checker fails without it."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from mdplan.storage import put_back, swap
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.journal_record import Entry
from mdplan.storage.place import Found, Place
from mdplan.storage.put_back import Way
from mdplan.storage.root_state import RootState
from mdplan.storage.staged import Target
from tests.crash.checker import Checker
from tests.crash.model_disk import ModelDisk
from tests.crash.scenario import Scenario, created, deleted, renamed, replaced
from tests.crash.stranger import check_stranger
from tests.crash.tally import Tally
from tests.crash.volume import numbers_of

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


class ForgetfulDisk(ModelDisk):
    """A disk whose sync number `ignored` (from 0), of a file or folder, does nothing and says nothing."""

    ignored = -1
    made = 0
    synced = ""

    def sync(self, descriptor: int) -> None:
        if not self._ignores(descriptor):
            super().sync(descriptor)

    def sync_directory(self, directory: int) -> bool:
        return self._ignores(directory) or super().sync_directory(directory)

    def _ignores(self, descriptor: int) -> bool:
        self.made += 1
        if self.made - 1 != self.ignored:
            return False
        paths = {number: path for path, number in numbers_of(self.volume).items()}
        self.synced = paths[self.opened[descriptor]] or "the root"
        return True


def syncs(scenario: Scenario, folder: Path) -> int:
    """How many syncs a commit makes."""
    checker = Checker(scenario, folder)
    disk = checker.disk(checker.start, ForgetfulDisk)
    checker.run(disk)
    return disk.made


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SYNCED])
def test_commit_without_any_one_of_its_syncs_can_lose_something(
    scenario: Scenario, tmp_path: Path, tally: Tally
) -> None:
    not_needed = []
    for ignored in range(syncs(scenario, tmp_path)):
        checker = Checker(scenario, tmp_path, enough=1)
        disk = checker.disk(checker.start, ForgetfulDisk)
        disk.made, disk.ignored = 0, ignored
        checker.run(disk)
        found = checker.check(disk, depth=0)
        if not found.violations:
            found = checker.check(disk, depth=1)
        tally(ROW, points=1, states=found.states)
        if not found.violations:
            not_needed.append(f"sync {ignored}, of {disk.synced}")

    assert not_needed == []


def exchange_blindly(state: RootState, target: Target) -> None:
    place = target.place
    state.root.filesystem.exchange(place.folder, place.temporary, place.leaf)


def delete_blindly(disk: FileSystem, target: Target) -> None:
    disk.rename(target.place.folder, target.place.leaf, target.place.aside)


def create_blindly(disk: FileSystem, target: Target) -> None:
    disk.rename(target.place.folder, target.place.temporary, target.place.leaf)


def way_of_created_without_hash(entry: Entry, found: Found) -> Way:
    return Way.NOTHING if found.target is None else Way.TAKE_AWAY


def take_away_without_hash(place: Place, found: Found) -> bool:
    place.folders.root.filesystem.unlink(place.folder, place.leaf)
    return True


def way_of_replaced_without_hash(entry: Entry, found: Found) -> Way:
    return Way.NOTHING if found.temporary in (None, entry.result) else Way.PUT_BACK


def exchange_back_blindly(place: Place, source: str) -> bool:
    place.folders.root.filesystem.exchange(place.folder, source, place.leaf)
    return True


def restore_blindly(place: Place, source: str) -> bool:
    place.folders.root.filesystem.rename(place.folder, source, place.leaf)
    return True


def way_of_deleted_without_look(found: Found) -> Way:
    return Way.NOTHING if found.aside is None else Way.RESTORE


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
            (put_back, "_way_of_created"): way_of_created_without_hash,
            (put_back, "_take_away"): take_away_without_hash,
        },
        id="at a created file that is taken away",
    ),
    pytest.param(
        REPLACE,
        {
            (put_back, "_way_of_replaced"): way_of_replaced_without_hash,
            (put_back, "exchange_back"): exchange_back_blindly,
        },
        id="at a replaced file that is put back",
    ),
    pytest.param(
        DELETE,
        {
            (put_back, "_way_of_deleted"): way_of_deleted_without_look,
            (put_back, "_restore"): restore_blindly,
        },
        id="at the place of a deleted file that is put back",
    ),
)


@pytest.mark.parametrize(("scenario", "changed"), LOOKS)
def test_commit_without_one_of_its_looks_can_lose_what_another_program_wrote(
    scenario: Scenario,
    changed: dict[tuple[ModuleType, str], Callable[..., object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tally: Tally,
) -> None:
    checker = Checker(scenario, tmp_path, enough=1)
    for (module, name), blind in changed.items():
        monkeypatch.setattr(module, name, blind)
    found = check_stranger(checker)
    tally(ROW, points=1, states=found.states)

    assert found.violations
