"""Every example of the manifest reference does what the page says."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.codegen.manifest_page import EXAMPLES, documented
from mdplan.bot.bot import apply_manifest
from mdplan.bot.chores import chores
from mdplan.bot.explain import explain
from mdplan.bot.manifest import LoadedManifest, ManifestInputs, load_manifest
from mdplan.engine.engine import Engine
from tests.bot.golden import WHOLE, applied, load
from tests.bot.repository import Repository
from tests.support.patches import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity")]
INPUTS = ManifestInputs(environment=("USER_NAME",), today="2026-01-31")
FIELDS = [(part, name) for part in ("manifest", "rule", "edit") for name in EXAMPLES[part]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, committed."""
    monkeypatch.setenv("USER_NAME", "Ada")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-01-31T12:00:00Z")
    files = {name: text.encode() for name, text in EXAMPLES["files"].items()}
    Repository.make(tmp_path / "root").commit(files)
    return tmp_path / "root"


def texts(root: Path) -> dict[str, list[str]]:
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8").splitlines()
        for path in root.rglob("*")
        if path.suffix in {".md", ".bak"}
    }


def loaded(root: Path, manifest: str) -> LoadedManifest:
    (root / "m.yaml").write_text(manifest, "utf-8")
    made = load_manifest(str(root / "m.yaml"), INPUTS)
    assert isinstance(made, LoadedManifest), made
    return made


def test_everything_has_an_example() -> None:
    assert {part: set(names) for part, names in documented().items()} == {
        part: set(EXAMPLES[part]) for part in documented()
    }


@pytest.mark.parametrize(("part", "name"), FIELDS)
def test_field_does_what_its_example_says(root: Path, part: str, name: str) -> None:
    example = EXAMPLES[part][name]
    example = EXAMPLES[part][example] if isinstance(example, str) else example
    before = texts(root)
    engine = Engine.open(root)
    report = apply_manifest(engine, loaded(root, example["manifest"]), WHOLE)

    if "problem" in example:
        assert report.error is not None
        assert report.error.code.value == example["problem"]
        return
    assert report.ok, report.error
    after = texts(root)
    added = {file: _added(before.get(file, []), lines) for file, lines in after.items()}
    assert {file: lines for file, lines in added.items() if lines} == example["adds"]
    again = apply_manifest(engine, loaded(root, example["manifest"]), WHOLE)
    assert (again.ok, again.no_op) == (True, True)


def _added(before: list[str], after: list[str]) -> list[str]:
    from difflib import ndiff

    return [line[2:] for line in ndiff(before, after) if line.startswith("+ ")]


@pytest.mark.parametrize("part", ["placeholders", "filters"])
def test_text_becomes_what_the_page_says(root: Path, part: str) -> None:
    rows = list(EXAMPLES[part].values())
    values = EXAMPLES["values"].replace("vars: {", 'vars: {pipe: "a | b", ')
    edits = [{"op": "set_value", "key": f"k{number}", "value": text} for number, (text, _) in enumerate(rows)]
    manifest = f"{values}files: [{{file: docs/tea.md, edits: {json.dumps(edits)}}}]\n"
    report = apply_manifest(Engine.open(root), loaded(root, manifest), WHOLE)

    assert report.ok, report.error
    written = yaml.safe_load((root / "docs/tea.md").read_text("utf-8").split("---")[1])
    assert [str(written[f"k{number}"]).replace("False", "false") for number in range(len(rows))] == [
        wanted for _, wanted in rows
    ]


@pytest.mark.parametrize("rows", EXAMPLES["conditions"].values(), ids=list(EXAMPLES["conditions"]))
def test_condition_is_what_the_page_says(root: Path, rows: list[Any]) -> None:
    for condition, is_met in rows:
        rule = f"{{file: docs/tea.md, when: {condition}, edits: [{{op: set_value, key: draft, value: 1}}]}}"
        (explained,) = explain(Engine.open(root), loaded(root, f"files: [{rule}]\n"), "docs/tea.md").rules
        assert (explained.unmet is None) == is_met, explained.unmet


@pytest.mark.parametrize(("write", "back"), EXAMPLES["take_back"])
def test_rule_takes_back_what_another_wrote(root: Path, write: str, back: str) -> None:
    before = texts(root)
    engine = Engine.open(root)
    condition = "when: {not: {hasText: Hot}}, " if "Hot" in write else ""
    written = loaded(root, f"files: [{{file: docs/tea.md, {condition}edits: [{write}]}}]\n")
    assert apply_manifest(engine, written, WHOLE).applied
    assert texts(root) != before
    for _ in range(2):
        report = apply_manifest(
            engine, loaded(root, f"files: [{{file: docs/tea.md, edits: [{back}]}}]\n"), WHOLE
        )
        assert report.ok, report.error
        assert texts(root) == before


@pytest.mark.parametrize("name", chores())
def test_first_manifest_of_a_chore_is_right_at_once(root: Path, name: str) -> None:
    chore = chores()[name]
    own = {
        "page": "docs/tea.md",
        "region": "teas",
        "data": "teas.csv",
        "columns": "name,minutes",
        "key": "name",
    }
    own |= {"column": "minutes", "old": "nightly", "new": 'a: "b" #c', "value": "x", "text": "Hot."}
    if name == "rows":
        (root / "docs/tea.md").write_text("# T\n\n| name | minutes |\n|---|---|\n| Green | 9 |\n")
    if name == "code":
        own["data"] = "boil.py#boil"
    if name == "rename":
        own |= {"old": "Brew", "new": "Make"}
    manifest = chore.written({each: own.get(each, default) for each, (_, default) in chore.answers.items()})
    (root / "m.yaml").write_text(manifest, "utf-8")
    engine = Engine.open(root)

    assert load(str(root / "m.yaml")).manifest.files
    assert applied(engine, str(root / "m.yaml")).applied
    assert applied(engine, str(root / "m.yaml")).no_op
