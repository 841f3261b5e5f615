"""Limits, costs and odd spellings of front matter that is edited by keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from mdplan.data.tree import DataError, KeyChange
from mdplan.data.yaml import scalar_text
from mdplan.diagnostics import Code, Problems
from mdplan.engine.engine import Engine
from mdplan.markdown import front_matter as front_matter_values
from mdplan.markdown import front_matter_edits
from mdplan.markdown.front_matter_edits import verify_elsewhere
from mdplan.planning.build import BuiltFile
from mdplan.requests.batch import Batch, read_batch
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.edit_trials import Document

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


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "edit",
    [
        set_values(a=nested(33)),
        {"op": "set_front_matter", "key": "a", "value": nested(33)},
        set_values(a=[float("nan")]),
        set_values(a=float("inf")),
        {"op": "add_to_front_matter_list", "key": "a", "value": [1, float("-inf")]},
        {"op": "delete_front_matter", "key": "a", "expectedValue": nested(33)},
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a : 1 # x", "a : 2 # x"),
        ("a:\t1", None),
        ('"a": 1', '"a": 2'),
        ("? a\n: 1", None),
        ("a:\n  1", "a:\n  2"),
        ("a: !<tag:yaml.org,2002:int> 1", None),
        ("a:\n- 1\n-\n  - x\nb: 1", "a: 2\nb: 1"),
        ("a: {b: 1,\n  c: 2} # x", "a: 2 # x"),
        ("a: 'one\n\n  two' # x", "a: 2 # x"),
        ("a: >2-\n     one\nb: 1", "a: 2\nb: 1"),
        ("a: \u2028 x", "a: \u2028 2"),
        ("a: 'x\u2028y'", "a: 2"),
        ("a: x\u00a0y", "a: 2"),
        ("a:", "a: 2"),
        ("{a: 1}", "{a: 2}"),
        ("{a}", "{a: 2}"),
        ("{a: }", "{a: 2 }"),
        ("{a: [x,\n y]}", "{a: 2}"),
    ],
)
def test_unusual_yaml_spelling_gets_a_new_value_or_is_refused(before: str, after: str | None) -> None:
    outcome = planned(f"---\n{before}\n---\n", set_values(a=2))

    if after is None:
        assert outcome[0].code is Code.FRONT_MATTER_INVALID
    else:
        assert text_of(outcome) == f"---\n{after}\n---\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("y", '"y"'),
        ("off", '"off"'),
        ("0o17", '"0o17"'),
        ("012", '"012"'),
        ("12:30", '"12:30"'),
        ("1_000", '"1_000"'),
        (".5", '".5"'),
        (".inf", '".inf"'),
        ("+1", '"+1"'),
        ("1.2.3", "1.2.3"),
        ("2024-01-02 10:00", '"2024-01-02 10:00"'),
        ("2024-01", "2024-01"),
        ("=", '"="'),
        ("<<", '"<<"'),
        ("null", '"null"'),
        ("a:", '"a:"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("a#b", "a#b"),
        ("-", '"-"'),
        ("--", "--"),
        ("--- x", '"--- x"'),
        ("... x", '"... x"'),
        ("[x", '"[x"'),
        ("x]", "x]"),
        ("\u2028", '"\\u2028"'),
        ("\ufeffa", '"\\uFEFFa"'),
        ("\U0001f600", "\U0001f600"),
        ("\u00a0", '"\u00a0"'),
        (1e16, "1.0e+16"),
        (1.0, "1.0"),
        (-0.5, "-0.5"),
    ],
)
def test_scalar_is_quoted_where_yaml_would_change_its_type(value: object, text: str) -> None:
    assert scalar_text(value) == text


def test_repeated_addition_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"---\ntags: [a]\n---\n")
    edit = {"op": "add_to_front_matter_list", "key": "tags", "value": "b"}

    engine = Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))
    with engine.workspace:
        first = engine.apply({"file": "a.md", "baseSha256": engine_hash(engine), "edits": [edit]})
        second = engine.apply({"file": "a.md", "baseSha256": engine_hash(engine), "edits": [edit]})

    assert first.applied
    assert second.ok
    assert second.no_op
    assert path.read_bytes() == b"---\ntags: [a, b]\n---\n"


def engine_hash(engine: Engine) -> str:
    report = engine.plan({"file": "a.md", "edits": [{"op": "preview_match", "pattern": "tags"}]})
    assert report.base_sha256 is not None
    return report.base_sha256


@pytest.mark.parametrize(
    "new",
    ["---\na: 2\nb: 3\n---\n", "---\na: 2\n---\n", "---\na: 2\nb: [\n---\n", "---\na: 2\n----\nb: 1\n---\n"],
)
def test_change_that_another_yaml_parser_reads_differently_is_refused(new: str) -> None:
    with pytest.raises(DataError):
        verify_elsewhere("---\na: 1\nb: 1\n---\n", new, [KeyChange(("a",), 2)])


def test_block_that_another_yaml_parser_rejects_is_not_compared() -> None:
    verify_elsewhere("---\na: [\n---\n", "---\na: 2\n---\n", [KeyChange(("a",), 2)])
