"""`stat` of a file and of a folder: requests, results, and the text form."""

from textwrap import dedent
from typing import Any

import pytest

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.reading.stat import file_row, folder_report, stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import to_wire
from mdplan.reports.stat import FrontMatterEntry, StatReport, TaskCounts
from mdplan.requests.queries import StatRequest
from mdplan.requests.query_reader import read_stat_request
from mdplan.text.lines import Lines
from mdplan.text.source import DocumentFormat, Source, sha256_hex
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


GUIDE = CASE_TABLES.value("GUIDE")


def outline(text: str) -> Outline:
    return Outline(Source.from_text(text))


def stat(text: str, **asked: object) -> StatReport:
    request = read_stat_request({"file": "guide.md", **asked})
    assert isinstance(request, StatRequest), request
    return stat_report("guide.md", outline(text), request)


def headings(count: int) -> str:
    return "".join(f"# {number}\n" for number in range(count))


# One file.
@pytest.mark.requirement("stat-1")
def test_stat_reports_the_properties_of_a_file() -> None:
    report = stat(GUIDE)

    assert (report.ok, report.file, report.format, report.detail) == (True, "guide.md", "markdown", "full")
    assert report.base_sha256 == sha256_hex(GUIDE.encode())
    assert (report.bytes, report.total_lines) == (len(GUIDE), 33)
    assert (report.encoding, report.bom, report.final_newline) == ("utf-8", False, True)
    assert report.line_ends == {"lf": 33, "crlf": 0, "cr": 0}
    assert report.invalid_bytes is None
    assert report.front_matter == FrontMatterEntry(
        format="yaml", start_line=1, end_line=4, keys=("title", "tags")
    )
    assert report.trailing_definitions == Lines(start=33, end=33)


def test_bytes_that_are_not_unicode_are_counted_and_shown_escaped() -> None:
    source = Source.decode(b"# A\xff\n")
    assert isinstance(source, Source)
    report = stat_report("a.md", Outline(source), StatRequest(file="a.md"))

    assert report.invalid_bytes == 1
    assert to_wire(report)["sections"][0]["headingPath"] == ["A\\xff"]
    assert "# A\\xff" in stat_text(report)


def test_full_detail_lists_all_fields_of_each_section() -> None:
    _, guide, install, mac, quoted, again = stat(GUIDE).sections

    assert (install.heading_path, install.canonical_heading_path) == (
        ("Guide", "Install"),
        ("guide", "install"),
    )
    assert (install.level, install.start_line, install.end_line) == (2, 11, 30)
    assert (install.anchor, again.anchor) == ("install", "install-1")
    assert (install.duplicate_of, again.duplicate_of) == (None, install.section_id)
    assert (quoted.nested, quoted.start_line, mac.nested) == (True, 29, None)
    assert mac.heading_path == ("Guide", "Install", "On macOS")
    assert guide.tokens == (len(GUIDE[GUIDE.index("# Guide") : GUIDE.index("[ref]")]) + 3) // 4
    section = GUIDE[GUIDE.index("## Install") : GUIDE.rindex("## Install")]
    assert install.section_sha256 == sha256_hex(section.encode())[:16]


def test_brief_detail_keeps_id_level_path_and_lines() -> None:
    report = to_wire(stat(GUIDE, detail="brief"))

    assert report["sections"][2] == {
        "sectionId": stat(GUIDE).sections[2].section_id,
        "level": 2,
        "title": "Install",
        "canonicalHeadingPath": ["guide", "install"],
        "startLine": 11,
        "endLine": 30,
    }
    assert not {"codeBlocks", "tables", "tasks", "anchors", "regions", "links"} & report.keys()


@pytest.mark.parametrize(("count", "detail"), [(40, "full"), (41, "brief")])
def test_auto_is_full_up_to_forty_sections(count: int, detail: str) -> None:
    assert stat(headings(count)).detail == detail


@pytest.mark.parametrize(
    ("detail", "include", "given"),
    [
        ("brief", ["links", "tasks"], {"links", "tasks"}),
        ("brief", "regions", {"regions"}),
        ("full", ["tables"], {"tables"}),
        ("full", [], set()),
    ],
)
def test_inventories_are_given_on_request(detail: str, include: object, given: set[str]) -> None:
    names = {"codeBlocks", "tables", "tasks", "anchors", "regions", "links"}

    assert to_wire(stat(GUIDE, detail=detail, include=include)).keys() & names == given


@pytest.mark.parametrize("text", ["# A\n", "\n\n# A\n", "---\na: 1\n---\n\n# A\n"])
def test_preamble_without_text_is_not_listed(text: str) -> None:
    assert [section.level for section in stat(text).sections] == [1]


def test_empty_file_has_no_sections() -> None:
    report = stat("")

    assert (report.ok, report.sections, report.total_sections, report.total_lines) == (True, (), 0, 0)


def test_plain_text_is_one_section_without_heading() -> None:
    plain = Outline(Source.from_text("# no heading\n[x](#y)\n"), DocumentFormat.TEXT)
    report = stat_report("a.txt", plain, StatRequest(file="a.txt"))

    assert report.format == "text"
    assert [(section.level, section.start_line, section.end_line) for section in report.sections] == [
        (0, 1, 2)
    ]
    assert (report.links, report.code_blocks) == (None, None)


def test_too_deep_nesting_is_a_warning() -> None:
    assert [found.code for found in stat("- " * 300 + "x\n").warnings] == [Code.NESTING_LIMIT]
    assert stat("- " * 20 + "x\n").warnings == ()


def test_long_names_and_lists_of_names_are_cut() -> None:
    report = stat(f"# {'x' * 1_000}\n\n```{'y' * 1_000}\n```\n\n{'|a' * 101}\n{'|-' * 101}\n")

    assert report.sections[0].heading_path == ("x" * 299 + "…",)
    assert report.code_blocks is not None
    assert report.code_blocks[0].language == "y" * 299 + "…"
    assert report.tables is not None
    assert report.tables[0].columns == (*["a"] * 99, "…")


# Parts of one file.
def paths(report: StatReport) -> list[str]:
    return ["/".join(section.canonical_heading_path) for section in report.sections]


TREE = "pre\n# A\n## B\n#### C\n> # Q\n## D\n# E\n## B\n"
ALL = ["", "a", "a/b", "a/b/c", "a/b/c/q", "a/d", "e", "e/b"]


@CASE_TABLES.parametrize("asked", "expected")
def test_sections_under_a_section_and_down_to_a_depth(asked: dict[str, Any], expected: list[str]) -> None:
    report = stat(TREE, **asked)

    assert paths(report) == expected
    assert report.total_sections == len(expected)


def test_under_may_be_a_section_id() -> None:
    section_id = stat(TREE).sections[2].section_id

    assert paths(stat(TREE, under=section_id)) == ["a/b", "a/b/c", "a/b/c/q"]
    assert paths(stat(TREE, under=section_id[7:15])) == ["a/b", "a/b/c", "a/b/c/q"]


def test_heading_that_looks_like_an_id_is_found() -> None:
    assert paths(stat("# Deadbeef\n## x\n# y\n", under="Deadbeef")) == ["deadbeef", "deadbeef/x"]
    assert paths(stat("# [1.2.0]\n# y\n", under="[1.2.0]")) == ["120"]


@CASE_TABLES.parametrize("under", "code")
def test_missing_section_under_is_refused(under: object, code: Code) -> None:
    report = stat(TREE, under=under)

    assert not report.ok
    assert report.error is not None
    assert (report.error.code, report.error.file) == (code, "guide.md")


def test_lists_have_the_index_by_which_edits_name_them() -> None:
    text = "# A\n\n- a\n  - nested\n- b\n\nText.\n\n1. c\n"

    report = stat(text, include=["lists"])

    assert stat(text, detail="full").lists is None
    assert report.lists is not None
    assert [
        (each.index, each.start_line, each.end_line, each.marker, each.items) for each in report.lists
    ] == [(0, 3, 5, "-", 2), (1, 9, 9, "1.", 1)]
    assert "lists: 0 3-5 (2 items), 1 9-9 (1 item)\n" in stat_text(report)


def test_inventories_are_those_of_the_section() -> None:
    report = stat(GUIDE, under="On macOS")

    assert (report.code_blocks, report.tasks, report.regions) == ((), TaskCounts(total=0, done=0), ())
    assert [table.start_line for table in report.tables or ()] == [25]
    assert [anchor.id for anchor in report.anchors or ()] == ["on-macos-", "mac", "quoted"]


# Pages.
def test_cursors_lead_to_the_last_page() -> None:
    first = stat(TREE, limit=3)
    second = stat(TREE, limit=3, cursor=first.next_cursor)
    third = stat(TREE, limit=3, cursor=second.next_cursor)

    assert paths(first) + paths(second) + paths(third) == ALL
    assert (first.total_sections, third.next_cursor) == (8, None)


def test_each_page_has_the_inventories_of_its_own_text() -> None:
    text = "```a\n```\n# A\n```b\n```\n# B\n```c\n```\n"
    first = stat(text, limit=2)
    second = stat(text, limit=2, cursor=first.next_cursor)

    assert [block.language for block in first.code_blocks or ()] == ["a", "b"]
    assert [block.language for block in second.code_blocks or ()] == ["c"]


def test_long_list_is_cut_and_its_length_reported() -> None:
    report = stat("```a\n```\n" * 5 + "[x](#gone)\n" * 3 + "# A\n", limit=2)

    assert len(report.code_blocks or ()) == 2
    assert report.inventory_totals == {"codeBlocks": 5, "brokenLinks": 3}
    assert "5 in all" in stat_text(report)


@pytest.mark.parametrize(("detail", "limit"), [("full", 200), ("brief", 1_000)])
def test_default_limit_depends_on_the_detail(detail: str, limit: int) -> None:
    report = stat(headings(1_001), detail=detail)

    assert (len(report.sections), report.next_cursor is None) == (limit, False)


def test_cursor_of_another_version_is_stale() -> None:
    cursor = stat(TREE, limit=3).next_cursor
    report = stat(TREE + "more\n", limit=3, cursor=cursor)

    assert report.error is not None
    assert report.error.code is Code.STALE_BASE


@pytest.mark.parametrize("cursor", ["3", "x-01234567", "docs/a.md", "3-0123456"])
def test_cursor_of_another_kind_is_refused(cursor: str) -> None:
    report = stat(TREE, cursor=cursor)

    assert report.error is not None
    assert report.error.code is Code.INVALID_ARGUMENT


# Requests.
@CASE_TABLES.parametrize("asked", "words")
def test_wrong_value_is_refused_with_the_right_form(asked: dict[str, Any], words: str) -> None:
    problems = read_stat_request(asked)

    assert isinstance(problems, tuple)
    assert [problem.code for problem in problems] == [Code.INVALID_ARGUMENT]
    assert words in f"{problems[0].message}; {problems[0].hint}"


def test_all_problems_are_reported_and_unknown_fields_suggest_the_nearest() -> None:
    problems = read_stat_request({"file": "a.md", "dept": 1, "limit": 0})

    assert isinstance(problems, tuple)
    assert [(problem.code, "`depth`" in problem.hint) for problem in problems] == [
        (Code.UNKNOWN_FIELD, True),
        (Code.INVALID_ARGUMENT, False),
    ]


# Folders.
FILES = {
    "b.md": outline("# B\n## C\n"),
    "a.md": outline("---\ntitle: '  Of the  front matter'\n---\n# A\n"),
    "c.bin": Diagnostic(code=Code.NOT_A_TEXT_FILE, message="`c.bin` is no text"),
    "d.txt": Outline(Source.from_text("12345"), DocumentFormat.TEXT),
}


def folder(**asked: object) -> StatReport:
    return folder_report(StatRequest(file="docs", **asked), FILES, FILES.__getitem__)


@pytest.mark.requirement("stat-2")
def test_folder_has_one_row_a_file_by_path() -> None:
    report = folder()

    assert (report.ok, report.file, report.total_files, report.next_cursor) == (True, "docs", 4, None)
    assert [(row.file, row.title, row.sections, row.tokens) for row in report.files or ()] == [
        ("a.md", "Of the front matter", 1, 11),
        ("b.md", "B", 2, 3),
        ("c.bin", None, None, None),
        ("d.txt", None, 0, 2),
    ]
    assert (report.files or ())[1].base_sha256 == sha256_hex(b"# B\n## C\n")
    assert (report.files or ())[2].problem == "NOT_A_TEXT_FILE: `c.bin` is no text"


@CASE_TABLES.parametrize("text", "title")
def test_row_has_the_title_of_the_page_where_there_is_one(text: str, title: str | None) -> None:
    assert file_row("a.md", outline(text)).title == title


@pytest.mark.requirement("stat-2")
def test_only_the_files_of_the_page_are_read() -> None:
    read: list[str] = []

    def reading(file: str) -> Outline | Diagnostic:
        read.append(file)
        return FILES[file]

    first = folder_report(StatRequest(file="docs", limit=2), FILES, reading)
    assert (read, first.next_cursor, first.total_files) == (["a.md", "b.md"], "b.md", 4)
    second = folder_report(StatRequest(file="docs", limit=2, cursor=first.next_cursor), FILES, reading)
    assert [row.file for row in second.files or ()] == ["c.bin", "d.txt"]
    assert second.next_cursor is None


@pytest.mark.parametrize("asked", [{"under": "A"}, {"depth": 1}, {"include": ("links",)}, {"detail": "full"}])
def test_structure_options_are_refused_for_a_folder(asked: dict[str, Any]) -> None:
    report = folder(**asked)

    assert report.error is not None
    assert report.error.code is Code.INVALID_ARGUMENT
    assert next(iter(asked)) in report.error.hint


# Text.
def digits(report: StatReport) -> list[str]:
    return [section.section_id[7:15] for section in report.sections]


def test_brief_text_has_one_line_a_section() -> None:
    report = stat("x\n# Guide\n\n## Install\n\ntext\n", detail="brief")
    root, guide, install = digits(report)

    assert stat_text(report) == dedent(f"""\
        guide.md baseSha256 {report.base_sha256[:16]}
        markdown, 6 lines, 28 bytes, utf-8, LF
        3 sections: lines heading sectionId
        1-1 (preamble) {root}
        2-6 # Guide {guide}
        4-6 ## Install {install}
        """)


def test_full_text_has_every_field_of_the_report() -> None:
    report = stat(GUIDE)
    root, guide, install, mac, quoted, again = digits(report)
    hashes = [section.section_sha256 for section in report.sections]
    tokens = [section.tokens for section in report.sections]

    assert stat_text(report) == dedent(f"""\
        guide.md baseSha256 {report.base_sha256[:16]}
        markdown, 33 lines, {len(GUIDE)} bytes, utf-8, LF
        front matter 1-4 yaml: title, tags
        6 sections: lines heading sectionId sectionSha256 ~tokens #anchor
        5-6 (preamble) {root} {hashes[0]} ~{tokens[0]}
        7-32 # Guide {guide} {hashes[1]} ~{tokens[1]} #guide
        11-30 ## Install {install} {hashes[2]} ~{tokens[2]} #install
        23-30 ### On macOS {mac} {hashes[3]} ~{tokens[3]} #on-macos-
        29-29 ## Quoted {quoted} {hashes[4]} ~{tokens[4]} #quoted (nested)
        31-32 ## Install {again} {hashes[5]} ~{tokens[5]} #install-1 (repeats {install})
        code blocks: 0 sh 13-15
        table 0 25-27, 1 row: key | value
        tasks: 1 of 2 done
        explicit anchors: #mac 23
        regions: toc 20-21
        links: 2 inline
        links to nothing: #gone 9
        definitions 33-33 belong to no section
        """)


def test_text_reports_unusual_properties_of_a_file() -> None:
    source = Source.decode(b"\xef\xbb\xbf# A\r\n\n    x\n\n<!-- r:end -->")
    assert isinstance(source, Source)
    text = stat_text(stat_report("a.md", Outline(source), StatRequest(file="a.md")))

    assert "utf-8 with BOM, mixed line ends (3 LF, 1 CRLF), no final newline\n" in text
    assert "code blocks: indented 3-3\n" in text
    assert "regions: r 5 (start missing)\n" in text
    assert "no tables, tasks, links\n" in text


def test_text_names_the_next_page() -> None:
    report = stat(TREE, limit=3)

    assert "3 of 8 sections: " in stat_text(report)
    assert stat_text(report).endswith(f"more: cursor {report.next_cursor}\n")


def test_text_of_a_refusal_has_code_hint_and_candidates() -> None:
    report = stat(TREE, under="B")
    assert report.error is not None
    first, second = (place.section_id[7:] for place in report.error.candidates)

    assert stat_text(report) == (
        f"AMBIGUOUS_HEADING: {report.error.message}; {report.error.hint}\n"
        f"  3-5 A / B {first}\n"
        f"  8-8 E / B {second}\n"
    )


def test_text_of_a_folder_has_one_line_a_file() -> None:
    report = folder(limit=3)
    a, b, _ = report.files or ()

    assert stat_text(report) == dedent(f"""\
        docs: 4 files
        a.md: Of the front matter (1 section, 11 tokens) {a.base_sha256[:16]}
        b.md: B (2 sections, 3 tokens) {b.base_sha256[:16]}
        c.bin: NOT_A_TEXT_FILE: `c.bin` is no text
        more: cursor c.bin
        """)


# --- What stat tells of INI files and plain text.

INI = "name = secret\n\n# About.\n[db]\nhost = secret\nhosts =\n  secret\n[cache]\n"


def stat_plain_text_stat(text: str, name: str = "a.ini", **asked: object) -> StatReport:
    given = {"ini": DocumentFormat.INI, "txt": DocumentFormat.TEXT}[name.partition(".")[2]]
    outline = Outline(Source.from_text(text), given)
    return stat_report(name, outline, StatRequest(file=name, **asked))


def test_ini_sections_and_keys_are_listed_with_lines_and_hashes() -> None:
    report = to_wire(stat_plain_text_stat(INI))

    assert report["format"] == "ini"
    assert [{**each, "sectionSha256": "…"} for each in report["iniSections"]] == CASE_TABLES.value(
        "test_ini_sections_and_keys_are_listed_with_lines_and_hashes"
    )
    assert report["iniSections"][2]["sectionSha256"] == sha256_hex(b"[cache]\n")[:16]
    assert report["commentBlocks"] == [{"prefix": "#", "startLine": 3, "endLine": 3}]
    assert report["blankLineGroups"] == [{"start": 2, "end": 2}]
    assert "codeBlocks" not in report


def test_ini_text_form_has_a_line_for_each_section_and_no_values() -> None:
    text = stat_text(stat_plain_text_stat(INI))
    hashes = [each.section_sha256 for each in stat_plain_text_stat(INI).ini_sections or ()]

    assert text.split("\n")[1:-1] == [
        "ini, 8 lines, 68 bytes, utf-8, LF",
        "3 INI sections: lines [section] sectionSha256: keys",
        f"1-3 (before the first section) {hashes[0]}: name 1",
        f"4-7 [db] {hashes[1]}: host 5, hosts 6-7",
        f"8 [cache] {hashes[2]}",
        "comments: 3 #",
        "blank lines: 2",
    ]


def test_brief_ini_has_names_and_lines_alone() -> None:
    report = to_wire(stat_plain_text_stat(INI, detail="brief"))

    assert report["iniSections"][1] == {"name": "db", "startLine": 4, "endLine": 7}
    assert "commentBlocks" not in report


def test_many_ini_sections_are_brief_unless_asked_for() -> None:
    text = "".join(f"[s{number}]\na = 1\n" for number in range(41))

    assert (stat_plain_text_stat(text).detail, stat_plain_text_stat(text, detail="full").detail) == (
        "brief",
        "full",
    )


def test_lists_are_cut_at_the_limit_and_counted() -> None:
    text = "[a]\nx = 1\ny = 1\n[b]\nz = 1\n\n# c\n\n"
    report = stat_plain_text_stat(text, limit=1)

    assert [[key.key for key in each.keys] for each in report.ini_sections] == [["x"]]
    assert report.inventory_totals == {"iniSections": 2, "iniKeys": 3, "blankLineGroups": 2}
    assert "1 of 2 INI sections" in stat_text(report)
    assert "keys: 3 in all" in stat_text(report)


def test_plain_text_has_sections_by_marker_comments_and_blank_lines() -> None:
    report = stat_plain_text_stat("# one\n# two\n\n[part]\ntext\n", "a.txt")

    assert to_wire(report)["textSections"] == [{"marker": "[part]", "startLine": 4, "endLine": 5}]
    assert to_wire(report)["commentBlocks"] == [{"prefix": "#", "startLine": 1, "endLine": 2}]
    assert stat_text(report).split("\n")[-4:-1] == ["section 4-5 [part]", "comments: 1-2 #", "blank lines: 3"]


def test_markdown_has_no_plain_text_inventory() -> None:
    outline = Outline(Source.from_text("[a]\n\n# b\n"))
    report = to_wire(stat_report("a.md", outline, StatRequest(file="a.md")))

    assert report.keys() & {"iniSections", "textSections", "commentBlocks", "blankLineGroups"} == set()
