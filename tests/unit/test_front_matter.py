"""Front matter: its place, and the accepted values."""

import json
from typing import Any

import pytest

from mdplan.data.content import DataContent
from mdplan.data.tree import DataError, KeyChange
from mdplan.data.yaml import scalar_text
from mdplan.diagnostics import Code, Problems
from mdplan.markdown import front_matter as front_matter_values
from mdplan.markdown import front_matter_edits
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.front_matter import content_of
from mdplan.markdown.front_matter_edits import verify_elsewhere
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.requests.batch import Batch, read_batch
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document

CASE_TABLES = CaseTables(__file__)


def headings(text: str) -> list[str]:
    return [section.title for section in Outline(Source.from_text(text)).sections[1:]]


@pytest.mark.requirement("outline-7")
@CASE_TABLES.parametrize("text", "block")
def test_front_matter_reaches_from_fence_to_fence(text: str, block: str) -> None:
    found = find_front_matter(text)

    assert found is not None
    assert text[found.span.start : found.span.end] == block
    assert headings(text) == (["T"] if "T" in text else [])


@pytest.mark.requirement("outline-7")
@CASE_TABLES.parametrize("text", "titles")
def test_what_only_looks_like_front_matter_is_markdown(text: str, titles: list[str]) -> None:
    assert find_front_matter(text) is None
    assert headings(text) == titles


@pytest.mark.parametrize("bom", [b"\xef\xbb\xbf", b"\xff\xfe"], ids=["utf-8", "utf-16"])
def test_front_matter_is_found_after_a_byte_order_mark(bom: bytes) -> None:
    text = "---\na: 1\n---\n# T\n"
    source = Source.decode(bom + text.encode("utf-8" if len(bom) == 3 else "utf-16-le"))
    assert isinstance(source, Source)

    outline = Outline(source)
    assert outline.body_start == 13
    assert [section.title for section in outline.sections] == ["", "T"]


def keys(text: str) -> tuple[str, ...] | None:
    found = find_front_matter(text)
    assert found is not None
    content = content_of(text, found)
    return tuple(content.values) if isinstance(content, DataContent) else None


@CASE_TABLES.parametrize("block", "expected", tuples=True)
def test_keys_are_listed_in_order(block: str, expected: tuple[str, ...]) -> None:
    assert keys(block) == expected


def nested(depth: int) -> str:
    return "a: " + "[" * depth + "]" * depth


BOMB = "\n".join(
    ["a: &a [x, x]", *(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))]
)


@pytest.mark.requirement("safety-2")
@pytest.mark.parametrize(
    "content",
    [
        BOMB,
        "a: &x 1",
        "b: {c: 1}\na:\n  <<: {d: 1}",
        "a: !!python/object/apply:os.system [x]",
        "a: !tag 1",
        "a: !!str 1",
        nested(5_000),
        "a: [",
        "- a\n- b",
        "just text",
        "a: 1\na: b: c",
        "a: \x07",
        "a: \ud800",
    ],
    ids=lambda content: content[:20],
)
def test_front_matter_that_cannot_be_read_safely_has_no_keys(content: str) -> None:
    assert keys(f"---\n{content}\n---\n") is None


@pytest.mark.parametrize("content", ["a = ", "a = 1\na = 2", "= 1", "x" * 70_000])
def test_toml_that_cannot_be_read_has_no_keys(content: str) -> None:
    assert keys(f"+++\n{content}\n+++\n") is None


# --- Limits, costs and odd spellings of front matter that is edited by keys.

KEYS = 60


def planned(text: str, *edits: dict[str, Any]) -> BuiltFile | Problems:
    return Document("a.md", text.encode()).plan(*edits)


def set_values(**values: object) -> dict[str, Any]:
    return {"op": "set_front_matter", "values": values}


def text_of(outcome: BuiltFile | Problems) -> str:
    assert isinstance(outcome, BuiltFile), outcome
    return outcome.result.source.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"---\na: {'x' * 70_000}\n---\n", "it has more than 65536 characters"),
        (f"---\na: {'[' * 40}{']' * 40}\n---\n", "it is nested too deeply, or has too many values"),
        (f"---\na: [{'x,' * 6_000}]\n---\n", "it is nested too deeply, or has too many values"),
        (f"+++\na = {'[' * 40}{']' * 40}\n+++\n", "it is nested too deeply"),
        (f"---\na: {'9' * 5_000}\n---\n", "it contains a number or date that cannot be read"),
        ("---\na: 2024-99-99\n---\n", "it contains a number or date that cannot be read"),
        ("---\n? [x]\n: 1\n---\n", "one of its keys is a list or map"),
        ('---\na: "x\n---\n', "it is not valid YAML: found unexpected end of stream"),
    ],
    ids=lambda value: value[:12],
)
def test_unsafe_yaml_block_is_refused(text: str, reason: str) -> None:
    (problem,) = planned(text, set_values(b=1))

    assert problem.code is Code.FRONT_MATTER_INVALID
    assert problem.message.endswith(reason)


@pytest.mark.parametrize("fence", ["---\na: 1\n---\n", "+++\na = 1\n+++\n"])
def test_block_that_would_become_too_large_is_refused(fence: str) -> None:
    (problem,) = planned(fence, set_values(b="x" * 70_000))

    assert problem.code is Code.FRONT_MATTER_INVALID
    assert problem.message.endswith("after the change it has more than 65536 characters")


def nested_lists(depth: int) -> list[Any]:
    return [nested_lists(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "edit",
    [
        set_values(a=nested_lists(33)),
        {"op": "set_front_matter", "key": "a", "value": nested_lists(33)},
        set_values(a=[float("nan")]),
        set_values(a=float("inf")),
        {"op": "add_to_front_matter_list", "key": "a", "value": [1, float("-inf")]},
        {"op": "delete_front_matter", "key": "a", "expectedValue": nested_lists(33)},
    ],
    ids=lambda edit: json.dumps(edit)[:40],
)
def test_value_without_yaml_form_is_rejected(edit: dict[str, Any]) -> None:
    outcome = read_batch({"file": "a.md", "edits": [edit]})

    assert not isinstance(outcome, Batch)
    assert [problem.code for problem in outcome] == [Code.INVALID_ARGUMENT]


def test_many_edits_parse_the_block_only_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read = front_matter_values.read_content
    calls: list[str] = []

    def counted(*arguments: str) -> object:
        calls.append(arguments[1])
        return read(*arguments)

    monkeypatch.setattr(front_matter_values, "read_content", counted)
    monkeypatch.setattr(front_matter_edits, "read_content", counted)
    text = "---\n" + "".join(f"k{number}: {number}\n" for number in range(KEYS)) + "---\n"

    outcome = planned(text, *(set_values(**{f"k{number}": "x"}) for number in range(KEYS)))

    assert text_of(outcome).count(": x\n") == KEYS
    assert len(calls) == 2


def test_edit_that_cannot_be_made_is_named() -> None:
    text = "---\na: |+\n  text\nb: 1\n\nc: 2\nd: 3\n---\n"
    delete_b = {"op": "delete_front_matter", "key": "b"}

    (problem,) = planned(text, set_values(c=1), set_values(d=1), delete_b, set_values(e=1), set_values(f=1))

    assert problem.code is Code.FRONT_MATTER_INVALID
    assert problem.edit_index == 2


@CASE_TABLES.parametrize("before", "after")
def test_unusual_yaml_spelling_gets_a_new_value_or_is_refused(before: str, after: str | None) -> None:
    outcome = planned(f"---\n{before}\n---\n", set_values(a=2))

    if after is None:
        assert outcome[0].code is Code.FRONT_MATTER_INVALID
    else:
        assert text_of(outcome) == f"---\n{after}\n---\n"


@CASE_TABLES.parametrize("value", "text")
def test_scalar_is_quoted_where_yaml_would_change_its_type(value: object, text: str) -> None:
    assert scalar_text(value) == text


@pytest.mark.parametrize(
    "new",
    ["---\na: 2\nb: 3\n---\n", "---\na: 2\n---\n", "---\na: 2\nb: [\n---\n", "---\na: 2\n----\nb: 1\n---\n"],
)
def test_change_that_another_yaml_parser_reads_differently_is_refused(new: str) -> None:
    with pytest.raises(DataError):
        verify_elsewhere("---\na: 1\nb: 1\n---\n", new, [KeyChange(("a",), 2)])
