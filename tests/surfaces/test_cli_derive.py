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

    assert (found.code, "there is no file `gone.md`" in found.err) == (2, True)


@pytest.mark.parametrize("form", ["--yaml", "--short", "--quiet"])
def test_folders_are_one_batch_that_creates_and_deletes(folder: Path, form: str) -> None:
    versions = {
        "before": {"tea.md": OLD, "notes/gone.md": "Gone.\n", "same.md": "Same.\n", ".hidden": "a\n"},
        "after": {"tea.md": NEW, "notes/new.md": "# New\n\nText.\n", "same.md": "Same.\n", ".hidden": "b\n"},
        "there": {"tea.md": f"Preface.\n\n{OLD}", "notes/gone.md": "Gone.\n", "same.md": "Changed.\n"},
    }
    for name, files in versions.items():
        for path, text in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, encoding="utf-8")
    batch = mdplan("derive", form, "before", "after")
    (folder / "batch.yaml").write_bytes(batch.out)
    applied = mdplan("apply", "batch.yaml", "--root", "there")

    assert (batch.code, applied.code) == (0, 0)
    assert {
        path.relative_to(folder / "there").as_posix(): path.read_text(encoding="utf-8")
        for path in (folder / "there").rglob("*.md")
    } == {"tea.md": f"Preface.\n\n{NEW}", "notes/new.md": "# New\n\nText.\n", "same.md": "Changed.\n"}


def test_short_form_has_no_implied_operation(folder: Path) -> None:
    full, short = (mdplan("derive", *form, "old.md", "new.md", "--json").json for form in ((), ("--short",)))

    assert full["batch"] == {**short["batch"], "op": "replace_lines"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("here", "here", "--file", "a.md"), "`--file` names one file"),
        (("here", "old.md"), "one is a folder, and the other is none"),
    ],
)
def test_folder_and_file_cannot_be_compared(folder: Path, arguments: tuple[str, ...], problem: str) -> None:
    (folder / "here").mkdir()
    found = mdplan("derive", *arguments)

    assert (found.code, problem in found.err) == (2, True)


def test_binary_new_file_is_refused(folder: Path) -> None:
    (folder / "here").mkdir()
    (folder / "there").mkdir()
    (folder / "there" / "a.md").write_bytes(b"\xef\xbb\xbf# A\n")
    found = mdplan("derive", "here", "there")

    assert (found.code, "byte order mark" in found.err) == (2, True)
