"""Programs of others take what `packaging` has for them, and what they start is our server."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from mcp import StdioServerParameters

from mdplan import __version__
from mdplan.mcp.tool import DEFAULT_TOOLSETS, tool_names
from tests.clients.node_tools import node_tools
from tests.clients.python_tools import environment_of
from tests.conftest import FULL, REPOSITORY
from tests.packaging.conftest import Distributions, clean_environment
from tests.surfaces.mcp_calls import calls_to

PACKAGING = REPOSITORY / "packaging"
BUNDLE = json.loads((PACKAGING / "mcpb" / "manifest.json").read_bytes())
SECONDS = 300
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def source(distributions: Distributions, tmp_path: Path) -> Path:
    """The source archive, unpacked."""
    with tarfile.open(distributions.archive) as opened:
        opened.extractall(tmp_path, filter="data")
    return tmp_path / f"mdplan-{__version__}"


@pytest.fixture
def bundle(source: Path, tmp_path: Path) -> Path:
    """The folder of the bundle, as `packaging/README.md` makes it."""
    folder = tmp_path / "mcpb"
    folder.mkdir()
    shutil.copytree(source / "mdplan", folder / "mdplan")
    for name in ("pyproject.toml", "README.md", "LICENSE", "packaging/mcpb/manifest.json"):
        shutil.copy(source / name, folder)
    return folder


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\nold\n")
    return folder


def run(*command: str | Path, cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment() | variables,
        check=False,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
    )


def check_server(command: str | Path, arguments: list[str], folder: Path) -> None:
    """The server that the command starts has all tools, and looks at `folder`."""
    server = StdioServerParameters(command=str(command), args=arguments, cwd=folder, env=clean_environment())
    with calls_to(server, "auto") as calls:
        assert [tool["name"] for tool in calls.tools()] == tool_names(DEFAULT_TOOLSETS)
        assert calls.call("md_stat", {"file": "guide.md"}).data["sections"]


def test_bundle_is_valid_and_is_packed(bundle: Path, tmp_path: Path) -> None:
    packed = tmp_path / "mdplan.mcpb"
    done = node_tools().run("@anthropic-ai/mcpb", "mcpb", ["pack", str(bundle), str(packed)], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

    with zipfile.ZipFile(packed) as opened:
        names = set(opened.namelist())
    assert {"manifest.json", "pyproject.toml", BUNDLE["server"]["entry_point"]} <= names
    assert {"tests", "docs"}.isdisjoint(name.partition("/")[0] for name in names)


def test_command_of_the_bundle_starts_the_server(bundle: Path, documents: Path) -> None:
    """Does what a client does with the manifest, with a separate uv."""
    programs = environment_of("uv")
    config = BUNDLE["server"]["mcp_config"]
    given = {"${__dirname}": str(bundle), "${user_config.root}": str(documents)}
    arguments = [given.get(word, word) for word in config["args"]]
    made = run(programs / "uv", "sync", "--no-dev", "--directory", bundle, cwd=documents)
    if made.returncode:
        pytest.skip(f"uv cannot install here: {made.stderr.strip()[-300:]}")

    check_server(programs / config["command"], arguments, documents)


def test_uvx_runs_the_server_without_installation(distributions: Distributions, documents: Path) -> None:
    """The line of the README, with the wheel in place of the package index that does not have it yet."""
    programs = environment_of("uv")
    line = ["--from", str(distributions.wheel), "mdplan"]
    tried = run(programs / "uvx", *line, "--version", cwd=documents)
    if tried.returncode:
        pytest.skip(f"uv cannot install here: {tried.stderr.strip()[-300:]}")

    assert tried.stdout == f"mdplan {__version__}\n"
    check_server(programs / "uvx", [*line, "serve", "--root", str(documents)], documents)


def test_registry_entry_fits_the_official_schema() -> None:
    """The schema of the registry is in a package that lints such entries."""
    programs = environment_of("skillsaw")
    (schema,) = programs.parent.glob("lib/*/site-packages/skillsaw/schemas/mcp_registry/v2025_12_11/*.json")
    entry = json.loads((PACKAGING / "server.json").read_bytes())
    official = json.loads(schema.read_bytes())

    assert official["$id"] == entry["$schema"]
    assert list(Draft7Validator(official).iter_errors(entry)) == []
    assert list(Draft7Validator(official).iter_errors({**entry, "description": "x" * 101})) != []


def test_linter_of_plugins_finds_nothing(source: Path) -> None:
    """Plugin, marketplace, skill and registry entry, out of the source archive."""
    done = run(environment_of("skillsaw") / "skillsaw", "lint", "--format", "json", source, cwd=source)
    report = json.loads(done.stdout)

    assert report["violations"] == []
    assert {"marketplace", "mcp-registry"} <= set(report["stats"]["repo_types"])
    assert (report["stats"]["plugins"], report["stats"]["skills"]) == (1, 1)


def test_container_steps_build_a_working_server(source: Path, documents: Path, tmp_path: Path) -> None:
    """By hand, in two environments in place of two stages: there is no builder of containers in the tests."""
    if not FULL:
        pytest.skip("it builds all dependencies as wheels: only with MDPLAN_FULL=1")
    text = (PACKAGING / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    wheels, state = tmp_path / "wheels", tmp_path / "state"
    (copied, mounted) = [
        re.sub(r"--mount=\S+\s+", "", command).replace("/wheels", str(wheels))
        for command in re.findall(r"^RUN (.*\bpip .*)$", text, re.MULTILINE)
    ]
    for number, command in enumerate((copied, mounted)):
        stage = tmp_path / f"stage{number}"
        assert run(sys.executable, "-m", "venv", stage, cwd=tmp_path).returncode == 0
        path = f"{stage / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = run("sh", "-ec", command, cwd=source if number == 0 else tmp_path, PATH=path)
        if number == 0 and done.returncode:
            pytest.skip(f"pip cannot make wheels here: {done.stderr.strip()[-300:]}")
        assert done.returncode == 0, done.stderr
    (folder,) = re.findall(r"^RUN (mkdir .*)$", text, re.MULTILINE)
    assert run("sh", "-ec", folder.replace("/state", str(state)), cwd=tmp_path).returncode == 0
    entry, words = (
        json.loads(found) for found in re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", text, re.MULTILINE)
    )
    doctor = run(
        tmp_path / "stage1" / "bin" / entry[0],
        "doctor",
        "--json",
        cwd=documents,
        MDPLAN_STATE_DIR=str(state / "mdplan"),
    )

    check_server(tmp_path / "stage1" / "bin" / entry[0], [*words[:-1], str(documents)], documents)
    assert json.loads(doctor.stdout)["ok"], doctor.stdout
