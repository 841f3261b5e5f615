"""A folder to work in, for the tests of the surfaces."""

from pathlib import Path

import pytest

from tests.surfaces.command_line import GUIDE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: it holds `guide.md`, and is a root because of its `.git`."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "guide.md").write_bytes(GUIDE.encode())
    monkeypatch.chdir(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "MDPLAN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return folder
