"""What stat tells of INI files and plain text."""

from mdplan.markdown.outline import Outline
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import to_wire
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from mdplan.text.source import DocumentFormat, Source, sha256_hex

INI = "name = secret\n\n# About.\n[db]\nhost = secret\nhosts =\n  secret\n[cache]\n"


def stat(text: str, name: str = "a.ini", **asked: object) -> StatReport:
    given = {"ini": DocumentFormat.INI, "txt": DocumentFormat.TEXT}[name.partition(".")[2]]
    outline = Outline(Source.from_text(text), given)
    return stat_report(name, outline, StatRequest(file=name, **asked))


def test_ini_sections_and_keys_are_listed_with_lines_and_hashes() -> None:
    report = to_wire(stat(INI))

    assert report["format"] == "ini"
    assert [{**each, "sectionSha256": "…"} for each in report["iniSections"]] == [
        {"startLine": 1, "endLine": 3, "sectionSha256": "…", "keys": [{"key": "name", "line": 1}]},
        {
            "name": "db",
            "startLine": 4,
            "endLine": 7,
            "sectionSha256": "…",
            "keys": [{"key": "host", "line": 5}, {"key": "hosts", "line": 6, "endLine": 7}],
        },
        {"name": "cache", "startLine": 8, "endLine": 8, "sectionSha256": "…", "keys": []},
    ]
    assert report["iniSections"][2]["sectionSha256"] == sha256_hex(b"[cache]\n")[:16]
    assert report["commentBlocks"] == [{"prefix": "#", "startLine": 3, "endLine": 3}]
    assert report["blankLineGroups"] == [{"start": 2, "end": 2}]
    assert "codeBlocks" not in report


def test_ini_text_form_has_a_line_for_each_section_and_no_values() -> None:
    text = stat_text(stat(INI))
    hashes = [each.section_sha256 for each in stat(INI).ini_sections or ()]

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
    report = to_wire(stat(INI, detail="brief"))

    assert report["iniSections"][1] == {"name": "db", "startLine": 4, "endLine": 7}
    assert "commentBlocks" not in report


def test_many_ini_sections_are_brief_unless_asked_for() -> None:
    text = "".join(f"[s{number}]\na = 1\n" for number in range(41))

    assert (stat(text).detail, stat(text, detail="full").detail) == ("brief", "full")


def test_lists_are_cut_at_the_limit_and_counted() -> None:
    text = "[a]\nx = 1\ny = 1\n[b]\nz = 1\n\n# c\n\n"
    report = stat(text, limit=1)

    assert [[key.key for key in each.keys] for each in report.ini_sections] == [["x"]]
    assert report.inventory_totals == {"iniSections": 2, "iniKeys": 3, "blankLineGroups": 2}
    assert "1 of 2 INI sections" in stat_text(report)
    assert "keys: 3 in all" in stat_text(report)


def test_plain_text_has_sections_by_marker_comments_and_blank_lines() -> None:
    report = stat("# one\n# two\n\n[part]\ntext\n", "a.txt")

    assert to_wire(report)["textSections"] == [{"marker": "[part]", "startLine": 4, "endLine": 5}]
    assert to_wire(report)["commentBlocks"] == [{"prefix": "#", "startLine": 1, "endLine": 2}]
    assert stat_text(report).split("\n")[-4:-1] == ["section 4-5 [part]", "comments: 1-2 #", "blank lines: 3"]


def test_markdown_has_no_plain_text_inventory() -> None:
    outline = Outline(Source.from_text("[a]\n\n# b\n"))
    report = to_wire(stat_report("a.md", outline, StatRequest(file="a.md")))

    assert report.keys() & {"iniSections", "textSections", "commentBlocks", "blankLineGroups"} == set()
