"""The engine over real folders: what is committed, what is refused, what pins a commit."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from mdplan import tools
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.reports.base import Report
from mdplan.settings import Settings
from mdplan.storage.plans import PlanStore
from mdplan.text.source import sha256_hex

GUIDE = b"# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
APPEND = {"op": "append_to_section", "heading": "Install", "markdown": "Then rest."}
RENAME = {"op": "rename_heading", "heading": "Use", "newTitle": "Usage"}
REPLACE = {"op": "replace_match", "pattern": "Run it", "replacement": "Run that"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_bytes(GUIDE)
    (root / "b.md").write_bytes(GUIDE)
    return root


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine.open([folder], settings=Settings(lock_timeout=0.2))


def batch(*edits: Mapping[str, Any], file: str = "a.md", **fields: object) -> dict[str, Any]:
    return {"file": file, "edits": list(edits), **fields}


def codes(report: Report) -> list[Code]:
    return [diagnostic.code for diagnostic in report.diagnostics]


@pytest.mark.requirement("plan-1")
def test_plan_writes_nothing_and_apply_by_id_writes_exactly_the_plan(engine: Engine, folder: Path) -> None:
    planned = engine.plan(batch(APPEND, RENAME))
    assert planned.ok
    assert (folder / "a.md").read_bytes() == GUIDE
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "b.md"]

    applied = engine.apply({"planId": planned.plan_id})

    expected = GUIDE.replace(b"Run it.\n", b"Run it.\n\nThen rest.\n").replace(b"## Use", b"## Usage")
    assert (applied.ok, applied.applied, applied.already_applied) == (True, True, None)
    assert (folder / "a.md").read_bytes() == expected
    assert sha256_hex(expected) == planned.files[0].result_sha256


@pytest.mark.requirement("plan-3")
def test_second_apply_of_one_plan_answers_already_applied_with_the_receipt(
    engine: Engine, folder: Path
) -> None:
    plan_id = engine.plan(batch(APPEND)).plan_id
    first = engine.apply({"planId": plan_id})
    after_first = (folder / "a.md").read_bytes()

    second = engine.apply({"planId": plan_id})

    assert (second.ok, second.applied, second.already_applied) == (True, True, True)
    assert (folder / "a.md").read_bytes() == after_first
    assert first.receipt is not None
    assert second.receipt is not None
    assert second.receipt.transaction == first.receipt.transaction


@pytest.mark.requirement("plan-3")
def test_plan_with_restored_base_is_committed_as_a_new_transaction(engine: Engine, folder: Path) -> None:
    plan_id = engine.plan(batch(APPEND)).plan_id
    first = engine.apply({"planId": plan_id})
    after_first = (folder / "a.md").read_bytes()
    (folder / "a.md").write_bytes(GUIDE)

    again = engine.apply({"planId": plan_id})

    assert (again.applied, again.already_applied) == (True, None)
    assert (folder / "a.md").read_bytes() == after_first
    assert again.receipt.transaction != first.receipt.transaction


@pytest.mark.requirement("plan-4")
def test_plan_on_a_changed_file_is_stale_and_names_the_changed_section(engine: Engine, folder: Path) -> None:
    plan_id = engine.plan(batch(RENAME)).plan_id
    foreign = GUIDE.replace(b"Run it.", b"Walk it.")
    (folder / "a.md").write_bytes(foreign)

    report = engine.apply({"planId": plan_id})

    assert codes(report) == [Code.STALE_BASE]
    assert [found.heading_path for found in report.error.candidates] == [("Guide", "Install")]
    assert (folder / "a.md").read_bytes() == foreign


@pytest.mark.requirement("commit-1")
def test_one_stale_file_keeps_the_whole_batch_from_being_written(engine: Engine, folder: Path) -> None:
    both = {"files": [batch(RENAME, file="a.md"), batch(RENAME, file="b.md")]}
    plan_id = engine.plan(both).plan_id
    (folder / "b.md").write_bytes(GUIDE + b"\nMore.\n")

    report = engine.apply({"planId": plan_id})

    assert codes(report) == [Code.STALE_BASE]
    assert (folder / "a.md").read_bytes() == GUIDE


@pytest.mark.requirement("plan-2")
def test_all_problems_of_all_files_and_edits_are_reported_at_once(engine: Engine) -> None:
    missing = {"op": "rename_heading", "heading": "Nowhere", "newTitle": "X"}
    report = engine.plan(
        {
            "files": [
                batch(missing, RENAME, missing, file="a.md"),
                batch(RENAME, file="none.md"),
                batch({**REPLACE, "pattern": "absent"}, file="b.md"),
            ]
        }
    )

    found = {(diagnostic.code, diagnostic.file, diagnostic.edit_index) for diagnostic in report.diagnostics}
    assert found == {
        (Code.SECTION_NOT_FOUND, "a.md", 0),
        (Code.SECTION_NOT_FOUND, "a.md", 2),
        (Code.FILE_NOT_FOUND, "none.md", None),
        (Code.MATCH_COUNT_MISMATCH, "b.md", 4),
    }


@pytest.mark.requirement("plan-6")
@pytest.mark.parametrize(
    ("edits", "extra", "is_applied"),
    [
        pytest.param([RENAME], {}, False, id="heading-path-alone-is-no-pin"),
        pytest.param([RENAME], {"baseSha256": sha256_hex(GUIDE)}, True, id="base-hash-pins"),
        pytest.param([RENAME], {"baseSha256": sha256_hex(GUIDE)[:16]}, True, id="16-digits-of-it-pin"),
        pytest.param([REPLACE], {}, True, id="unique-exact-literal-is-evidence"),
        pytest.param([REPLACE, RENAME], {}, False, id="every-edit-needs-its-evidence"),
        pytest.param([{**REPLACE, "expectedMatchCount": 1}], {}, True, id="exact-count-is-evidence"),
        pytest.param([{**REPLACE, "minMatches": 1}], {}, False, id="count-range-is-none"),
        pytest.param([{**REPLACE, "matchType": "regex"}], {}, False, id="regex-is-none"),
        pytest.param([{**REPLACE, "caseSensitive": False}], {}, False, id="inexact-case-is-none"),
    ],
)
def test_direct_apply_needs_a_guard(
    engine: Engine, folder: Path, edits: list[Any], extra: dict[str, Any], is_applied: bool
) -> None:
    report = engine.apply(batch(*edits, **extra))

    assert report.applied is is_applied
    assert codes(report) == ([] if is_applied else [Code.PRECONDITION_REQUIRED])
    assert ((folder / "a.md").read_bytes() == GUIDE) is not is_applied


def test_base_hash_with_a_plan_id_must_match_the_plan(engine: Engine) -> None:
    plan_id = engine.plan(batch(RENAME)).plan_id

    assert codes(engine.apply({"planId": plan_id, "baseSha256": "0" * 64})) == [Code.STALE_BASE]
    assert engine.apply({"planId": plan_id, "baseSha256": sha256_hex(GUIDE)}).applied


JOINED = {
    "two-places": (("old", "more"), {}, True, []),
    "one-place": (("old", "old text"), {}, False, ["CONFLICTING_EDITS"]),
    "other-options": (("old", "more"), {"backup": True}, False, ["INVALID_ARGUMENT"]),
}


@pytest.mark.parametrize("case", JOINED)
def test_stored_plans_are_joined_or_refused(tmp_path: Path, case: str) -> None:
    patterns, options, applied, refused = JOINED[case]
    path = tmp_path / "a.md"
    path.write_text("# A\n\nold text\n\nmore\n")
    engine = Engine.open([tmp_path])
    edits = [{"op": "replace_match", "pattern": pattern, "replacement": "new"} for pattern in patterns]
    plans = [
        engine.plan({"file": "a.md", "edits": [edit], **(options if edit is edits[1] else {})})
        for edit in edits
    ]

    joined = {"planIds": [plan.plan_id for plan in plans]}
    report = engine.apply(joined)
    again = engine.apply(joined)

    assert (report.applied, list(map(str, codes(report)))) == (applied, refused)
    assert (path.read_text() == "# A\n\nnew text\n\nnew\n") == applied
    assert again.already_applied == (True if applied else None)


GLOBS = {
    "where": ({"where": {"state": "draft"}}, ["draft.md"], []),
    "where-without-a-match": ({"where": {"state": "idea"}}, [], ["FILE_NOT_FOUND"]),
    "warning": ({"refuseOn": ["BROKEN_LINK"]}, [], ["BROKEN_LINK", "BROKEN_LINK"]),
    "other-warning": ({"refuseOn": ["LINK_RETARGETED"]}, ["done.md", "draft.md"], []),
    "no-code": ({"refuseOn": ["BROKEN"]}, [], ["INVALID_ARGUMENT"]),
}


@pytest.mark.parametrize("case", GLOBS)
def test_glob_takes_files_by_front_matter_and_refuses_on_warnings(tmp_path: Path, case: str) -> None:
    fields, files, refused = GLOBS[case]
    for state in ("draft", "done"):
        (tmp_path / f"{state}.md").write_text(f"---\nstate: {state}\n---\n\n[A](#a)\n\n# A\n")
    edit = {"op": "rename_heading", "heading": "A", "newTitle": "B"}

    report = Engine.open([tmp_path]).plan({"glob": "*.md", "edits": [edit], **fields})

    assert ([file.file for file in report.files], list(map(str, codes(report)))) == (files, refused)


def test_plan_that_changes_nothing_says_so_and_is_not_committed(engine: Engine, folder: Path) -> None:
    same = {"op": "rename_heading", "heading": "Use", "newTitle": "Use"}
    planned = engine.plan(batch(same))
    report = engine.apply({"planId": planned.plan_id})

    assert (planned.no_op, report.no_op, report.applied) == (True, True, False)
    assert planned.diff == ""
    assert report.receipt is None


def test_plan_document_is_applied_without_a_store(
    engine: Engine, folder: Path, state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = engine.export(engine.plan(batch(RENAME)).plan_id)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "elsewhere"))
    stranger = Engine.open([folder])
    plan_id = json.loads(document)["planId"]

    assert codes(stranger.apply({"planId": plan_id})) == [Code.PLAN_NOT_FOUND]
    assert stranger.apply(json.loads(document)).applied


@pytest.mark.requirement("plan-5")
@pytest.mark.parametrize("field", ["baseSha256", "resultSha256", "textEdits", "path", "requested"])
def test_changed_plan_document_is_refused(engine: Engine, folder: Path, field: str) -> None:
    document = json.loads(engine.export(engine.plan(batch(RENAME)).plan_id))
    document["files"][0][field] = {
        "baseSha256": "0" * 64,
        "resultSha256": "0" * 64,
        "textEdits": [[0, 0, "evil"]],
        "path": "b.md",
        "requested": [],
    }[field]

    assert codes(engine.apply(document)) == [Code.PLAN_TAMPERED]
    assert (folder / "a.md").read_bytes() == (folder / "b.md").read_bytes() == GUIDE


@pytest.mark.requirement("plan-5")
def test_stored_plan_that_was_changed_on_disk_is_refused(engine: Engine, folder: Path) -> None:
    plan_id = engine.plan(batch(RENAME)).plan_id
    store = PlanStore(str(folder.resolve()))
    stored = store.load_plan(plan_id) or b""
    assert store.save_plan(plan_id, [stored.replace(b"Usage", b"Abuse")], 0.0)

    assert codes(engine.apply({"planId": plan_id})) == [Code.PLAN_TAMPERED]
    assert (folder / "a.md").read_bytes() == GUIDE


def test_batch_of_two_roots_is_refused_and_one_root_is_named_by_prefix(tmp_path: Path) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_bytes(GUIDE)
    engine = Engine.open([tmp_path / "docs", tmp_path / "site"])

    both = engine.plan({"files": [batch(RENAME, file="docs:a.md"), batch(RENAME, file="site:a.md")]})
    one = engine.plan(batch(RENAME, file="site:a.md"))

    assert codes(both) == [Code.INVALID_ARGUMENT]
    assert one.diff.startswith("diff --git a/a.md b/a.md\n")
    assert engine.apply({"planId": one.plan_id}).applied
    assert (tmp_path / "docs" / "a.md").read_bytes() == GUIDE


def test_without_a_state_directory_plans_are_unstored_and_commits_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(blocked))
    engine = Engine.open([folder])

    planned = engine.plan(batch(RENAME))

    assert (planned.ok, planned.stored) == (True, False)
    refused = engine.apply(batch(RENAME, baseSha256=planned.base_sha256))
    assert "MDPLAN_STATE_DIR" in (refused.diagnostics[0].hint or "")
    assert (folder / "a.md").read_bytes() == GUIDE


@pytest.mark.requirement("plan-7")
def test_plan_is_applied_in_part_with_accept(engine: Engine, folder: Path) -> None:
    planned = engine.plan(batch(APPEND, RENAME))

    report = engine.apply({"planId": planned.plan_id, "accept": [1]})

    assert report.applied
    assert report.plan_id != planned.plan_id
    assert (folder / "a.md").read_bytes() == GUIDE.replace(b"## Use", b"## Usage")


@pytest.mark.requirement("plan-8")
def test_stale_plan_is_rebased_when_only_other_sections_changed(engine: Engine, folder: Path) -> None:
    planned = engine.plan(batch(APPEND))
    (folder / "a.md").write_bytes(GUIDE.replace(b"Use it.", b"Use it well."))

    refused = engine.apply({"planId": planned.plan_id})
    rebased = engine.apply({"planId": planned.plan_id, "onStale": "rebase"})

    assert codes(refused) == [Code.STALE_BASE]
    assert (rebased.applied, rebased.rebased) == (True, True)
    assert rebased.plan_id != planned.plan_id
    assert b"Run it.\n\nThen rest.\n" in (folder / "a.md").read_bytes()
    assert b"Use it well." in (folder / "a.md").read_bytes()


@pytest.mark.requirement("plan-8")
def test_stale_plan_is_not_rebased_when_the_text_around_changed(engine: Engine, folder: Path) -> None:
    planned = engine.plan(batch(APPEND))
    changed = GUIDE.replace(b"Run it.", b"Walk it.")
    (folder / "a.md").write_bytes(changed)

    report = engine.apply({"planId": planned.plan_id, "onStale": "rebase"})

    assert set(codes(report)) == {Code.STALE_BASE}
    assert (folder / "a.md").read_bytes() == changed


@pytest.mark.requirement("plan-9")
def test_sequential_edit_sees_the_edits_before_it(engine: Engine, folder: Path) -> None:
    child = {"op": "append_to_section", "heading": "Usage", "markdown": "# Deep\n\nDown."}
    into = {"op": "append_to_section", "headingPath": ["Usage", "Deep"], "markdown": "Further."}

    assert codes(engine.plan(batch(RENAME, child, into))) == [Code.SECTION_NOT_FOUND] * 2
    report = engine.plan(batch(RENAME, child, into, sequential=True))

    assert report.ok
    engine.apply({"planId": report.plan_id})
    assert (folder / "a.md").read_bytes().endswith(b"## Usage\n\nUse it.\n\n### Deep\n\nDown.\n\nFurther.\n")


@pytest.mark.parametrize(
    ("field", "value"),
    [("excludedMatches", True), ("matchesFound", []), ("matches", 1), ("ranges", [{}]), ("warnings", [1])],
)
def test_plan_document_with_wrong_results_is_refused_without_traceback(
    engine: Engine, folder: Path, field: str, value: object
) -> None:
    document = json.loads(engine.export(engine.plan(batch(REPLACE)).plan_id))
    document["editResults"][0][field] = value

    assert codes(engine.apply(document)) == [Code.PLAN_TAMPERED]
    assert (folder / "a.md").read_bytes() == GUIDE


def test_section_that_moves_into_an_open_fence_is_not_followed(engine: Engine, folder: Path) -> None:
    (folder / "a.md").write_bytes(b"# Guide\n\n# Install\n\n```\nopen")
    move = {"op": "move_section", "heading": "Guide", "toHeadingPath": ["Install"], "position": "after"}
    append = {"op": "append_to_section", "headingPath": [], "markdown": "Text."}

    report = engine.plan(batch(move, append, sequential=True, allowOutlineChange=True))

    assert report.ok
    assert report.diff is not None


def test_single_root_may_be_given_without_a_list(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# A\n")

    for folder in (str(tmp_path), tmp_path, [tmp_path]):
        with Engine.open(folder) as engine:
            assert engine.stat({"file": "a.md"}).ok


# --- `mdplan.tools`: which functions it gives, and what it says of names that it does not know.


def test_functions_have_the_names_hints_and_descriptions_of_the_tools(tmp_path: Path) -> None:
    made = {tool.__name__: tool for tool in tools(tmp_path)}

    assert {"md_stat", "md_read", "md_apply"} <= made.keys()
    assert get_type_hints(made["md_stat"])["return"] is str
    assert "Args:" in inspect.getdoc(made["md_stat"]).partition("Structure")[2]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters(made["md_apply"]))


def test_read_only_tools_write_nothing(tmp_path: Path) -> None:
    names = [tool.__name__ for tool in tools(tmp_path, read_only=True)]

    assert "md_apply" not in names
    assert "md_read" in names


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"toolsets": ["zz"]}, "there are md, editor"), ({"names": ["md_zz"]}, "there are md_stat")],
)
def test_unknown_choice_error_lists_the_choices(
    tmp_path: Path, choice: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tools(tmp_path, **choice)


def parameters(function: object) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())
