"""Diffs that come in: names, modes, and what unidiff alone would overlook."""

import pytest

from mdplan.text.unified_diff import DiffLine, FileDiff, NotADiff, read_diff

HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def only(diff: str) -> FileDiff:
    files = read_diff(diff)
    assert isinstance(files, tuple), files
    (file,) = files
    return file


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [
        ("", None, None),
        ("--- a/x.md\n+++ b/x.md\n", "x.md", "x.md"),
        ("--- x.md\n+++ x.md\n", "x.md", "x.md"),
        ("--- a/x.md\n+++ a/x.md\n", "a/x.md", "a/x.md"),
        ("--- i/x.md\n+++ w/x.md\n", "x.md", "x.md"),
        ("--- a/my file.md\t\n+++ b/my file.md\t\n", "my file.md", "my file.md"),
        ("--- a/x.md\t2026-01-01 10:00\n+++ b/x.md\t2026-01-01 11:00\n", "x.md", "x.md"),
        ("--- old.md\n+++ new.md\n", "old.md", "new.md"),
        ("--- /dev/null\n+++ b/x.md\n", None, "x.md"),
        ("--- a/x.md\n+++ /dev/null\n", "x.md", None),
        ("diff --git a/x.md b/x.md\nindex 1..2 100644\n--- a/x.md\n+++ b/x.md\n", "x.md", "x.md"),
        ("diff --git a/x.md b/x.md\n--- /dev/null\n+++ b/x.md\n", None, "x.md"),
        (
            '--- "a/caf\\303\\251\\t\\"1\\".md"\n+++ "b/caf\\303\\251\\t\\"1\\".md"\n',
            'café\t"1".md',
            'café\t"1".md',
        ),
    ],
)
def test_names_are_read_without_prefix_quotes_and_time(header: str, old: str | None, new: str | None) -> None:
    file = only(header + HUNK)

    assert (file.old_name, file.new_name) == (old, new)
    assert (file.creates, file.deletes, file.renames) == (
        old is None and new is not None,
        new is None and old is not None,
        False,
    )


@pytest.mark.parametrize(
    ("lines", "obstacle"),
    [
        ("old mode 100644\nnew mode 100755\n", "sets a file mode"),
        ("new file mode 100755\n", "sets a file mode"),
        ("new file mode 120000\n", "sets a file mode"),
        ("deleted file mode 120000\n", "sets a file mode"),
        ("new file mode 100644\n", None),
        ("deleted file mode 100644\n", None),
        ("deleted file mode 100755\n", None),
        ("copy from x.md\ncopy to x.md\n", "copies a file"),
        ("Binary files a/x.md and b/x.md differ\n", "changes binary data"),
        ("GIT binary patch\n", "changes binary data"),
    ],
)
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
