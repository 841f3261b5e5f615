"""Edits of front matter that nobody would write by hand: only the asked change, or a refusal."""

import configparser
import io
import json
import re
from typing import TypeAlias

import pytest
from hypothesis import assume, event, example, given, note, settings
from hypothesis import strategies as st

from mdplan.data.content import DataContent
from mdplan.data.ini import IniOutline
from mdplan.diagnostics import Code, Problems
from mdplan.markdown.front_matter import read_content
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Operation, Resolution
from mdplan.planning.build import AttributedEdit, BuiltFile, without_joins
from mdplan.requests.batch import read_edit
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex, to_lf
from mdplan.text.source import DocumentFormat, Source
from tests.conftest import FULL
from tests.properties.ini_files import NAMES, Edit, edits_by, ini_texts
from tests.properties.strategies import characters
from tests.support.edit_trials import Document
from tests.support.front_matter_trials import Block, Tally, try_key

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
    # A blank line after the opening fence would mean no front matter.
    while lines[1] == "":
        del lines[1]
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return "".join(line + line_end for line in lines).encode()


@given(yaml_documents(), st.integers(0, 5), st.integers(0, 12))
def test_yaml_edits_change_only_the_requested_values(data: bytes, number: int, turn: int) -> None:
    document = Document("generated", data)
    assume(document.outline.front_matter is not None)
    assume(isinstance(document.outline.front_matter_content, DataContent))
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
    assume(isinstance(document.outline.front_matter_content, DataContent))
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
    values = read_content(DocumentFormat.YAML, Block.of(outcome).content).values
    assert json.dumps(values["a"]) == json.dumps(values["new"]) == json.dumps(value)


@pytest.mark.parametrize("text", ["---\na: 1\n---\n", "+++\na = 1\n+++\n"])
@given(value=TEXT | st.lists(TEXT, max_size=3) | st.integers() | st.booleans())
def test_string_is_accepted_in_both_formats(text: str, value: object) -> None:
    outcome = Document("generated", text.encode()).plan({"op": "set_front_matter", "values": {"b": value}})

    assert isinstance(outcome, BuiltFile), outcome
    assert outcome.result.front_matter_content.values["b"] == value


# --- Laws of INI files: they are read as `configparser` reads them, and an edit changes only its key.

MANY = settings(max_examples=5000 if FULL else 20)
TOP = "\x01"
Values: TypeAlias = dict[str, dict[str, str | None]]
Model: TypeAlias = list[tuple[str | None, list[tuple[str, str | None]]]]


def ini(text: str) -> IniOutline:
    return IniOutline(Source.from_text(text))


def by_configparser(text: str) -> Values | None:
    """Return what the standard library reads: the last of equal keys; None if it refuses the file.

    An added header holds the keys before the first section. On a line with both comment signs, Python 3.11
    may overlook the first.
    """
    if any(";" in line and "#" in line for line in to_lf(text).split("\n")):
        return None
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, inline_comment_prefixes=("#", ";"), default_section="\x02"
    )
    parser.optionxform = str
    try:
        parser.read_file(io.StringIO(f"[{TOP}]\n{text}", newline=None))
    except (configparser.Error, AttributeError):
        # For a continued key without value, Python 3.11 fails because None has no `append`.
        return None
    return {name: dict(parser.items(name)) for name in parser.sections()}


def model_of(outline: IniOutline) -> Model:
    return [(each.name, [(key.name, key.value) for key in each.keys]) for each in outline.sections]


def merged(model: Model) -> Values:
    """What `configparser` makes of sections and keys that repeat."""
    values: Values = {}
    for name, keys in model:
        values.setdefault(TOP if name is None else name, {}).update(keys)
    return values


@MANY
@given(ini_texts())
def test_ini_reader_agrees_with_configparser(text: str) -> None:
    expected = by_configparser(text)
    event("refused" if expected is None else "read")
    assume(expected is not None)

    assert merged(model_of(ini(text))) == expected


@MANY
@given(ini_texts())
def test_concatenated_section_lines_equal_the_file(text: str) -> None:
    outline = ini(text)
    sections = outline.sections

    assert "".join(outline.text_of(section.span) for section in sections) == text
    assert [section.span.end for section in sections[:-1]] == [section.span.start for section in sections[1:]]
    for section in sections:
        assert section.span.contains(section.body)
        for key in section.keys:
            assert section.first_line <= key.first_line <= key.last_line <= section.last_line
            assert outline.text_of(key.assignment.name) == key.name


@st.composite
def texts_and_edits(draw: st.DrawFn, *ops: str) -> tuple[str, Edit]:
    text = draw(ini_texts())
    edit = draw(edits_by(ini(text), *ops))
    note(repr(text))
    return text, edit


def resolved(edit: Edit, outline: Outline) -> Resolution | Problems:
    operation = read_edit(edit)
    return operation.resolved(outline) if isinstance(operation, Operation) else operation


def result_of(text: str, edit: Edit) -> str | None:
    """Apply `edit` to `text`; return None if it is refused."""
    outline = Outline(Source.from_text(text), DocumentFormat.INI)
    resolution = resolved(edit, outline)
    if not isinstance(resolution, Resolution):
        event(f"{edit['op']}: {resolution[0].code}")
        return None
    event(f"{edit['op']}: {'changed' if resolution.edits else 'no change'}")
    parts = without_joins(text, LineIndex(text), [AttributedEdit(each, ()) for each in resolution.edits])
    edits = EditList.of([part.edit for part in parts])
    assert isinstance(edits, EditList)
    result = edits.apply(text)
    note(repr(result))
    return result


def expected_model(before: Model, edit: Edit) -> Model:
    """Return `before` changed as `edit` says, by names only."""
    section, name = edit["section"], edit.get("key")
    number = (edit["occurrence"] or 1) - 1
    after = [(each, list(keys)) for each, keys in before]
    for fits in (lambda key: key == name, lambda key: key.casefold() == str(name).casefold()):
        places = [
            (keys, at)
            for each, keys in after
            if each == section
            for at, (key, _) in enumerate(keys)
            if fits(key)
        ]
        if places:
            keys, at = places[number]
            keys[at : at + 1] = [(keys[at][0], edit["value"])] if edit["op"] == "set_ini_key" else []
            return after
    sections = [keys for each, keys in after if each == section]
    if not sections:
        after.append((section, []))
        sections = [after[-1][1]]
    sections[number].append((name, edit["value"]))
    return after


@MANY
@given(texts_and_edits("set_ini_key", "set_ini_key", "delete_ini_key"))
def test_edit_of_a_key_changes_exactly_that_key(drawn: tuple[str, Edit]) -> None:
    text, edit = drawn
    result = result_of(text, edit)
    assume(result is not None)
    expected = expected_model(model_of(ini(text)), edit)

    assert model_of(ini(result)) == expected
    if by_configparser(text) is not None:
        assert by_configparser(result) in (merged(expected), None)


@MANY
@given(texts_and_edits("set_ini_key", "set_ini_key", "delete_ini_key"))
@example(("[a]\n\r\rkey = 1\n\n", {"op": "delete_ini_key", "section": "a", "occurrence": None, "key": "key"}))
def test_lines_that_an_edit_does_not_name_stay(drawn: tuple[str, Edit]) -> None:
    text, edit = drawn
    result = result_of(text, edit)
    assume(result is not None)
    before, after = (to_lf(each).split("\n") for each in (text, result))
    outline = ini(text)
    named = {
        line
        for key in outline.every_key()
        if outline.sections[key.section].name == edit["section"]
        and key.name.casefold() == edit["key"].casefold()
        for line in key.lines
    }
    others = [line for number, line in enumerate(before, start=1) if number not in named]
    rest = iter(after)

    assert all(line in rest for line in others), "a line is gone, or changed"
    if result and text and not re.search(r"\n[ \t]*\n", to_lf(text)):
        assert result.endswith(("\n", "\r")) == text.endswith(("\n", "\r"))


@MANY
@given(texts_and_edits("replace_ini_section"))
def test_replaced_section_has_the_payload_and_others_stay(drawn: tuple[str, Edit]) -> None:
    text, edit = drawn
    result = result_of(text, edit)
    assume(result is not None)
    before, after = model_of(ini(text)), model_of(ini(result))
    payload = model_of(ini(f"[x]\n{edit['markdown']}"))[-1][1]
    numbers = [at for at, (name, _) in enumerate(before) if name == edit["section"]]
    at = numbers[(edit["occurrence"] or 1) - 1] if numbers else len(before)

    assert after[at] == (edit["section"], payload)
    assert after[:at] + after[at + 1 :] == before[:at] + before[at + 1 :]


# Any line of whitespace is blank in an INI file.
@MANY
@example(
    (
        "",
        {
            "op": "replace_ini_section",
            "section": "db",
            "occurrence": None,
            "markdown": "\f",
            "createIfMissing": True,
        },
    )
)
@given(texts_and_edits("set_ini_key", "replace_ini_section"))
def test_repeated_edit_changes_nothing(drawn: tuple[str, Edit]) -> None:
    text, edit = drawn
    once = result_of(text, edit)
    assume(once is not None)

    assert result_of(once, edit) in {once, None}


@MANY
@given(st.data())
def test_edits_of_different_keys_make_together_what_they_make_one_after_the_other(
    data: st.DataObject,
) -> None:
    # With repeated names or new sections, an edit can address what another one changes.
    lines = data.draw(st.lists(st.sampled_from(NAMES), unique_by=str.casefold, min_size=2, max_size=5))
    body = data.draw(st.permutations(["[db]", *(f"{name} = 1" for name in lines), "; note", "", "[cache]"]))
    text = data.draw(st.sampled_from(["\n", "\r\n"])).join(body) + data.draw(st.sampled_from(["\n", ""]))
    edits = [data.draw(edits_by(ini(text), "set_ini_key", "delete_ini_key")) for _ in range(2)]
    first, second = ({**edit, "occurrence": None} for edit in edits)
    assume((first["key"].casefold(), first["section"]) != (second["key"].casefold(), second["section"]))
    note(f"{text!r} {first} {second}")
    one_after_the_other = result_of(text, first)
    one_after_the_other = one_after_the_other and result_of(one_after_the_other, second)
    outline = Outline(Source.from_text(text), DocumentFormat.INI)
    both = [resolved(edit, outline) for edit in (first, second)]
    assume(one_after_the_other is not None and all(isinstance(each, Resolution) for each in both))
    parts = [claim.part for each in both for claim in each.claims]
    event("one part" if len({part[0] for part in parts}) == 1 else "two parts")
    edits = EditList.of(
        edit for each in sorted(both, key=lambda each: each.comes_last) for edit in each.edits
    )
    # Two edits that delete the last lines of a file without a final newline both claim the line end between
    # them.
    assume(isinstance(edits, EditList))

    assert merged(model_of(ini(edits.apply(text)))) == merged(model_of(ini(one_after_the_other)))
