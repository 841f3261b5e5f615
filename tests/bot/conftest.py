"""What tests of the bot on branches share: who commits, and a manifest on the disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.fake_forge import FakeForge, serve
from tests.bot.repository import IDENTITY, MANIFEST


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git knows who commits."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The file of a manifest."""
    path = tmp_path / "bot.yml"
    path.write_text(MANIFEST, encoding="utf-8")
    return path


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """A forge that listens on this machine, as the environment names it."""
    yield from serve(monkeypatch)
