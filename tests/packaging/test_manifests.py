"""The files of `packaging` agree with the package, with each other, and with the formats that they are of."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mdplan import __version__
from mdplan.cli.program import build_program
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.mcp.tool import DEFAULT_TOOLSETS, tool_names
from mdplan.operations import OPERATIONS
from tests.conftest import REPOSITORY
from tests.packaging.conftest import Distributions, build
from tests.surfaces.command_line import GUIDE

PACKAGING = REPOSITORY / "packaging"
PLUGIN = PACKAGING / "claude-code"
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SKILL = (PLUGIN / "skills" / "mdplan" / "SKILL.md").read_text(encoding="utf-8")
CONTAINER = (PACKAGING / "Containerfile").read_text(encoding="utf-8")
TOOLS = tool_names(DEFAULT_TOOLSETS)
# The token cost of a skill on each use: characters / 4, as everywhere.
SKILL_TOKENS = 900


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes())


SERVER = load(PACKAGING / "server.json")
BUNDLE = load(PACKAGING / "mcpb" / "manifest.json")
PLUGIN_MANIFEST = load(PLUGIN / ".claude-plugin" / "plugin.json")
PLUGIN_SERVER = load(PLUGIN / ".mcp.json")["mcpServers"]["mdplan"]
MARKETPLACE = load(REPOSITORY / ".claude-plugin" / "marketplace.json")


@pytest.mark.requirement("packaging-3")
def test_all_versions_are_that_of_the_package() -> None:
    named = {
        "server.json": [SERVER["version"], *(each["version"] for each in SERVER["packages"])],
        "manifest.json": [BUNDLE["version"]],
        "plugin.json": [PLUGIN_MANIFEST["version"]],
        ".mcp.json": [PLUGIN_SERVER["args"][0].removeprefix("mdplan@")],
    }

    assert named == {name: [__version__] * len(versions) for name, versions in named.items()}


def test_manifests_share_one_short_description() -> None:
    (listed,) = MARKETPLACE["plugins"]
    descriptions = {each["description"] for each in (SERVER, BUNDLE, PLUGIN_MANIFEST, listed)}

    assert len(descriptions) == 1
    # The limit of the registry.
    assert len(descriptions.pop()) <= 100


def test_readme_has_the_name_that_the_registry_looks_for() -> None:
    assert re.findall(r"mcp-name: (\S+)", README) == [SERVER["name"]]


def test_repository_url_is_the_same_everywhere() -> None:
    places = {
        SERVER["repository"]["url"],
        BUNDLE["repository"]["url"],
        BUNDLE["author"]["url"],
        PLUGIN_MANIFEST["repository"],
        PLUGIN_MANIFEST["homepage"],
    }
    (place,) = places
    owner = place.removeprefix("https://github.com/").removesuffix("/mdplan")

    assert SERVER["name"] == f"io.github.{owner}/mdplan"
    assert f"claude plugin marketplace add {owner}/mdplan" in (PACKAGING / "README.md").read_text()


def test_registry_entry_matches_its_format() -> None:
    """Checked by hand against the schema of 2025-12-11; the slow tests use the schema itself."""
    assert set(SERVER) == {"$schema", "name", "title", "description", "repository", "version", "packages"}
    assert SERVER["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert set(SERVER["repository"]) == {"url", "source"}
    (package,) = SERVER["packages"]
    assert (package["registryType"], package["identifier"]) == ("pypi", "mdplan")
    assert (package["runtimeHint"], package["transport"]) == ("uvx", {"type": "stdio"})
    for argument in package["packageArguments"]:
        assert argument["type"] in {"positional", "named"}
        assert argument.keys() >= ({"value"} if argument["type"] == "positional" else {"name"})
        assert argument.get("format", "string") in {"string", "number", "boolean", "filepath"}


def commands() -> dict[str, list[str]]:
    """The arguments of `mdplan` that each of the files starts the server with; what the user gives is DIR."""
    (package,) = SERVER["packages"]
    listed = [
        [each["value"]] if "value" in each else [each["name"], "DIR"] for each in package["packageArguments"]
    ]
    bundled = BUNDLE["server"]["mcp_config"]["args"]
    contained = json.loads(re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)[1])
    return {
        "server.json": [word for words in listed for word in words],
        "manifest.json": bundled[bundled.index("mdplan") + 1 :],
        ".mcp.json": PLUGIN_SERVER["args"][1:],
        "Containerfile": contained,
    }


@pytest.mark.parametrize("name", commands())
def test_command_lines_of_manifests_are_accepted(name: str, tmp_path: Path) -> None:
    """The server starts, and ends without a client."""
    *words, folder = commands()[name]

    done = CliRunner().invoke(build_program(), [*words, str(tmp_path), "--http", "nowhere"])

    assert words == ["serve", "--root"]
    assert folder in {"DIR", "${user_config.root}", "${CLAUDE_PROJECT_DIR}", "/documents"}
    assert "--http" in done.stderr, "it is only the address that is wrong"


def test_bundle_names_the_tools_and_the_start_of_the_server() -> None:
    assert [each["name"] for each in BUNDLE["tools"]] == TOOLS
    assert (REPOSITORY / BUNDLE["server"]["entry_point"]).is_file()
    assert set(BUNDLE["user_config"]) == {"root"}


def test_marketplace_entry_points_to_the_plugin() -> None:
    (listed,) = MARKETPLACE["plugins"]

    assert (REPOSITORY / listed["source"]).resolve() == PLUGIN
    assert listed["name"] == PLUGIN_MANIFEST["name"]


def test_skill_is_short_and_names_only_existing_commands() -> None:
    about = yaml.safe_load(SKILL.split("---\n")[1])
    names = set(re.findall(r"\bmd_\w+", SKILL))
    ops = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", SKILL)) - names

    assert about["name"] == "mdplan"
    assert len(about["description"]) <= 1024
    assert len(SKILL) / 4 <= SKILL_TOKENS
    assert names == set(TOOLS)
    assert ops <= set(OPERATIONS)
    assert len(ops) > 5
    assert set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", SKILL)) <= {code.value for code in Code}


def test_examples_of_the_skill_give_the_described_result(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(GUIDE)
    (batch,) = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", SKILL, re.DOTALL)]
    with Engine.open([str(tmp_path)]) as engine:
        plan = engine.plan(batch)
        applied = engine.apply({"planId": plan.plan_id})
        undone = engine.undo()

    assert applied.applied
    assert undone.applied
    assert plan.diff is not None
    assert "+Restart the kettle." in plan.diff


def test_container_copies_all_that_the_wheel_is_built_from(
    distributions: Distributions, tmp_path: Path
) -> None:
    """The container gets only copied files, here from the source archive, so that untracked files cannot
    help.
    """
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER, re.MULTILINE)
    wanted = tuple(f"mdplan-{__version__}/{name}" for line in copied for name in line.split())
    with tarfile.open(distributions.archive) as opened:
        members = [each for each in opened.getmembers() if each.name.startswith(wanted)]
        opened.extractall(tmp_path, members, filter="data")
    built = build(tmp_path / f"mdplan-{__version__}", "wheel", tmp_path / "built")

    assert built.read_bytes() == distributions.wheel.read_bytes()
