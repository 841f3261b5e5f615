"""What is generated is fresh: schemas and reference pages say what the code says."""

import json
import shutil
from pathlib import Path

import pytest

from mdplan import codegen
from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from mdplan.surfaces.mcp_server.introductions import INTRODUCTIONS, tool_names

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository of its own, with what is generated and with a golden case."""
    codegen.write(tmp_path)
    return tmp_path


def test_generated_files_are_fresh() -> None:
    assert codegen.problems() == [], "run `make schemas`"


def test_generated_files_are_the_same_each_time() -> None:
    assert codegen.generated_files() == codegen.generated_files()


def test_file_that_is_stale_missing_or_left_over_is_found(copy: Path) -> None:
    assert codegen.problems(copy) == []
    (copy / "schemas" / "batch.schema.json").write_text("{}\n")
    (copy / "schemas" / "old.schema.json").write_text("{}\n")
    (copy / "schemas" / "tools" / "old.json").write_text("{}\n")
    (copy / "docs" / "reference" / "errors.md").unlink()

    assert codegen.problems(copy) == [
        "schemas/batch.schema.json is stale",
        "docs/reference/errors.md is missing",
        "schemas/old.schema.json is left over",
        "schemas/tools/old.json is left over",
    ]
    assert codegen.write(copy) == ["schemas/batch.schema.json", "docs/reference/errors.md"]


def test_line_ends_count(copy: Path) -> None:
    path = copy / "docs" / "reference" / "errors.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert codegen.problems(copy) == ["docs/reference/errors.md is stale"]


def test_check_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(codegen, "problems", lambda: ["a is stale"])

    assert codegen.main(["--check"]) == 1
    assert capsys.readouterr().err == "a is stale: run `make schemas`\n"
    assert codegen.main(["--chekc"]) == 2


def test_every_code_and_operation_has_its_place() -> None:
    files = codegen.generated_files()

    assert [code for code in Code if f"\n## `{code.value}`\n" not in files["docs/reference/errors.md"]] == []
    assert [op for op in OPERATIONS if f"\n## `{op}`\n" not in files["docs/reference/operations.md"]] == []


def test_every_tool_of_every_toolset_has_its_schemas() -> None:
    files = codegen.generated_files()
    tools = [json.loads(text) for name, text in files.items() if name.startswith("schemas/tools/")]

    assert [tool["name"] for tool in tools] == tool_names(list(INTRODUCTIONS))
    assert all(tool["inputSchema"] and tool["outputSchema"] for tool in tools)


def test_golden_case_illustrates_its_code(copy: Path) -> None:
    case = copy / "tests" / "cases" / "x"
    case.mkdir(parents=True)
    (case / "problems.json").write_text(json.dumps([{"code": "KEY", "message": "no"}]))
    (case / "expected.json").write_text(
        json.dumps({"error": {"code": "STALE_BASE", "message": "it moved", "hint": "look again"}})
    )

    page = codegen.generated_files(copy)["docs/reference/errors.md"]

    assert (
        "## `STALE_BASE`\n\nExit code 4, stale.\n\n```text\nSTALE_BASE: it moved\nhint: look again\n```"
        in page
    )
    shutil.rmtree(copy / "tests")
    assert codegen.problems(copy) == []
