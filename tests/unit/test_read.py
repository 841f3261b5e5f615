"""`read`: the content of a place, its guards, and truncation; requests are read strictly."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.markdown import outline as outline_module
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.reading.read import read_target
from mdplan.reports.read import ReadResult, SearchReport
from mdplan.requests.query_reader import read_read_request, read_search_request
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.text.source import Source, sha256_hex
from tests.properties.hostile_markdown import hostile_documents
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


GUIDE = CASE_TABLES.value("GUIDE")


def outline(text: str, file: str = "a.md") -> Outline:
    return Outline(Source.from_text(text), document_format(file, text))


def read(text: str = GUIDE, budget: int = 10_000, cursor: str | None = None, **target: Any) -> Any:
    request = read_read_request({"file": "a.md", **target})
    assert isinstance(request, ReadRequest), request
    return read_target("a.md", outline(text), request.targets[0], budget, cursor)


@CASE_TABLES.parametrize("target", "first", "last", tuples=True)
def test_read_target_resolves_to_its_lines(target: dict[str, Any], first: int, last: int) -> None:
    result = read(**target)

    assert (result.start_line, result.end_line) == (first, last)
    assert result.content == "".join(GUIDE.splitlines(keepends=True)[first - 1 : last])
    assert result.content_exact is True
    assert result.base_sha256 == sha256_hex(GUIDE.encode())
    assert result.total_lines == 41


@CASE_TABLES.parametrize("target", "code")
def test_missing_read_target_is_refused_with_a_hint(target: dict[str, Any], code: Code) -> None:
    problem = read(**target)

    assert isinstance(problem, Diagnostic)
    assert problem.code == code
    assert problem.hint or problem.candidates


def test_missing_front_matter_is_reported() -> None:
    assert read("# A\n", front_matter=True).code is Code.FRONT_MATTER_NOT_FOUND


@pytest.mark.requirement("read-1")
def test_section_is_returned_with_its_guards() -> None:
    document = outline(GUIDE)
    install = next(section for section in document.sections if section.title == "Install")

    whole = read(heading="Install")
    own = read(heading="Install", subsections=False)

    assert whole.section_id == own.section_id == install.section_id
    assert whole.heading_path == ("Guide", "Install")
    assert whole.section_sha256 == document.section_sha256(install)
    assert document.hashed_part(install, own.section_sha256) == install.body
    assert read(heading="Quoted").section_sha256 is None


def test_empty_code_block_has_no_lines() -> None:
    result = read("```\n```\n", code_block={"index": 0})

    assert (result.start_line, result.end_line, result.content) == (2, 1, "")


def test_code_of_an_unclosed_fence_goes_to_the_end() -> None:
    assert read("```\nx\ny\n", code_block={"index": 0}).content == "x\ny\n"


def test_undecodable_bytes_are_escaped_and_reported() -> None:
    source = Source.decode(b"# A\n\na\xffb\n")
    assert isinstance(source, Source)

    result = read_target("a.md", Outline(source), ReadTarget(file="a.md"), 100)

    assert isinstance(result, ReadResult)
    assert (result.content, result.content_exact) == ("# A\n\na\\xffb\n", False)


def test_text_is_cut_at_a_block_and_a_heading_stays_with_its_text() -> None:
    budget = GUIDE.index("### Linux") + len("### Linux\n\nUse")
    result = read(budget=budget)

    assert result.truncated is True
    assert result.content == GUIDE[: GUIDE.index("### Linux") - 1]
    assert [row.heading for row in result.left_out] == ["### Linux", "## Use", "## Use"]


def test_cursor_of_another_version_is_stale() -> None:
    cursor = read(budget=50).next_cursor

    assert read(GUIDE + "more\n", budget=50, cursor=cursor).code is Code.STALE_BASE
    assert read(budget=50, cursor="7").code is Code.INVALID_ARGUMENT
    assert read(budget=50, cursor=cursor, heading="Install").code is Code.INVALID_ARGUMENT


# Bytes that are not Unicode are escaped, so they cannot be sent back.
@given(hostile_documents().map(lambda document: document.replace("\udc80", "")), st.integers(1, 60))
def test_pages_of_a_document_concatenate_to_it(document: str, budget: int) -> None:
    cursor, parts = None, []
    while True:
        result = read(document, budget=budget, cursor=cursor)
        assert isinstance(result, ReadResult)
        parts.append(result.content)
        cursor = result.next_cursor
        if cursor is None:
            break

    assert "".join(parts) == document


@CASE_TABLES.parametrize("request_", "message")
def test_contradicting_read_request_is_refused(request_: dict[str, Any], message: str) -> None:
    problems = read_read_request(request_)

    assert isinstance(problems, tuple)
    assert any(message in problem.message for problem in problems), problems


def test_file_may_be_given_once_for_all_targets() -> None:
    request = read_read_request(
        {"path": "a.md", "targets": [{"lines": {"start": 1, "end": 1}}, {"file": "b"}]}
    )

    assert isinstance(request, ReadRequest)
    assert [target.file for target in request.targets] == ["a.md", "b"]


def test_values_in_json_text_are_decoded() -> None:
    request = read_read_request({"file": "a.md", "lines": '{"start": 1, "end": 2}'})

    assert isinstance(request, ReadRequest)
    assert request.targets[0].lines is not None


# --- What `search` finds in one file and in many, how much of it is listed, and what is skipped unread.

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


def test_words_are_found_over_a_line_end_of_a_paragraph(engine: Engine) -> None:
    assert places(search(engine, pattern="Tea pot.")) == [("docs/b.md", 3, 1, None)]
    assert places(search(engine, pattern="T[a-z]+ pot", matchType="regex")) == [("docs/b.md", 3, 1, None)]
    assert places(search(engine, pattern="B Tea")) == places(search(engine, pattern="Tea  pot")) == []


def test_search_reports_skipped_binary_files(engine: Engine) -> None:
    report = search(engine, pattern="teapot")

    assert report.searched_files == len(FILES) - 1
    assert [file.file for file in report.files] == ["a.md", "docs/c.txt", "docs/latin.txt", "docs/utf16.md"]
    assert report.total_matches == 10
    assert [(warning.code, warning.file) for warning in report.warnings] == [
        (Code.NOT_A_TEXT_FILE, "data.bin")
    ]


@CASE_TABLES.parametrize("asked", "found")
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


@CASE_TABLES.parametrize("asked", "code")
def test_invalid_search_is_refused(engine: Engine, tmp_path: Path, asked: dict[str, Any], code: Code) -> None:
    (tmp_path / "long.txt").write_text("a" * 60 + "b")
    report = search(engine, **asked)

    assert not report.ok
    assert report.error is not None
    assert report.error.code == code


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
