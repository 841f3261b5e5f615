"""Programs to compare with mdplan, in separate environments below `tests/benchmarks/.rivals`.

The first run that misses one installs it, never into the project's environment. For a program that cannot be
installed, the table gives the reason.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Timed

FOLDER = Path(__file__).resolve().parent / ".rivals"
SECONDS = 600
PARSERS = ("markdown-it-py", "cmarkgfm", "mistune")
FILESYSTEM_SERVER = "@modelcontextprotocol/server-filesystem"
TEXT_EDITOR = ("mcp-text-editor==1.2.2", "mcp<2")
# Of that release's own metadata.
TEXT_EDITOR_PYTHON = (3, 13)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a rival is not here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rival:
    """A rival as a command that starts it, and what was installed."""

    command: tuple[str, ...]
    versions: Mapping[str, str]


def parsers() -> Rival | Missing:
    """Python with the parsers of Markdown."""
    python = _environment("parsers", sys.executable, PARSERS)
    return python if isinstance(python, Missing) else Rival((str(python),), _versions(python, PARSERS))


def filesystem_server(root: Path) -> Rival | Missing:
    """The reference server for files, over `root`."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return Missing("node and npm are not installed")
    folder = FOLDER / "node"
    package = folder / "node_modules" / FILESYSTEM_SERVER
    if not package.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            folder,
            FILESYSTEM_SERVER,
        ]
        problem = _run(command)
        if problem:
            return Missing(problem)
    facts = json.loads((package / "package.json").read_text(encoding="utf-8"))
    (program,) = facts["bin"].values()
    return Rival((node, str(package / program), str(root)), {FILESYSTEM_SERVER: facts["version"]})


def text_editor() -> Rival | Missing:
    """The server that edits text files by lines."""
    base = _python_from(TEXT_EDITOR_PYTHON)
    if base is None:
        return Missing(f"{TEXT_EDITOR[0]} wants Python {'.'.join(map(str, TEXT_EDITOR_PYTHON))}")
    python = _environment("text-editor", base, TEXT_EDITOR)
    if isinstance(python, Missing):
        return python
    versions = _versions(python, ("mcp-text-editor", "mcp"))
    return Rival((str(python.with_name("mcp-text-editor")),), versions)


class Worker:
    """A rival parser in a separate process, which reports the CPU time of a run."""

    def __init__(self, python: Sequence[str], document: Path) -> None:
        program = Path(__file__).with_name("rival_parsers.py")
        self._process = subprocess.Popen(
            [*python, program, document], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def timed(self, parser: str) -> Timed:
        """One run of `parser` over the document."""

        def run() -> float:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(f"{parser}\n")
            self._process.stdin.flush()
            return float(self._process.stdout.readline())

        return run

    def close(self) -> None:
        self._process.communicate()


def _environment(name: str, base: str, packages: Sequence[str]) -> Path | Missing:
    """Return the interpreter of the environment `name`, creating it with the interpreter `base` if needed."""
    folder = FOLDER / name
    python = folder / "bin" / "python"
    filled = folder / ".filled"
    if not filled.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if base == sys.executable:
            venv.create(folder, with_pip=True)
        problem = "" if base == sys.executable else _run([base, "-m", "venv", folder])
        pip = [python, "-m", "pip", "-qq", "--disable-pip-version-check", "install", *packages]
        problem = problem or _run(pip)
        if problem:
            return Missing(problem)
        filled.touch()
    return python


def _python_from(version: tuple[int, int]) -> str | None:
    """Return an interpreter of `version` or newer: this one, one on the path, or a configured one."""
    if sys.version_info >= version:
        return sys.executable
    names = [os.environ.get("RIVALS_PYTHON", ""), *(f"python3.{minor}" for minor in range(version[1], 20))]
    for name in filter(None, names):
        found = shutil.which(name)
        check = f"import sys, ensurepip; sys.exit(sys.version_info < {version})"
        if found is not None and not _run([found, "-c", check]):
            return found
    return None


def _versions(python: Path, packages: Sequence[str]) -> dict[str, str]:
    code = "import json, sys; from importlib.metadata import version as v; "
    code += "print(json.dumps({name: v(name) for name in sys.argv[1:]}))"
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, check=True, text=True)
    versions: dict[str, str] = json.loads(done.stdout)
    return versions


def _run(command: Sequence[Any]) -> str:
    """Run `command`; why it failed, in one line, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{Path(command[0]).name}: {type(error).__name__}"
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr or done.stdout).split("\n") if line.strip()]
    told = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "")
    return f"{Path(command[0]).name}: {told.removeprefix('ERROR: ')[:160] or done.returncode}"
