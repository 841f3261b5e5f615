"""Laws of operations on the columns of a table, judged by the cells that markdown-it finds."""

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mdplan.memory import Document

_PARSER = MarkdownIt("commonmark").enable("table")
_CELLS = st.sampled_from(
    ["", "x", "a b", "p\\|q", "`c\\|d`", "茶", "- i", "end\\\\", "  wide  ", "# h", "1. n"]
)
_DASHES = st.sampled_from(["---", ":--", "--:", ":-:", "-", " --- "])


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A table of two columns or more, with rows that lack cells or have more."""
    count = draw(st.integers(2, 3))
    header = [f"h{number}" for number in range(count)]
    dashes = draw(st.lists(_DASHES, min_size=count, max_size=count))
    # Parsers disagree about rows without text.
    rows = draw(st.lists(st.lists(_CELLS, min_size=1, max_size=4).filter(any), max_size=3))
    start, end = draw(st.sampled_from([("|", "|"), ("| ", " |"), ("", ""), ("|", ""), ("", " |")]))
    between = draw(st.sampled_from(["|", " | "]))
    return "".join(f"{start}{between.join(cells)}{end}\n" for cells in (header, dashes, *rows))


def cells_of(text: str) -> list[list[tuple[str, str]]] | None:
    """Content and alignment of the cells of the one table that `text` is, by rows; None for other text."""
    tokens = _PARSER.parse(text)
    if [token.type for token in tokens if not token.level] != ["table_open", "table_close"]:
        return None
    rows: list[list[tuple[str, str]]] = []
    for opening, inline in pairwise(tokens):
        if opening.type == "tr_open":
            rows.append([])
        elif opening.type in {"th_open", "td_open"}:
            rows[-1].append((inline.content, str(opening.attrs.get("style", ""))))
    return rows


@given(tables(), st.sampled_from(["add", "set", "delete"]), st.data())
def test_other_columns_keep_their_cells(text: str, what: str, data: st.DataObject) -> None:
    base = cells_of(text)
    assume(base is not None)
    assert base is not None
    order: list[int | None] = [*range(len(base[0]))]
    chosen = data.draw(st.integers(0, len(order) - 1))
    place = data.draw(st.integers(0, len(order) - 1))
    edit: dict[str, object] = {"op": f"{what}_table_column", "column": f"h{chosen}"}
    new = [("new|`n`", "")] + [(value, "") for value in ("x|y", "", "茶")[: len(base) - 1]]
    match what:
        case "add":
            edit |= {"column": "new|`n`", "cells": [value for value, _ in new[1:]], "before": f"h{place}"}
            order.insert(place, None)
        case "set":
            assume(chosen != place)
            edit["before"] = f"h{place}"
            order.remove(chosen)
            order.insert(order.index(place), chosen)
        case _:
            order.remove(chosen)
    expected = [
        [(new[at] if at < len(new) else ("", "")) if column is None else row[column] for column in order]
        for at, row in enumerate(base)
    ]

    report = Document.from_bytes(text.encode()).apply(edit)

    assert report.ok, report
    assert cells_of(report.text) == expected
