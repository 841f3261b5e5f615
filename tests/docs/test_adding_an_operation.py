"""`docs/contributing/adding-an-operation.md` follows an existing operation."""

import re
from dataclasses import fields

from mdplan.operations.base import Operation, Resolution
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.golden_case import find_cases

PATH = REPOSITORY / "docs" / "contributing" / "adding-an-operation.md"
PAGE = PATH.read_text(encoding="utf-8")


def test_shown_code_equals_the_operation_module() -> None:
    code = (REPOSITORY / "mdplan" / "operations" / "sort_list.py").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(PATH) if block.info == ("python",)]

    # The docstring of the class goes on there.
    lines = [line.removesuffix('"""') for line in block.text.split("\n")]
    assert [line for line in lines if line not in code] == []


def test_shown_cases_exist() -> None:
    cases = {case.text.slug for case in find_cases("operations/sort_list")}
    step = PAGE[PAGE.index("## 2.") : PAGE.index("## 3.")]
    named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", step)

    assert len(named) > 5
    assert [name for name in named if name not in cases] == []


def test_members_fields_and_paths_exist() -> None:
    methods, resolution = (PAGE.split(text)[1] for text in ("Override these", "A `Resolution` describes"))
    members = re.findall(r"^\| `(\w+)` \|", methods.split("A `Resolution`")[0], re.MULTILINE)
    parts = re.findall(r"`(\w+)`(?=[^|]*\|[^|]*\|$)", resolution.split("Three rules")[0], re.MULTILINE)
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", PAGE)

    assert len(members) > 3
    assert [name for name in members if not hasattr(Operation, name)] == []
    assert len(parts) > 5
    assert set(parts) <= {field.name for field in fields(Resolution)}
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []
