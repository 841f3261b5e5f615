"""Edits of tables, lists and tasks whose places mostly exist."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.operations.lists import ListOperation
from mdplan.operations.tables import ColumnOperation
from tests.properties.own_fields import own_fields

Edit = dict[str, Any]
_VALUES = ("", "x", "new value", "a|b", "`p|q`", "end\\", "- x")
_ITEMS = ("new", "[ ] new", "new\n\nmore", "- new\n  - nested", "```\ncode\n```", "one", "***", "# new")


@st.composite
def table_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """A row of a table by a key, which is mostly there."""
    tables = outline.tables
    index = draw(st.integers(0, max(len(tables) - 1, 0)))
    columns = tables[index].columns if tables else ("a",)
    if issubclass(OPERATIONS[op], ColumnOperation):
        return {"table": {"index": index}} | draw(_column_edits(op, columns))
    keys = [tables[index].text_in(row, 0) for row in tables[index].rows] if tables else []
    edit: dict[str, Any] = {
        "table": {"index": index},
        "keyColumn": draw(st.sampled_from([columns[0], columns[0], "No such"])),
        "key": _unicode(draw(st.sampled_from([*keys, "new", "a|b"]))),
    }
    if op == "upsert_table_row":
        names = st.sampled_from([_unicode(column) for column in columns[-1:]])
        edit["row"] = draw(st.dictionaries(names, st.sampled_from(_VALUES), max_size=1))
    return edit | {"keyColumn": _unicode(edit["keyColumn"])}


def _column_edits(op: str, columns: Sequence[str]) -> SearchStrategy[Edit]:
    names = st.sampled_from([*map(_unicode, columns), "1", "new"]).filter(str.strip)
    named: dict[str, SearchStrategy[Any]] = {"column": names}
    if op == "delete_table_column":
        return st.fixed_dictionaries(named)
    if op == "add_table_column":
        named["cells"] = st.lists(st.sampled_from(_VALUES), max_size=2)
    else:
        named["newName"] = st.sampled_from([value for value in _VALUES if value])
    neighbours = st.sampled_from(["before", "after"])
    return neighbours.flatmap(lambda name: st.fixed_dictionaries(named, optional={name: names}))


def list_edits(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """An item of a list by its text, which is mostly there; or a new one."""
    texts = [placed.text for listing in outline.lists.all for placed in listing.items]
    named = st.sampled_from([*map(_unicode, texts), "No such"])
    index = st.integers(0, max(len(outline.lists.outermost) - 1, 0))
    options: dict[str, SearchStrategy[Any]] = {
        "list": st.fixed_dictionaries({"index": index}),
        "itemOccurrence": st.integers(1, 2),
    }
    if op == "set_task":
        return st.fixed_dictionaries({"item": named, "done": st.booleans()}, optional=options)
    if op == "remove_list_item":
        return st.fixed_dictionaries({"item": named}, optional=options)
    if op != "add_list_item":
        known = st.fixed_dictionaries({"list": options["list"]})
        return st.builds(dict.__or__, known, own_fields(op, ListOperation))
    item = st.sampled_from(_ITEMS)
    places = (
        {"list": options["list"], "position": st.sampled_from(["start", "end"]), "unique": st.booleans()},
        *(
            {place: named, "itemOccurrence": options["itemOccurrence"]}
            for place in ("after", "before", "under")
        ),
    )
    return st.one_of([st.fixed_dictionaries({"item": item, **place}) for place in places])


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "!")
