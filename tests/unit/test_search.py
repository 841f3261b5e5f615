"""What `search` finds in one file and in many, how much of it is listed, and what is skipped unread."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.markdown import outline as outline_module
from mdplan.reports.read import SearchReport
from mdplan.requests.query_reader import read_search_request
from mdplan.requests.search import SearchRequest

FILES = {
    "a.md": "# A\n\nA teapot.\n\n## B\n\n`teapot` and [teapot](teapot.md).\n\n```\nteapot\n```\n",
    "docs/b.md": "# B\r\n\r\nTea\r\npot.\r\n",
    "docs/c.txt": "teapot\nteapot teapot\n",
    "docs/utf16.md": "\ufeff# D\n\nteapot\n".encode("utf-16-le"),
    "docs/latin.txt": b"teapot \xff\n",
    "data.bin": b"teapot\0\n",
    "empty.md": "",
}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Engine.open([tmp_path])


def search(engine: Engine, **asked: object) -> SearchReport:
    request = read_search_request(asked)
    assert isinstance(request, SearchRequest), request
    return engine.search(request)


def places(report: SearchReport) -> list[tuple[str, int, int, str | None]]:
    return [
        (file.file, hit.line, hit.col, hit.within)
        for file in report.files
        for group in file.groups
        for hit in group.hits
    ]


def test_every_match_has_its_place_and_the_kind_of_node_that_it_is_in(engine: Engine) -> None:
    report = search(engine, pattern="teapot", file="a.md")

    assert places(report) == [
        ("a.md", 3, 3, None),
        ("a.md", 7, 2, "inlineCode"),
        ("a.md", 7, 15, None),
        ("a.md", 7, 23, "linkDestinations"),
        ("a.md", 10, 1, "codeBlocks"),
    ]
    assert [(group.heading_path, group.start_line, group.end_line) for group in report.files[0].groups] == [
        (("A",), 1, 11),
        (("A", "B"), 5, 11),
    ]


def test_kinds_can_be_excluded(engine: Engine) -> None:
    report = search(engine, pattern="teapot", file="a.md", exclude=["codeBlocks", "inlineCode"])

    assert [place[1:3] for place in places(report)] == [(3, 3), (7, 15), (7, 23)]
    assert report.total_matches == 3


def test_search_reports_skipped_binary_files(engine: Engine) -> None:
    report = search(engine, pattern="teapot")

    assert report.searched_files == len(FILES)
    assert [file.file for file in report.files] == ["a.md", "docs/c.txt", "docs/latin.txt", "docs/utf16.md"]
    assert report.total_matches == 10
    assert [(warning.code, warning.file) for warning in report.warnings] == [
        (Code.NOT_A_TEXT_FILE, "data.bin")
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"pattern": "Tea\npot"}, ["docs/b.md"]),
        (
            {"pattern": "TEAPOT", "caseSensitive": False, "file": "docs"},
            ["docs/c.txt", "docs/latin.txt", "docs/utf16.md"],
        ),
        ({"pattern": r"^tea\w+$", "matchType": "regex"}, ["a.md", "docs/c.txt", "docs/utf16.md"]),
        ({"pattern": "teapot", "file": "*.txt"}, ["docs/c.txt", "docs/latin.txt"]),
        ({"pattern": "nowhere"}, []),
    ],
)
def test_search_conditions_select_the_expected_files(
    engine: Engine, asked: dict[str, Any], found: list[str]
) -> None:
    assert [file.file for file in search(engine, **asked).files] == found


@pytest.mark.requirement("search-1")
def test_limit_cuts_the_list_and_not_the_totals(engine: Engine) -> None:
    whole = places(search(engine, pattern="teapot"))
    cursor, pages = None, []
    while True:
        page = search(engine, pattern="teapot", limit=3, **({"cursor": cursor} if cursor else {}))
        assert page.total_matches == len(whole)
        assert len(places(page)) <= 3
        pages += places(page)
        cursor = page.next_cursor
        if cursor is None:
            break

    assert pages == whole


def test_context_contains_the_surrounding_lines(engine: Engine) -> None:
    (hit,) = search(engine, pattern="A teapot", file="a.md", context=2).files[0].groups[0].hits

    assert (hit.before, hit.behind) == (("# A", ""), ("", "## B"))


def test_long_line_is_cut_around_the_match(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 1_000 + "needle" + "y" * 1_000)
    (hit,) = search(Engine.open([tmp_path]), pattern="needle").files[0].groups[0].hits

    assert "needle" in hit.text
    assert len(hit.text) < 210
    assert hit.col == 1_001


def test_only_files_with_matches_are_parsed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = outline_module.parse_blocks
    monkeypatch.setattr(
        outline_module, "parse_blocks", lambda text, *rest: parsed.append(text) or original(text, *rest)
    )

    search(engine, pattern="`teapot`")

    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"pattern": "(", "matchType": "regex"}, Code.INVALID_REGEX),
        ({"pattern": "^(a|aa)+$", "matchType": "regex", "file": "long.txt"}, Code.REGEX_TIMEOUT),
        ({"pattern": "x", "cursor": "-1"}, Code.INVALID_ARGUMENT),
        ({"pattern": "x", "file": "../up"}, Code.PATH_OUTSIDE_ROOT),
        ({"pattern": "x", "file": "gone.md"}, Code.FILE_NOT_FOUND),
        ({"pattern": "teapot", "file": "data.bin"}, Code.NOT_A_TEXT_FILE),
    ],
)
def test_invalid_search_is_refused(engine: Engine, tmp_path: Path, asked: dict[str, Any], code: Code) -> None:
    (tmp_path / "long.txt").write_text("a" * 60 + "b")
    report = search(engine, **asked)

    assert not report.ok
    assert report.error is not None
    assert report.error.code is code


def test_git_ignored_files_can_be_skipped(tmp_path: Path) -> None:
    files = [
        "a.md",
        "b.log",
        "keep.log",
        "build/c.md",
        "docs/d.md",
        "docs/e.tmp",
        "docs/sub/f.tmp",
        "docs/out/g.md",
    ]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n")
    (tmp_path / "docs" / ".gitignore").write_text("*.tmp\r\n/out\n")
    (tmp_path / "docs" / "sub" / ".gitignore").write_text("!f.tmp\n")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    listed = subprocess.run(["git", "ls-files"], cwd=tmp_path, check=True, capture_output=True, text=True)
    engine = Engine.open([tmp_path])

    report = search(engine, pattern="needle", respectGitignore=True)
    below = search(engine, pattern="needle", respectGitignore=True, file="docs")

    expected = sorted(name for name in listed.stdout.split("\n") if name and not name.endswith(".gitignore"))
    assert [file.file for file in report.files] == expected
    assert [file.file for file in below.files] == [name for name in expected if name.startswith("docs/")]
    assert search(engine, pattern="needle").total_files == len(files)


def test_section_patterns_find_the_next_section(tmp_path: Path) -> None:
    (tmp_path / "log.md").write_text("# L\n[LOG-1] a\nx\n[LOG-2] a\n## End\na\n")
    report = search(Engine.open([tmp_path]), pattern="a", sectionPatterns=[r"^\[LOG-", "^## "])

    hints = [
        (hit.line, hit.section_end_hint)
        for file in report.files
        for group in file.groups
        for hit in group.hits
    ]
    assert hints == [(2, 3), (4, 4), (6, None)]


def test_unknown_field_is_refused_by_name() -> None:
    problems = read_search_request({"pattern": "x", "regexp": True})

    assert isinstance(problems, tuple)
    assert "regexp" in problems[0].message
