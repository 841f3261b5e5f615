"""`mdplan schema`, `help` and `completion`: what the installed version says about itself."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mdplan.cli.program import COMMANDS
from mdplan.operations import OPERATIONS
from mdplan.requests.json_schemas import SCHEMAS
from mdplan.requests.schemas import Schema
from tests.surfaces.command_line import BATCH, GUIDE, mdplan

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which comes with mcp, is missing")


def strict(schema: object) -> object:
    """`schema`, under which an object has no properties but those that it lists."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = (
        {"additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else {}
    )
    return closed | {name: strict(item) for name, item in schema.items()}


def accepts(schema: Schema, value: object) -> bool:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@cache
def batch_validator() -> Any:
    """Checking this large schema itself takes longer than all that is checked against it."""
    jsonschema.Draft202012Validator.check_schema(SCHEMAS["batch"]())
    return jsonschema.Draft202012Validator(SCHEMAS["batch"]())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((), "batch"),
        (("batch",), "batch"),
        (("plan",), "plan"),
        (("report", "stat"), "stat-report"),
        (("report", "plan"), "plan-report"),
        (("report", "apply"), "apply-report"),
    ],
)
def test_schema_is_that_of_the_package(arguments: tuple[str, ...], name: str) -> None:
    assert mdplan("schema", *arguments).json == SCHEMAS[name]()


@pytest.mark.parametrize("arguments", [("op",), ("op", "nothing"), ("report",), ("batch", "x"), ("nothing",)])
def test_schema_that_does_not_exist_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    run = mdplan("schema", *arguments)

    assert (run.code, run.out) == (2, b"")
    assert run.err.startswith("error: ")
    assert "mdplan schema --help" in run.err


@pytest.mark.parametrize("op", OPERATIONS)
def test_example_fits_its_schema_in_a_batch_too(op: str) -> None:
    example = dict(OPERATIONS[op].example)

    assert accepts(mdplan("schema", "op", op).json, example)
    fits = batch_validator().is_valid
    assert fits({"file": "a.md", "edits": [example]})
    assert fits({"files": [{"file": "a.md", "edits": [example]}], "dryRun": True})
    assert not fits({"file": "a.md", "edits": [example | {"unknown": 1}]})
    assert not fits({"edits": [example]})
    assert not fits({"file": "a.md", "files": [], "edits": [example]})


def test_reports_have_the_fields_of_their_schemas_and_no_others(project: Path) -> None:
    (project / "guide.md").write_text(
        "---\na: 1\n---\n" + GUIDE + "\n- [ ] [x](#y)\n\n|a|\n|-|\n\n```sh\n```\n"
    )
    wrong = BATCH | {"edits": [{"op": "append_to_section", "heading": "None", "markdown": "x"}]}
    planned = mdplan("plan", "--json", stdin=BATCH).json
    reports = {
        "stat-report": [mdplan("stat", "--json", "guide.md").json, mdplan("stat", "--json").json],
        "plan-report": [planned, mdplan("plan", "--json", stdin=wrong).json],
        "apply-report": [mdplan("apply", "--json", planned["planId"]).json for _ in range(2)],
    }

    for name, each in reports.items():
        for report in each:
            jsonschema.validate(report, strict(SCHEMAS[name]()))


def test_plan_file_fits_its_schema(project: Path) -> None:
    mdplan("plan", "--output", "plan.json", stdin=BATCH)
    document = json.loads((project / "plan.json").read_bytes())

    jsonschema.validate(document, strict(SCHEMAS["plan"]()))
    assert not accepts(SCHEMAS["plan"](), document | {"planId": "sha256-0"})


@pytest.mark.parametrize("op", OPERATIONS)
def test_operation_help_lists_fields_and_a_valid_example(op: str) -> None:
    text = mdplan("help", op).out.decode()

    assert text.startswith(f"{op}\n\n")
    assert all(
        f" {name} (" in text for name in OPERATIONS[op].model_json_schema()["properties"] if name != "op"
    )
    example = json.loads(text.partition("Example of a batch:\n")[2])
    assert example["edits"] == [json.loads(json.dumps(OPERATIONS[op].example))]
    assert example["file"].endswith(".yml") is OPERATIONS[op].needs_keys


def test_help_lists_all_operations_and_commands() -> None:
    text = mdplan("help").out.decode()

    assert all(f"\n  {op} " in text for op in OPERATIONS)
    assert "\n  apply  " in text


def test_help_of_a_command_is_its_own() -> None:
    assert mdplan("help", "plan").out == mdplan("plan", "--help").out


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("schema", "\n  mdplan schema plan              what `plan --output` writes\n"),
        ("completion", "\n  fish:  mdplan completion fish > ~/.config/fish/completions/mdplan.fish\n"),
    ],
)
def test_help_does_not_wrap_commands(command: str, line: str) -> None:
    assert line in mdplan(command, "--help").out.decode()


@pytest.mark.parametrize(
    ("topic", "near"), [("task", "`set_task`"), ("add_item", "`add_list_item`"), ("manifst", "`manifest`")]
)
def test_help_suggests_the_nearest_topic(topic: str, near: str) -> None:
    run = mdplan("help", topic)

    assert run.code == 2
    assert near in run.err.partition("did you mean")[2]


def test_help_shows_a_valid_batch_and_manifest(project: Path) -> None:
    """The batches are planned and the manifest is applied as they stand there, without their indentation."""
    paragraphs = mdplan("help", "batch").out.decode().split("\n\n")
    batches = [each for each in paragraphs if each.startswith("  {")]
    manifest = mdplan("help", "manifest").out.decode().split("\n\n")[1]
    (project / "guide.md").write_text("# Kettle\n\nThe nightly 1.0.\n\n## Install\n\n## Brew\n")
    (project / "manifest.yml").write_text(manifest)

    assert [mdplan("plan", stdin=batch.encode()).code for batch in batches] == [0, 0], batches
    assert mdplan("bot", "apply", "manifest.yml").code == 0
    assert "nightly 1.1." in (project / "guide.md").read_text()


def test_command_list_uses_the_summaries_of_the_commands() -> None:
    listed = mdplan("--help-all").out.decode().partition("Commands:\n")[2].rstrip("\n")

    names = [line.split()[0] for line in listed.split("\n")]

    assert names == [*COMMANDS]
    assert all(mdplan(name, "--help").code == 0 for name in names)
