"""On every surface a batch is read once: each part of it is decoded once, and validated once by its model."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.field_names import fold_names
from mdplan.mcp.md_tools import md_tools
from mdplan.requests.batch import read_batch, validated
from tests.surfaces.command_line import mdplan

EDITS = [
    {"op": "append_to_file", "markdown": "one"},
    {"op": "append_to_section", "heading": "A", "markdown": "two"},
]
DRY_RUN = {"files": [{"glob": "*.md", "edits": EDITS}, {"file": "b.txt", "edits": EDITS[:1]}], "dryRun": True}
AS_TEXT = {"files": json.dumps([{"file": "a.md", "edits": json.dumps(EDITS)}]), "dryRun": True}
MODELS = Counter(Batch=1, GlobEdits=1, FileEdits=1, AppendToFile=2, AppendToSection=1)
FUNCTIONS = {function.__code__: function.__name__ for function in (read_batch, validated, fold_names)}


Apply = Callable[[dict[str, Any]], bool]


def in_python() -> Apply:
    return lambda batch: Engine.open(["."]).apply(batch).ok


def over_mcp() -> Apply:
    tools = {tool.name: tool for tool in md_tools(Engine.open(["."]), False)}
    return lambda batch: not tools["md_apply"].call(batch).is_refusal


def in_the_shell(*arguments: str) -> Callable[[], Apply]:
    run = partial(mdplan, *arguments, "--allow-outline-change")
    return lambda: lambda batch: run(stdin=batch).code <= 1


SURFACES: dict[str, Callable[[], Apply]] = {
    "python": in_python,
    "mcp": over_mcp,
    "cli-apply": in_the_shell("apply", "--check"),
    "cli-plan": in_the_shell("plan"),
    "cli-validate": in_the_shell("validate"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    (tmp_path / "b.txt").write_text("b\n")
    monkeypatch.chdir(tmp_path)


def calls_of(apply: Apply, batch: dict[str, Any]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """How often functions were called, models validated, and texts decoded that begin a list or object."""
    functions: Counter[str] = Counter()
    models: Counter[str] = Counter()
    texts: Counter[str] = Counter()

    def hear(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        if frame.f_code in FUNCTIONS:
            functions[FUNCTIONS[frame.f_code]] += 1
        if frame.f_code is validated.__code__:
            models[frame.f_locals["model"].__name__] += 1
        if frame.f_code is json.loads.__code__:
            texts[str(frame.f_locals["s"])] += 1

    sys.setprofile(hear)
    try:
        assert apply(batch)
    finally:
        sys.setprofile(None)
    return functions, models, texts


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("surface", SURFACES)
def test_each_part_of_a_batch_is_validated_once(surface: str) -> None:
    functions, models, _ = calls_of(SURFACES[surface](), DRY_RUN)

    assert (functions["read_batch"], models) == (1, MODELS)
    # The batch, two files and three edits.
    assert functions["fold_names"] == 6


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("surface", SURFACES)
def test_json_text_in_a_batch_is_decoded_once(surface: str) -> None:
    _, _, texts = calls_of(SURFACES[surface](), AS_TEXT)

    assert (texts[AS_TEXT["files"]], texts[json.dumps(EDITS)]) == (1, 1)
