"""Hostile files of keys and values: the right edit, or a refusal that says why, in bounded time."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.data.content import data_edits, placed, read_data, verify_edits
from mdplan.data.ini import IniOutline
from mdplan.data.json_schema import violations
from mdplan.data.tree import REMOVED, Change, DataError, KeyChange, Language, NewEntry, Opaque
from mdplan.engine.engine import Engine
from mdplan.memory import Document
from mdplan.reading.plain_text import TextOutline
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source, sha256_hex
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


def changed(language: str, text: str, *changes: Change) -> str:
    """The text after `changes`, which are verified, or the reason why they are refused."""
    try:
        content = read_data(Language(language), text)
        splices = placed(data_edits(content, changes), 0, LineIndex(text))
        edits = EditList.of(splice.edit for splice in splices)
        assert isinstance(edits, EditList)
        verify_edits(content, edits, changes)
    except DataError as error:
        return f"refused: {error.reason}"
    return edits.apply(text)


def put(*path: Any, value: Any = 2) -> KeyChange:
    return KeyChange(path, value)


@CASE_TABLES.parametrize("name", "text", "edit", "after")
def test_edit_by_key_changes_one_value_or_is_refused(name: str, text: str, edit: Any, after: str) -> None:
    report = Document.from_text(text, name=name).apply([edit])
    assert (report.text if report.ok else report.diagnostics[0].code) == after


SIGNS = ("|", ">", "|-", ">-", "|+", ">+", "|2", ">1", "|2-", "|-2", ">+1", ">1+")
BLOCKS = {sign: f"a: {sign}\n  one\n  two\n\nb: 1\n" for sign in SIGNS}

BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 40)
)


@pytest.mark.parametrize("sign", BLOCKS)
def test_value_after_block_text_is_set(sign: str) -> None:
    assert changed("yaml", BLOCKS[sign], put("b")) == BLOCKS[sign].replace("b: 1", "b: 2")


@pytest.mark.parametrize("sign", BLOCKS)
def test_block_text_becomes_a_value_on_one_line(sign: str) -> None:
    # The blank line belongs to the text only if its sign says so.
    kept = "" if "+" in sign else "\n"
    assert changed("yaml", BLOCKS[sign], put("a")) == f"a: 2\n{kept}b: 1\n"


@CASE_TABLES.parametrize("language", "text", "key", "value", "result")
def test_hostile_file_is_edited_or_refused(
    language: str, text: str, key: list[Any], value: Any, result: str
) -> None:
    assert changed(language, text, put(*key, value=REMOVED if value == "GONE" else value)) == result


@pytest.mark.parametrize(
    ("language", "text", "change", "result"),
    [
        ("yaml", BOMB + "z: 1\n", put("z"), BOMB + "z: 2\n"),
        ("toml", "a" + ".a" * 1_000 + " = 1\nb = 1\n", put("b"), "refused: it is nested too deeply"),
        ("yaml", "a: 1\r\nb:\r\n  - x\r\n", NewEntry(("b",), None, "z"), "a: 1\r\nb:\r\n  - x\r\n  - z\r\n"),
        ("yaml", "[" * 2_000 + "]" * 2_000, put(0), "refused: it is nested too deeply"),
        ("json", "[" * 2_000 + "]" * 2_000, put(0), "refused: it is nested too deeply"),
        ("ini", "[s]\na = \udce9\nb = 1\n", put("s", "b", value="2"), "[s]\na = \udce9\nb = 2\n"),
        ("yaml", "a: \udce9\nb: 1\n", put("b"), "refused: it contains bytes that are not UTF-8"),
        ("json", '{"a": "\udce9", "b": 1}', put("b"), '{"a": "\udce9", "b": 2}'),
        ("toml", 'a = "\udce9"\nb = 1\n', put("b"), 'a = "\udce9"\nb = 2\n'),
    ],
)
def test_bomb_is_edited_or_refused(language: str, text: str, change: Change, result: str) -> None:
    assert changed(language, text, change) == result


@pytest.mark.slow
@CASE_TABLES.parametrize("language", "line", "whole")
def test_one_value_of_five_megabytes_is_set(language: str, line: str, whole: str) -> None:
    text = whole.format("".join(line.format(number, "x" * 90) for number in range(45_000)))
    change = put("last", value="2") if language == "ini" else put("last")
    # Behind the last `last` is its value.
    before, name, after = text.rpartition("last")
    assert changed(language, text, change) == before + name + after.replace("1", "2")


@CASE_TABLES.parametrize("language", "line", "whole")
def test_text_of_too_many_values_is_refused(language: str, line: str, whole: str) -> None:
    text = whole.format("".join(map(line.format, range(100_001))))

    assert changed(language, text, put("k0")) == "refused: it has more than 100,000 values"


# --- Outline, read and search of files of keys and values.

SITE = "site_name: Kettle  # title\nnav:\n  - Home: index.md\n  - Guide:\n      - install.md\ntags: [a, b]\n"
PROJECT = CASE_TABLES.value("PROJECT")


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
    assert keys(engine, "mkdocs.yml", depth=2) == CASE_TABLES.value(
        "test_data_outline_lists_keys_with_their_lines", tuples=True
    )
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


@CASE_TABLES.parametrize("file", "key", "lines")
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


# --- Hostile schemas: an answer or a refusal that says why, in bounded time.

DOUBLED: dict[str, Any] = {
    "$defs": {
        str(level): {"anyOf": 2 * [{"$ref": f"#/$defs/{level + 1}"}]} if level < 40 else False
        for level in range(41)
    },
    "$ref": "#/$defs/0",
}


@pytest.mark.parametrize(
    ("schema", "values", "reason"),
    [
        ({"$ref": "#"}, {}, "it, or what it is used on, is nested too deeply"),
        (DOUBLED, {}, "checking it takes too long"),
        ({"items": {"allOf": 3000 * [{"type": "integer"}]}}, [*range(3000)], "checking it takes too long"),
        ({"$ref": "https://example.com/page.json"}, {}, "it refers to another schema, which is not fetched"),
        ({"$ref": "file:///etc/passwd"}, {}, "it refers to another schema, which is not fetched"),
        (
            {"properties": {"a": {"pattern": "^(a|a)*(a|a)*$"}}},
            {"a": "a" * 60 + "!"},
            "checking it takes too long",
        ),
        ({"properties": {"a": {"pattern": "a{1000000000}"}}}, {"a": "a"}, "checking it takes too long"),
        ({"type": 7}, {}, "it is not valid JSON Schema at `/type`"),
        ([], {}, "it is no JSON Schema"),
        ({}, {"a": Opaque("alias", "b")}, "it has aliases or tags"),
    ],
)
def test_schema_that_cannot_be_used_is_refused(schema: object, values: object, reason: str) -> None:
    with pytest.raises(DataError) as refused:
        violations(values, schema, time.thread_time)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ([{"a": [number]} for number in range(20_000)], 0),
        ([1, True, [1], [True], {"a": 1}, {"a": True}], 0),
        ([{"a": 1, "b": [2.0]}, {"b": [2], "a": 1}], 1),
    ],
)
def test_unique_items_are_found_without_comparing_pairs(items: list[Any], count: int) -> None:
    assert len(violations(items, {"uniqueItems": True})) == count


def test_violation_names_the_value_and_the_rule() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b": {"maxLength": 2}}}}}}
    found = violations({"a": [{"b": "xx"}, {"b": "xxx"}]}, schema)
    assert [(each.path, each.rule) for each in found] == [(("a", 1, "b"), "maxLength: 2")]


# --- The structure of INI files and plain text.

SETTINGS = CASE_TABLES.value("SETTINGS")


def ini(text: str) -> IniOutline:
    return IniOutline(Source.from_text(text))


def text_outline(text: str) -> TextOutline:
    return TextOutline(Source.from_text(text))


def test_sections_have_their_lines_and_bodies() -> None:
    outline = ini(SETTINGS)

    assert [(each.name, each.first_line, each.last_line) for each in outline.sections] == [
        (None, 1, 4),
        ("db", 5, 13),
        ("cache", 14, 16),
        ("db", 17, 18),
    ]
    bodies = [outline.text_of(each.body) for each in outline.sections]
    assert bodies[0] == '; For all.\nname = "a ; b"\n'
    assert bodies[1].startswith("host : x")
    assert bodies[1].endswith("= nothing\n")
    assert bodies[2:] == ["", "Host=y\n"]


def test_keys_have_their_lines_values_and_comments() -> None:
    outline = ini(SETTINGS)
    found = [
        (key.name, key.value, tuple(key.lines), outline.text_of(key.comment) if key.comment else None)
        for key in outline.every_key()
    ]

    assert found == [
        ("name", '"a', (2,), '; b"'),
        ("host", "x", (6,), "; local"),
        ("hosts", "\none\n\ntwo", (7, 8, 9, 11), None),
        ("compress", None, (12,), None),
        ("Host", "y", (18,), None),
    ]


@CASE_TABLES.parametrize("section", "key", "lines")
def test_exact_key_takes_precedence_over_another_case(
    section: str | None, key: str, lines: list[int]
) -> None:
    assert [found.first_line for found in ini(SETTINGS).keys_named(section, key)] == lines


def test_hash_of_a_section_is_that_of_its_bytes() -> None:
    source = Source.decode(b"\xef\xbb\xbf[a]\r\nx = \xc3\xa9\r\n[b]\r\n")
    assert isinstance(source, Source)
    outline = IniOutline(source)

    assert outline.section_sha256(outline.sections[1]) == ini("[a]\r\nx = é\r\n").section_sha256(
        ini("[a]\r\nx = é\r\n").sections[1]
    )


def test_sections_of_a_text_go_from_marker_to_marker() -> None:
    outline = text_outline("Intro\n[one]\na\n\n[two] ; note\n[no marker] text\n  [nor this]\n[[nor this]]\n")

    assert outline.sections == [("[one]", 2, 4), ("[two]", 5, 8)]


def test_comments_with_the_same_sign_are_one_block() -> None:
    outline = text_outline("# a\n  # b\n; c\n\n// d\nx // e\n-- f\n---\n")

    assert outline.comment_blocks == [("#", 1, 2), (";", 3, 3), ("//", 5, 5), ("--", 7, 7)]


@CASE_TABLES.parametrize("text", "groups", tuples=True)
def test_successive_blank_lines_are_a_group(text: str, groups: tuple[tuple[int, int], ...]) -> None:
    assert tuple(text_outline(text).blank_lines) == groups
