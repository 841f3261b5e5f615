"""Values typed in the shell are text, unless mdplan writes them back as typed."""

from pathlib import Path

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


# Typed text, then the value in YAML, JSON and TOML.
WRITTEN = [
    ("5", "5", "5", "5"),
    ("-7", "-7", "-7", "-7"),
    ("1.5", "1.5", "1.5", "1.5"),
    ("true", "true", "true", "true"),
    ("false", "false", "false", "false"),
    ('"5"', '"5"', '"5"', '"5"'),
    ("'5'", '"5"', '"5"', '"5"'),
    ('"a\\tb"', '"a\\tb"', '"a\\tb"', '"a\\tb"'),
    ("[]", "[]", "[]", "[]"),
    ("3.10", '"3.10"', '"3.10"', '"3.10"'),
    ("1.20", '"1.20"', '"1.20"', '"1.20"'),
    ("01234", '"01234"', '"01234"', '"01234"'),
    ("0x1F", '"0x1F"', '"0x1F"', '"0x1F"'),
    ("1_000", '"1_000"', '"1_000"', '"1_000"'),
    ("1e10", '"1e10"', '"1e10"', '"1e10"'),
    ("-0", '"-0"', '"-0"', '"-0"'),
    ("+5", '"+5"', '"+5"', '"+5"'),
    (".5", '".5"', '".5"', '".5"'),
    (".inf", '".inf"', '".inf"', '".inf"'),
    ("12:30", '"12:30"', '"12:30"', '"12:30"'),
    ("NO", '"NO"', '"NO"', '"NO"'),
    ("True", '"True"', '"True"', '"True"'),
    ("~", '"~"', '"~"', '"~"'),
    ("Tea: a guide", '"Tea: a guide"', '"Tea: a guide"', '"Tea: a guide"'),
    ("5 # of cups", '"5 # of cups"', '"5 # of cups"', '"5 # of cups"'),
    ("2026-11-27 # draft", '"2026-11-27 # draft"', '"2026-11-27 # draft"', '"2026-11-27 # draft"'),
    ("#1 guide", '"#1 guide"', '"#1 guide"', '"#1 guide"'),
    ("[Draft] Tea", '"[Draft] Tea"', '"[Draft] Tea"', '"[Draft] Tea"'),
    ("[a] 'b", '"[a] \'b"', '"[a] \'b"', '"[a] \'b"'),
    ("[Tea](tea.md)", '"[Tea](tea.md)"', '"[Tea](tea.md)"', '"[Tea](tea.md)"'),
    ("{{ page.title }}", '"{{ page.title }}"', '"{{ page.title }}"', '"{{ page.title }}"'),
    ("*.md", '"*.md"', '"*.md"', '"*.md"'),
    ("@kim", '"@kim"', '"@kim"', '"@kim"'),
    ("- a", '"- a"', '"- a"', '"- a"'),
    ("!x y", '"!x y"', '"!x y"', '"!x y"'),
    ("it's", "it's", '"it\'s"', '"it\'s"'),
    ("a b", "a b", '"a b"', '"a b"'),
]
FILES = CASE_TABLES.value("FILES", tuples=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row[0])
def test_value_is_written_as_typed(folder: Path, row: tuple[str, ...]) -> None:
    for file, (before, after, column) in FILES.items():
        (folder / file).write_bytes(before.encode())
        run = mdplan("set", file, f"key={row[0]}", "--yes")
        assert run.code == 0, run.err
        assert (folder / file).read_bytes().decode() == after.format(row[column])

    (folder / "page.md").write_bytes(FILES["page.md"][0].encode())
    run = mdplan("edit", "set_value", "page.md", "--key", "key", "--value", row[0], "--yes")
    assert run.code == 0, run.err
    assert (folder / "page.md").read_bytes().decode() == FILES["page.md"][1].format(row[1])


@pytest.mark.parametrize("typed", ["3.10", "NO", "Tea: a guide", "[Draft] Tea", '"5"'])
def test_ini_value_is_the_text_as_typed(folder: Path, typed: str) -> None:
    (folder / "app.ini").write_text("[tea]\nother = x\n", encoding="utf-8")
    run = mdplan("set", "app.ini", f"tea.key={typed}", "--yes")
    assert run.code == 0, run.err
    assert (folder / "app.ini").read_text(encoding="utf-8") == f"[tea]\nother = x\nkey = {typed}\n"


@CASE_TABLES.parametrize("typed", "written")
def test_front_matter_accepts_null_dates_lists_and_maps(folder: Path, typed: str, written: str) -> None:
    (folder / "page.md").write_text("---\nother: x\n---\n", encoding="utf-8")
    run = mdplan("set", "page.md", f"key={typed}", "--yes")
    assert run.code == 0, run.err
    wanted = f"---\nother: x\nkey: {written}\n---\n".replace(": \n", ":\n")
    assert (folder / "page.md").read_text(encoding="utf-8") == wanted


@CASE_TABLES.parametrize("file", "before", "words", "after")
def test_command_writes_the_key_that_is_meant(
    folder: Path, file: str, before: str, words: str, after: str
) -> None:
    (folder / file).write_text(before, encoding="utf-8")
    run = mdplan(*words.replace("FILE", file).split(), "--yes")
    assert (folder / file).read_text(encoding="utf-8") == (before if run.code else after)
    assert not run.code or after in run.err


@CASE_TABLES.parametrize("typed", "missing")
def test_error_names_the_missing_character(folder: Path, typed: str, missing: str) -> None:
    (folder / "page.md").write_text("---\nother: x\n---\n", encoding="utf-8")
    run = mdplan("set", "page.md", f"key={typed}", "--yes")
    assert run.code == 2
    assert f"`{typed}` has no closing `{missing}`" in run.err


def test_warning_shows_how_to_quote_text(folder: Path) -> None:
    (folder / "page.md").write_text('---\nver: "1.10"\n---\n', encoding="utf-8")
    run = mdplan("set", "page.md", "ver=1.1", "--dry-run")
    assert "`ver` was a string and is a number now" in run.err
    assert 'to keep text, put the value in quotes: `"1.1"`' in run.err
