"""A glob in a batch stands for all files that match, and nothing of one file goes with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.limits import Limits
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

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
