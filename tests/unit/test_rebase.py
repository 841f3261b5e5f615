"""`onStale: "rebase"` beside a plan ID: a plan goes on where its edits still do the same to the same text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

INSTALL = b"## Install\n\nRun it.\n\n"
USE = b"## Use\n\nUse it.\n\n### Deep\n\nDig.\n\n"
GUIDE = b"# Guide\n\nIntro.\n\n" + INSTALL + USE + b"## Help\n\nAsk.\n"
Edit = dict[str, Any]


def on(section: str, op: str, **fields: object) -> Edit:
    return {"op": op, "headingPath": [section], **fields}


def swapped(text: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


APPEND = on("Use", "append_to_section", markdown="Rest.")
IN_OTHER_SECTION = (b"Ask.", b"Ask us.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.md").write_bytes(GUIDE)
    return tmp_path / "root"


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine.open([folder], settings=Settings(durability=Durability.PROCESS))


def planned(engine: Engine, *edits: Mapping[str, Any], **fields: object) -> PlanReport:
    report = engine.plan({"file": "a.md", "edits": list(edits), **fields})
    assert report.ok, report.diagnostics
    return report


def rebased(engine: Engine, plan: PlanReport) -> ApplyReport:
    return engine.apply({"planId": plan.plan_id, "onStale": "rebase"})


def codes(report: ApplyReport) -> set[Code]:
    return {problem.code for problem in report.diagnostics}


def check_goes_on(engine: Engine, folder: Path, edit: Edit, changed: bytes, expected: bytes) -> None:
    plan = planned(engine, edit)
    (folder / "a.md").write_bytes(changed)

    report = rebased(engine, plan)

    assert (report.ok, report.applied, report.rebased) == (True, True, True), report.diagnostics
    assert report.plan_id != plan.plan_id
    assert (folder / "a.md").read_bytes() == expected


def check_refused(engine: Engine, folder: Path, edit: Edit, changed: bytes, *others: Code) -> None:
    plan = planned(engine, edit)
    (folder / "a.md").write_bytes(changed)

    report = rebased(engine, plan)

    assert (report.ok, report.applied, report.rebased) == (False, False, None)
    assert codes(report) == {Code.STALE_BASE, *others}
    assert (folder / "a.md").read_bytes() == changed


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        (APPEND, (b"Use it.\n", b"Use it.\n\nRest.\n")),
        (on("Use", "prepend_to_section", markdown="Rest."), (b"## Use\n", b"## Use\n\nRest.\n")),
        (on("Use", "replace_section", markdown="Rest."), (b"Use it.", b"Rest.")),
        (on("Use", "rename_heading", newTitle="Usage"), (b"## Use", b"## Usage")),
        (on("Deep", "set_heading_level", level=4), (b"### Deep", b"#### Deep")),
        (on("Use", "delete_section"), (USE, b"")),
        (on("Use", "delete_section", part="body"), (b"Use it.\n\n", b"")),
        (
            on("Use", "insert_section", position="after", markdown="## New"),
            (b"## Help", b"## New\n\n## Help"),
        ),
        (on("Guide", "upsert_section", mode="append", markdown="Rest."), (b"Intro.\n", b"Intro.\n\nRest.\n")),
        ({"op": "replace_match", "pattern": "Use it", "replacement": "Use this"}, (b"Use it", b"Use this")),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else "",
)
def test_plan_is_rebased_when_only_another_section_changed(
    engine: Engine, folder: Path, edit: Edit, change: tuple[bytes, bytes]
) -> None:
    check_goes_on(
        engine, folder, edit, swapped(GUIDE, IN_OTHER_SECTION), swapped(GUIDE, change, IN_OTHER_SECTION)
    )


def test_plan_is_rebased_when_a_section_moved_with_its_text(engine: Engine, folder: Path) -> None:
    moved = GUIDE.replace(INSTALL, b"") + b"\n" + INSTALL.rstrip() + b"\n"

    check_goes_on(
        engine,
        folder,
        on("Install", "delete_section", part="body"),
        moved,
        moved.replace(b"\nRun it.\n", b""),
    )


def test_plan_is_rebased_when_a_moved_section_and_its_place_are_unchanged(
    engine: Engine, folder: Path
) -> None:
    edit = on("Install", "move_section", toHeadingPath=["Help"], position="after")
    changed = swapped(GUIDE, (b"Dig.", b"Dig deeper."))

    check_goes_on(engine, folder, edit, changed, changed.replace(INSTALL, b"") + b"\n" + INSTALL[:-1])


def test_plan_is_rebased_when_all_line_ends_changed(engine: Engine, folder: Path) -> None:
    changed = GUIDE.replace(b"\n", b"\r\n")

    check_goes_on(
        engine, folder, APPEND, changed, swapped(changed, (b"Use it.\r\n", b"Use it.\r\n\r\nRest.\r\n"))
    )


def test_edits_of_a_sequential_batch_are_rebased_in_sequence(engine: Engine, folder: Path) -> None:
    rename = on("Use", "rename_heading", newTitle="Usage")
    plan = planned(engine, rename, on("Usage", "append_to_section", markdown="Rest."), sequential=True)
    (folder / "a.md").write_bytes(swapped(GUIDE, IN_OTHER_SECTION))

    assert rebased(engine, plan).rebased
    changes = (b"## Use", b"## Usage"), (b"Use it.\n", b"Use it.\n\nRest.\n")
    assert (folder / "a.md").read_bytes() == swapped(GUIDE, IN_OTHER_SECTION, *changes)


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        (APPEND, (b"Use it.", b"Use that.")),
        (APPEND, (b"### Deep", b"More.\n\n### Deep")),
        (on("Use", "prepend_to_section", markdown="Rest."), (b"Use it.", b"Use that.")),
        (on("Use", "replace_section", markdown="Rest."), (b"Use it.", b"Use that.")),
        (on("Use", "delete_section"), (b"Dig.", b"Dig deeper.")),
        (on("Install", "move_section", toHeadingPath=["Help"], position="after"), (b"Ask.", b"Ask us.")),
        (on("Install", "move_section", toHeadingPath=["Help"], position="after"), (b"Run it.", b"Run.")),
        (
            on("Use", "insert_section", position="before", markdown="## New"),
            (b"it.\n\n## Use", b"it.\n## Use"),
        ),
        (on("Install", "insert_section", position="after", markdown="## New"), (b"Run it.", b"Run.")),
        (
            {"op": "replace_match", "pattern": "[A-Z]sk", "replacement": "x", "matchType": "regex"},
            (b"Ask", b"Bsk"),
        ),
        (
            {"op": "replace_match", "pattern": "it", "replacement": "x", "matchSelection": "all"},
            (b"Ask.", b"Ask it."),
        ),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else "",
)
def test_plan_is_refused_when_the_text_that_it_touches_changed(
    engine: Engine, folder: Path, edit: Edit, change: tuple[bytes, bytes]
) -> None:
    check_refused(engine, folder, edit, swapped(GUIDE, change))


def test_plan_is_refused_when_its_text_moved_to_another_section(engine: Engine, folder: Path) -> None:
    edit = {"op": "replace_match", "pattern": "Ask", "replacement": "Call"}

    check_refused(
        engine, folder, edit, swapped(GUIDE, (b"Ask.\n", b"None.\n"), (b"Dig.\n", b"Dig.\n\nAsk.\n"))
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "replace_lines", "lines": {"start": 7, "end": 7}, "markdown": "x", "expectedText": "Run it."},
        {"op": "insert_lines", "line": 7, "position": "after", "markdown": "x"},
        {"op": "delete_lines", "lines": {"start": 7, "end": 7}},
        {
            "op": "replace_range",
            "range": {"start": {"line": 7, "col": 1}, "end": {"line": 7, "col": 4}},
            "expectedText": "Run",
            "replacement": "x",
        },
        {"op": "replace_match", "pattern": "Run", "replacement": "x", "lines": {"start": 7, "end": 7}},
        {"op": "replace_match", "pattern": "it", "replacement": "x", "matchSelection": "1"},
        {**APPEND, "occurrence": 1},
    ],
    ids=lambda edit: f"{edit['op']}-{max(edit)}",
)
def test_numeric_address_is_refused_even_when_its_lines_are_the_same(
    engine: Engine, folder: Path, edit: Edit
) -> None:
    check_refused(engine, folder, edit, swapped(GUIDE, IN_OTHER_SECTION))


def test_occurrence_of_repeated_headings_is_not_rebased(engine: Engine, folder: Path) -> None:
    twice = b"# A\n\nx\n\n# A\n\nx\n"
    (folder / "a.md").write_bytes(twice)

    edit = on("A", "append_to_section", markdown="y", occurrence=2)
    check_refused(engine, folder, edit, b"# A\n\nx\n\n" + twice)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ((b"## Use\n", b"## Usage\n"), Code.SECTION_NOT_FOUND),
        ((USE, b""), Code.SECTION_NOT_FOUND),
        ((b"## Help", b"## Use\n\n## Help"), Code.AMBIGUOUS_HEADING),
    ],
)
def test_planning_problems_are_reported_with_the_stale_base(
    engine: Engine, folder: Path, change: tuple[bytes, bytes], code: Code
) -> None:
    check_refused(engine, folder, APPEND, swapped(GUIDE, change), code)


def test_section_hash_must_match_the_new_base(engine: Engine, folder: Path) -> None:
    stat = engine.plan({"file": "a.md", "edits": [APPEND]})
    section_hash = stat.edit_results[0].new_section_sha256
    (folder / "a.md").write_bytes(swapped(GUIDE, (b"Use it.\n", b"Use it.\n\nRest.\n")))
    edit = on("Use", "append_to_section", markdown="More.", sectionSha256=section_hash)

    changed = swapped(GUIDE, (b"Use it.\n", b"Use it.\n\nRest.\n"), (b"Dig.", b"Dig deeper."))
    check_refused(engine, folder, edit, changed, Code.SECTION_CHANGED)


def test_plan_with_unchanged_base_is_not_rebased(engine: Engine, folder: Path) -> None:
    plan = planned(engine, APPEND)

    report = rebased(engine, plan)

    assert (report.applied, report.rebased, report.plan_id) == (True, None, plan.plan_id)


def test_rebased_plan_can_be_shown_and_counts_as_applied(engine: Engine, folder: Path) -> None:
    plan = planned(engine, APPEND)
    (folder / "a.md").write_bytes(swapped(GUIDE, IN_OTHER_SECTION))
    new_id = rebased(engine, plan).plan_id

    assert engine.show(new_id).applied
    assert engine.apply({"planId": new_id}).already_applied


def test_all_files_of_a_stale_plan_are_rebased_or_none(engine: Engine, folder: Path) -> None:
    (folder / "b.md").write_bytes(GUIDE)
    files = [{"file": name, "edits": [APPEND]} for name in ("a.md", "b.md")]
    plan = engine.plan({"files": files})
    (folder / "a.md").write_bytes(swapped(GUIDE, IN_OTHER_SECTION))
    (folder / "b.md").write_bytes(swapped(GUIDE, (b"Use it.", b"Use that.")))
    changed = {name: (folder / name).read_bytes() for name in ("a.md", "b.md")}

    assert not rebased(engine, plan).ok
    assert {name: (folder / name).read_bytes() for name in changed} == changed

    (folder / "b.md").write_bytes(GUIDE)
    assert rebased(engine, plan).rebased
    assert all(b"Use it.\n\nRest.\n" in (folder / name).read_bytes() for name in changed)
