"""What a commit asks of the disk: nothing twice that cannot have changed under its lock."""

from collections import Counter
from pathlib import Path

import pytest

from mdplan.storage.filesystem import Durability, FileSystem, Step
from mdplan.storage.lock import locked
from mdplan.storage.root import Root
from mdplan.storage.transactions import collect
from tests.commits import change, commit

FILES = 20
# What one commit needs whatever it writes, and what each file adds.
ALWAYS = Counter({Step.OPEN_DIRECTORY: 3, Step.LIST: 1, Step.CREATE: 1, Step.RENAME: 3})
EACH = Counter({Step.CREATE: 1, Step.WRITE: 1, Step.EXCHANGE: 1, Step.MOVE: 1, Step.OPEN_FILE: 4})


class CountingDisk(FileSystem):
    def __init__(self) -> None:
        super().__init__()
        self.steps: Counter[Step] = Counter()

    def reach(self, step: Step) -> None:
        self.steps[step] += 1
        super().reach(step)


def steps_of(folder: Path, count: int) -> Counter[Step]:
    """The steps of a commit of so many files, when the exchange was tried and the folders are made."""
    disk = CountingDisk()
    for number in range(count):
        (folder / f"{number}.md").write_bytes(b"0")
    for old, new in ((b"0", b"1"), (b"1", b"2")):
        disk.steps.clear()
        files = [change(f"{number}.md", old, new) for number in range(count)]
        if commit(folder, *files, disk=disk, durability=Durability.PROCESS).cas == "weak":
            pytest.skip("two files cannot change places here")
    return disk.steps


@pytest.mark.requirement("commit-once-1")
def test_folders_of_a_commit_are_opened_and_listed_once(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, 1)

    assert {step: steps[step] for step in ALWAYS} == ALWAYS + Counter({Step.CREATE: EACH[Step.CREATE]})


def test_further_files_add_only_steps_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    one, many = steps_of(tmp_path / "one", 1), steps_of(tmp_path / "many", 1 + FILES)
    added = {step: (many[step] - one[step]) / FILES for step in Step}

    assert {step: added[step] for step in EACH} == EACH
    assert {step: added[step] for step in ALWAYS - EACH} == dict.fromkeys(ALWAYS - EACH, 0)
    assert sum(added.values()) <= 32


def test_history_within_its_limits_is_not_read(tmp_path: Path) -> None:
    """Its sizes are looked at with every 16th transaction."""
    (tmp_path / "a.md").write_bytes(b"0")
    for number in range(16):
        commit(tmp_path, change("a.md", b"%d" % number, b"%d" % (number + 1)))
    disk = CountingDisk()
    with locked(Root.open(tmp_path, filesystem=disk)) as lock:
        assert collect(lock) == ()

    assert disk.steps[Step.LIST] == 2
    assert disk.steps[Step.READ] == 0
