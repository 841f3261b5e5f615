"""Edits of front matter, whose keys mostly exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from mdplan.data.content import DataContent
from mdplan.markdown.outline import Outline

Edit = dict[str, Any]
Key = tuple[str, ...]

_VALUES: tuple[Any, ...] = (
    *("T", "new", "a: b # c", "yes", "2024-01-02", "two\nlines\n", "", "- x", "# x"),
    *(True, 12, 1.5, [], ["a", "b"], {}, {"k": "v"}, {"k": {"l": ["x"]}}),
)
_ITEMS: tuple[Any, ...] = ("a", "b", "new", "x: y", 1, ["a", "new"], ["b", 2])
_NEW_KEYS = (("new",), ("author", "name"), ("tags",), ("title", "deeper"), ("author", "new"))


@st.composite
def front_matter_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """Draw a key, usually an existing one, with a value; or several, or the whole block."""
    content = outline.front_matter_content
    values = content.values if isinstance(content, DataContent) else {}
    places = dict(_keys(values, ()))
    key = draw(st.sampled_from([*places, *places, *_NEW_KEYS]))
    if op in {"add_to_front_matter_list", "remove_from_front_matter_list"}:
        lists = [each for each, value in places.items() if isinstance(value, list)]
        key = draw(st.sampled_from(lists or [("tags",)])) if draw(st.integers(0, 3)) else key
    if op == "delete_front_matter" and draw(st.integers(0, 4)) == 0:
        return {"wholeBlock": True}
    edit: Edit = {"key": draw(st.sampled_from([list(key), ".".join(key)]))}
    expected = places.get(key)
    if isinstance(expected, str | int | list) and draw(st.integers(0, 3)) == 0:
        edit["expectedValue"] = draw(st.sampled_from([expected, expected, "other"]))
    if op == "set_front_matter" and draw(st.integers(0, 3)) == 0:
        names = st.sampled_from([each[0] for each in (*places, *_NEW_KEYS)])
        return _creating(draw) | {"values": draw(st.dictionaries(names, _values, min_size=1, max_size=3))}
    if op != "delete_front_matter":
        edit["value"] = draw(_values if op == "set_front_matter" else st.sampled_from(_ITEMS))
    return edit | (_creating(draw) if op in {"set_front_matter", "add_to_front_matter_list"} else {})


_values = st.sampled_from((*_VALUES, None)).filter(lambda value: value is not None)


def _creating(draw: DrawFn) -> Edit:
    """Leave to create what is missing, mostly."""
    ways: list[Edit] = [{}, {"createIfMissing": True}, {"createIfMissing": True}]
    return draw(st.sampled_from([*ways, {"createIfMissing": True, "frontMatterFormat": "toml"}]))


def _keys(values: Mapping[str, Any], above: Key) -> Iterator[tuple[Key, Any]]:
    for name, value in values.items():
        if isinstance(name, str) and name:
            yield (*above, name), value
            if isinstance(value, Mapping):
                yield from _keys(value, (*above, name))
