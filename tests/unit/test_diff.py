"""Unified diffs from known edits: their exact form, and that every tool makes the planned bytes of them."""

import hashlib
import re
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.operations.diffs import ApplyDiff
from mdplan.requests.batch import Batch, normalized_edits, read_batch
from mdplan.text.diff import DiffStat, DiffText, find_hunks
from mdplan.text.source import ByteEdit
from mdplan.text.unified_diff import DiffLine, FileDiff, NotADiff, read_diff
from tests.support.case_tables import CaseTables
from tests.support.patches import creation_diff, deletion_diff, unified_diff

CASE_TABLES = CaseTables(__file__)


NUMBERS = b"".join(b"%02d\n" % number for number in range(1, 21))
HEADER = b"diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/x.md\n"


def line(number: int, new: bytes) -> ByteEdit:
    """Edit that replaces a line of NUMBERS, without its line end."""
    return ByteEdit(3 * number - 3, 3 * number - 1, new)


def shown(base: bytes, *edits: ByteEdit, context: int = 3) -> str:
    """Hunks of the diff."""
    made = unified_diff("x.md", base, edits, context=context)
    assert made.startswith(HEADER), made
    return made.removeprefix(HEADER).decode()


def stat(base: bytes, *edits: ByteEdit) -> DiffStat:
    return DiffStat.of(find_hunks(base, edits))


# The form.
def test_diff_has_git_headers_and_three_lines_of_context() -> None:
    assert unified_diff("docs/x.md", NUMBERS, [line(10, b"ten")]) == (
        b"diff --git a/docs/x.md b/docs/x.md\n"
        b"--- a/docs/x.md\n"
        b"+++ b/docs/x.md\n"
        b"@@ -7,7 +7,7 @@\n 07\n 08\n 09\n-10\n+ten\n 11\n 12\n 13\n"
    )


@pytest.mark.parametrize(
    ("base", "edit", "expected"),
    [
        (b"", (0, 0, b"a\n"), "@@ -0,0 +1,1 @@\n+a\n"),
        (b"a\n", (0, 2, b""), "@@ -1,1 +0,0 @@\n-a\n"),
        (b"a\nb\n", (0, 2, b""), "@@ -1,2 +1,1 @@\n-a\n b\n"),
        (b"a\nb\n", (2, 4, b""), "@@ -1,2 +1,1 @@\n a\n-b\n"),
        (b"a\n", (2, 2, b"b\n"), "@@ -1,1 +1,2 @@\n a\n+b\n"),
        (b"a\nb\n", (2, 2, b"x\n"), "@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
        (b"ab\n", (1, 1, b"\n"), "@@ -1,1 +1,2 @@\n-ab\n+a\n+b\n"),
        (b"a\nb\n", (1, 2, b""), "@@ -1,2 +1,1 @@\n-a\n-b\n+ab\n"),
    ],
)
def test_lines_are_counted_from_one_and_an_empty_side_names_the_line_before(
    base: bytes, edit: tuple[int, int, bytes], expected: str
) -> None:
    assert shown(base, ByteEdit(*edit)) == expected


MARK = "\\ No newline at end of file\n"


@pytest.mark.parametrize(
    ("base", "edit", "expected"),
    [
        (b"a", (1, 1, b"\n"), f"@@ -1,1 +1,1 @@\n-a\n{MARK}+a\n"),
        (b"a\n", (1, 2, b""), f"@@ -1,1 +1,1 @@\n-a\n+a\n{MARK}"),
        (b"a", (0, 1, b"b"), f"@@ -1,1 +1,1 @@\n-a\n{MARK}+b\n{MARK}"),
        (b"a\nb", (0, 1, b"A"), f"@@ -1,2 +1,2 @@\n-a\n+A\n b\n{MARK}"),
        (b"a", (1, 1, b"\nb"), f"@@ -1,1 +1,2 @@\n-a\n{MARK}+a\n+b\n{MARK}"),
        (b"a\n", (2, 2, b"b"), f"@@ -1,1 +1,2 @@\n a\n+b\n{MARK}"),
    ],
)
def test_line_without_line_end_is_marked(base: bytes, edit: tuple[int, int, bytes], expected: str) -> None:
    assert shown(base, ByteEdit(*edit)) == expected


def test_edits_with_at_most_twice_the_context_between_them_share_a_hunk() -> None:
    assert len(find_hunks(NUMBERS, [line(1, b"x"), line(8, b"y")])) == 1
    assert len(find_hunks(NUMBERS, [line(1, b"x"), line(9, b"y")])) == 2
    assert len(find_hunks(NUMBERS, [line(1, b"x"), line(4, b"y")], context=1)) == 1
    assert len(find_hunks(NUMBERS, [line(1, b"x"), line(5, b"y")], context=1)) == 2


def test_later_hunks_count_the_lines_that_earlier_ones_added() -> None:
    made = shown(NUMBERS, ByteEdit(0, 0, b"new\nnew\n"), ByteEdit(36, 39, b""), line(20, b"X"), context=1)

    assert made == (
        "@@ -1,1 +1,3 @@\n+new\n+new\n 01\n"
        "@@ -12,3 +14,2 @@\n 12\n-13\n 14\n"
        "@@ -19,2 +20,2 @@\n 19\n-20\n+X\n"
    )


def test_neighbouring_lines_show_all_removals_before_the_additions() -> None:
    edits = [ByteEdit(0, 1, b"A"), ByteEdit(2, 3, b"B")]

    assert shown(b"a\nb\nc\n", *edits) == "@@ -1,3 +1,3 @@\n-a\n-b\n+A\n+B\n c\n"


# Small hunks out of large edits.
def test_section_replaced_by_a_similar_one_shows_only_what_differs() -> None:
    new = NUMBERS.replace(b"03\n", b"three\n").replace(b"18\n", b"18\n18a\n")

    assert shown(NUMBERS, ByteEdit(0, len(NUMBERS), new)) == (
        "@@ -1,6 +1,6 @@\n 01\n 02\n-03\n+three\n 04\n 05\n 06\n"
        "@@ -16,5 +16,6 @@\n 16\n 17\n 18\n+18a\n 19\n 20\n"
    )


def test_repeated_lines_are_paired() -> None:
    base = b"x\n-\n" * 6
    new = b"x\n-\n" * 2 + b"x\n" + b"x\n-\n" * 2 + b"-\n" + b"x\n-\n" * 2

    assert stat(base, ByteEdit(0, len(base), new)) == DiffStat(added=2, removed=0)


def test_large_rewrite_is_compared_at_its_unique_lines() -> None:
    lines = [b"%d\n" % number for number in range(5000)]
    base = b"".join(lines)
    lines[10::1000] = [b"new\n"] * 5

    hunks = find_hunks(base, [ByteEdit(0, len(base), b"".join(lines))])

    assert (len(hunks), DiffStat.of(hunks)) == (5, DiffStat(5, 5))


def test_large_rewrite_without_unique_lines_is_one_replaced_block() -> None:
    ends, old, new = b"a\nb\n" * 400, b"a\nb\n" * 600, b"c\na\nd\n" * 400

    assert stat(ends + old + ends, ByteEdit(0, 3200 + len(old), ends + new + ends)) == DiffStat(1200, 1200)


def test_comparison_cost_is_limited_over_all_edits() -> None:
    old = b"x\n-\n" * 50
    new = b"-\n" + old + b"x\n"
    base = b"".join(b"%d\n%b" % (number, old) for number in range(30))
    edits = [ByteEdit(match.start(), match.end(), new) for match in re.finditer(rb"(?:x\n-\n)+", base)]

    assert stat(base, *edits[:5]) == DiffStat(added=10, removed=0)
    assert len(edits) == 30
    assert stat(base, *edits).removed > 0


@pytest.mark.parametrize(
    ("base", "new"), [(b"x\ny\nx\ny\nU\n", b"U\nx\ny\n"), (b"U\nx\ny\n", b"x\ny\nx\ny\nU\n")]
)
def test_unique_common_line_takes_precedence_over_repeated_ones(base: bytes, new: bytes) -> None:
    assert "\n U\n" in shown(base, ByteEdit(0, len(base), new))


# Names.
@CASE_TABLES.parametrize("path", "name", "name_line")
def test_names_are_written_as_git_reads_them(path: str, name: str, name_line: str) -> None:
    first, second, *_ = unified_diff(path, b"a\n", [ByteEdit(0, 1, b"b")]).decode().split("\n")

    assert first.startswith(f"diff --git {name} ")
    assert second == f"--- {name_line}"


# Files that come and go.
def test_diff_of_a_new_file_starts_at_dev_null() -> None:
    assert creation_diff("x.md", b"a\nb") == (
        b"diff --git a/x.md b/x.md\nnew file mode 100644\n--- /dev/null\n+++ b/x.md\n"
        b"@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )


def test_diff_of_a_deleted_file_ends_at_dev_null() -> None:
    assert deletion_diff("x.md", b"a\nb\n") == (
        b"diff --git a/x.md b/x.md\ndeleted file mode 100644\n--- a/x.md\n+++ /dev/null\n"
        b"@@ -1,2 +0,0 @@\n-a\n-b\n"
    )


def test_diff_of_an_empty_file_has_no_hunks() -> None:
    assert creation_diff("x.md", b"") == b"diff --git a/x.md b/x.md\nnew file mode 100644\n"
    assert deletion_diff("x.md", b"") == b"diff --git a/x.md b/x.md\ndeleted file mode 100644\n"


# What is reported.
def test_changed_line_counts_as_added_and_removed() -> None:
    edits = [line(1, b"one"), ByteEdit(6, 9, b""), ByteEdit(60, 60, b"21\n22\n23")]

    assert stat(NUMBERS, *edits) == DiffStat(added=4, removed=2)
    assert DiffStat.of(()) == DiffStat(0, 0)


def test_bytes_that_are_not_unicode_show_escaped() -> None:
    assert DiffText.of(b"+\xe9\xc3\xa9\xed\xa0\x80\n") == DiffText("+\\xe9é\\xed\\xa0\\x80\n", exact=False)


# --- Incoming diffs: names, modes, and errors that unidiff overlooks

HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def only(diff: str) -> FileDiff:
    files = read_diff(diff)
    assert isinstance(files, tuple), files
    (file,) = files
    return file


@CASE_TABLES.parametrize("header", "old", "new")
def test_names_are_read_without_prefix_quotes_and_time(header: str, old: str | None, new: str | None) -> None:
    file = only(header + HUNK)

    assert (file.old_name, file.new_name) == (old, new)
    assert (file.creates, file.deletes, file.renames) == (
        old is None and new is not None,
        new is None and old is not None,
        False,
    )


@CASE_TABLES.parametrize("name", "path", "is_same")
def test_header_names_the_file_of_the_edit(name: str, path: str, *, is_same: bool) -> None:
    edit = ApplyDiff(op="apply_diff", diff=f"--- a/{name}\n+++ b/{name}\n{HUNK}")

    assert (edit.problem_with_path(path) is None) is is_same


@CASE_TABLES.parametrize("lines", "obstacle")
def test_unsupported_diff_content_is_reported(lines: str, obstacle: str | None) -> None:
    assert only("diff --git a/x.md b/x.md\n" + lines).obstacle == obstacle


def test_rename_lines_give_the_new_name() -> None:
    file = only("diff --git a/x.md b/y.md\nsimilarity index 100%\nrename from x.md\nrename to y.md\n")

    assert (file.renames, file.old_name, file.new_name, file.hunks) == (True, "x.md", "y.md", ())


def test_diff_is_split_by_file() -> None:
    parts = [
        f"--- a/1.md\n+++ b/1.md\n{HUNK}",
        f"diff --git a/2.md b/2.md\nindex 1..2 100644\n--- a/2.md\n+++ b/2.md\n{HUNK}",
        f"--- a/3.md\n+++ b/3.md\n{HUNK}{HUNK.replace('1', '9')}",
    ]
    files = read_diff("".join(parts))

    assert isinstance(files, tuple)
    assert [file.source for file in files] == parts
    assert [len(file.hunks) for file in files] == [1, 1, 2]


def test_markers_of_a_missing_line_end_belong_to_their_lines() -> None:
    (hunk,) = only("@@ -1 +1 @@\n-a\n\\ Pas de fin de ligne\n+b\n").hunks

    assert hunk.lines == (DiffLine("-", "a"), DiffLine("+", "b\n"))


def test_lines_end_at_lf_alone() -> None:
    (hunk,) = only("@@ -1 +1 @@\n-a\u2028b\x0cc\rd\n+e\r\n").hunks

    assert (hunk.old, hunk.new) == ("a\u2028b\x0cc\rd\n", "e\r\n")


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        ("", "it has no hunks"),
        ("a\nb\n", "it has no hunks"),
        ("--- a/x.md\n+++ b/x.md\n", "it has no hunks"),
        ("@@ -1,2 +1,2 @@\n-a\n+b\n", "has 1 old and 1 new lines, and its header says 2 and 2"),
        ("@@ -1 +1 @@\n-a\n+b\n c\n", "has 2 old and 2 new lines, and its header says 1 and 1"),
        ("@@ -1 +1 @@\n-a\n+b\n\n c\n", "has 3 old and 3 new lines, and its header says 1 and 1"),
        ("@@ -1 +1 @@\n-a\n+b\n--- c\n", "has 2 old and 1 new lines, and its header says 1 and 1"),
        (f"{HUNK}@@ -5 +5 @@\n-a\n+b\n+c\n", "the hunk at line 4 of the diff"),
        (f"Some words.\n\n{HUNK}+c\n", "the hunk at line 3 of the diff"),
        ("@@ -0,0 +1 @@\n\\ No newline at end of file\n+a\n", "a backslash begins a line of a hunk"),
        ("@@ -1 +1 @@\n-a\n\\begin{x}\n+b\n", "a backslash begins a line of a hunk"),
        ("@@ -1,2 +1,3 @@\n a\n\\ No newline at end of file\n b\n+c\n", "marks no last line before it"),
        ("--- a/x.md\n@@ -1 +1 @@\n-a\n+b\n", None),
        ("diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/y.md\n" + HUNK, "it cannot be read"),
        ("@@@ -1 -1 +1 @@@\n- a\n++b\n", "it has no hunks"),
    ],
)
def test_malformed_diff_is_refused_with_the_reason(diff: str, reason: str | None) -> None:
    found = read_diff(diff)

    if reason is None:
        assert isinstance(found, tuple)
    else:
        assert isinstance(found, NotADiff)
        assert reason in found.reason


def test_hint_contains_the_corrected_hunk_header() -> None:
    found = read_diff("@@ -3,1 +4,1 @@\n a\n-b\n+c\n+d\n")

    assert isinstance(found, NotADiff)
    assert found.hint == "if no line is missing, the header is `@@ -3,2 +4,3 @@`"


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
