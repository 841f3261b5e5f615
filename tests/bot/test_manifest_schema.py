"""The published manifest schema accepts and rejects what the bot does."""

import json
from pathlib import Path

import pytest

from mdplan.bot.expansion import SourceMap, read_source_map
from mdplan.bot.manifest import manifest_schema
from tests.bot.golden import CASES, BotCase
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which comes with mcp, is missing")
ACCEPTED = [case for case in CASES if case.after is not None]
REFUSED = [case for case in CASES if str(case).startswith("unknown-")]


def errors_of(case: BotCase, tmp_path: Path) -> list[object]:
    manifest = Path(case.write_manifest(tmp_path / "manifest"))
    located = read_source_map(manifest.read_text(encoding="utf-8"), manifest.name)
    assert isinstance(located, SourceMap), located
    return list(jsonschema.Draft202012Validator(manifest_schema()).iter_errors(located.data))


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_accepted_manifest_fits_the_schema(case: BotCase, tmp_path: Path) -> None:
    assert errors_of(case, tmp_path) == []


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_manifest_with_unknown_fields_does_not_fit_the_schema(case: BotCase, tmp_path: Path) -> None:
    assert errors_of(case, tmp_path) != []


PAGES = ("bot-recipes.md", "bot-on-a-branch.md", "run-the-bot-in-ci.md")
SHOWN = [
    pytest.param(block.text, id=block.info[-1])
    for page in PAGES
    for block in blocks_of(REPOSITORY / "docs" / "how-to" / page)
    if block.text.startswith(("files:", "vars:", "data:", "updateReferences:"))
]


@pytest.mark.parametrize("text", SHOWN)
def test_manifest_of_the_documentation_fits_the_schema(text: str) -> None:
    located = read_source_map(text, "manifest.yml")
    assert isinstance(located, SourceMap), located
    assert list(jsonschema.Draft202012Validator(manifest_schema()).iter_errors(located.data)) == []


def test_manifest_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(manifest_schema())
    assert json.loads(json.dumps(manifest_schema())) == manifest_schema()
