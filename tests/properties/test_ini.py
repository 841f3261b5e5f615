"""Laws of INI files: they are read as `configparser` reads them, and an edit changes what it names alone."""

import configparser
import io
import re
from typing import TypeAlias

from hypothesis import assume, event, example, given, note, settings
from hypothesis import strategies as st

from mdplan.data.ini import IniOutline
from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Operation, Resolution
from mdplan.planning.build import AttributedEdit, without_joins
from mdplan.requests.batch import read_edit
from mdplan.text.edit import EditList
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex
from mdplan.text.source import DocumentFormat, Source
from tests.conftest import FULL
from tests.properties.ini_files import NAMES, Edit, edits_by, ini_texts

MANY = settings(max_examples=5000 if FULL else 20)
TOP = "\x01"
Values: TypeAlias = dict[str, dict[str, str | None]]
Model: TypeAlias = list[tuple[str | None, list[tuple[str, str | None]]]]


def ini(text: str) -> IniOutline:
    return IniOutline(Source.from_text(text))


def by_configparser(text: str) -> Values | None:
    """What the standard library reads: the last of equal keys; None where it refuses the file.

    A header in front of all holds the keys before the first section. Where a line has both comment signs,
    Python 3.11 may overlook the first of them.
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
        # Of a key without value that is continued Python 3.11 says that None has no `append`.
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
    return operation.resolve(outline) if isinstance(operation, Operation) else operation


def result_of(text: str, edit: Edit) -> str | None:
    """The text that `edit` makes of `text`; None where it is refused."""
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
    """`before` with what `edit` asks for, found by names alone."""
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


@MANY
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
    # Where a name repeats, or sections are made, an edit is addressed to what another one changes.
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
    # Two last lines that go from a file without final newline both want the line end between them.
    assume(isinstance(edits, EditList))

    assert merged(model_of(ini(edits.apply(text)))) == merged(model_of(ini(one_after_the_other)))
