"""All generated files, and how those in a repository differ from them."""

from pathlib import Path
from typing import Final

from mdplan.codegen.diagrams import diagrams
from mdplan.codegen.edit_stubs import FILE as EDIT_STUBS
from mdplan.codegen.edit_stubs import edit_stubs
from mdplan.codegen.golden import GoldenCases
from mdplan.codegen.pages.command_page import command_page
from mdplan.codegen.pages.error_pages import error_pages
from mdplan.codegen.pages.library_page import library_page
from mdplan.codegen.pages.limit_page import limit_page
from mdplan.codegen.pages.operation_pages import operation_pages
from mdplan.codegen.pages.page import NOTE
from mdplan.codegen.pages.tool_pages import tool_pages
from mdplan.codegen.pages.variable_page import variable_page
from mdplan.codegen.schema_files import FOLDER as SCHEMAS
from mdplan.codegen.schema_files import schema_files, schema_page
from mdplan.codegen.tool_snapshots import FOLDER as SNAPSHOTS
from mdplan.codegen.tool_snapshots import tool_snapshots

REPOSITORY: Final = Path(__file__).parent.parent.parent
PAGES: Final = "docs/reference"


def generated_files(repository: Path = REPOSITORY) -> dict[str, str]:
    """Text of every generated file by its path in the `repository`, whose golden cases show what happens."""
    golden = GoldenCases(repository / "tests" / "cases")
    return {
        **schema_files(),
        **operation_pages(golden),
        **error_pages(golden),
        **tool_pages(),
        **tool_snapshots(),
        **diagrams(REPOSITORY),
        EDIT_STUBS: edit_stubs(),
        f"{PAGES}/command-line.md": command_page(),
        f"{PAGES}/environment.md": variable_page(),
        f"{PAGES}/limits.md": limit_page(),
        f"{PAGES}/python.md": library_page(),
        f"{PAGES}/schemas.md": schema_page(),
    }


def problems(repository: Path = REPOSITORY) -> list[str]:
    """What is missing, stale or left over in the `repository`, one line each."""
    files = generated_files(repository)
    found = []
    for name, text in files.items():
        path = repository / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name} is stale")
    return found + [f"{name} is left over" for name in sorted(_generated_in(repository) - files.keys())]


def write(repository: Path = REPOSITORY) -> list[str]:
    """Write every generated file into the `repository`, where it changed; their paths."""
    changed = []
    for name, text in generated_files(repository).items():
        path = repository / name
        if not path.is_file() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            changed.append(name)
    return changed


def _generated_in(repository: Path) -> set[str]:
    """Generated files of the `repository`: all of the folders below, and pages that contain the note."""
    folders = (repository / SCHEMAS, repository / SNAPSHOTS)
    whole = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    pages = (path for path in (repository / PAGES).rglob("*.md") if NOTE.encode() in path.read_bytes())
    return {path.relative_to(repository).as_posix() for path in (*whole, *pages)}
