"""The page on the architecture names what exists."""

import re

import pytest

from docs.codegen.generated import STAGES, layers
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
CODE = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "mdplan").rglob("*.py"))


def test_paths_on_the_page_exist() -> None:
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", PAGE)

    assert paths
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []


def test_outputs_of_the_stages_are_classes() -> None:
    line = PAGE[PAGE.index("```text\n") : PAGE.index("```\n\n")]
    products = re.findall(r"\b[A-Z]\w+", line)

    assert products[:3] == ["Source", "Outline", "Batch"]
    assert [name for name in products if not re.search(rf"^class {name}\b", CODE, re.MULTILINE)] == []


def test_every_package_is_on_the_page() -> None:
    packages = sorted(path.parent.name for path in (REPOSITORY / "mdplan").glob("*/__init__.py"))

    assert [name for name in packages if f"`mdplan/{name}`" not in PAGE] == []


def test_functions_and_classes_on_the_page_exist() -> None:
    ways = PAGE[PAGE.index("## The way of a batch") : PAGE.index("## Invariants")]
    names = re.findall(r"`(?:\w+\.)?(\w+)`", ways)
    fields = {"baseSha256", "accept", "sequential", "files", "rebase", "updateReferences"}

    assert [
        name
        for name in names
        if name not in fields and not name.isupper() and not re.search(rf"\b(?:def|class) {name}\b", CODE)
    ] == []


@pytest.mark.requirement("docs-4")
def test_each_invariant_names_tests_that_exist() -> None:
    table = PAGE[PAGE.index("## Invariants") : PAGE.index("## How an edit finds its place")]
    rows = [
        line for line in table.split("\n") if line.startswith("| ") and not line.startswith("| Invariant")
    ]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for row in rows]

    assert len(rows) > 20
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    assert [
        f"{path}::{name}"
        for tests in named
        for path, name in tests
        if not re.search(rf"^def {name}\b", (REPOSITORY / path).read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


def test_diagram_of_the_path_names_modules_that_exist() -> None:
    assert [module for *_, module in STAGES if not (REPOSITORY / "mdplan" / module).is_file()] == []


def test_diagram_of_the_packages_has_every_package() -> None:
    drawn = {name for layer in layers(REPOSITORY) for name in layer}
    packages = {path.parent.name for path in (REPOSITORY / "mdplan").glob("*/__init__.py")}

    assert packages - drawn == set()
