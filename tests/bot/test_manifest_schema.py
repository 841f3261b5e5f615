"""What the published schema says of manifests is what the bot says of them."""

import json
from pathlib import Path

import pytest

from mdplan.bot.manifest.schema import manifest_schema
from mdplan.bot.manifest.source_map import Located, read_located
from tests.bot.golden import CASES, BotCase

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which comes with mcp, is missing")
ACCEPTED = [folder for folder in sorted(CASES.iterdir()) if (folder / "after").exists()]
REFUSED = ["unknown-names-have-their-place", "unknown-edits-have-their-place"]


def errors_of(folder: Path) -> list[object]:
    manifest = Path(BotCase(folder).manifest)
    located = read_located(manifest.read_text(encoding="utf-8"), manifest.name)
    assert isinstance(located, Located), located
    return list(jsonschema.Draft202012Validator(manifest_schema()).iter_errors(located.data))


@pytest.mark.parametrize("folder", ACCEPTED, ids=lambda folder: folder.name)
def test_manifest_that_is_accepted_fits(folder: Path) -> None:
    assert errors_of(folder) == []


@pytest.mark.parametrize("name", REFUSED)
def test_manifest_with_unknown_fields_does_not(name: str) -> None:
    assert errors_of(CASES / name) != []


def test_schema_is_one_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(manifest_schema())
    assert json.loads(json.dumps(manifest_schema())) == manifest_schema()
