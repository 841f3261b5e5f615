"""Fixtures for hostile input: a folder with something to lose."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.hostile.trial import HERE, SECRET, Place

# Names of all collected tests of this folder, including deselected ones,
# each with its numbered cases.
COLLECTED = pytest.StashKey[list[str]]()


def pytest_itemcollected(item: pytest.Item) -> None:
    cases = [f"[case_{case:02}]" for marker in item.iter_markers("hostile_case") for case in marker.args]
    item.config.stash.setdefault(COLLECTED, []).append(" ".join([item.nodeid, *cases]))


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Prints the tests with their cases for `test_case_list.py`, which runs `--collect-only`."""
    return config.stash.get(COLLECTED, []) if config.option.collectonly else []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A root with one file, and a secret outside of it."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "here.md").write_bytes(HERE)
    (tmp_path / "x").write_bytes(SECRET)
    (tmp_path / "secret.md").write_bytes(SECRET)
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    yield Place(tmp_path, root, engine)
    engine.workspace.close()
