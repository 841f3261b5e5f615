"""Names that requirement 05 uses for fields of a batch."""

import json
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.limits import Limits
from mdplan.operations.base import Operation
from mdplan.requests.batch import Batch, read_batch, read_edit
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


RENAME = {"op": "rename_heading", "heading": "A", "newTitle": "B"}


def batch(edit: dict[str, Any], **fields: object) -> object:
    return read_batch({"file": "a.md", "edits": [edit], **fields})


@pytest.mark.parametrize("name", ["sequential", "allowOverlappingEdits", "allow_overlapping_edits"])
def test_allow_overlapping_edits_means_sequential(name: str) -> None:
    read = batch(RENAME, **{name: True})

    assert isinstance(read, Batch)
    assert read.sequential


def test_both_names_at_once_are_refused() -> None:
    read = batch(RENAME, sequential=True, allowOverlappingEdits=False)

    assert isinstance(read, tuple)
    assert [problem.code for problem in read] == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize("wish", [False, "none"])
def test_false_for_update_references_means_none(wish: object) -> None:
    assert batch({**RENAME, "updateReferences": wish}, update_references=wish) == batch(RENAME)


@pytest.mark.parametrize(("wish", "scope"), [(True, "file"), ("file", "file"), ("workspace", "workspace")])
def test_update_references_is_accepted_on_batch_and_edit(wish: object, scope: str) -> None:
    for read in (batch({**RENAME, "updateReferences": wish}), batch(RENAME, update_references=wish)):
        assert isinstance(read, Batch)
        assert read.update_references == scope
        assert read.options == {"updateReferences": scope}


@pytest.mark.parametrize("wish", ["files", None, 0, ["file"]])
def test_unknown_update_references_value_is_refused(wish: object) -> None:
    for read in (batch({**RENAME, "updateReferences": wish}), batch(RENAME, updateReferences=wish)):
        assert isinstance(read, tuple)
        assert [problem.code for problem in read] == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize(("first", "second"), [(True, "workspace"), (False, "file"), ("none", True)])
def test_different_update_references_values_are_refused(first: object, second: object) -> None:
    read = batch({**RENAME, "updateReferences": first}, updateReferences=second)

    assert isinstance(read, tuple)
    assert [(problem.code, problem.edit_index) for problem in read] == [(Code.INVALID_ARGUMENT, 0)]


# --- Edits without `op`: their fields imply it, and none that only deletes is implied.

DIFF = "@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("edit", "op"),
    [
        ({"pattern": "a", "replacement": ""}, "replace_match"),
        ({"pattern": "a", "replacement": "b", "matchType": "regex", "heading": "A"}, "replace_match"),
        ({"lines": "1:abc", "markdown": "b"}, "replace_lines"),
        ({"lines": "1:abc", "text": "b"}, "replace_lines"),
        ({"line": 1, "position": "after", "markdown": "b"}, "insert_lines"),
        ({"diff": DIFF}, "apply_diff"),
    ],
)
def test_fields_imply_the_operation(edit: dict[str, Any], op: str) -> None:
    for batch in ({"file": "a.md", "edits": [edit]}, {"file": "a.md", **edit}):
        read = read_batch(batch)

        assert isinstance(read, Batch)
        assert [each.op for each in read.files[0].edits] == [op]


@pytest.mark.parametrize(
    "edit",
    [{"lines": "1-3"}, {"heading": "A"}, {"heading": "A", "markdown": "b"}, {"op": None, "diff": DIFF}],
)
def test_edit_that_implies_no_operation_is_refused(edit: dict[str, Any]) -> None:
    [problem] = read_batch({"file": "a.md", "edits": [edit]})

    assert problem.message == "the edit has no `op`"


# --- A field that an operation does not have leads to the intended call in one step.

MISTAKES = CASE_TABLES.value("MISTAKES")


@pytest.mark.parametrize("name", MISTAKES)
def test_misplaced_field_is_reported_with_its_right_place(name: str) -> None:
    edit, hint = MISTAKES[name]

    problems = read_edit(edit)

    assert not isinstance(problems, Operation)
    assert [problem.hint for problem in problems] == [hint]


# --- Hints for edits in the words of other tools: the whole edit in the words of mdplan.

CORRECTED = {"op": "replace_match", "pattern": "a", "replacement": "b"}


@CASE_TABLES.parametrize("edit")
def test_hint_contains_the_complete_corrected_edit(edit: dict[str, Any]) -> None:
    problems = read_batch({"file": "a.md", "edits": [edit]})
    assert not isinstance(problems, Batch)
    [problem] = problems
    shown = problem.hint.removeprefix("send `").removesuffix("`")

    assert json.loads(shown) == CORRECTED
    assert isinstance(read_batch({"file": "a.md", "edits": [json.loads(shown)]}), Batch)


@pytest.mark.parametrize(
    "edit",
    [
        {"operation": "replace", "old": "a", "oldText": "b", "new": "c"},
        {"operation": "replace", "old": "a"},
        {"operation": "teleport", "old": "a", "new": "b"},
        {"old": "a" * 400, "new": "b"},
        {"heading": "A", "new": "b"},
    ],
)
def test_uncertain_edit_gets_no_correction(edit: dict[str, Any]) -> None:
    problems = read_batch({"file": "a.md", "edits": [edit]})
    assert not isinstance(problems, Batch)
    [problem] = problems

    assert "send" not in problem.hint


# --- A glob in a batch matches several files, so fields of a single file are refused.

EDITS = [{"op": "replace_match", "pattern": "old", "replacement": "new"}]
SETTINGS = Settings(durability=Durability.PROCESS, batch=Limits(glob_files=3))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("docs/a.md", "docs/sub/b.md", "other.md", "ignored.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
    (tmp_path / ".gitignore").write_text("ignored.md\n")
    return tmp_path


def changed(root: Path) -> list[str]:
    return [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.md"))
        if path.read_text() == "new\n"
    ]


@pytest.mark.parametrize(
    "batch",
    [
        {"glob": "docs/**/*.md", "edits": EDITS},
        {"glob": "docs", "edits": EDITS, "format": "markdown"},
        {"files": [{"glob": "docs/**/*.md", "edits": EDITS}]},
        {
            "files": json.dumps(
                [{"glob": "docs/*.md", "edits": EDITS}, {"path": "docs/sub/b.md", "edits": EDITS}]
            )
        },
    ],
)
def test_files_that_match_are_edited(root: Path, batch: dict[str, Any]) -> None:
    report = Engine.open([root], settings=SETTINGS).apply(batch)

    assert (report.ok, changed(root)) == (True, ["docs/a.md", "docs/sub/b.md"])


def test_what_git_ignores_does_not_match(root: Path) -> None:
    assert Engine.open([root], settings=SETTINGS).apply({"glob": "*.md", "edits": EDITS}).ok
    assert changed(root) == ["docs/a.md", "docs/sub/b.md", "other.md"]


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        ({"glob": "*.rst", "edits": EDITS}, Code.FILE_NOT_FOUND),
        ({"glob": "a[", "edits": EDITS}, Code.INVALID_ARGUMENT),
        ({"glob": 7, "edits": EDITS}, Code.INVALID_ARGUMENT),
        ({"glob": "*.md", "file": "other.md", "edits": EDITS}, Code.INVALID_ARGUMENT),
        ({"glob": "*.md", "baseSha256": "0" * 64, "edits": EDITS}, Code.INVALID_ARGUMENT),
        ({"glob": "*.md", "edits": []}, Code.INVALID_ARGUMENT),
        ({"glob": "../*.md", "edits": EDITS}, Code.PATH_OUTSIDE_ROOT),
        (
            {"files": [{"glob": "docs", "edits": EDITS}, {"file": "docs/a.md", "edits": EDITS}]},
            Code.INVALID_ARGUMENT,
        ),
        ({"glob": "*.md", "files": [], "edits": EDITS}, Code.INVALID_ARGUMENT),
    ],
)
def test_glob_is_refused(root: Path, batch: dict[str, Any], code: Code) -> None:
    report = Engine.open([root], settings=SETTINGS).apply(batch)

    assert report.error is not None
    assert (report.error.code, changed(root)) == (code, [])


def test_glob_of_too_many_files_is_refused_until_the_limit_is_raised(root: Path) -> None:
    (root / "more.md").write_text("old\n")
    batch = {"glob": "*.md", "edits": EDITS}

    report = Engine.open([root], settings=SETTINGS).apply(batch)

    assert report.error is not None
    assert (report.error.code, changed(root)) == (Code.BATCH_TOO_LARGE, [])
    assert Engine.open([root]).apply(batch).ok


@pytest.mark.parametrize(
    ("edit", "files"),
    [
        ({"pattern": "old"}, ["a.md", "b.md"]),
        ({"pattern": "old", "heading": "Abstract"}, ["b.md"]),
        ({"pattern": "o.d", "matchType": "regex", "heading": "Abstract"}, ["b.md"]),
        ({"pattern": "old", "include": ["inlineCode"]}, ["a.md", "b.md", "code.md"]),
    ],
    ids=str,
)
def test_glob_of_replace_match_names_the_files_with_a_match(
    tmp_path: Path, edit: dict[str, Any], files: list[str]
) -> None:
    texts = {"a.md": "old\n", "b.md": "# B\n\n## Abstract\n\nold\n", "code.md": "`old`\n", "none.md": "x\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    edits = [{"op": "replace_match", "replacement": "new", "matchSelection": "all", **edit}]
    batch = {"files": "*.md", "edits": edits, "expectedFiles": len(files), "dryRun": True}

    report = Engine.open([tmp_path]).apply(batch)

    assert (report.ok, [file.file for file in report.files]) == (True, files), report.diagnostics


def test_glob_without_any_match_gives_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("`old`\n")
    batch = {"files": "*.md", "edits": EDITS, "dryRun": True}

    report = Engine.open([tmp_path], settings=SETTINGS).apply(batch)

    assert [problem.code for problem in report.diagnostics] == [Code.MATCH_COUNT_MISMATCH]
