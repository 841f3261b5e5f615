"""Every section of real documents is appended to and renamed, and nothing else about them changes.

`make test` takes a sample of files and sections, MDPLAN_FULL=1 all files and more of each.
"""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.planning.build import BuiltFile
from mdplan.reading.stat import stat_report
from mdplan.requests.queries import INVENTORIES, StatRequest
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.diff import file_diff
from tests.conftest import FULL
from tests.corpus.sample import affordable, files_of, in_all, in_turn, spread
from tests.support.edit_trials import (
    REASONS,
    Document,
    Trials,
    append,
    check_appended,
    check_renamed,
    check_warnings,
    reason_of_refusal,
    rename,
)
from tests.support.pages import Page
from tests.support.patches import needs_git
from tests.support.strict_patch import refused_by_git

pytestmark = pytest.mark.timeout(3600 if FULL else 300)
SHARDS = 16 if FULL else 2
# The number of sections per file, since each needs a plan of the whole file.
SECTIONS = 100 if FULL else 4


def shard_of(corpus: Path, shard: int) -> list[Path]:
    return files_of(corpus, first=5, step=60)[shard::SHARDS]


each_shard = pytest.mark.parametrize("shard", range(SHARDS))


@pytest.fixture(autouse=True)
def _seldom_collected() -> Iterator[None]:
    """Parsing makes many objects that no cycle holds: looking for cycles takes a quarter of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000)
    yield
    gc.set_threshold(*usual)


# The tests.


@each_shard
def test_stat_names_the_headings_that_readers_see(corpus: Path, shard: int) -> None:
    request = StatRequest(file="a.md", detail="full", limit=100_000, include=INVENTORIES)
    problems: list[str] = []

    for document in in_all(corpus, shard_of(corpus, shard)):
        report = stat_report("a.md", document.outline, request)
        lines = {section.first_line: section.heading_line for section in document.headings}
        found = sorted((lines[entry.start_line], entry.level) for entry in report.sections if entry.level)
        levels = (level for level, _ in document.page.headings)
        expected = sorted(zip(document.page.heading_lines, levels, strict=True))
        if not report.ok or found != expected:
            problems.append(f"{document.name}: {set(found) ^ set(expected)}")

    assert problems == []


@pytest.mark.requirement("edit-2")
@needs_git
@each_shard
def test_each_section_takes_new_text_and_nothing_else_changes(
    corpus: Path, shard: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = Trials()
    for document in in_turn(corpus, shard_of(corpus, shard)):
        for section in spread(document.outline.sections, affordable(document, SECTIONS)):
            outcome = document.plan(append(section))
            for built in trials.add(document, outcome, "append", section.path):
                check_appended(trials, document, built, [section])

    trials.problems += refused_by_git(trials.diffs, tmp_path)
    trials.judge(capsys, f"append, shard {shard}")


@pytest.mark.requirement("text-2")
@needs_git
@each_shard
def test_all_sections_take_new_text_at_once_and_nothing_else_changes(
    corpus: Path, shard: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = Trials()
    for document in in_all(corpus, shard_of(corpus, shard)):
        sections = document.outline.sections
        outcome = document.plan(*map(append, sections))
        for built in trials.add(document, outcome, "append to all", ""):
            check_appended(trials, document, built, sections)

    trials.problems += refused_by_git(trials.diffs, tmp_path)
    trials.judge(capsys, f"append to all, shard {shard}")


@pytest.mark.requirement("edit-2")
@needs_git
@each_shard
def test_each_heading_takes_a_new_title_and_nothing_else_changes(
    corpus: Path, shard: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = Trials()
    for document in in_turn(corpus, shard_of(corpus, shard)):
        for section in spread(document.headings, affordable(document, SECTIONS)):
            outcome = document.plan(rename(section, section.index))
            for built in trials.add(document, outcome, "rename", section.path):
                page = Page.of(built.result.source.data)
                check_renamed(trials, document, built, page, {section.heading_line: section.index})
                check_warnings(trials, document, built, page, section)

    trials.problems += refused_by_git(trials.diffs, tmp_path)
    trials.judge(capsys, f"rename, shard {shard}")


@needs_git
@each_shard
def test_all_headings_take_a_new_title_at_once_and_nothing_else_changes(
    corpus: Path, shard: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = Trials()
    for document in in_all(corpus, shard_of(corpus, shard)):
        edits = [rename(section, number) for number, section in enumerate(document.headings)]
        for built in trials.add(document, document.plan(*edits), "rename all", "") if edits else ():
            numbers = {section.heading_line: number for number, section in enumerate(document.headings)}
            check_renamed(trials, document, built, Page.of(built.result.source.data), numbers)

    trials.problems += refused_by_git(trials.diffs, tmp_path)
    trials.judge(capsys, f"rename all, shard {shard}")


def test_each_rejection_is_justified_by_its_document() -> None:
    open_end = Document("open", b"# A\n\n```\ncode\n")
    closed = Document("closed", b"# A\n\n```\ncode\n```\n")
    (section,) = open_end.outline.sections[1:]
    refused = open_end.plan(append(section))

    assert not isinstance(refused, BuiltFile)
    assert reason_of_refusal(open_end, refused) in REASONS
    assert reason_of_refusal(closed, refused) not in REASONS


@each_shard
def test_engine_plans_and_applies_the_same_through_the_disk(corpus: Path, shard: int, tmp_path: Path) -> None:
    """The engine's own line gives what the trials above check without it."""
    documents = in_all(corpus, shard_of(corpus, shard))
    tried = [document for document in documents if len(document.data) < 100_000]
    with Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS)).workspace as workspace:
        engine = Engine(workspace, Settings(durability=Durability.PROCESS))
        for document in tried[:: 20 if FULL else 6]:
            built = document.plan(*map(append, document.outline.sections))
            assert isinstance(built, BuiltFile), document.name
            path = tmp_path / "a.md"
            path.write_bytes(document.data)
            edits = list(map(append, document.outline.sections))
            batch = {"file": "a.md", "baseSha256": document.outline.source.sha256, "edits": edits}

            assert engine.stat(StatRequest(file="a.md")).ok
            planned = engine.plan(batch)
            applied = engine.apply({"planId": planned.plan_id})

            assert planned.diff == file_diff("a.md", "a.md", built.hunks).decode()
            assert applied.applied, (document.name, applied.diagnostics)
            assert path.read_bytes() == built.result.source.data
