"""What macOS does otherwise, on a disk of Linux that finds names as most volumes of macOS do."""

import ctypes
import os
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.storage import filesystem
from mdplan.storage.filesystem import FileSystem
from mdplan.storage.macos import MacFileSystem
from tests.support.case_tables import CaseTables
from tests.support.commits import change, commit, creation, deletion
from tests.support.files import tree

CASE_TABLES = CaseTables(__file__)


class FoldingDisk(FileSystem):
    """A disk that finds a name in any case and any form of Unicode, and lists it as it was made."""

    def open_directory(self, directory: int, name: str) -> int:
        return super().open_directory(directory, _listed(directory, name))

    def open_file(self, directory: int, name: str) -> int:
        return super().open_file(directory, _listed(directory, name))

    def status_of(self, directory: int, name: str) -> os.stat_result:
        return super().status_of(directory, _listed(directory, name))

    def link(self, directory: int, name: str, other: str) -> None:
        super().link(directory, _listed(directory, name), other)

    def rename(self, directory: int, name: str, target: str) -> None:
        super().rename(directory, _listed(directory, name), _listed(directory, target))

    def rename_new(self, directory: int, name: str, target_directory: int, target: str) -> None:
        super().rename_new(directory, name, target_directory, _listed(target_directory, target))

    def exchange(self, directory: int, name: str, other: str) -> None:
        super().exchange(directory, name, _listed(directory, other))


class MacDisk(MacFileSystem, FoldingDisk):
    """The disk of macOS, on such a volume."""

    def may_write(self, directory: int, name: str) -> bool:
        return super().may_write(directory, _listed(directory, name))


class OldMacDisk(MacDisk):
    """The same on a volume that cannot exchange files."""

    def exchange(self, directory: int, name: str, other: str) -> None:
        raise OSError(filesystem.errno.ENOTSUP, os.strerror(filesystem.errno.ENOTSUP))


def _listed(directory: int, name: str) -> str:
    folded = {_folded(each): each for each in os.listdir(directory)}
    return folded.get(_folded(name), name)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFD", name).casefold()


@CASE_TABLES.parametrize("path", "code")
def test_name_is_found_in_the_case_that_the_folder_lists(tmp_path: Path, path: str, code: str | None) -> None:
    (tmp_path / "Docs").mkdir()
    for name in ("Docs/Setup.md", unicodedata.normalize("NFD", "Docs/café.md")):
        (tmp_path / name).write_bytes(b"text")
    with Workspace.open([tmp_path], filesystem=MacDisk()) as workspace:
        name = workspace.locate(path)
        assert not isinstance(name, Diagnostic)
        found = workspace.read(name, 10)

    assert (found.code if isinstance(found, Diagnostic) else None) == (code and Code(code))


@pytest.mark.parametrize("disk", [MacDisk, OldMacDisk])
def test_commit_changes_creates_and_deletes(tmp_path: Path, disk: type[FileSystem]) -> None:
    decomposed = unicodedata.normalize("NFD", "é.md")
    for name in ("A.md", decomposed, "gone.md"):
        (tmp_path / name).write_bytes(b"old")
    files = (
        change("A.md", b"old", b"new"),
        change("é.md", b"old", b"new"),
        creation("n/B.md", b"made"),
        deletion("gone.md", b"old"),
    )
    commit(tmp_path, *files, disk=disk())

    contents = {name: content for name, (_, content) in tree(tmp_path).items() if content}
    assert contents == {"A.md": b"new", decomposed: b"new", "n/B.md": b"made"}


def test_new_file_never_takes_the_place_of_one_in_another_case(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"old")
    with pytest.raises(filesystem.StorageRefused) as refused:
        commit(tmp_path, creation("A.md", b"new"), disk=MacDisk())

    assert refused.value.problems[0].code is Code.FILE_EXISTS
    assert tree(tmp_path)["a.md"][1] == b"old"


def test_flags_of_a_rename_are_those_of_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []

    class Rename:
        argtypes: object = None

        def __call__(self, *given: object) -> int:
            calls.append(given)
            return 0

    monkeypatch.setattr(filesystem, "SYSTEM", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(renameatx_np=Rename()))
    monkeypatch.setattr(filesystem, "system_call", filesystem.system_call.__wrapped__)
    for flags in (filesystem.NO_REPLACE, filesystem.EXCHANGE):
        filesystem.rename_with(flags, 3, "a", 4, "b")

    assert calls == [(3, b"a", 4, b"b", 4), (3, b"a", 4, b"b", 2)]
