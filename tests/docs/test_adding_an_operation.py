"""`docs/contributing/adding-an-operation.md` follows an operation that is there."""

import re
from dataclasses import fields

from mdplan.operations.base.operation import Resolution
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.golden_case import find_cases

PATH = REPOSITORY / "docs" / "contributing" / "adding-an-operation.md"
PAGE = PATH.read_text(encoding="utf-8")


def test_code_is_that_of_the_operation() -> None:
    code = (REPOSITORY / "mdplan" / "operations" / "append_to_file.py").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(PATH) if block.info == ("python",)]

    # The docstring of the class goes on there.
    lines = [line.removesuffix('"""') for line in block.text.split("\n")]
    assert [line for line in lines if line not in code] == []


def test_cases_are_there() -> None:
    cases = {case.text.slug for case in find_cases("operations/append_to_file")}
    step = PAGE[PAGE.index("## 2.") : PAGE.index("## 3.")]
    named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", step)

    assert len(named) > 10
    assert [name for name in named if name not in cases] == []


def test_parts_of_a_resolution_and_paths_are_there() -> None:
    parts = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", PAGE)

    assert set(parts) <= {field.name for field in fields(Resolution)}
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []
