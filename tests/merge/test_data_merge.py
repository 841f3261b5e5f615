"""Merges of YAML, JSON, TOML and INI by key."""

import json
import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mdplan.merge.documents import merge_texts
from mdplan.merge.lines import Merge
from mdplan.text.source import DocumentFormat


def _merged(name: str, base: str, ours: str, theirs: str, *, is_strict: bool = False) -> Merge:
    found = merge_texts(DocumentFormat(name), (base, ours, theirs), is_strict=is_strict)
    assert found is not None
    return found


JSON = '{\n  "name": "a",\n  "version": 1,\n  "files": [\n    "x"\n  ]\n}\n'


@pytest.mark.parametrize(
    ("language", "base", "ours", "theirs", "result"),
    [
        ("yaml", "a: 1\nb: 2\n", "a: 3\nb: 2\n", "a: 1\nb: 4\n", "a: 3\nb: 4\n"),
        # Both add keys at one place, each with its comment.
        ("yaml", "a: 1\n", "a: 1\n# ours\nb: 2\n", "a: 1\nc: 3\n", "a: 1\nc: 3\n# ours\nb: 2\n"),
        (
            "yaml",
            "on: [push]\njobs: {}\n",
            "on: [push, fork]\njobs: {}\n",
            "on: [push, issues]\njobs: {}\n",
            "on: [push, issues, fork]\njobs: {}\n",
        ),
        # Items are found by the key that names them.
        (
            "yaml",
            "steps:\n- name: one\n  run: a\n- name: two\n  run: b\n",
            "steps:\n- name: two\n  run: b\n- name: one\n  run: a\n",
            "steps:\n- name: one\n  run: c\n- name: two\n  run: b\n",
            "steps:\n- name: two\n  run: b\n- name: one\n  run: c\n",
        ),
        (
            "json",
            JSON,
            JSON.replace('"x"\n', '"x",\n    "ours"\n'),
            JSON.replace('"x"\n', '"x",\n    "theirs"\n'),
            JSON.replace('"x"\n', '"x",\n    "theirs",\n    "ours"\n'),
        ),
        (
            "json",
            JSON,
            JSON.replace("]\n", '],\n  "ours": 1\n'),
            JSON.replace("]\n", '],\n  "theirs": 2\n'),
            JSON.replace("]\n", '],\n  "theirs": 2,\n  "ours": 1\n'),
        ),
        ("toml", "[a]\nx = 1\n", "[a]\nx = 1\ny = 2\n", "[a]\nx = 1\nz = 3\n", "[a]\nx = 1\nz = 3\ny = 2\n"),
        # Ours moves a key that theirs deletes: its order is not kept, and that is no conflict.
        ("yaml", "a: 1\nb: 2\n", "b: 2\na: 1\n", "a: 3\n", "a: 3\n"),
        ("json", '{"a": 1, "b": 2}\n', '{"b": 2, "a": 1}\n', '{"a": 3}\n', '{"a": 3}\n'),
        ("ini", "[a]\nx = 1\ny = 2\n", "[a]\nx = 2\ny = 2\n", "[a]\nx = 1\ny = 3\n", "[a]\nx = 2\ny = 3\n"),
    ],
)
def test_keys_of_both_sides_are_merged(language: str, base: str, ours: str, theirs: str, result: str) -> None:
    found = _merged(language, base, ours, theirs)
    assert (found.text, found.conflicts) == (result, ())


@pytest.mark.parametrize(
    ("language", "base", "ours", "theirs", "path"),
    [
        ("yaml", "a: 1\n", "a: 2\n", "a: 3\n", ("a",)),
        ("yaml", "a: 1\nb: 1\n", "b: 1\n", "a: 2\nb: 1\n", ("a",)),
        ("json", JSON, JSON.replace("1", "2"), JSON.replace("1", "3"), ("version",)),
        # The same key, which lines alone would give twice.
        ("yaml", "a: 1\nb: 1\n", "n: 1\na: 1\nb: 1\n", "a: 1\nb: 1\nn: 2\n", ("n",)),
        ("toml", "[a]\nx = 1\n", "[a]\nx = 2\n", "[a]\nx = 3\n", ("a.x",)),
    ],
)
def test_key_that_both_changed_is_a_conflict_with_its_path(
    language: str, base: str, ours: str, theirs: str, path: tuple[str, ...]
) -> None:
    found = _merged(language, base, ours, theirs)
    assert [each.path for each in found.conflicts] == [path]
    assert "<<<<<<< ours" in found.text


def test_merge_never_loses_a_comment() -> None:
    base, commented = '{"a": 1}\n', '{"a": 1, // why\n "c": 3}\n'
    # A side without comments is merged into the one with them, whichever is ours.
    for sides in ((commented, '{"a": 1, "b": 2}\n'), ('{"a": 1, "b": 2}\n', commented)):
        found = _merged("json", base, *sides)
        assert (found.text, found.is_clean) == ('{"a": 1, "b": 2, // why\n "c": 3}\n', True)

    assert not _merged("json", base, '{"a": 1, // mine\n "b": 2}\n', commented).is_clean


def test_strict_merge_writes_no_line_that_no_side_has() -> None:
    texts = "on: [a]\n", "on: [a, b]\n", "on: [a, c]\n"
    assert _merged("yaml", *texts).is_clean
    assert not _merged("yaml", *texts, is_strict=True).is_clean


def test_unreadable_files_are_merged_by_lines() -> None:
    found = _merged("json", "{\n1\n2\n3\n", "{\n1\n2\n4\n", "{\n5\n2\n3\n")
    assert (found.text, found.is_clean) == ("{\n5\n2\n4\n", True)
    assert "cannot be read" in found.note


_VALUES = st.dictionaries(
    st.sampled_from("abcd"),
    st.integers(0, 3) | st.lists(st.sampled_from("xyz"), unique=True, max_size=3),
    min_size=1,
)
_READ = {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads}


def _written(language: str, values: dict[str, object]) -> str:
    if language == "json":
        return json.dumps(values, indent=1) + "\n"
    sign = " =" if language == "toml" else ":"
    return "".join(f"{key}{sign} {json.dumps(value)}\n" for key, value in values.items())


@given(st.sampled_from(sorted(_READ)), _VALUES, _VALUES, _VALUES)
def test_clean_merge_has_the_values_that_each_side_changed(
    language: str, base: dict[str, object], ours: dict[str, object], theirs: dict[str, object]
) -> None:
    texts = [_written(language, each) for each in (base, ours, theirs)]
    found, swapped = _merged(language, *texts), _merged(language, texts[0], texts[2], texts[1])
    assert found.is_clean == swapped.is_clean
    if not found.is_clean:
        return
    values = _READ[language](found.text)
    for key in {*base, *ours, *theirs}:
        old, own, other = (each.get(key) for each in (base, ours, theirs))
        if own == old or other in (old, own):
            assert _content(values.get(key)) == _content(other if own == old else own)
        else:
            assert set(values[key]) >= (set(own) & set(other)) | (set(own) ^ set(other)) - set(old or ())


def _content(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value
