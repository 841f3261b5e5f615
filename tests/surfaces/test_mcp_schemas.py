"""What the server publishes: schemas that every client takes, few tokens, annotations, and no drift."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import mdplan
from mdplan.engine.engine import Engine
from mdplan.mcp.tool import DEFAULT_TOOLSETS, INTRODUCTIONS, tool_names
from mdplan.operations import OPERATIONS
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import calls_to, compact

SNAPSHOTS = Path(__file__).parents[1] / "snapshots" / "tools"
SCHEMAS = Path(mdplan.__file__).parent / "mcp" / "schemas"
ALL_TOOLS = tool_names(list(INTRODUCTIONS))
TOOLS = ("md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history")
KEYWORDS = {"type", "enum", "items", "properties", "required", "description"}
TYPES = ("string", "integer", "number", "boolean", "array", "object")
# A field with several forms is published without a type, which every client accepts.
UNTYPED = {"value", "expectedValue", "lines", "line", "matchSelection", "expectedMatchCount", "files"}
# Fields that the requirements write as null if absent.
UNTYPED |= {"end", "head", "tail", "start_line", "end_line", "read_to_next_pattern", "expectedHash"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
# OpenAI refuses a longer description, and other clients cut it.
MOST_OF_A_DESCRIPTION = 1_024
MOST_OF_INPUT = 12_600
MOST_OF_OUTPUT = 10_000


def lint(schema: object, place: str = "") -> Iterator[str]:
    """All that some client or model provider would refuse in `schema`."""
    if not isinstance(schema, dict):
        yield f"{place}: is no object"
        return
    for keyword in schema.keys() - KEYWORDS:
        yield f"{place}: has {keyword}"
    if schema.get("type") not in TYPES:
        yield f"{place}: its type is {schema.get('type')!r}"
    if ("items" in schema) != (schema.get("type") == "array"):
        yield f"{place}: items go with arrays"
    if schema.get("required", ["x"]) == [] or set(schema.get("required", [])) - set(
        schema.get("properties", {})
    ):
        yield f"{place}: required names no property"
    for name, field in schema.get("properties", {}).items():
        if not NAME.fullmatch(name):
            yield f"{place}.{name}: is no plain name"
        if not (name in UNTYPED and isinstance(field, dict) and field.keys() <= {"description"}):
            yield from lint(field, f"{place}.{name}")
    if "items" in schema:
        yield from lint(schema["items"], f"{place}[]")


def lint_root(schema: dict[str, Any]) -> list[str]:
    root = [] if schema.get("type") == "object" else ["root: is no object"]
    root += ["root: has an enum"] if "enum" in schema else []
    return [*root, *lint(schema, "root")]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The tools of all toolsets."""
    root = tmp_path_factory.mktemp("root")
    with calls_to(build_server(Engine.open([root]), toolsets=list(INTRODUCTIONS)), "auto") as calls:
        return {tool["name"]: tool for tool in calls.tools()}


def test_every_toolset_lists_its_tools(tools: dict[str, Any]) -> None:
    assert list(tools) == ALL_TOOLS
    assert tuple(tool_names(DEFAULT_TOOLSETS)) == TOOLS


@pytest.mark.requirement("mcp-2", "toolsets-3")
@pytest.mark.parametrize("tool", ALL_TOOLS)
@pytest.mark.parametrize("side", ["inputSchema", "outputSchema"])
def test_schema_uses_only_widely_supported_keywords(tools: dict[str, Any], tool: str, side: str) -> None:
    assert lint_root(tools[tool][side]) == []


@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_schema_is_valid_json_schema(tools: dict[str, Any], tool: str) -> None:
    Draft202012Validator.check_schema(tools[tool]["inputSchema"])
    Draft202012Validator.check_schema(tools[tool]["outputSchema"])


@pytest.mark.requirement("mcp-2")
def test_default_toolset_is_short(tools: dict[str, Any]) -> None:
    default = [tools[name] for name in TOOLS]
    inputs = [compact([tool["name"], tool["description"], tool["inputSchema"]]) for tool in default]
    outputs = [compact(tool["outputSchema"]) for tool in default]

    assert sum(map(len, inputs)) <= MOST_OF_INPUT
    assert sum(map(len, outputs)) <= MOST_OF_OUTPUT


@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_descriptions_fit_the_limits_of_clients(tools: dict[str, Any], tool: str) -> None:
    assert len(tools[tool]["description"]) <= MOST_OF_A_DESCRIPTION


READING = {
    *("md_stat", "md_read", "md_search", "md_validate"),
    *("TextInspect", "TextRead", "read_files", "grep_content", "get_text_file_contents"),
}
# Tools that can be called again without an answer: the second call is refused, or reports success.
REPEATABLE = {*READING, "md_apply", "create_text_file"}


@pytest.mark.requirement("toolsets-7")
@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_annotations_match_what_a_tool_does(tools: dict[str, Any], tool: str) -> None:
    annotations, writes = tools[tool]["annotations"], tool not in READING

    assert annotations == {
        "title": tools[tool]["title"],
        "readOnlyHint": not writes,
        "destructiveHint": writes,
        "idempotentHint": tool in REPEATABLE,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("op", OPERATIONS)
def test_edit_schema_accepts_every_operation(tools: dict[str, Any], op: str) -> None:
    edit = tools["md_apply"]["inputSchema"]["properties"]["edits"]["items"]
    model = OPERATIONS[op]

    Draft202012Validator(edit).validate(dict(model.example))
    written_otherwise = {"lineHash", "minMatches", "maxMatches", "allowInsecureRange", "keep", "drop"}
    # No model needs them.
    written_otherwise |= {"dates", "numbers", "frontMatterFormat", "wholeBlock", "preview"}
    names = {field.alias or name for name, field in model.model_fields.items()} - written_otherwise
    assert names <= edit["properties"].keys()
    listed = edit["properties"]["op"]["description"]
    assert re.search(rf"\n{op}\*?(: .+)?$", listed, re.MULTILINE)


def test_required_guards_are_in_the_description(tools: dict[str, Any]) -> None:
    edit = tools["md_apply"]["inputSchema"]["properties"]["edits"]["items"]
    assert "\nreplace_range: range replacement expectedText\n" in edit["properties"]["op"]["description"]


@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_published_tool_matches_its_snapshot(tools: dict[str, Any], tool: str) -> None:
    """`make schemas` writes the snapshots, and the schemas of the package."""
    files = (SNAPSHOTS / f"{tool}.json", SCHEMAS / f"{tool}.json")

    assert tools[tool] == {
        name: value for file in files for name, value in json.loads(file.read_bytes()).items()
    }
