"""The bot end to end: one plan of many files, by any number of processes."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mdplan.bot.bot
from mdplan.bot.bot import RunOptions, propose
from mdplan.bot.file_planner import FilePlanner
from mdplan.bot.job import CandidateFile, FileStatus, Job
from mdplan.bot.selector import find_candidates
from mdplan.diagnostics import Code
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.plans import Planner
from mdplan.requests.batch import Batch
from mdplan.storage.filesystem import FileSystem, Step, StorageRefused
from mdplan.text.lines import Position
from tests.bot.big_tree import digests, make_tree
from tests.bot.golden import HERE, WHOLE, applied, load, open_engine, planned
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


COUNT = 80


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def manifest(root: Path) -> str:
    return make_tree(root, COUNT)


@pytest.fixture
def engine(root: Path, manifest: str) -> Engine:
    return open_engine(root)


def test_several_processes_make_the_same_plan_as_one(engine: Engine, manifest: str) -> None:
    alone, diff = planned(engine, manifest)
    beside, same_diff = planned(engine, manifest, RunOptions(jobs=2))

    assert alone.files_changed == COUNT
    assert (beside.plan_id, same_diff) == (alone.plan_id, diff)


@pytest.mark.slow
def test_dask_cluster_gives_the_same_plan(engine: Engine, manifest: str) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    alone, diff = planned(engine, manifest)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        there, same_diff = planned(engine, manifest, RunOptions(jobs=2, executor=f"dask://{address}"))

    assert (there.plan_id, same_diff) == (alone.plan_id, diff)


@CASE_TABLES.parametrize("link", "together")
def test_only_pages_whose_links_change_are_planned_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str, together: list[str]
) -> None:
    (tmp_path / "one.md").write_text(f"# One\n\nAn old [link]({link}).\n", encoding="utf-8")
    (tmp_path / "two.md").write_text("# Two\n\n## old\n\n## kept\n", encoding="utf-8")
    (tmp_path / "bot.yml").write_text(
        "updateReferences: file\n"
        "files: [{glob: '*.md', edits: [{op: replace_match, pattern: old, replacement: new}]}]"
    )
    plan, seen = mdplan.bot.bot.plan_group, list[str]()

    def recorded(planner: FilePlanner, files: list[CandidateFile], *more: Any, **how: Any) -> Any:
        seen.extend(file.path for file in files)
        return plan(planner, files, *more, **how)

    monkeypatch.setattr(mdplan.bot.bot, "plan_group", recorded)
    report = applied(open_engine(tmp_path), str(tmp_path / "bot.yml"))

    assert report.ok, report.error
    assert seen == together
    is_led = "old" in link.lower().replace("%6f", "o")
    assert ("two.md#new" in (tmp_path / "one.md").read_text()) is is_led


def test_linked_pages_are_planned_once_alone_and_once_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.md").write_text("# One\n\nAn old [link](two.md#old).\n", encoding="utf-8")
    (tmp_path / "two.md").write_text("# Two\n\n## old\n", encoding="utf-8")
    (tmp_path / "bot.yml").write_text(
        "updateReferences: file\n"
        "files: [{glob: '*.md', edits: [{op: replace_match, pattern: old, replacement: new}]}]"
    )
    plan, batches = Planner.plan, list[list[str]]()

    def recorded(planner: Planner, batch: Batch) -> Any:
        batches.append([file.file for file in batch.files])
        return plan(planner, batch)

    monkeypatch.setattr(Planner, "plan", recorded)
    report = applied(open_engine(tmp_path), str(tmp_path / "bot.yml"))

    assert report.ok, report.error
    assert batches == [["one.md"], ["two.md"], ["one.md", "two.md"]]


@pytest.mark.parametrize(("most", "code"), [(11, Code.BATCH_TOO_LARGE), (12, None)])
def test_limit_counts_files_that_change_and_no_links(tmp_path: Path, most: int, code: Code | None) -> None:
    """Pages that link to headings of each other, without references to be updated."""
    for number in range(12):
        text = f"# Page\n\n## Old {number}\n\n[Next](p{(number + 1) % 12}.md#old-{(number + 1) % 12})\n"
        (tmp_path / f"p{number}.md").write_text(text, encoding="utf-8")
    (tmp_path / "bot.yml").write_text(
        f"maxFiles: {most}\n"
        "files: [{glob: '*.md', edits: [{op: replace_match, pattern: Old, replacement: New}]}]"
    )
    report, _ = planned(open_engine(tmp_path), str(tmp_path / "bot.yml"))

    assert (report.error.code if report.error else None) == code
    assert report.error is None or "the manifest changes 12 files" in report.error.message


@pytest.mark.parametrize("address", ["http://x:1", "dask://", "dask"])
def test_object_without_executor_methods_is_rejected(engine: Engine, manifest: str, address: str) -> None:
    with pytest.raises(StorageRefused) as refused:
        planned(engine, manifest, RunOptions(jobs=2, executor=address))

    assert [problem.code for problem in refused.value.problems] == [Code.INVALID_ARGUMENT]


@dataclass(frozen=True)
class Opened:
    """A tree for this process only."""

    workspace: Workspace

    def open(self) -> Workspace:
        return self.workspace


class Counting(FileSystem):
    """A disk that counts which files are opened to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: Counter[str] = Counter()
        self.wrote = False

    def open_file(self, directory: int, name: str) -> int:
        self.opened[name] += 1
        return super().open_file(directory, name)

    def before(self, step: Step) -> None:
        self.wrote |= step in {Step.CREATE, Step.WRITE, Step.MAKE_DIRECTORY, Step.UNLINK}


@pytest.mark.requirement("bot-2")
def test_check_of_satisfied_conditions_reads_each_file_once(
    engine: Engine, root: Path, manifest: str
) -> None:
    assert applied(engine, manifest).applied
    disk = Counting()

    workspace = Workspace.open([root], filesystem=disk)
    job = Job(tree=Opened(workspace), settings=engine.settings, loaded=load(manifest))
    planner = FilePlanner(job)
    candidates = find_candidates(job.loaded, workspace, job.tree)
    assert isinstance(candidates, list)
    verdicts = {planner.plan(candidate).verdict for candidate in candidates}

    pages = {name: count for name, count in disk.opened.items() if name.endswith(".md")}
    assert len(pages) == COUNT
    assert set(pages.values()) == {1}
    assert verdicts == {FileStatus.SKIPPED}
    assert not disk.wrote


def test_check_of_satisfied_edits_reads_each_file_once(engine: Engine, root: Path, tmp_path: Path) -> None:
    """They have to be parsed, and planned, to know that."""
    manifest = tmp_path / "held.yml"
    manifest.write_text("files: [{glob: docs/**/*.md, edits: [{op: set_front_matter, key: x, value: 1}]}]")
    assert applied(engine, str(manifest)).applied
    disk = Counting()
    workspace = Workspace.open([root], filesystem=disk)
    planner = FilePlanner(Job(tree=Opened(workspace), settings=engine.settings, loaded=load(str(manifest))))

    outcome = planner.plan(CandidateFile("docs/000/page-00001.md", (0,)))

    assert outcome.verdict is FileStatus.SATISFIED
    assert disk.opened == {"page-00001.md": 1}


def test_file_that_changes_while_others_are_planned_is_stale(
    engine: Engine, root: Path, manifest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digests(root)
    victim = root / "docs" / "000" / "page-00007.md"

    def tell(event: str, facts: object) -> None:
        if event == "committing":
            victim.write_text("# Somebody else\n", encoding="utf-8")

    report = applied(engine, manifest, RunOptions(jobs=1, on_event=tell))

    assert [problem.code for problem in report.diagnostics] == [Code.STALE_BASE]
    assert (report.ok, report.applied) == (False, False)
    assert {path for path, digest in digests(root).items() if before[path] != digest} == {
        "docs/000/page-00007.md"
    }


def test_file_that_cannot_be_edited_fails_alone(engine: Engine, root: Path, tmp_path: Path) -> None:
    broken = root / "docs" / "000" / "page-00003.md"
    broken.write_bytes(b"\x00\x01 no text")
    manifest = tmp_path / "other.yml"
    manifest.write_text("files: [{glob: docs/**/*.md, edits: [{op: set_front_matter, key: x, value: 1}]}]")

    refused = applied(engine, str(manifest), WHOLE)
    kept = applied(engine, str(manifest))

    assert (refused.ok, refused.applied, refused.plan_id) == (False, False, None)
    assert (kept.ok, kept.applied, kept.partial) == (False, True, True)
    assert (kept.files_refused, kept.files_changed) == (1, COUNT - 1)
    assert [problem.code for problem in kept.diagnostics] == [Code.NOT_A_TEXT_FILE]
    assert broken.read_bytes() == b"\x00\x01 no text"


def test_plan_file_is_verified_before_it_is_applied(engine: Engine, root: Path, manifest: str) -> None:
    with propose(engine, load(manifest), HERE, keeps=False) as proposal:
        document = json.loads(b"".join(proposal.document()))
    forged = json.loads(json.dumps(document))
    forged["files"][0]["textEdits"][0][2] = "forged"
    before = digests(root)

    assert [problem.code for problem in engine.apply(forged).diagnostics] == [Code.PLAN_TAMPERED]
    assert digests(root) == before
    report = engine.apply(document)
    assert (report.ok, report.applied) == (True, True)
    assert planned(engine, manifest)[0].no_op


@pytest.mark.requirement("bot-near-miss-1")
@CASE_TABLES.parametrize("asked", "message")
def test_mistyped_heading_of_a_deletion_is_reported_once(
    tmp_path: Path, asked: str, message: str | None
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Guide\n\n## Installation\n\n## Step 1\n")
    manifest = tmp_path / "bot.yml"
    manifest.write_text(f"files:\n  - glob: '*.md'\n    edits:\n      - {{op: delete_section, {asked}}}\n")

    report = applied(Engine.open([tmp_path]), str(manifest))

    assert (report.ok, report.no_op, report.files_hold) == (True, True, 2)
    assert len(report.warnings) == (message is not None)
    for warning in report.warnings:
        assert message is not None
        assert message in warning.message
        assert (warning.code, warning.file) == (Code.SECTION_NOT_FOUND, str(manifest))
        assert warning.place == Position(4, 9)


def test_manifest_of_two_roots_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("x\n")
    manifest = tmp_path / "bot.yml"
    edit = "{op: replace_match, pattern: x, replacement: y}"
    manifest.write_text(f"files: [{{file: ['one:a.md', 'two:a.md'], edits: [{edit}]}}]")
    engine = Engine.open({"one": tmp_path / "one", "two": tmp_path / "two"})

    report = applied(engine, str(manifest))

    assert [problem.code for problem in report.diagnostics] == [Code.INVALID_ARGUMENT]
    assert "several roots" in report.diagnostics[0].message
