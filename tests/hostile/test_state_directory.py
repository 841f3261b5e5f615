"""The user's state directory, root discovery, names of temporary files: what a caller never reaches."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.documents.workspace import find_root
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability, StorageRefused
from mdplan.storage.store import Store
from mdplan.storage.user_state import user_state_directory
from tests.crash.mounts import bound
from tests.hostile.trial import EVERY_VERB, HERE, Place, problems_of, search_verb, stat_verb
from tests.support.case_tables import CaseTables
from tests.support.files import NOBODY

CASE_TABLES = CaseTables(__file__)


# S6


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder as the root, with a state directory in it that has been used."""
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (home / "here.md").write_bytes(HERE)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(home / "local" / "state" / "any name"))
    with opened(home) as engine:
        engine.plan({"file": "here.md", "edits": [{"op": "append_to_file", "markdown": "New."}]})
        assert engine.write({"file": "here.md", "edits": [{"op": "append_to_file", "markdown": "x"}]}).ok
    return home


def opened(root: Path) -> Engine:
    return Engine.open([root], settings=Settings(durability=Durability.PROCESS))


def database(root: Path) -> Path:
    """The store of `root`."""
    return Path(Store(os.path.realpath(root)).path)


@pytest.mark.parametrize("verb", EVERY_VERB.values(), ids=EVERY_VERB)
def test_no_verb_enters_the_state_directory(home: Path, verb: object) -> None:
    (home / "here.md").write_bytes(HERE)
    store, state = database(home), Path(user_state_directory())
    before = store.read_bytes()
    with opened(home) as engine:
        for path in (store, state / "new.md", store.parent / "new.md", store.parent):
            found = verb(engine, str(path.relative_to(home)))  # type: ignore[operator]
            assert [problem.code for problem in problems_of(found)][:1] == [Code.PATH_INVALID], path
    assert store.read_bytes() == before
    assert not (state / "new.md").exists()


def test_no_encoding_reads_the_store(home: Path) -> None:
    with opened(home) as engine:
        path = str(database(home).relative_to(home))
        report = engine.read({"file": path, "encoding": "latin-1"})

    assert report.error is not None
    assert report.error.code is Code.PATH_INVALID
    assert "SQLite format" not in str(report)


def test_no_listing_names_a_file_of_the_state_directory(home: Path) -> None:
    with opened(home) as engine:
        for pattern in (".", "**/*", "**/*.json", "local"):
            told = str(stat_verb(engine, pattern)) + str(search_verb(engine, pattern))
            assert "sqlite" not in told
            assert "sha256-" not in told.replace("sectionSha256", "")
            assert "roots" not in told


def test_state_directory_under_another_name_is_never_entered(home: Path) -> None:
    """A bind mount has the device and inode of its source."""
    other = home / "notes" / "harmless"
    other.mkdir()
    with bound(Path(user_state_directory()), other), opened(home) as engine:
        report = engine.read({"file": "notes/harmless/new.md", "encoding": "latin-1"})

    assert report.error is not None
    assert report.error.code is Code.PATH_INVALID


@pytest.mark.parametrize("below", ["", "folder"])
def test_state_directory_is_never_a_root(home: Path, below: str) -> None:
    root = Path(user_state_directory()) / below
    root.mkdir(exist_ok=True)

    with pytest.raises(StorageRefused) as refused:
        opened(root)
    assert refused.value.problems[0].code is Code.PATH_INVALID


def test_caller_never_creates_the_missing_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "state"))
    with opened(tmp_path) as engine:
        report = engine.write({"file": "state/roots", "edits": [{"op": "create_file", "markdown": "k" * 31}]})

    assert [problem.code for problem in report.diagnostics] == [Code.PATH_INVALID]
    assert not (tmp_path / "state" / "roots").exists()


def test_default_state_directory_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import user_state_path

    monkeypatch.delenv("MDPLAN_STATE_DIR")
    for state_home in (None, "", "/some/state"):
        if state_home is None:
            monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_STATE_HOME", state_home)
        assert user_state_directory() == str(user_state_path("mdplan"))


# S16


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders of other users")
def test_repository_of_another_user_never_makes_a_root(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / ".git").mkdir()
    os.chown(tmp_path / "a" / ".git", NOBODY, NOBODY)

    assert find_root(str(tmp_path / "a" / "b")) == str(tmp_path.resolve())


def test_folder_of_an_earlier_version_makes_no_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "clone" / ".mdplan").mkdir(parents=True)

    assert find_root(str(tmp_path / "clone")) == str(tmp_path.resolve())


# S19


@CASE_TABLES.parametrize("path")
@pytest.mark.parametrize("verb", EVERY_VERB.values(), ids=EVERY_VERB)
def test_temporary_file_names_are_refused_by_every_verb(place: Place, verb: object, path: str) -> None:
    found = verb(place.engine, path)  # type: ignore[operator]

    assert [problem.code for problem in problems_of(found)][:1] == [Code.PATH_INVALID]
    assert sorted(path.name for path in place.root.iterdir() if path.name != ".mdplan") == ["here.md"]


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o640, True), (0o604, True)])
def test_token_file_readable_by_others_causes_a_warning(place: Place, mode: int, warns: bool) -> None:
    token = place.folder / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(mode)
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "mdplan", "serve", "--root", place.root),
            *("--http", "127.0.0.1:0", "--token-file", token),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stderr is not None
        first = server.stderr.readline()
        server.kill()

    assert (b"others can read the token" in first) is warns
    assert stat.S_IMODE(token.stat().st_mode) == mode
