"""Data files of a manifest are decoded by their suffix, and say where they cannot be."""

import pytest

from mdplan.bot.expansion import read_snippets, split_name
from mdplan.bot.manifest import read_data
from mdplan.diagnostics import Diagnostic

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


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("x.json", "{", "`x.json` is not JSON: "),
        ("x.yaml", "a: *b\n", "`x.yaml` is not YAML: "),
        ("x.toml", "a = ", "`x.toml` is not TOML: "),
        ("x.csv", "k,v\na\n", "`x.csv` has 1 values in line 2, and 2 names in its first row"),
        ("x.csv", 'k\n"a\n', "`x.csv` is not CSV: "),
    ],
)
def test_invalid_data_file_is_rejected(file: str, text: str, message: str) -> None:
    found = read_data(text, file)

    assert isinstance(found, Diagnostic)
    assert found.message.startswith(message)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("# snippet:start a", "# snippet:end"),
        ("// snippet:start a", "// snippet:end a"),
        ("<!-- snippet:start a -->", "<!-- snippet:end a -->"),
        ("/* snippet-start:[a] */", "/* snippet-end:[a] */"),
        ("  -- [START a]", "  -- [END a]"),
        ("// ANCHOR: a", "// ANCHOR_END: a"),
        ("#region a", "#endregion"),
        ("// #region a", "// #endregion a"),
    ],
)
def test_snippet_is_the_text_between_its_tags_without_indent(start: str, end: str) -> None:
    text = f"before\r\n{start}\r\n  one\r\n\r\n    two\r\n{end}\r\nafter"

    assert read_snippets(text, "x") == {"a": "one\n\n  two"}


def test_line_of_code_that_only_mentions_a_tag_is_not_a_tag() -> None:
    text = 'print("snippet:start a")\nsee [START a]: it begins\n'

    assert read_snippets(text, "x") == {}


def test_lines_of_a_snippet_end_only_at_line_ends() -> None:
    text = "# snippet:start a\r\none\x0ctwo\u2028three\r\n# snippet:end\r\n"

    assert read_snippets(text, "x") == {"a": "one\x0ctwo\u2028three"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# snippet:start a\n", "in `x` the snippet `a` of line 1 has no end"),
        ("# snippet:end\n", "in `x` the snippet that ends in line 1 has no start"),
        ("# [START a]\n# [END b]\n", "in `x` the snippet that ends in line 2 has no start"),
        ("# [START a]\n# [END a]\n# [START a]\n", "in `x` the snippet `a` begins again in line 3"),
    ],
)
def test_snippet_tag_without_its_pair_is_rejected(text: str, message: str) -> None:
    found = read_snippets(text, "x")

    assert isinstance(found, Diagnostic)
    assert found.message == message


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("src/a.py#setup", ("src/a.py", "setup")),
        ("src/a.py#*", ("src/a.py", "*")),
        ("c#/rows.json", ("c#/rows.json", None)),
        ("a#b.json", ("a#b.json", None)),
    ],
)
def test_only_a_tag_at_the_end_names_a_snippet(name: str, parts: tuple[str, str | None]) -> None:
    assert split_name(name) == parts
