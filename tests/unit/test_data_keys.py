"""Outline, read and search of files of keys and values."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.text.source import sha256_hex

SITE = "site_name: Kettle  # title\nnav:\n  - Home: index.md\n  - Guide:\n      - install.md\ntags: [a, b]\n"
PROJECT = """\
[project]
name = "kettle"

[project.urls]
home = "x"

[[steps]]
run = "a"
[[steps]]
run = "b"
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "mkdocs.yml").write_text(SITE)
    (tmp_path / "data.json").write_text('{"a.b": {"c": [1, {"d": "needle"}]}}')
    (tmp_path / "project.toml").write_text(PROJECT)
    (tmp_path / "setup.ini").write_text("[tea]\nminutes = 5\n")
    (tmp_path / "page.md").write_text("---\ntitle: Tea\ntags: [hot]\n---\n\n# Tea\n")
    (tmp_path / "broken.yml").write_text("a: [1\n")
    with Engine.open([tmp_path]) as opened:
        yield opened


def keys(engine: Engine, file: str, **asked: Any) -> dict[str, tuple[int, int]]:
    report = engine.stat({"file": file, **asked})
    assert report.ok, report.diagnostics
    return {each.key: (each.start_line, each.end_line) for each in report.keys or ()}


def content(engine: Engine, file: str, key: str) -> str:
    report = engine.read({"file": file, "key": key})
    return report.results[0].content or "" if report.ok else str(report.diagnostics[0].code)


def test_data_outline_lists_keys_with_their_lines(engine: Engine) -> None:
    assert keys(engine, "mkdocs.yml", depth=2) == {
        "site_name": (1, 1),
        "nav": (2, 5),
        "nav[0]": (3, 3),
        "nav[1]": (4, 5),
        "tags": (6, 6),
        "tags[0]": (6, 6),
        "tags[1]": (6, 6),
    }
    assert "nav[1].Guide[0]" in keys(engine, "mkdocs.yml")


def test_toml_table_ends_at_the_next_one(engine: Engine) -> None:
    assert keys(engine, "project.toml", depth=1) == {"project": (1, 5)}
    found = keys(engine, "project.toml")
    assert found["project.urls"] == (4, 5)
    assert found["steps[1]"] == (9, 10)


def test_data_outline_can_be_limited_to_one_key(engine: Engine) -> None:
    assert list(keys(engine, "mkdocs.yml", under="nav", depth=1)) == ["nav[0]", "nav[1]"]
    report = engine.stat({"file": "mkdocs.yml", "under": "nope"})
    assert [each.code for each in report.diagnostics] == ["KEY_NOT_FOUND"]


def test_key_hash_is_that_of_its_text(engine: Engine) -> None:
    entries = engine.stat({"file": "mkdocs.yml"}).keys or ()
    assert next(each.sha256 for each in entries if each.key == "tags") == sha256_hex(b"tags: [a, b]")[:16]
    assert next(each.items for each in entries if each.key == "nav") == 2


def test_dotted_names_are_printed_as_edits_accept_them(engine: Engine) -> None:
    assert "a\\.b.c[1].d" in keys(engine, "data.json")
    assert content(engine, "data.json", "a\\.b.c") == '{"a.b": {"c": [1, {"d": "needle"}]}}'


def test_unreadable_data_file_gives_a_warning_and_no_keys(engine: Engine) -> None:
    report = engine.stat({"file": "broken.yml"})
    assert report.ok
    assert report.keys is None
    assert [each.code for each in report.warnings] == ["DATA_INVALID"]


@pytest.mark.parametrize(
    ("file", "key", "lines"),
    [
        ("mkdocs.yml", "nav.Guide", "  - Guide:\n      - install.md\n"),
        ("mkdocs.yml", "/tags/1", "tags: [a, b]\n"),
        ("project.toml", "project.urls", '[project.urls]\nhome = "x"\n'),
        ("setup.ini", "tea.minutes", "minutes = 5\n"),
        ("page.md", "title", "title: Tea\n"),
        ("page.md", "author", "KEY_NOT_FOUND"),
        ("mkdocs.yml", "nav[", "INVALID_ARGUMENT"),
        ("broken.yml", "a", "DATA_INVALID"),
    ],
)
def test_key_is_read_by_its_address(engine: Engine, file: str, key: str, lines: str) -> None:
    assert content(engine, file, key) == lines


def test_match_in_a_data_file_names_its_key(engine: Engine) -> None:
    found = engine.search({"pattern": "needle"}).files[0]
    assert [hit.key for group in found.groups for hit in group.hits] == ["a\\.b.c[1].d"]
    comment = engine.search({"pattern": "# title", "file": "mkdocs.yml"}).files[0]
    assert [hit.key for group in comment.groups for hit in group.hits] == [None]


def test_files_are_selected_by_their_values(engine: Engine) -> None:
    def files(**asked: Any) -> list[str]:
        return [each.file for each in engine.search(asked).files]

    assert files(where={"site_name": "Kettle"}) == ["mkdocs.yml"]
    assert files(where={"project.name": "kettle"}) == ["project.toml"]
    assert files(where={"nav[0].Home": "index.md"}) == ["mkdocs.yml"]
    assert files(where={"tags": "hot"}) == ["page.md"]
    assert files(min={"tags": 2}) == ["mkdocs.yml"]
    assert files(has=["tea.minutes"]) == ["setup.ini"]
