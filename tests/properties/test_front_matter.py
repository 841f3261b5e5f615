"""Edits of front matter that nobody would write by hand: only the asked change, or a refusal."""

import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.format_detection import FrontMatterFormat
from mdplan.markdown.front_matter import FrontMatterContent, read_content
from mdplan.planning.build import BuiltFile
from tests.edit_trials import Document
from tests.front_matter_trials import Block, Tally, try_key
from tests.properties.strategies import characters

PLAIN = st.sampled_from(
    ["a", "b c", "12", "1.5", "yes", "null", "2024-01-02", "é x", "x:y", "a#b", "-x", "~"]
)
QUOTED = st.sampled_from(["'it''s'", '"a \\" b"', "'#no'", '": "', "''", '"a\\nb"'])
FLOW = st.sampled_from(
    ["[]", "[a, b]", "[ 'a' , \"b\", ]", "{}", "{k: v, l: [x, {m: n}]}", "[{a: 1}, [b]]", "{k}"]
)
COMMENT = st.sampled_from(["", "", " # note", "   # a: b"])
BETWEEN = st.sampled_from([(), (), ("",), ("# comment",), ("", "  # indented", "")])
KEYS = st.sampled_from(["a", "b", "title", "ms.date", "'quoted key'", '"x: y"', "12", "yes", "é"])


@st.composite
def block_lists(draw: st.DrawFn, column: int) -> list[str]:
    """Lines of a list with dashes at `column`."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += (" " * column + line if line else "" for line in draw(BETWEEN) if line != "  # indented")
        kind = draw(st.integers(0, 3))
        comment = draw(COMMENT)
        if kind == 0:
            lines += [" " * column + "- k: 1" + comment, " " * column + "  l: two"]
        elif kind == 1:
            lines += [" " * column + "-  " + draw(FLOW) + comment]
        else:
            lines += [" " * column + "- " + draw(PLAIN | QUOTED) + comment]
    return lines


@st.composite
def block_maps(draw: st.DrawFn, column: int, depth: int = 0) -> list[str]:
    """Lines of a map with keys at `column`."""
    lines: list[str] = []
    lead = " " * column
    for key in draw(st.lists(KEYS, min_size=1, max_size=5 if not depth else 3, unique=True)):
        lines += draw(BETWEEN)
        comment = draw(COMMENT)
        kind = draw(
            st.sampled_from(["plain", "quoted", "flow", "list", "map", "literal", "folded", "none", "long"])
        )
        match kind:
            case "plain" | "quoted" | "flow":
                value = draw({"plain": PLAIN, "quoted": QUOTED, "flow": FLOW}[kind])
                lines.append(f"{lead}{key}:{draw(st.sampled_from([' ', '   ']))}{value}{comment}")
            case "list":
                lines.append(f"{lead}{key}:{comment}")
                lines += draw(block_lists(column + draw(st.sampled_from([0, 2, 4]))))
            case "map" if depth < 2:
                lines.append(f"{lead}{key}:{comment}")
                lines += draw(block_maps(column + draw(st.sampled_from([1, 2, 4])), depth + 1))
            case "literal" | "folded":
                chomp = draw(st.sampled_from(["", "-", "+"]))
                lines.append(f"{lead}{key}: {'|' if kind == 'literal' else '>'}{chomp}{comment}")
                lines += [f"{lead}  text", "", f"{lead}   more # no comment"]
                lines += draw(st.sampled_from([(), ("",), ("", "")]))
            case "long":
                lines += [f"{lead}{key}: two", f"{lead}  lines{comment}"]
            case _:
                lines.append(f"{lead}{key}:{comment}")
    return lines


@st.composite
def yaml_documents(draw: st.DrawFn) -> bytes:
    lines = ["---", *draw(block_maps(0)), *draw(BETWEEN), "---", "", "# T"]
    # What follows the opening fence must not be blank, else there is no front matter.
    while lines[1] == "":
        del lines[1]
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return "".join(line + line_end for line in lines).encode()


@given(yaml_documents(), st.integers(0, 5), st.integers(0, 12))
def test_yaml_edits_change_only_the_requested_values(data: bytes, number: int, turn: int) -> None:
    document = Document("generated", data)
    assume(document.outline.front_matter is not None)
    assume(isinstance(document.outline.front_matter_content, FrontMatterContent))
    tally = Tally()

    try_key(document, tally, number, turn)

    assert tally.problems == []
    # A literal block would take blank lines and indented comments for its own that come to stand behind it.
    has_literal_block = re.search(rb": [|>][-+]?", data) is not None
    assert all(has_literal_block and reason.startswith("delete_") for reason in tally.refused)


TOML_VALUES = st.sampled_from(
    [
        '"a"',
        "'b'",
        "12",
        "1.5",
        "true",
        "2024-01-02",
        '"""\na # no\n"""',
        '["a", "b"]',
        "[\n  1, # one\n  2,\n]",
        "{ k = 1, l = { m = 'x' } }",
        "[]",
        "'#'",
        '"[x]"',
        "[[1], [2, 3]]",
    ]
)


@st.composite
def toml_documents(draw: st.DrawFn) -> bytes:
    names = st.lists(st.sampled_from(["a", "b", '"x y"', "d.e", "d.f"]), min_size=1, max_size=4, unique=True)
    lines = ["+++"]
    for header in ("", *draw(st.lists(st.sampled_from(["t", "u", "u.v", "w.x"]), max_size=3, unique=True))):
        if header:
            lines += [*draw(st.sampled_from([(), ("",), ("", "# about it")])), f"[{header}]"]
        for name in draw(names):
            lines += [f"{name} = {draw(TOML_VALUES)}{draw(COMMENT)}", *draw(st.sampled_from([(), ("# c",)]))]
    lines += ["+++", "", "# T"]
    line_end = draw(st.sampled_from(["\n", "\r\n"]))
    return "".join(line + "\n" for line in lines).replace("\n", line_end).encode()


@given(toml_documents(), st.integers(0, 5), st.integers(0, 12))
def test_toml_edits_change_only_the_requested_values(data: bytes, number: int, turn: int) -> None:
    document = Document("generated", data)
    assume(isinstance(document.outline.front_matter_content, FrontMatterContent))
    tally = Tally()

    try_key(document, tally, number, turn)

    assert tally.problems == []
    reasons = {reason.rpartition(": ")[2] for reason in tally.refused}
    assert reasons <= {
        "a table cannot become another kind of value",
        "a table without its own header cannot be empty",
    }


TEXT = st.text(characters())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(characters(), min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(JSON, st.sampled_from(["---\na: 'x'\nb: [y]\n---\n", "---\na: [x]\n---\n", '---\na:\n  - "x"\n---\n']))
@example("", "---\na: x\n---\n")
@example("a\n", "---\na: x\n---\n")
@example({"k": {"l": ["\u2028", "\x85", "\ufeff"]}}, "---\na: x\n---\n")
def test_any_json_value_round_trips(value: object, text: str) -> None:
    document = Document("generated", text.encode())
    outcome = document.plan({"op": "set_front_matter", "values": {"a": value, "new": value}})

    if not isinstance(outcome, BuiltFile):
        assert outcome[0].code is Code.FRONT_MATTER_INVALID or "surrogate" in outcome[0].message
        return
    values = read_content(FrontMatterFormat.YAML, Block.of(outcome).content).values
    assert json.dumps(values["a"]) == json.dumps(values["new"]) == json.dumps(value)


@pytest.mark.parametrize("text", ["---\na: 1\n---\n", "+++\na = 1\n+++\n"])
@given(value=TEXT | st.lists(TEXT, max_size=3) | st.integers() | st.booleans())
def test_string_is_accepted_in_both_formats(text: str, value: object) -> None:
    outcome = Document("generated", text.encode()).plan({"op": "set_front_matter", "values": {"b": value}})

    assert isinstance(outcome, BuiltFile), outcome
    assert outcome.result.front_matter_content.values["b"] == value
