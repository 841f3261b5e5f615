"""`mdplan.tools`: which functions it gives, and what it says of names that it does not know."""

import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

from mdplan import tools


def test_functions_have_the_names_hints_and_descriptions_of_the_tools(tmp_path: Path) -> None:
    made = {tool.__name__: tool for tool in tools(tmp_path)}

    assert {"md_stat", "md_read", "md_apply"} <= made.keys()
    assert get_type_hints(made["md_stat"])["return"] is str
    assert "Args:" in inspect.getdoc(made["md_stat"]).partition("Structure")[2]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters(made["md_apply"]))


def test_read_only_tools_write_nothing(tmp_path: Path) -> None:
    names = [tool.__name__ for tool in tools(tmp_path, read_only=True)]

    assert "md_apply" not in names
    assert "md_read" in names


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"toolsets": ["zz"]}, "there are md, editor"), ({"names": ["md_zz"]}, "there are md_stat")],
)
def test_unknown_choice_error_lists_the_choices(
    tmp_path: Path, choice: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tools(tmp_path, **choice)


def parameters(function: object) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())
