"""The byte prefilter of conditions rules out only files that do not meet them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.bot.conditions import BytePrefilter, FileFacts, may_be_met, unmet
from mdplan.bot.expansion import (
    ManifestProblem,
    SourceMap,
    Values,
    filled,
    placeholders_in,
    read_snippets,
    read_source_map,
    split_name,
    with_texts,
)
from mdplan.bot.manifest import Condition, manifest_schema, read_data
from mdplan.diagnostics import Code
from mdplan.documents.documents import Documents
from mdplan.markdown.outline import Outline
from mdplan.text.source import DocumentFormat, Source
from tests.bot.golden import CASES, BotCase, open_engine, planned
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


VALUES = Values({"vars": {"x": "Install"}})
PAGE = CASE_TABLES.value("PAGE")


def answer(condition: dict[str, Any], text: str | bytes) -> bool | ManifestProblem:
    """Evaluate `condition` for a file; its prefilter must never exclude a match."""
    data = text if isinstance(text, bytes) else text.encode()
    source = Source.decode(data)
    assert isinstance(source, Source)
    read = Condition.model_validate(condition)
    found = not unmet(read, FileFacts(Outline(source, DocumentFormat.MARKDOWN), VALUES), ())
    may = may_be_met(read, BytePrefilter(data), VALUES)
    assert may or found is False
    return found


@CASE_TABLES.parametrize("condition", "expected")
def test_condition_has_the_expected_value(condition: dict[str, Any], expected: bool) -> None:
    assert answer(condition, PAGE) is expected


@pytest.mark.parametrize(
    ("condition", "code", "path"),
    [
        ({"matches": "("}, Code.INVALID_REGEX, ("matches",)),
        ({"any": [{"hasText": "{{vars.y}}"}]}, Code.INVALID_ARGUMENT, ("any", 0, "hasText")),
    ],
)
def test_invalid_condition_is_reported_with_its_position(
    condition: dict[str, Any], code: Code, path: tuple[str | int, ...]
) -> None:
    with pytest.raises(ManifestProblem) as raised:
        answer(condition, PAGE)

    assert (raised.value.problem.code, raised.value.path) == (code, path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_prefilter_finds_text_in_every_encoding(encoding: str) -> None:
    data = PAGE.encode(encoding)

    assert answer({"hasSection": "Install", "hasFrontMatter": "title", "hasText": "Run."}, data) is True


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_byte_prefilter_finds_text_across_line_ends(line_end: str) -> None:
    text = PAGE.replace("\n", line_end)

    assert answer(
        {"hasSection": "Use & See", "hasText": "Text of A.\n\n## In", "frontMatter": {"title": "A"}}, text
    )


TITLES = st.sampled_from(
    [
        "Install",
        "In*st*all",
        "`Install`",
        "[Install](x)",
        "&#73;nstall",
        "Inst\\all",
        "INSTALL",
        "Insta\u212a",
        "Instak",
    ]
)

SHAPES = st.sampled_from(
    [
        "# {}\n",
        "## {} ##\n",
        "> # {}\n",
        "- # {}\n",
        "{}\n===\n",
        "{}\nmore\n---\n",
        "---\nk: v\n---\n# {}\n",
        "---\n\n{}\n---\n",
    ]
)


@given(SHAPES, TITLES, TITLES, st.booleans())
def test_byte_prefilter_finds_every_heading(shape: str, title: str, wanted: str, before: bool) -> None:
    answer({"hasSection": wanted}, ("Text.\n\n" if before else "") + shape.format(title))


@CASE_TABLES.parametrize("edits", "page", "wanted")
def test_pages_without_the_literals_of_a_pattern_are_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edits: list[dict[str, Any]], page: str, wanted: bool
) -> None:
    (tmp_path / "page.md").write_text(page)
    listed = [{"op": "replace_match", "replacement": "x", "matchSelection": "all", **each} for each in edits]
    # An edit of a rule follows the edits of other rules too.
    rules = [{"glob": "*.md", "edits": [each]} for each in listed]
    manifest = tmp_path / "bot.json"
    manifest.write_text(json.dumps({"vars": {"x": "Install"}, "files": rules}))
    parsed: list[str] = []
    opened = Documents.open
    monkeypatch.setattr(
        Documents, "open", lambda self, name, *rest: parsed.append(str(name)) or opened(self, name, *rest)
    )
    planned(open_engine(tmp_path), str(manifest), keeps=False)

    assert bool(parsed) is wanted


# --- Data files of a manifest are decoded by their suffix, and say where they cannot be.

ROWS = [{"k": "a", "v": "1, 2"}, {"k": "b|c", "v": ""}]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("x.json", '{"a": [1]}', {"a": [1]}),
        ("x", "[true]", [True]),
        ("x.yaml", "a: [1, b]\nday: 2026-11-23\n", {"a": [1, "b"], "day": "2026-11-23"}),
        ("x.YML", "- x\n", ["x"]),
        ("x.toml", "a = [1]\nday = 2026-11-23\n", {"a": [1], "day": "2026-11-23"}),
        ("x.csv", 'k,v\na,"1, 2"\n\nb|c,\n', ROWS),
        ("x.tsv", "k\tv\r\na\t1, 2\r\nb|c\t", ROWS),
        ("x.csv", "", []),
        ("x.txt", "as it is\n", "as it is\n"),
        ("x.py", "print()\n", "print()\n"),
    ],
)
def test_suffix_selects_the_data_format(file: str, text: str, expected: object) -> None:
    assert read_data(text, file) == expected


@CASE_TABLES.parametrize("file", "text", "message")
def test_invalid_data_file_is_rejected(file: str, text: str, message: str) -> None:
    with pytest.raises(ManifestProblem) as raised:
        read_data(text, file)

    assert raised.value.problem.message.startswith(message)


@CASE_TABLES.parametrize("file", "line")
def test_text_of_too_many_values_is_rejected(file: str, line: str) -> None:
    with pytest.raises(ManifestProblem, match="more than 100,000 values"):
        read_data("".join(map(line.format, range(100_001))), file)


@CASE_TABLES.parametrize("start", "end")
def test_snippet_is_the_text_between_its_tags_without_indent(start: str, end: str) -> None:
    text = f"before\r\n{start}\r\n  one\r\n\r\n    two\r\n{end}\r\nafter"

    assert read_snippets(text, "x") == {"a": "one\n\n  two"}


def test_line_of_code_that_only_mentions_a_tag_is_not_a_tag() -> None:
    text = 'print("snippet:start a")\nsee [START a]: it begins\n'

    assert read_snippets(text, "x") == {}


def test_lines_of_a_snippet_end_only_at_line_ends() -> None:
    text = "# snippet:start a\r\none\x0ctwo\u2028three\r\n# snippet:end\r\n"

    assert read_snippets(text, "x") == {"a": "one\x0ctwo\u2028three"}


@CASE_TABLES.parametrize("text", "message")
def test_snippet_tag_without_its_pair_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ManifestProblem) as raised:
        read_snippets(text, "x")

    assert raised.value.problem.message == message


@CASE_TABLES.parametrize("name", "parts", tuples=True)
def test_only_a_tag_at_the_end_names_a_snippet(name: str, parts: tuple[str, str | None]) -> None:
    assert split_name(name) == parts


# --- Placeholders are strict: what is not a name of a value is an error, and two braces can still be
# written.

OF_FILTERS = {
    "pipes": "a | b\nc",
    "title": "What's new?",
    "day": "2026-11-23T08:00:00",
    "dotted.name": "whole",
    "html": "a <b> [c]",
    "text": "true",
}

PLACEHOLDERS = Values(
    {
        "vars": {"a": "A", "n": 3, "yes": True, "none": None, "list": ["x", {"y": 1.5}], **OF_FILTERS},
        "path": "p.md",
    }
)


@CASE_TABLES.parametrize("text", "expected")
def test_placeholders_are_filled_in(text: str, expected: object) -> None:
    assert filled(text, PLACEHOLDERS) == expected


@CASE_TABLES.parametrize("text", "message")
def test_invalid_placeholder_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ManifestProblem) as raised:
        filled(text, PLACEHOLDERS)

    assert (raised.value.problem.code, raised.value.problem.message) == (Code.INVALID_ARGUMENT, message)


def test_names_of_placeholders_are_listed() -> None:
    names = [each.name for each in placeholders_in("{{a}} {{{{b}} {{c.d | cell}}")]

    assert names == ["a", "c.d"]


@given(st.text())
def test_escaped_text_is_written_verbatim(text: str) -> None:
    """Doubled braces are the way to say them."""
    assert filled(text.replace("{{", "{{{{"), PLACEHOLDERS) == text


@given(st.text())
def test_placeholders_in_values_are_not_expanded(value: str) -> None:
    assert filled("<{{vars.value}}>", Values({"vars": {"value": value}})) == f"<{value}>"


# --- Numbers from data become text in text fields and stay numbers in number fields.

GIVEN = "{{vars.n}}"


@pytest.mark.parametrize(
    ("edit", "filled"),
    [
        ({"op": "append_to_file", "markdown": GIVEN}, "3"),
        ({"op": "append_to_file", "content": GIVEN}, "3"),
        ({"op": "rename_heading", "new_title": GIVEN}, "3"),
        ({"op": "rename_heading", "headingPath": GIVEN}, "3"),
        ({"op": "set_ini_key", "value": GIVEN}, 3),
        ({"op": "set_front_matter", "key": GIVEN}, "3"),
        ({"op": "set_front_matter", "value": GIVEN}, 3),
        ({"op": "set_front_matter", "expectedValue": GIVEN}, 3),
        ({"op": "set_heading_level", "level": GIVEN}, 3),
        ({"op": "replace_match", "minMatches": GIVEN}, 3),
        ({"op": "replace_match", "minMatches": 3}, 3),
        ({"op": "append_to_file", "markdown": 3}, 3),
        ({"op": "no_such_op", "markdown": GIVEN}, 3),
    ],
)
def test_number_is_converted_to_the_type_of_its_field(edit: dict[str, object], filled: object) -> None:
    check(edit, {name: 3 if value == GIVEN else value for name, value in edit.items()}, filled)


@CASE_TABLES.parametrize("value", "filled")
def test_numbers_in_a_map_become_text_where_its_values_are_text(value: object, filled: object) -> None:
    check({"op": "upsert_table_row", "row": GIVEN}, {"op": "upsert_table_row", "row": value}, filled)


def test_numbers_in_a_list_of_the_manifest_stay_numbers() -> None:
    written = {"op": "append_to_section", "headingPath": [2024, GIVEN]}

    check(written, {**written, "headingPath": [2024, 3]}, [2024, "3"])


def check(written: dict[str, object], filled: dict[str, object], expected: object) -> None:
    assert list(with_texts(filled, written).values())[-1] == expected


# --- The published manifest schema accepts and rejects what the bot does.

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which comes with mcp, is missing")
ACCEPTED = [case for case in CASES if case.after is not None]
REFUSED = [case for case in CASES if str(case).startswith("unknown-")]


def errors_of(case: BotCase, tmp_path: Path) -> list[object]:
    manifest = Path(case.write_manifest(tmp_path / "manifest"))
    located = read_source_map(manifest.read_text(encoding="utf-8"), manifest.name)
    assert isinstance(located, SourceMap), located
    return list(jsonschema.Draft202012Validator(manifest_schema()).iter_errors(located.data))


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_accepted_manifest_fits_the_schema(case: BotCase, tmp_path: Path) -> None:
    assert errors_of(case, tmp_path) == []


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_manifest_with_unknown_fields_does_not_fit_the_schema(case: BotCase, tmp_path: Path) -> None:
    assert errors_of(case, tmp_path) != []


PAGES = ("bot-recipes.md", "bot-on-a-branch.md", "run-the-bot-in-ci.md")

SHOWN = [
    pytest.param(block.text, id=block.info[-1])
    for page in PAGES
    for block in blocks_of(REPOSITORY / "docs" / "how-to" / page)
    if block.text.startswith(("files:", "vars:", "data:", "updateReferences:"))
]


@pytest.mark.parametrize("text", SHOWN)
def test_manifest_of_the_documentation_fits_the_schema(text: str) -> None:
    located = read_source_map(text, "manifest.yml")
    assert isinstance(located, SourceMap), located
    assert list(jsonschema.Draft202012Validator(manifest_schema()).iter_errors(located.data)) == []


def test_manifest_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(manifest_schema())
    assert json.loads(json.dumps(manifest_schema())) == manifest_schema()
