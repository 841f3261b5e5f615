"""`mdplan stat`: structure of files that are named as a shell names them."""

import os
from pathlib import Path

import pytest

from mdplan.diagnostics import Exit
from mdplan.engine.engine import Engine
from mdplan.reports.base import to_wire
from mdplan.requests.queries import StatRequest
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


@pytest.fixture
def deep(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, below a root; it holds `own.md`."""
    folder = project / "docs"
    folder.mkdir()
    (folder / "own.md").write_text("# Own\n\n## First\n\nx\n\n## Second\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("file", "found"), [("own.md", "docs/own.md"), ("./own.md", "docs/own.md"), ("../guide.md", "guide.md")]
)
def test_file_is_relative_to_the_current_folder(deep: Path, file: str, found: str) -> None:
    run = mdplan("stat", file)

    assert run.code == 0
    assert run.out.decode().startswith(f"{found} baseSha256 ")
    assert run.err == ""


def test_text_names_lines_headings_and_ids(deep: Path) -> None:
    lines = mdplan("stat", "--detail", "brief", "own.md").out.decode().split("\n")
    section = Engine.open([deep.parent]).stat(StatRequest(file="docs/own.md")).sections[1]

    assert f"3-6 ## First {section.section_id[7:15]}" in lines


def test_json_is_the_report(deep: Path) -> None:
    run = mdplan("stat", "--json", "own.md")

    assert run.json == to_wire(Engine.open([deep.parent]).stat(StatRequest(file=str(deep / "own.md"))))
    assert run.json["file"] == "docs/own.md"
    assert run.err == ""


def test_several_files_are_shown_in_turn_and_the_worst_exit_code_counts(deep: Path) -> None:
    run = mdplan("outline", "../guide.md", "own.md", "gone.md")

    assert [line for line in run.out.decode().split("\n") if line.endswith(".md")] == [
        "guide.md",
        "docs/own.md",
    ]
    assert run.code == Exit.REFUSED.value
    assert "no file `docs/gone.md`" in run.err


def test_folder_gives_a_row_for_each_file(deep: Path) -> None:
    assert [row["file"] for row in mdplan("stat", "--json").json["files"]] == ["docs/own.md"]
    assert [row["file"] for row in mdplan("stat", "--json", "..").json["files"]] == [
        "docs/own.md",
        "guide.md",
    ]
    assert [row["file"] for row in mdplan("stat", "--json", "*.md").json["files"]] == ["docs/own.md"]


@CASE_TABLES.parametrize("options", "titles")
def test_options_limit_the_outline(deep: Path, options: list[str], titles: list[str]) -> None:
    sections = mdplan("stat", "--json", *options, "own.md").json["sections"]

    assert [section["headingPath"][-1] for section in sections] == titles


def test_options_request_inventories_encoding_and_format(deep: Path) -> None:
    (deep / "latin.txt").write_bytes("# Straße\n".encode("latin-1"))

    report = mdplan(
        "stat", "--json", "--include", "tables", "--encoding", "latin-1", "--format", "markdown", "latin.txt"
    ).json

    assert report["encoding"] == "latin-1"
    assert report["sections"][0]["headingPath"] == ["Straße"]
    assert report["tables"] == []
    assert "links" not in report


def test_several_roots_are_selected_by_name(deep: Path) -> None:
    other = deep.parent.parent / "other"
    other.mkdir()
    (other / "own.md").write_text("# Other\n")
    roots = ("--root", str(deep), "--root", str(other))

    (deep / "10:30 x.md").write_text("# Tea\n")
    assert mdplan("stat", *roots, "10:30 x.md").out.decode().startswith("docs:10:30 x.md ")
    assert mdplan("stat", *roots, "own.md").out.decode().startswith("docs:own.md ")
    assert mdplan("stat", *roots, "other:own.md").out.decode().startswith("other:own.md ")
    named = ("--root", f"first={deep}", "--root", f"second={other}")
    assert mdplan("stat", *named, "own.md").out.decode().startswith("first:own.md ")


def test_key_that_looks_like_a_hash_is_shown(deep: Path) -> None:
    (deep / "k.yaml").write_text("the baseSha256 abc: 1\n")

    assert b"the baseSha256 abc" in mdplan("outline", "k.yaml").out


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_folder_is_named_in_a_command_that_works(deep: Path, flags: tuple[str, ...]) -> None:
    (deep / 'my "} docs').mkdir()

    run = mdplan("read", 'my "} docs', *flags)
    told = run.err + run.out.decode()
    assert "`mdplan outline 'docs/my " in told.replace("\\", "")
    assert "md_stat" not in told


def test_name_that_is_no_unicode_is_refused(deep: Path) -> None:
    run = mdplan("stat", os.fsdecode(b"odd-\xff.md"))

    assert run.code in (2, 3)
    assert "\\xff" in run.err or "\\udcff" in run.err or "surrogate" in run.err
