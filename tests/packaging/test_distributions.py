"""The wheel holds the package and nothing else, and the source archive all that makes and tests it."""

import shutil
import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from mdplan import __version__
from tests.conftest import REPOSITORY
from tests.packaging.conftest import Distributions, build


def tracked(*folders: str) -> set[str]:
    """Return the paths in the repository that still exist."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("no git checkout: only git knows which files are part of the repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *folders], cwd=REPOSITORY, capture_output=True, check=True
    )
    names = listed.stdout.decode().rstrip("\0").split("\0")
    # Links to folders are not archived.
    return {name for name in names if (REPOSITORY / name).exists() and not (REPOSITORY / name).is_symlink()}


def archived(archive: Path) -> set[str]:
    """Paths in a source archive, below its one folder."""
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        return message_from_bytes(opened.read(f"mdplan-{__version__}.dist-info/METADATA"))


def test_wheel_contains_only_the_package(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as opened:
        names = set(opened.namelist())
    about = f"mdplan-{__version__}.dist-info/"
    package = {name for name in names if not name.startswith(about)}

    assert {name.partition("/")[0] for name in package} == {"mdplan"}
    assert tracked("mdplan") <= package
    assert {Path(name).suffix for name in package} <= {
        ".mjs",
        ".md",
        ".mts",
        ".py",
        ".pyi",
        ".typed",
        ".html",
        ".css",
        ".sql",
        ".js",
        ".svg",
        ".json",
        ".toml",
        ".txt",
        ".yaml",
    }
    assert "mdplan/py.typed" in package
    assert any(name.endswith("/templates/page.html") for name in package)
    assert {name.removeprefix(about) for name in names - package} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_source_archive_contains_exactly_the_tracked_files(distributions: Distributions) -> None:
    names = archived(distributions.archive)

    assert tracked() - names == set()
    assert [
        name for name in names if "node_modules" in name or "__pycache__" in name or "/.venv" in name
    ] == []


@pytest.mark.requirement("packaging-2")
def test_archive_builds_the_same_wheel(distributions: Distributions, tmp_path: Path) -> None:
    with tarfile.open(distributions.archive) as opened:
        opened.extractall(tmp_path, filter="data")
    again = build(tmp_path / f"mdplan-{__version__}", "wheel", tmp_path / "built")

    with zipfile.ZipFile(again) as second, zipfile.ZipFile(distributions.wheel) as first:
        assert {name: second.read(name) for name in second.namelist()} == {
            name: first.read(name) for name in first.namelist()
        }


def test_metadata_names_version_and_extras(distributions: Distributions) -> None:
    about = metadata(distributions.wheel)

    assert about["Version"] == __version__
    assert about.get_all("Provides-Extra") == ["dask", "mdformat"]
    assert about["Requires-Python"] == ">=3.11"
    assert about["License-Expression"] == "MIT"
