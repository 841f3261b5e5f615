"""Hashes of lines guard what they name, and nothing between them."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.text.source import sha256_hex
from tests.bot.golden import open_engine

TEXT = "zero\none\ntwo\nthree\n"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "a.md").write_text(TEXT, encoding="utf-8")
    return open_engine(tmp_path)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("2:769", None),
        ("2:769-3:3fc", None),
        ("2:769,3fc,8b5", None),
        ("1:769-3:8b5", Code.PRECONDITION_REQUIRED),
        ("2:769-4:8b5", Code.PRECONDITION_REQUIRED),
        ("2-4", Code.PRECONDITION_REQUIRED),
    ],
)
def test_only_a_hash_of_each_line_is_evidence(engine: Engine, lines: str, code: Code | None) -> None:
    report = engine.apply({"file": "a.md", "edits": [{"op": "delete_lines", "lines": lines}]})

    assert (report.error.code if report.error is not None else None) == code
    assert report.applied is (code is None)


# Hashes of "a", "b" and "c" in SPACED.
A, B, C = "ca9", "3e2", "2e7"
SPACED = "a\n\nb\n\nc\n"


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        ({"op": "delete_lines", "lines": f"1:{A},,{B}"}, "\nc\n"),
        ({"op": "delete_lines", "lines": f"4:,{C}"}, "a\n\nb\n"),
        ({"op": "insert_lines", "line": f"1:{A},,{B}", "markdown": "x"}, "a\nx\n\nb\n\nc\n"),
        (
            {"op": "insert_lines", "line": f"7:{A},,{B}", "position": "before", "markdown": "x"},
            "a\n\nx\nb\n\nc\n",
        ),
        ({"op": "insert_lines", "line": f"9:{C},end", "markdown": "x"}, f"{SPACED}x\n"),
        ({"op": "insert_lines", "line": f"1:start,{A}", "markdown": "x"}, f"x\n{SPACED}"),
    ],
)
def test_hashes_of_both_neighbouring_lines_guard_a_place(
    engine: Engine, tmp_path: Path, edit: dict[str, str], result: str
) -> None:
    (tmp_path / "a.md").write_text(SPACED, encoding="utf-8")

    assert engine.apply({"file": "a.md", "edits": [edit]}).ok
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == result


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (f"5:{C},end", f"{SPACED}more\n", "line 5 was the last one, and is line 5 now, with more after it"),
        (
            f"1:start,{A}",
            f"more\n{SPACED}",
            "line 1 was the first one, and is line 2 now, with more before it",
        ),
    ],
)
def test_line_hash_of_a_line_no_longer_at_the_edge_is_refused(
    engine: Engine, tmp_path: Path, line: str, text: str, message: str
) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    edit = {"op": "insert_lines", "line": line, "markdown": "x"}
    report = engine.apply({"file": "a.md", "edits": [edit]})

    assert report.error is not None
    assert (report.error.code, report.error.message) == (Code.TEXT_MISMATCH, message)


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("1:abc,def,end", None),
        ("1:abc,end", "before"),
        ("2:start,abc", None),
        ("1:start,abc", "after"),
        ("1,end", None),
        ("1:,", "sideways"),
        ("1:", "after"),
    ],
)
def test_malformed_place_is_refused(engine: Engine, line: str, position: str | None) -> None:
    edit = {"op": "insert_lines", "line": line, "markdown": "x"} | (
        {"position": position} if position else {}
    )
    report = engine.apply({"file": "a.md", "edits": [edit]})

    assert report.error is not None
    assert report.error.code is Code.INVALID_ARGUMENT


def test_file_hash_guards_the_lines_between(engine: Engine, tmp_path: Path) -> None:
    edits = [{"op": "delete_lines", "lines": "1:769-3:8b5"}]
    base = sha256_hex(TEXT.encode())
    report = engine.apply({"file": "a.md", "baseSha256": base, "edits": edits})

    assert report.applied
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "zero\n"
