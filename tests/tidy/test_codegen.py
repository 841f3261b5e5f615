"""Generated files are up to date: schemas and reference pages match the code."""

import json
import shutil
from pathlib import Path

import pytest

from docs.codegen import generated as codegen
from docs.codegen.case_pages import meanings, messages_in
from docs.codegen.cases import GoldenCases
from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from mdplan.requests.schemas import operation_reference

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """What is generated."""
    return codegen.generated_files()


@pytest.fixture(scope="module")
def cases() -> GoldenCases:
    return GoldenCases(REPOSITORY / "tests" / "cases")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a separate repository with the generated files, without golden cases."""
    codegen.write(tmp_path)
    return tmp_path


@pytest.mark.requirement("schema-1")
def test_generated_files_are_fresh() -> None:
    assert codegen.problems() == [], "run `make schemas`"


def test_generated_files_are_the_same_each_time(files: dict[str, str]) -> None:
    assert codegen.generated_files() == files


def test_check_detects_stale_missing_and_leftover_files(copy: Path) -> None:
    assert codegen.problems(copy) == []
    (copy / "schemas" / "batch.schema.json").write_text("{}\n")
    (copy / "schemas" / "old.schema.json").write_text("{}\n")
    (copy / "mdplan" / "mcp" / "schemas" / "old.json").write_text("{}\n")
    reference = copy / "docs" / "reference"
    (reference / "errors.md").unlink()
    (reference / "operations" / "set_task.md").rename(reference / "operations" / "set_tusk.md")
    (reference / "by-hand.md").write_text("# By hand\n")

    assert codegen.problems(copy) == [
        "schemas/batch.schema.json is stale",
        "docs/reference/operations/set_task.md is missing",
        "docs/reference/errors.md is missing",
        "docs/reference/operations/set_tusk.md is left over",
        "mdplan/mcp/schemas/old.json is left over",
        "schemas/old.schema.json is left over",
    ]
    assert codegen.write(copy) == [
        "schemas/batch.schema.json",
        "docs/reference/operations/set_task.md",
        "docs/reference/errors.md",
    ]


def test_check_detects_changed_line_ends(copy: Path) -> None:
    path = copy / "docs" / "reference" / "errors.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert codegen.problems(copy) == ["docs/reference/errors.md is stale"]


def test_check_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(codegen, "problems", lambda: ["a is stale"])

    assert codegen.main(["--check"]) == 1
    assert capsys.readouterr().err == "a is stale: run `make schemas`\n"
    assert codegen.main(["--chekc"]) == 2


@pytest.mark.requirement("docs-1")
def test_every_code_and_operation_has_its_page_and_its_row(files: dict[str, str]) -> None:
    pages = {f"docs/reference/operations/{op}.md" for op in OPERATIONS}
    pages |= {f"docs/reference/errors/{code}.md" for code in Code}
    index = files["docs/reference/operations.md"] + files["docs/reference/errors.md"]

    assert {
        name for name in files if name.startswith(("docs/reference/operations/", "docs/reference/errors/"))
    } == pages
    assert [name for name in pages if f"]({name.removeprefix('docs/reference/')})" not in index] == []


def test_every_code_has_a_meaning_and_a_message(files: dict[str, str]) -> None:
    assert list(meanings()) == list(Code)
    assert [code for code in Code if f"\n{code}: " not in files[f"docs/reference/errors/{code}.md"]] == []


@pytest.mark.requirement("docs-1")
@pytest.mark.parametrize("op", OPERATIONS)
def test_example_of_an_operation_is_its_golden_case(cases: GoldenCases, op: str) -> None:
    reference = operation_reference(op)
    batch = {"file": reference.file, "edits": [dict(reference.example)]}

    case = cases.example_of(op)
    assert case is not None
    assert case.json("batch") == batch


def test_messages_of_a_code_are_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        "def f(name):\n"
        "    message = f'no {name}'\n"
        "    weak = Diagnostic.warning(Code.WEAK_CAS, 'weak')\n"
        "    return weak, Diagnostic(code=Code.IO_ERROR, message=message, hint='again')\n"
    )

    found = messages_in(tmp_path)

    assert ("no …", "again") in found["IO_ERROR"]
    assert found["WEAK_CAS"] == (("weak", ""),)


def test_page_of_a_code_shows_its_golden_case(copy: Path) -> None:
    cases = copy / "tests" / "cases"
    (cases / "operations").mkdir(parents=True)
    (cases / "diagnostics.md").write_text(
        case_text("STALE_BASE", {"code": "STALE_BASE", "message": "it moved", "hint": "look again"})
    )
    (cases / "operations" / "set_task.md").write_text(
        case_text("Stale", {"code": "STALE_BASE", "message": "another case"})
    )

    page = codegen.generated_files(copy)["docs/reference/errors/STALE_BASE.md"]

    assert "\n```text\nSTALE_BASE: it moved\n  hint: look again\n```\n" in page
    assert "[`set_task`]" in page
    shutil.rmtree(cases)
    assert codegen.problems(copy) == []


def case_text(title: str, diagnostic: dict[str, str]) -> str:
    return f"## {title}\n\n```json diagnostics\n{json.dumps([diagnostic])}\n```\n"
