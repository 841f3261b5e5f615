"""`docs/explanation/security-model.md` names existing tests, every reproduced fault, and every dependency."""

import ast
import re
import tomllib
from functools import cache

import pytest

from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.docs.typed_commands import faults_of_script

PATH = REPOSITORY / "docs" / "explanation" / "security-model.md"
PAGE = PATH.read_text(encoding="utf-8")
HOSTILE = sorted((REPOSITORY / "tests" / "hostile").glob("test_*.py"))
# `path::name`, and more names of the same file with the path left out: `::name`.
_NAMED = re.compile(r"`((?:tests/[\w/]+\.py)?)::((?:test_|Test)\w+)`")
# A part of a test file about one fault: a separate comment, or the beginning of the docstring.
_MARK = re.compile(r'^(?:# (S\d+)|"""(S\d+):)', re.MULTILINE)
_PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    # Hypothesis makes the test case of a state machine: `TestName = Machine.TestCase`.
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return frozenset(functions | assigned)


def named_tests(text: str) -> list[tuple[str, str]]:
    found, path = [], ""
    for given, name in _NAMED.findall(text):
        path = given or path
        found.append((path, name))
    return found


def row_of(fault: str) -> str:
    return next((line for line in PAGE.splitlines() if line.startswith(f"| {fault} |")), "")


def marks() -> list[tuple[str, str]]:
    return sorted(
        {
            (first or second, str(path.relative_to(REPOSITORY)))
            for path in HOSTILE
            for first, second in _MARK.findall(path.read_text(encoding="utf-8"))
        }
    )


def cells(heading: str) -> list[list[str]]:
    """The rows of the first table below `heading`, without its head."""
    _, _, below = PAGE.partition(f"\n{heading}\n")
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None
    rows = table[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_named_test_exists() -> None:
    named = named_tests(PAGE)
    assert len(named) > 30

    assert [each for each in named if each[1] not in functions_of(each[0])] == []


@pytest.mark.parametrize("fault", [f"S{number}" for number in range(1, 20)])
def test_every_fault_has_a_row_with_a_test(fault: str) -> None:
    assert named_tests(row_of(fault)), f"no test of {fault} is named"


@pytest.mark.parametrize(("fault", "path"), marks(), ids=str)
def test_every_hostile_test_file_is_named_in_the_row_of_its_fault(fault: str, path: str) -> None:
    assert path in row_of(fault)


def test_row_of_each_actor_names_a_test() -> None:
    rows = cells("## Who can do what")

    assert len(rows) == 7
    assert [row[0] for row in rows if not named_tests(row[-1])] == []


def test_table_of_dependencies_is_that_of_the_package() -> None:
    listed = {row[0].strip("`"): row[1].strip("`") for row in cells("## Dependencies")}
    declared = dict(re.findall(r"^([\w.-]+)(.*)$", "\n".join(_PROJECT["dependencies"]), re.MULTILINE))

    assert listed == declared
    assert all(len(row[2]) > 10 for row in cells("## Dependencies"))


def test_page_names_the_parts_of_the_parsers_plugins_that_are_imported() -> None:
    words = {"footnote": "footnotes", "tasklists": "task lists", "gfm_autolink": "bare links"}
    modules = {
        found
        for path in (REPOSITORY / "mdplan").rglob("*.py")
        for found in re.findall(r"from mdit_py_plugins\.(\w+) import", path.read_text(encoding="utf-8"))
    }
    (row,) = {line.split("|")[3].strip() for line in PAGE.splitlines() if "| `mdit-py-plugins` |" in line}

    assert {words[module] for module in modules} == set(re.split(", | and ", row.partition(" for ")[0]))


def test_page_explains_the_import_of_the_diff_reader() -> None:
    users = {
        path.stem
        for path in (REPOSITORY / "mdplan").rglob("*.py")
        if re.search(r"(?:import|from) unidiff", path.read_text(encoding="utf-8"))
    }

    assert users == {"unified_diff"}
    assert "| reads diffs |" in PAGE


def test_server_of_another_user_is_started_with_options_that_exist() -> None:
    (block,) = blocks_of(PATH)
    prefix = "sudo -u mdplan -H "
    ours = [line.removeprefix(prefix) for line in block.text.splitlines() if line.startswith(prefix)]

    assert [line.split()[:2] for line in ours] == [["mdplan", "serve"]]
    assert list(faults_of_script("\n".join(ours))) == []
