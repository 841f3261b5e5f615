"""An edit's expected text must match, and a number on a changed file must mean the same place."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mdplan.data.tree import REMOVED
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.operations import base, keys
from mdplan.operations.base import Resolution
from mdplan.planning import replan
from mdplan.requests.batch import read_edit
from mdplan.settings import Durability, Settings
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables

VALUES: Final = st.sampled_from([None, "", "a", "null", "https://x.org/#a;b", 0, 1, False, ["a"], {"a": 1}])
CASE_TABLES = CaseTables(__file__)
EDITS: Final[list[dict[str, Any]]] = CASE_TABLES.value("EDITS")
NUMBERS: Final = (
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=4),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz-")), max_size=3),
    st.sampled_from(["a.yaml", "a.json", "a.md"]),
    st.booleans(),
)
FILES: Final = ("a.json", "a.yaml", "a.md", "a.toml", "a.ini")

GUARDS: Final = (st.sampled_from(FILES), st.sampled_from(EDITS), VALUES, VALUES)


def text_of(file: str, value: object) -> str:
    """A file in which `k` has `value`. JSON is YAML, and its texts, numbers and lists are TOML."""
    shown = json.dumps(value)
    if file == "a.ini":
        return f"[s]\nk = {value}\nz = 1\n"
    if file == "a.toml":
        return f"k = {shown}\nz = 1\n"
    return (
        f'{{"k": {shown}, "z": 1}}\n'
        if file == "a.json"
        else f"---\nk: {shown}\nz: 1\n---\n"[4 * (file == "a.yaml") :]
    )


@settings(deadline=None)
@given(*GUARDS)
def test_expected_value_is_compared_with_the_value_be_it_null(
    file: str, edit: dict[str, Any], value: object, expected: object
) -> None:
    if file == "a.ini":
        value = value if isinstance(value, str) and value else "a"
    if file == "a.toml":
        value = "a" if value is None or isinstance(value, dict) else value
    text = text_of(file, value).removesuffix("---\n" if file == "a.yaml" else "")
    outline = Outline(Source.from_text(text), document_format(file, text))
    key = "s.k" if file == "a.ini" else "k"
    free, guarded = (read_edit({**edit, "key": key, **guard}) for guard in ({}, {"expectedValue": expected}))
    assert not isinstance(free, tuple)
    assert not isinstance(guarded, tuple)
    unguarded, outcome = free.resolved(outline), guarded.resolved(outline)

    is_same = json.dumps(value) == json.dumps(expected) or (file == "a.ini" and value == str(expected))
    if not is_same:
        assert isinstance(outcome, tuple)
        assert outcome[0].code is Code.TEXT_MISMATCH
    elif isinstance(unguarded, Resolution):
        assert isinstance(outcome, Resolution)
        assert (outcome.edits, outcome.is_evidence, unguarded.is_evidence) == (unguarded.edits, True, False)


@settings(deadline=None)
@given(*NUMBERS)
def test_number_on_a_changed_file_means_the_same_place_or_nothing(
    values: list[str], number: int, changes: list[tuple[int, str]], file: str, is_expected: bool
) -> None:
    """`changes` insert unnamed items and delete named ones, except the addressed one."""
    items = [(value, str(name)) for name, value in enumerate(values)]
    meant = items[number % len(items)]
    later = list(items)
    for at, value in changes:
        if value != "-":
            later.insert(at, (value, ""))
        elif at < len(later) and later[at] != meant:
            del later[at]
    index = items.index(meant)
    edit = {"op": "set_value", "key": f"l[{index}]", "value": "new"}
    if file == "a.md":
        lines = {"start": index + 1, "end": index + 1}
        edit = {"op": "replace_lines", "lines": lines, "markdown": "new"}
    expected = {"expectedText" if file == "a.md" else "expectedValue": meant[0]} if is_expected else {}
    with TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_text(listed(file, items))
        engine = Engine.open([folder], settings=Settings(durability=Durability.PROCESS))
        plan = engine.plan({"file": file, "edits": [{**edit, **expected}]})
        path.write_text(listed(file, later))
        report = engine.apply({"planId": plan.plan_id, "onStale": "rebase"})

        is_sole = all([value for value, _ in each].count(meant[0]) == 1 for each in (items, later))
        is_there = later[index : index + 1] == [meant]
        is_same = listed(file, later) == listed(file, items)
        assert report.applied is (is_same or (is_expected and is_sole and is_there))
        if report.applied:
            wanted = [("new", "") if item == meant else item for item in later]
            assert path.read_text() == listed(file, wanted)


def listed(file: str, items: list[tuple[str, str]]) -> str:
    values = [value for value, _ in items]
    return "\n".join([*values, ""]) if file == "a.md" else json.dumps({"l": values}) + "\n"


FAULTS: Final[dict[str, tuple[object, str, object]]] = {
    "null is absent": (
        keys.DataOperation,
        "is_guarded",
        property(lambda edit: edit.expected_value not in (REMOVED, None)),
    ),
    "values are searched for comments": (keys, "_value_spans", lambda _: ()),
    "every value fits": (keys, "_is_expected", lambda *_: True),
    "no number counts": (base.Operation, "counted_fields", lambda *_: ()),
    "no index counts": (keys, "counted_paths", lambda *_: ()),
    "lines are unique": (base, "occurs_once", lambda *_: True),
    "only the file as it is now counts": (replan, "_counted", lambda *_: ()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_of_guards_is_detected(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])  # type: ignore[arg-type]
    loud = settings(
        deadline=None, max_examples=300, database=None, derandomize=True, phases=(Phase.generate,)
    )

    def laws() -> None:
        for law, strategies in (
            (test_expected_value_is_compared_with_the_value_be_it_null, GUARDS),
            (test_number_on_a_changed_file_means_the_same_place_or_nothing, NUMBERS),
        ):
            loud(given(*strategies)(law.hypothesis.inner_test))()  # type: ignore[attr-defined]

    with pytest.raises((AssertionError, ExceptionGroup)):
        laws()
