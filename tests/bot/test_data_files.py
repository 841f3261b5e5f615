"""Data files of a manifest are decoded by their suffix, and say where they cannot be."""

import pytest

from mdplan.bot.manifest.data_files import read_data
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
def test_data_is_decoded_by_the_suffix(file: str, text: str, expected: object) -> None:
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
def test_broken_data_is_refused(file: str, text: str, message: str) -> None:
    found = read_data(text, file)

    assert isinstance(found, Diagnostic)
    assert found.message.startswith(message)
