"""Edits of keys and items of front matter, which mostly exist."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from mdplan.data.content import DataContent, as_json
from mdplan.data.tree import Path, value_at
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.outline import Outline

Edit = dict[str, Any]

_VALUES: tuple[Any, ...] = (
    "new",
    "a: b # c",
    "yes",
    "two\nlines\n",
    "",
    12,
    True,
    None,
    ["a", 1],
    {"k": ["v"]},
    {},
)
_NEIGHBOURS: tuple[Any, ...] = (0, "a", "b", "title", {"k": "v"})


@st.composite
def data_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """Draw a key or item, usually an existing one, and the other fields of the operation."""
    content = data_content(outline)
    values = content.values if isinstance(content, DataContent) else {}
    there: list[Path] = list(content.places) if isinstance(content, DataContent) else []
    if op in {"add_to_list", "remove_from_list"}:
        there = [each for each in there if isinstance(value_at(values, each), list)] or there
    key = draw(st.sampled_from([*there, *there, ("new",), ("author", "name"), ("tags", 0)]))
    edit: Edit = {"key": list(key)}
    if draw(st.integers(0, 3)) == 0:
        edit["expectedValue"] = draw(
            st.sampled_from([as_json(value_at(values, key)) if key in there else "x", "other"])
        )
    if op in {"set_value", "add_to_list", "remove_from_list"}:
        edit["value"] = draw(st.sampled_from(_VALUES))
    if op == "rename_key":
        edit["newName"] = draw(st.sampled_from(["renamed", "a b", "title"]))
    if op in {"set_value", "add_to_list"}:
        edit["createIfMissing"] = draw(st.booleans())
    if op == "move_item" or (op in {"set_value", "add_to_list"} and draw(st.integers(0, 3)) == 0):
        edit |= draw(_places())
    return {name: value for name, value in edit.items() if name != "expectedValue" or value is not None}


def _places() -> st.SearchStrategy[Edit]:
    neighbours = st.sampled_from(_NEIGHBOURS)
    return st.one_of(
        neighbours.map(lambda each: {"before": each}),
        neighbours.map(lambda each: {"after": each}),
        st.just({"inOrder": True}),
    )
