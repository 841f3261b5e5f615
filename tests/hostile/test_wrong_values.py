"""S13: values of the wrong kind in plans, batches and arguments of tools are problems, never a traceback."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mdplan.diagnostics import Exit
from tests.hostile.trial import Place
from tests.surfaces.command_line import mdplan
from tests.surfaces.tool_case import served

WRONG = ("1e999", "-1e999", "NaN", "12345678901234567890123", "{}", "[]", '"\\ud800"', "[" * 300 + "]" * 300)
EDIT = {"op": "append_to_section", "headingPath": ["Here"], "occurrence": 1, "markdown": "x"}
BATCH = {"files": [{"file": "here.md", "edits": [EDIT]}], "backup": True}
_HOLE = "\x00hole"


def holes(value: Any) -> Iterator[Any]:
    """`value` with one of the values in it replaced, once for each."""
    yield _HOLE
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    )
    for name, entry in entries:
        for holed in holes(entry):
            if isinstance(value, dict):
                yield {**value, name: holed}
            else:
                yield [*value[:name], holed, *value[name + 1 :]]


def texts(value: object, wrong: str) -> Iterator[bytes]:
    for holed in holes(value):
        yield json.dumps(holed).replace(json.dumps(_HOLE), wrong).encode()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong[:24])
@pytest.mark.parametrize("what", ["plan", "batch"])
def test_wrong_value_in_a_plan_or_batch_never_ends_in_a_traceback(
    place: Place, what: str, wrong: str
) -> None:
    document = place.engine.export(place.engine.plan(BATCH).plan_id or "")
    assert isinstance(document, bytes)
    for text in texts(json.loads(document) if what == "plan" else BATCH, wrong):
        for verb in ("apply", "validate"):
            assert mdplan(verb, "--root", str(place.root), stdin=text).code != Exit.BUG, text


@pytest.mark.parametrize("wrong", [1e999, -1e999, 10**25, float("nan"), {}, [], "\ud800"], ids=repr)
def test_wrong_value_in_an_argument_of_a_tool_never_ends_in_a_traceback(place: Place, wrong: object) -> None:
    with served(place.root, "md") as calls:
        for arguments in (
            {"limit": wrong},
            {"transaction": wrong},
            {"action": wrong},
            {"action": "undo", "onStale": wrong},
            {"action": "undo", "dryRun": wrong},
        ):
            try:
                result = calls.call("md_history", arguments)
            except (ValueError, UnicodeEncodeError):
                # No message of the protocol can have that value.
                continue
            assert "Traceback" not in result.text
            assert "bug" not in result.text.lower()
        assert calls.is_alive()
