"""What people do twenty times a day: a command, what it changes, and what it says."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)
SITE: dict[str, str] = CASE_TABLES.value("SITE")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in SITE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder: Path) -> dict[str, str]:
    """The text of each file by its name."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def changed(before: dict[str, str], changes: dict[str, Any]) -> dict[str, str]:
    """`before` with `changes`: old and new texts in pairs, also under another name; None deletes a file."""
    after = {name: text for name, text in before.items() if name not in changes}
    for name, change in changes.items():
        if change is not None:
            new_name, pairs = (change["as"], change["with"]) if isinstance(change, dict) else (name, change)
            after[new_name] = before.get(name, "")
            for old, new in pairs:
                assert old in after[new_name]
                after[new_name] = after[new_name].replace(old, new) if old else new
    return after


@CASE_TABLES.parametrize("run", "changes", "says")
def test_job_is_done_by_one_command(site: Path, run: list[str], changes: dict[str, Any], says: str) -> None:
    before = files_in(site)

    done = mdplan(*run, "--yes")

    assert done.code == 0, done.err
    assert files_in(site) == changed(before, changes)
    assert all(line in done.err for line in says.splitlines()), done.err
