"""Hostile files of keys and values: the right edit, or a refusal that says why, in bounded time."""

from typing import Any

import pytest

from mdplan.data.content import data_edits, placed, read_data, verify_edits
from mdplan.data.tree import REMOVED, Change, DataError, KeyChange, Language, NewEntry
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex


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
    # The blank line belongs to the text alone where its sign says so.
    kept = "" if "+" in sign else "\n"
    assert changed("yaml", BLOCKS[sign], put("a")) == f"a: 2\n{kept}b: 1\n"


@pytest.mark.parametrize(
    ("language", "text", "change", "result"),
    [
        ("yaml", "a: &x 1\nb: *x\n", put("b"), "a: &x 1\nb: 2\n"),
        ("yaml", "a: &x 1\nb: *x\n", put("a"), "refused: an alias repeats the text that would change"),
        (
            "yaml",
            "a: &x 1\nb: *x\n",
            put("a", value=REMOVED),
            "refused: after the change an alias has no anchor before it",
        ),
        ("yaml", "a: !t 1\nb: !!str 3\n", put("b"), "a: !t 1\nb: 2\n"),
        ("yaml", "a: 1\n---\na: 3\n", put(1, "a"), "a: 1\n---\na: 2\n"),
        ("yaml", "a: 1\n...\n", put("b"), "a: 1\nb: 2\n...\n"),
        ("yaml", "a: 1\na: 3\nb: 4\n", put("b"), "a: 1\na: 3\nb: 2\n"),
        ("yaml", "a: 1\na: 3\n", put("a"), "refused: a key of that name occurs twice"),
        ("yaml", "a:\t1\n", put("a"), "a:\t2\n"),
        ("yaml", "a: [1,\t3]\t# c\n", put("a", 1), "a: [1,\t2]\t# c\n"),
        (
            "yaml",
            "a:\n  b: 1\n\tc: 1\n",
            put("a", "b"),
            "refused: it is not valid YAML: found a tab character that violates indentation",
        ),
        ("yaml", BOMB + "z: 1\n", put("z"), BOMB + "z: 2\n"),
        (
            "yaml",
            "x: &m {a: 1}\nb:\n  <<: *m\n  c: 1\n",
            put("b", "c"),
            "x: &m {a: 1}\nb:\n  <<: *m\n  c: 2\n",
        ),
        ("yaml", "a: {b: 1, c: *x}\n", put("a", "b"), "refused: an alias has no anchor before it"),
        ("yaml", "%YAML 1.1\n---\na: 1\n", put("a"), "%YAML 1.1\n---\na: 2\n"),
        ("toml", "a" + ".a" * 1_000 + " = 1\nb = 1\n", put("b"), "refused: it is nested too deeply"),
        ("yaml", "? [a]\n: 1\nb: 3\n", put("b"), "? [a]\n: 1\nb: 2\n"),
        ("yaml", "a: 1", put("b"), "a: 1\nb: 2"),
        ("yaml", "a: 1\r\nb:\r\n  - x\r\n", NewEntry(("b",), None, "z"), "a: 1\r\nb:\r\n  - x\r\n  - z\r\n"),
        ("yaml", "- a # c\n- b\n", put(0, value="x\ny\n"), "- | # c\n  x\n  y\n- b\n"),
        ("yaml", "- - a # c\n  - b", put(0, 1, value={"k": 1, "l": 3}), "- - a # c\n  - k: 1\n    l: 3"),
        ("yaml", "- [a,\n   b] # c\n- d", put(0, value={"k": 1, "l": 2}), "- k: 1 # c\n  l: 2\n- d"),
        ("yaml", "a: [1, b: 2]\n", put("a", 1, "b"), "a: [1, b: 2]\n"),
        ("yaml", "a: [1, b: 3]\n", put("a", 1, "b"), "refused: a map in a list has no braces"),
        ("yaml", "- - a\n  - b\n", put(0, 1), "- - a\n  - 2\n"),
        ("yaml", "a: 1\n", put("a", value=REMOVED), "{}\n"),
        ("yaml", "[" * 2_000 + "]" * 2_000, put(0), "refused: it is nested too deeply"),
        ("json", '{"a": 1, "a": 3, "b": 4}', put("b"), '{"a": 1, "a": 3, "b": 2}'),
        ("json", "[" * 2_000 + "]" * 2_000, put(0), "refused: it is nested too deeply"),
        ("json", '{"a": 1 /* , */ , // x\n "b": 3}', put("a", value=REMOVED), '{// x\n "b": 3}'),
        ("json", '{"a": 1', put("a"), "refused: a comma or closing bracket is missing"),
        ("toml", "a = 1 # b\n", put("a"), "a = 2 # b\n"),
        ("toml", "[[t]]\na = 1\n", put("t", 0, "a", value=None), "refused: TOML has no null"),
        ("ini", "[s]\na = 1 ; c\n", put("s", "a", value="2"), "[s]\na = 2 ; c\n"),
        ("ini", "[s]\na = \udce9\nb = 1\n", put("s", "b", value="2"), "[s]\na = \udce9\nb = 2\n"),
        ("ini", "[s]\na = 1\n", put("b", value="2"), "b = 2\n\n[s]\na = 1\n"),
        ("ini", "a = 1\n[s]\nc = 1\n", put("b", value="2"), "a = 1\nb = 2\n[s]\nc = 1\n"),
        ("yaml", "a: \udce9\nb: 1\n", put("b"), "refused: it contains bytes that are not UTF-8"),
        ("json", '{"a": "\udce9", "b": 1}', put("b"), '{"a": "\udce9", "b": 2}'),
        ("toml", 'a = "\udce9"\nb = 1\n', put("b"), 'a = "\udce9"\nb = 2\n'),
    ],
)
def test_hostile_file_is_edited_or_refused(language: str, text: str, change: Change, result: str) -> None:
    assert changed(language, text, change) == result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "line", "whole"),
    [
        ("yaml", '  "k{}": "{}",\n', '{{\n{}  "last": 1\n}}\n'),
        ("json", '  "k{}": "{}",\n', '{{\n{}  "last": 1\n}}\n'),
        ("toml", 'k{} = "{}"\n', "{}last = 1\n"),
        ("ini", "k{} = {}\n", "{}last = 1\n"),
    ],
)
def test_one_value_of_five_megabytes_is_set(language: str, line: str, whole: str) -> None:
    text = whole.format("".join(line.format(number, "x" * 90) for number in range(45_000)))
    change = put("last", value="2") if language == "ini" else put("last")
    # Behind the last `last` is its value.
    before, name, after = text.rpartition("last")
    assert changed(language, text, change) == before + name + after.replace("1", "2")
