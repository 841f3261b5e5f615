"""Starting is cheap: what is heavy is imported where it is used, and only then."""

import os
import subprocess
import sys

import pytest

HEAVY = {
    "dulwich",
    "frontmatter",
    "jinja2",
    "markdown_it",
    "mcp",
    "mdformat",
    "mdit_py_plugins",
    "pydantic",
    "regex",
    "starlette",
    "tomlkit",
    "unidiff",
    "uvicorn",
    "yaml",
}


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


@pytest.mark.parametrize(
    "arguments",
    [("-c", "import mdplan"), ("-m", "mdplan", "--version"), ("-m", "mdplan", "--help")],
    ids=["import", "version", "help"],
)
def test_start_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    imported = imported_by(*arguments)

    assert "mdplan" in imported
    assert imported & HEAVY == set()


def test_heavy_imports_would_be_seen() -> None:
    assert "yaml" in imported_by("-c", "import yaml")
