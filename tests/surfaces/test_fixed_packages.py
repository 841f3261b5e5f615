"""Each of the six fixed packages is needed in a normal run.

The run gives its result. The same run fails if a function of the package is replaced.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


REACHED = 77
# Replaces a function, as `module:name`, by one that ends the process, and runs a program with its arguments.
HARNESS = f"""\
import importlib, os, sys
place, program = sys.argv[1:3]
del sys.argv[1:3]
if place:
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    setattr(owner, name, lambda *_, **__: os._exit({REACHED}))
exec(program)
"""
COMMAND = "from mdplan.__main__ import main\nmain()"
# The page of a plan that is waiting for approval, with the section of its first edit as a reader sees it.
PAGE = CASE_TABLES.value("PAGE")
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MESSAGES = (
    {"id": 0, "method": "initialize", "params": CLIENT},
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/call", "params": {"name": "md_read", "arguments": {"file": "page.md"}}},
)
BATCH = {"file": "page.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}
# The parser in Rust reads the row after the item in another way than GitHub does, so a second one reads it.
DOUBTFUL = "# A\n\n- a\n  |---|---|\n---\n\n[^1]: Note\n\n    # B\n"
FILES = {
    "page.md": "---\ntitle: Tea\n---\n\n# Tea\n\nThe *old* pot of https://example.org/tea.\n",
    "doubtful.md": DOUBTFUL,
}


@dataclass(frozen=True)
class Job:
    """A function of a package, the run that needs it, and a part of the output."""

    function: str
    words: tuple[str, ...] = ()
    printed: str = ""
    program: str = COMMAND
    stdin: str = ""
    is_server: bool = False


JOBS = {
    "mcp: the protocol of the server": Job(
        "mcp.server.stdio:stdio_server",
        ("serve", "--root", "."),
        "The *old* pot",
        stdin="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in MESSAGES),
        is_server=True,
    ),
    "pydantic: the validation of a batch": Job(
        "pydantic:TypeAdapter.validate_python", ("plan",), "+The *new* pot", stdin=json.dumps(BATCH)
    ),
    "markdown-it-py: the structure of doubtful text": Job(
        "markdown_it:MarkdownIt.parse", ("outline", "doubtful.md"), "B"
    ),
    "markdown-it-py: the rendered text on the review page": Job(
        "markdown_it.renderer:RendererHTML.render", (), "<em><ins>new</ins></em>", PAGE
    ),
    "mdit-py-plugins: footnotes in doubtful text": Job(
        "mdit_py_plugins.footnote.index:footnote_def", ("outline", "doubtful.md"), "B"
    ),
    "mdit-py-plugins: bare links on the review page": Job(
        "mdit_py_plugins.gfm_autolink:gfm_autolink_plugin", (), '<span class="md-link">https://', PAGE
    ),
    "python-frontmatter: a second look at changed front matter": Job(
        "frontmatter:parse", ("set", "page.md", "title=Chai", "--yes"), "+title: Chai"
    ),
    "unidiff: the hunks of a diff": Job(
        "unidiff.patch:PatchSet",
        ("edit", "apply_diff", "page.md", "--diff", "@@ -5 +5 @@\n-# Tea\n+# Chai\n", "--yes"),
        "+# Chai",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, and what it printed."""

    code: int
    out: str
    err: str


def run(job: Job, folder: Path, place: str) -> Ended:
    """Run a job; its input ends once its result is printed, as a client of a server would end it."""
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, place, job.program, *job.words],
        cwd=folder,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE if job.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out = ""
        if job.is_server:
            process.stdin.write(job.stdin)
            process.stdin.flush()
            while job.printed not in out and (line := process.stdout.readline()):
                out += line
        rest, err = process.communicate(None if job.is_server else job.stdin or None, timeout=120)
        return Ended(process.returncode, out + rest, err)


def test_each_fixed_package_has_a_job() -> None:
    named = {name.partition(":")[0] for name in JOBS}
    modules = {
        name.partition(":")[0]: job.function.partition(":")[0].partition(".")[0] for name, job in JOBS.items()
    }

    assert named == {"mcp", "pydantic", "markdown-it-py", "mdit-py-plugins", "python-frontmatter", "unidiff"}
    assert {name: packages_distributions()[module] for name, module in modules.items()} == {
        name: [name] for name in named
    }


@pytest.mark.parametrize("name", JOBS)
def test_run_gets_its_result_from_the_function_of_the_package(folder: Path, name: str) -> None:
    job = JOBS[name]
    # Nothing may be written before the function is reached.
    without = run(job, folder, job.function)
    unchanged = {file: (folder / file).read_text(encoding="utf-8") for file in FILES}
    done = run(job, folder, "")

    assert (without.code, unchanged) == (REACHED, FILES), without.err
    assert done.code == 0, done.err
    assert job.printed in done.out
