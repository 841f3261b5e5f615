"""A second run reads only changed files, and has the same result as a run without the cache."""

import os
import random
from pathlib import Path

import pytest

import mdplan.bot.bot
from mdplan.bot import job as stamps
from mdplan.bot.bot import propose
from mdplan.bot.job import Chunk, FileOutcome, PackedJob
from mdplan.bot.manifest import ManifestInputs
from tests.bot.golden import HERE, load, open_engine
from tests.bot.repository import Repository
from tests.conftest import FULL
from tests.support.case_tables import CaseTables
from tests.support.patches import needs_git

CASE_TABLES = CaseTables(__file__)


MANIFEST = CASE_TABLES.value("MANIFEST")
PAGES = {f"docs/{number}.md": f"# Page {number}\n\nText.\n".encode() for number in range(5)}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "bot.yml"
    path.write_text(MANIFEST, encoding="utf-8")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, data in PAGES.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "root"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that runs read."""
    found: list[str] = []
    plan = mdplan.bot.bot.plan_chunk

    def recorded(packed: PackedJob, chunk: Chunk) -> list[FileOutcome]:
        found.extend(each.path for each in chunk)
        return plan(packed, chunk)

    monkeypatch.setattr(mdplan.bot.bot, "plan_chunk", recorded)
    return found


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file was written within the last two seconds."""
    monkeypatch.setattr(stamps, "_RACY_NS", -(10**12))


def changed(root: Path, manifest: Path, old: str = "nightly") -> list[str]:
    given = ManifestInputs(variables={"old": old})
    with propose(open_engine(root), load(str(manifest), given), HERE, keeps=False) as proposal:
        assert proposal.report.ok, proposal.report.error
        return sorted(file.file for file in proposal.report.files if file.changed)


@pytest.mark.usefixtures("later")
def test_second_run_reads_only_changed_files(root: Path, manifest: Path, read: list[str]) -> None:
    assert (changed(root, manifest), len(read)) == ([], len(PAGES))
    read.clear()
    assert (changed(root, manifest), read) == ([], [])
    (root / "docs/3.md").write_text("nightly\n")
    (root / "docs/new.md").write_text("nightly\n")
    assert (changed(root, manifest), read) == (["docs/3.md", "docs/new.md"], ["docs/3.md", "docs/new.md"])


@pytest.mark.usefixtures("later")
def test_same_size_and_time_do_not_hide_a_change(root: Path, manifest: Path) -> None:
    changed(root, manifest)
    path = root / "docs/3.md"
    before = path.stat()
    path.write_bytes(b"nightly".ljust(before.st_size, b"."))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed(root, manifest) == ["docs/3.md"]


def test_recently_written_file_is_read_again(root: Path, manifest: Path, read: list[str]) -> None:
    changed(root, manifest)
    read.clear()
    assert changed(root, manifest) == []
    assert read == list(PAGES)


@pytest.mark.usefixtures("later")
def test_changed_values_or_conditions_miss_the_cache(root: Path, manifest: Path, read: list[str]) -> None:
    changed(root, manifest)
    read.clear()
    assert changed(root, manifest, old="Text") == sorted(PAGES)
    assert len(read) == len(PAGES)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("damage", [b"no database", b""])
def test_damaged_cache_file_is_rebuilt(
    root: Path, manifest: Path, read: list[str], state_dir: Path, damage: bytes
) -> None:
    changed(root, manifest)
    (path,) = state_dir.rglob("bot-*.json")
    path.write_bytes(damage)
    assert changed(root, manifest) == []
    read.clear()
    assert (changed(root, manifest), read) == ([], [])


@pytest.mark.usefixtures("later")
def test_cache_in_a_folder_writable_by_others_is_ignored(
    root: Path, manifest: Path, read: list[str], state_dir: Path
) -> None:
    changed(root, manifest)
    (path,) = state_dir.rglob("bot-*.json")
    path.parent.chmod(0o777)
    read.clear()
    assert (changed(root, manifest), len(read)) == ([], len(PAGES))


@needs_git
def test_cached_verdicts_of_a_commit_are_keyed_by_blob(
    tmp_path: Path, manifest: Path, read: list[str], identity: None
) -> None:
    made = Repository.make(tmp_path / "made")
    made.commit(PAGES)
    manifest.write_text(MANIFEST.replace("{{vars.old}}", "nightly"))
    made.planned(manifest, "main")
    read.clear()
    made.commit({"docs/3.md": b"nightly\n"})
    report, _ = made.planned(manifest, "main")

    assert [file.file for file in report.files] == ["docs/3.md"]
    assert read == ["docs/3.md"]


@pytest.mark.parametrize("seed", range(3 if FULL else 1))
def test_cache_never_changes_the_result(
    root: Path, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    for step in range(12):
        path = root / "docs" / f"{draw.randrange(7)}.md"
        match draw.randrange(4):
            case 0:
                path.unlink(missing_ok=True)
            case 1:
                path.write_text(draw.choice(["nightly\n", "stable.\n", "# Page\n"]))
            case 2 if path.exists():
                path.rename(root / "docs" / f"{draw.randrange(7)}.md")
            case _:
                path.touch()
        with monkeypatch.context() as without:
            without.setenv("MDPLAN_STATE_DIR", str(tmp_path / f"state-{step}"))
            expected = changed(root, manifest)
        assert changed(root, manifest) == expected
