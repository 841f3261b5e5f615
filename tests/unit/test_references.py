"""Links that follow, across plan and apply: what is planned again, pinned, repeated and refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.plan import Plan
from mdplan.planning.plan_document import read_document, write_document
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport
from mdplan.requests.queries import StatRequest
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

GUIDE = "# Guide\n\n## Install\n\n## Use\n"
RENAME = {"op": "rename_heading", "heading": "Install", "newTitle": "Setup"}
BATCH: dict[str, Any] = {"file": "guide.md", "updateReferences": "workspace", "edits": [RENAME]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "guide.md", GUIDE)
    write(tmp_path, "docs/a.md", "[x](../guide.md#install) [y](../guide.md#use)\n")
    return tmp_path


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    with engine.workspace:
        yield engine


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def read(root: Path, name: str) -> str:
    return (root / name).read_bytes().decode()


def codes(report: ApplyReport) -> list[Code]:
    return [problem.code for problem in report.diagnostics]


def test_linking_file_is_changed_in_the_same_commit(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    report = engine.apply({"planId": plan.plan_id})

    assert [file.file for file in plan.files] == ["guide.md", "docs/a.md"]
    assert [result.edit_index for result in plan.edit_results] == [0]
    assert report.applied
    assert [file.file for file in report.written or ()] == ["guide.md", "docs/a.md"]
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) [y](../guide.md#use)\n"


def test_undo_takes_all_files_back(engine: Engine, root: Path) -> None:
    engine.apply({"planId": engine.plan(BATCH).plan_id})

    assert engine.undo().ok
    assert read(root, "guide.md") == GUIDE
    assert "#install" in read(root, "docs/a.md")


def test_plan_document_keeps_derived_edits(engine: Engine) -> None:
    document = engine.draft(BATCH).document
    plan = read_document(document)

    assert isinstance(plan, Plan)
    assert write_document(plan) == document
    assert plan.options == {"updateReferences": "workspace"}
    assert engine.apply(json.loads(document)).applied


def test_changed_linking_file_is_stale(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")

    report = engine.apply({"planId": plan.plan_id})

    assert codes(report) == [Code.STALE_BASE]
    assert report.diagnostics[0].file == "docs/a.md"
    assert read(root, "guide.md") == GUIDE


def test_rebased_plan_derives_links_of_the_current_files(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")
    write(root, "docs/b.md", "[new](../guide.md#install)\n")

    report = engine.apply({"planId": plan.plan_id, "onStale": "rebase"})

    assert report.rebased
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) and more\n"
    assert read(root, "docs/b.md") == "[new](../guide.md#setup)\n"


def test_accepted_part_of_a_plan_needs_the_bases_of_all_its_files(engine: Engine, root: Path) -> None:
    edits = [RENAME, {"op": "rename_heading", "heading": "Use", "newTitle": "Run"}]
    plan = engine.plan({**BATCH, "edits": edits})
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")

    assert codes(engine.apply({"planId": plan.plan_id, "accept": [0]})) == [Code.STALE_BASE]

    write(root, "docs/a.md", "[x](../guide.md#install) [y](../guide.md#use)\n")
    report = engine.apply({"planId": plan.plan_id, "accept": [0]})

    assert report.applied
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) [y](../guide.md#use)\n"


def test_accepted_part_is_refused_after_another_file_starts_to_link(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    write(root, "docs/b.md", "[new](../guide.md#install)\n")

    assert codes(engine.apply({"planId": plan.plan_id, "accept": [0]})) == [Code.STALE_BASE]


def test_section_guard_suffices_when_other_files_link(engine: Engine, root: Path) -> None:
    section = next(
        entry for entry in engine.stat(StatRequest(file="guide.md")).sections if entry.anchor == "install"
    )
    edit = {**RENAME, "sectionSha256": section.section_sha256}

    report = engine.apply({**BATCH, "edits": [edit]})

    assert report.applied, to_wire(report)
    assert "#setup" in read(root, "docs/a.md")


def test_repeated_batch_gives_its_receipt_while_all_files_have_their_result(
    engine: Engine, root: Path
) -> None:
    edits = [{"op": "replace_match", "pattern": "# Guide", "replacement": "# Book", "expectedMatchCount": 1}]
    again = {**BATCH, "edits": edits}
    write(root, "docs/c.md", "[x](../guide.md#guide)\n")

    first, second = engine.apply(again), engine.apply(again)

    assert first.applied, to_wire(first)
    assert second.already_applied
    assert [file.file for file in second.files] == ["guide.md", "docs/c.md"]
    write(root, "docs/c.md", "[x](../guide.md#guide)\n")
    assert not engine.apply(again).already_applied


def test_read_only_linking_file_refuses_the_plan(engine: Engine, root: Path) -> None:
    (root / "docs/a.md").chmod(0o444)

    plan = engine.plan(BATCH)

    assert [(problem.code, problem.file) for problem in plan.diagnostics] == [(Code.READ_ONLY, "docs/a.md")]


def test_links_stay_in_their_own_root(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "guide.md", GUIDE)
        write(tmp_path / name, "a.md", "[x](guide.md#install)\n")
    engine = Engine.open(
        [tmp_path / "one", tmp_path / "two"], settings=Settings(durability=Durability.PROCESS)
    )
    with engine.workspace:
        plan = engine.plan({**BATCH, "file": "one:guide.md"})
        report = engine.apply({"planId": plan.plan_id})

    assert [file.file for file in plan.files] == ["one:guide.md", "one:a.md"]
    assert report.applied, to_wire(report)
    assert read(tmp_path, "one/a.md") == "[x](guide.md#setup)\n"
    assert read(tmp_path, "two/a.md") == "[x](guide.md#install)\n"


@pytest.mark.requirement("references-3")
def test_stat_lists_broken_links_to_any_file(engine: Engine, root: Path) -> None:
    write(
        root,
        "docs/b.md",
        "# B\n\n[ok](a.md) [no](gone.md) [anchor](../guide.md#gone) [ok](../guide.md#use) ![i](gone.png)\n\n"
        "[own](#gone) [ok](..) [ok](/gone.md) [ok](../../out.md) [ok](https://e.org/x)\n"
        "[[gone]] [[guide#Gone]]\n",
    )

    links = engine.stat(StatRequest(file="docs/b.md", links=True)).links
    without = engine.stat(StatRequest(file="docs/b.md")).links
    rows = engine.stat(StatRequest(file=".", links=True)).files

    assert links is not None
    assert without is not None
    assert rows is not None
    expected = [(3, "gone.md"), (3, "../guide.md#gone"), (5, "#gone"), (6, "guide#Gone")]
    assert [(link.line, link.target) for link in links.broken] == expected
    assert [(link.line, link.target) for link in without.broken] == [(5, "#gone")]
    by_file = {row.file: [link.target for link in row.broken_links or ()] for row in rows}
    assert by_file == {"docs/a.md": [], "docs/b.md": [target for _, target in expected], "guide.md": []}
