"""A diff in a batch becomes edits of the files that it names."""

import hashlib
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.requests.batch import Batch, normalized_edits, read_batch

HUNK = "@@ -1 +1 @@\n-a\n+b\n"
RENAME = {"op": "rename_heading", "heading": "A", "newTitle": "B"}


def of(name: str, hunks: str = HUNK) -> str:
    return f"--- a/{name}\n+++ b/{name}\n{hunks}"


def entries(data: object) -> list[tuple[str, str | None, list[dict[str, Any]]]]:
    batch = read_batch(data)
    assert isinstance(batch, Batch), batch
    return [(file.file, file.base_sha256, list(normalized_edits(file))) for file in batch.files]


def diff_edit(diff: str) -> dict[str, str]:
    return {"op": "apply_diff", "diff": diff}


def test_null_diff_counts_as_absent() -> None:
    assert entries({"file": "1.md", "edits": [RENAME], "diff": None}) == [("1.md", None, [RENAME])]


def test_creation_deletion_and_renaming_become_operations_on_files() -> None:
    diff = (
        "diff --git a/n.md b/n.md\nnew file mode 100644\n--- /dev/null\n+++ b/n.md\n"
        "@@ -0,0 +1,2 @@\n+# N\n+x\n\\ No newline at end of file\n"
        "diff --git a/e.md b/e.md\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/d.md b/d.md\ndeleted file mode 100644\n--- a/d.md\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-é\n-x\n"
        "diff --git a/o.md b/p.md\nsimilarity index 100%\nrename from o.md\nrename to p.md\n"
        "diff --git a/q.md b/r.md\nrename from q.md\nrename to r.md\n--- a/q.md\n+++ b/r.md\n" + HUNK
    )

    assert entries({"diff": diff}) == [
        ("n.md", None, [{"op": "create_file", "markdown": "# N\nx"}]),
        ("e.md", None, [{"op": "create_file", "markdown": ""}]),
        ("d.md", hashlib.sha256("é\nx\n".encode()).hexdigest(), [{"op": "delete_file"}]),
        ("o.md", None, [{"op": "rename_file", "newFile": "p.md"}]),
        ("q.md", None, [{"op": "rename_file", "newFile": "r.md"}, diff_edit(HUNK)]),
    ]


@pytest.mark.parametrize("name", ["1.md", "docs/1.md", "a/docs/1.md"])
@pytest.mark.parametrize("file", ["1.md", "main:1.md", "/srv/a/docs/1.md"])
def test_header_may_name_the_file_from_another_folder(name: str, file: str) -> None:
    assert entries({"file": file, "diff": of(name)}) == [(file, None, [diff_edit(of(name))])]


@pytest.mark.parametrize(
    "data",
    [
        {"diff": 1},
        {"diff": ""},
        {"diff": HUNK},
        {"diff": of("1.md"), "edits": []},
        {"diff": of("1.md"), "baseSha256": "0" * 64},
        {"diff": of("1.md"), "files": "1.md"},
        {"file": "1.md", "diff": 1},
        {"file": "1.md", "diff": HUNK, "edits": "x"},
    ],
)
def test_diff_that_cannot_be_split_is_refused(data: object) -> None:
    found = read_batch(data)

    assert isinstance(found, tuple)
    assert {problem.code for problem in found} <= {Code.INVALID_ARGUMENT, Code.UNKNOWN_FIELD}
