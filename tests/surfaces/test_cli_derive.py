"""`mdplan derive`: its batch goes to `mdplan apply` as it is."""

from pathlib import Path

import pytest

from tests.surfaces.command_line import mdplan

OLD = "# Tea\n\nBoil the water first.\n"
NEW = "# Tea\n\nBoil the water twice.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "old.md").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.md").write_text(NEW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_derived_batch_is_applied_to_a_newer_version(folder: Path) -> None:
    (folder / "tea.md").write_text(f"Preface.\n\n{OLD}", encoding="utf-8")
    batch = mdplan("derive", "old.md", "new.md", "--file", "tea.md")
    (folder / "batch.json").write_bytes(batch.out)
    applied = mdplan("apply", "batch.json")

    assert (batch.code, applied.code) == (0, 0)
    assert (folder / "tea.md").read_text(encoding="utf-8") == f"Preface.\n\n{NEW}"


def test_json_is_a_report_with_the_batch(folder: Path) -> None:
    report = mdplan("derive", "old.md", "new.md", "--json").json

    assert (report["ok"], report["batch"]["file"]) == (True, "old.md")


def test_same_versions_need_no_batch(folder: Path) -> None:
    found = mdplan("derive", "old.md", "old.md")

    assert (found.code, found.out, "are the same" in found.err) == (0, b"", True)


def test_missing_file_is_refused(folder: Path) -> None:
    found = mdplan("derive", "old.md", "gone.md")

    assert (found.code, "`gone.md` cannot be read" in found.err) == (2, True)
