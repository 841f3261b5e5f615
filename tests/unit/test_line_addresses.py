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


def test_hash_of_the_file_guards_the_lines_between(engine: Engine, tmp_path: Path) -> None:
    edits = [{"op": "delete_lines", "lines": "1:769-3:8b5"}]
    base = sha256_hex(TEXT.encode())
    report = engine.apply({"file": "a.md", "baseSha256": base, "edits": edits})

    assert report.applied
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "zero\n"
