"""On every surface a batch is read once: each part of it is decoded once, and validated once by its model.

So are the files that it edits: read, parsed and built once.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.field_names import fold_names
from mdplan.markdown.parser import parse_headings
from mdplan.mcp.md_tools import make_tools
from mdplan.planning.build import build_file
from mdplan.planning.plan_document import plan_id_of
from mdplan.requests.batch import read_batch, validated
from mdplan.storage.root import Root
from mdplan.text.source import Source
from tests.surfaces.command_line import mdplan

EDITS = [
    {"op": "append_to_file", "markdown": "one"},
    {"op": "append_to_section", "heading": "A", "markdown": "two"},
]
DRY_RUN = {"files": [{"glob": "*.md", "edits": EDITS}, {"file": "b.txt", "edits": EDITS[:1]}], "dryRun": True}
AS_TEXT = {"files": json.dumps([{"file": "a.md", "edits": json.dumps(EDITS)}]), "dryRun": True}
MODELS = Counter(Batch=1, GlobEdits=1, FileEdits=1, AppendToFile=2, AppendToSection=1)
FUNCTIONS = {function.__code__: function.__name__ for function in (read_batch, validated, fold_names)}
# Of front matter the base is read, and the result; of both nothing else is decoded.
OF_PAGES = {
    Root.read.__code__: "read",
    Source.decode.__code__: "decoded",
    parse_headings.__wrapped__.__code__: "parsed",  # type: ignore[attr-defined]
    build_file.__code__: "built",
    plan_id_of.__code__: "named",
}
SET_KEY = {"op": "set_value", "key": "seen", "value": True}
MANIFEST = f"files: [{{glob: 'p*.md', edits: [{json.dumps(SET_KEY)}]}}]"


Apply = Callable[[dict[str, Any]], bool]


def in_python() -> Apply:
    return lambda batch: Engine.open(["."]).apply(batch).ok


def over_mcp() -> Apply:
    tools = {tool.name: tool for tool in make_tools(Engine.open(["."]))}
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


def counted(run: Callable[[], object], names: Mapping[CodeType, str]) -> Counter[str]:
    """Return how often the functions `names` were called; of reads only those of pages count."""
    counts: Counter[str] = Counter()

    def hear(frame: FrameType, event: str, _: object) -> None:
        name = names.get(frame.f_code) if event == "call" else None
        if name is not None and (name != "read" or frame.f_locals["name"].path.endswith(".md")):
            counts[name] += 1

    sys.setprofile(hear)
    try:
        run()
    finally:
        sys.setprofile(None)
    return counts


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


WAYS: dict[str, Callable[[], object]] = {
    "python": lambda: Engine.open(["."]).plan({"files": "p*.md", "edits": [SET_KEY]}).unwrap(),
    "mcp": lambda: over_mcp()({"files": "p*.md", "edits": [SET_KEY], "dryRun": True}),
    "cli": lambda: mdplan("plan", stdin={"files": [{"glob": "p*.md", "edits": [SET_KEY]}]}),
    "glob in the shell": lambda: mdplan("set", "p*.md", "seen=true", "--dry-run"),
    "bot": lambda: mdplan("bot", "check", "bot.yml", "--jobs", "1"),
}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("way", WAYS)
def test_each_page_is_read_and_built_once_and_its_body_is_not_parsed_for_a_key(way: str) -> None:
    for number in range(3):
        Path(f"p{number}.md").write_text(f"---\ntitle: {number}\n---\n# A\n\n- b\n")
    Path("bot.yml").write_text(MANIFEST)

    assert counted(WAYS[way], OF_PAGES) == Counter(read=3, decoded=6, built=3, named=1)
