"""Starting is cheap: what is heavy is imported where it is used, and only then."""

import hashlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HEAVY = {
    "frontmatter",
    "jinja2",
    "markdown_it",
    "mcp",
    "mdformat",
    "mdit_py_plugins",
    "pydantic",
    "rapidfuzz",
    "regex",
    "starlette",
    "unidiff",
    "uvicorn",
    "yaml",
}

PLAIN = b"""\
# Tea_time

The kettle is `hot`.

## Install `kettle`

- water
- leaves

```sh
boil
```

1. cups
2. tea
"""
# As much of Markdown as most documents have.
USUAL = (
    PLAIN
    + b"""
[![build](https://a.example/b.svg)](https://a.example "Build") ![cup](cup.png)

- [x] see [this](#install-kettle) and [that][cups], or <https://b.example>
  1. `[not](this)` <b>but</b> <a href="#nothing">this</a>

     > on www.c.example

     ```sh
     pour
     ```

| cup | size |
| --- | ---- |
| red | [big][cups] |

:::tip
Pour slowly.
:::

[cups]: cups.md 'Cups'
"""
)
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        },
    }
)
# Runs a program as `python ARGUMENTS` would, and tells at its end what it has loaded.
LOADED = """
import atexit, runpy, sys
atexit.register(lambda: print("loaded:", *sorted(sys.modules), file=sys.__stderr__))
module = sys.argv[2]
sys.argv = sys.argv[2:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def loaded_by(*arguments: str, stdin: str = "", code: int = 0) -> set[str]:
    """Names of `sys.modules`, dotted and top-level, when `python ARGUMENTS` ends with `code`."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"NO_COLOR": "1"},
        input=stdin and f"{stdin}\n",
        timeout=60,
    )
    told = [line for line in run.stderr.split("\n") if line.startswith("loaded:")]
    assert run.returncode == code, run.stderr
    return set(told[0].split()[1:])


def imported_by(*arguments: str) -> set[str]:
    """Top-level names of all that `python ARGUMENTS` imports, told by the interpreter itself."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"NO_COLOR": "1"},
        timeout=60,
    )
    lines = run.stderr.split("\n")
    rows = [line for line in lines if line.startswith("import time:")]
    assert run.returncode == 0, "\n".join(line for line in lines if line not in rows)
    return {row.rsplit("|", 1)[1].strip().split(".")[0] for row in rows}


@pytest.mark.requirement("start-1")
@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import mdplan"),
        ("-m", "mdplan", "--version"),
        ("-m", "mdplan", "--help"),
        ("-m", "mdplan", "review", "--help"),
        ("-m", "mdplan", "bot", "plan", "--help"),
        ("-m", "mdplan", "fleet", "open", "--help"),
    ],
    ids=" ".join,
)
def test_start_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    imported = imported_by(*arguments)

    assert "mdplan" in imported
    assert imported & HEAVY == set()


@pytest.mark.requirement("start-2")
@pytest.mark.parametrize(
    "arguments",
    [
        ("stat",),
        ("stat", "--detail", "brief"),
        ("stat", "--json"),
        ("read",),
        ("read", "--section", "Install kettle"),
        ("read", "--match", "kettle"),
        ("search", "boil"),
    ],
    ids=" ".join,
)
def test_reading_plain_markdown_imports_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(PLAIN)
    file = str(tmp_path / "a.md")
    command = ("-m", "mdplan", *arguments, file, "--root", str(tmp_path))

    assert loaded_by(*command) & HEAVY == set()


@pytest.mark.parametrize("detail", ["brief", "full"])
def test_reading_an_ordinary_document_imports_nothing_heavy(detail: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(USUAL)
    command = ("-m", "mdplan", "stat", "--detail", detail, str(tmp_path / "a.md"), "--root", str(tmp_path))

    assert loaded_by(*command) & HEAVY == set()


def test_doctor_imports_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_by("-m", "mdplan", "doctor", "--root", str(tmp_path)) & HEAVY == set()


def test_check_without_arguments_imports_nothing_heavy() -> None:
    assert loaded_by("-m", "mdplan", "check", code=2) & HEAVY == set()


@pytest.mark.parametrize("command", ["replace", "plan"])
def test_edit_imports_only_what_reads_and_verifies_it(command: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(USUAL)
    edit = {"op": "replace_match", "pattern": "leaves", "replacement": "cups"}
    batch = json.dumps({"file": "a.md", "edits": [edit]})
    arguments = ("leaves", "cups", "a.md", "--dry-run") if command == "replace" else ("-",)

    loaded = loaded_by("-m", "mdplan", command, *arguments, "--root", str(tmp_path), stdin=batch)

    assert loaded & HEAVY == {"pydantic"}
    assert loaded & {"mdplan.requests.json_schemas", "mdplan.documents.site_links"} == set()


# Needless imports of mdplan's own modules cost as much as libraries: other commands, data files, tables and
# regions. A name that ends in a dot matches a whole package.
TRANSACTIONS = tuple(f"mdplan.storage.{name}" for name in ("commit", "neighbours", "recovery"))
NOT_FOR_A_LOOK = (
    *("mdplan.engine.commit", "mdplan.engine.engine", "mdplan.engine.plans", "mdplan.engine.undo"),
    *("mdplan.cli.batches", "mdplan.data.", "mdplan.operations.", "mdplan.plan", "mdplan.planning."),
    *(
        "mdplan.storage.lock",
        "mdplan.storage.plans",
        "mdplan.storage.store",
        "shutil",
        "subprocess",
        *TRANSACTIONS,
    ),
)
NOT_FOR_A_COMMIT = (
    *("mdplan.bot.", "mdplan.data.", "mdplan.git.", "mdplan.merge.", "mdplan.reading.", "mdplan.review."),
    *("mdplan.engine.comparison", "mdplan.engine.history_list", "mdplan.markdown.front_matter"),
    *("mdplan.markdown.front_matter_edits", "mdplan.markdown.inline", "mdplan.markdown.list_edits"),
    *("mdplan.markdown.lists", "mdplan.markdown.matches", "mdplan.markdown.region_edits"),
    *("mdplan.markdown.table_edits", "mdplan.operations.keys", "mdplan.operations.lists"),
    *("mdplan.operations.matches", "mdplan.operations.tables", "mdplan.planning.moved_text"),
    *("mdplan.reports.history", "subprocess"),
)
NOT_FOR_A_PLAN = (
    *NOT_FOR_A_COMMIT,
    *("mdplan.engine.commit", "mdplan.engine.undo", "mdplan.storage.lock", *TRANSACTIONS),
)
SKIPPED = {"stat": NOT_FOR_A_LOOK, "read": NOT_FOR_A_LOOK, "plan": NOT_FOR_A_PLAN, "apply": NOT_FOR_A_COMMIT}


@pytest.mark.parametrize(("command", "skipped"), SKIPPED.items(), ids=SKIPPED)
def test_command_imports_nothing_that_only_others_need(
    command: str, skipped: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_bytes(PLAIN)
    edit = {"op": "append_to_section", "heading": "Install `kettle`", "markdown": "Pour."}
    batch = json.dumps({"file": "a.md", "baseSha256": hashlib.sha256(PLAIN).hexdigest(), "edits": [edit]})
    subject = "-" if command in {"plan", "apply"} else str(tmp_path / "a.md")

    loaded = loaded_by("-m", "mdplan", command, subject, "--root", str(tmp_path), stdin=batch)

    assert all(find_spec(name.removesuffix(".")) for name in skipped), "each name is that of a module"
    packages = tuple(name for name in skipped if name.endswith("."))
    assert {name for name in loaded if name in skipped or name.startswith(packages)} == set()


def test_front_matter_loads_its_readers(tmp_path: Path) -> None:
    """Modules that other commands avoid are loaded if needed."""
    (tmp_path / "a.md").write_bytes(b"---\nkey: 1\n---\n" + PLAIN + b"\nSee[^1].\n\n[^1]: This.\n")
    command = ("-m", "mdplan", "stat", str(tmp_path / "a.md"), "--root", str(tmp_path))

    assert loaded_by(*command) & HEAVY == {"yaml"}


def test_server_answers_initialize_before_loading_its_tools(tmp_path: Path) -> None:
    """The tools, their operations and the engine are loaded at the next message."""
    loaded = loaded_by("-m", "mdplan", "serve", "--root", str(tmp_path), stdin=INITIALIZE)

    assert "mcp.server.lowlevel" in loaded
    assert (
        loaded & {"mdplan.engine.engine", "mdplan.operations", "mdplan.requests.batch", "yaml", "markdown_it"}
        == set()
    )


def test_checker_detects_heavy_imports() -> None:
    assert "yaml" in imported_by("-c", "import yaml")
