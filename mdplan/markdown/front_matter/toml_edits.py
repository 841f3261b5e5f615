"""TOML front matter, edited by cutting at statements; values are written by tomlkit.

A new key goes after the last one of its table, a new map after everything, as a table of its own; inside of
tables new maps stand on one line. A table without a header of its own goes with its last key.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.items import Array, InlineTable, Item, String, StringType

from mdplan.markdown.front_matter.block import FrontMatterError
from mdplan.markdown.front_matter.change import (
    Branch,
    DateText,
    Key,
    Splice,
    as_read,
    kept_items,
    values_equal,
    within,
)
from mdplan.markdown.front_matter.toml_statements import TomlAssignment, TomlHeader
from mdplan.markdown.front_matter.values import FrontMatterContent
from mdplan.text.edit import TextEdit
from mdplan.text.span import Span


def toml_edits(content: FrontMatterContent, branches: Mapping[str, Branch]) -> list[Splice]:
    """What makes `branches` of `content`, in its offsets; new lines end in LF.

    Raises `FrontMatterError` where that cannot be done by cutting.
    """
    writer = _TomlWriter(content)
    writer.edit_map((), content.values, branches)
    return writer.splices


class _TomlWriter:
    """Collects the splices of one block."""

    def __init__(self, content: FrontMatterContent) -> None:
        self._content = content
        self._text = content.text
        self._lines = content.lines
        self._statements = content.statements
        self._assigned = content.assigned
        self._headers = content.headers
        self.splices: list[Splice] = []

    def edit_map(self, path: Key, old: Mapping[str, Any], branches: Mapping[str, Branch]) -> None:
        """Changes of the keys of the table `path`, which says `old`."""
        for name, branch in branches.items():
            key = (*path, name)
            if branch.is_removed:
                self._delete(key, branch.changes)
            elif name not in old:
                continue
            elif key in self._assigned:
                self._edit_value(self._assigned[key], old[name], branch)
            elif isinstance(old[name], list):
                raise FrontMatterError("a list of tables is not edited by its key", self._place_of(key))
            elif branch.value == {} and key not in self._headers:
                raise FrontMatterError(
                    "a table without a header of its own cannot be empty", self._place_of(key)
                )
            elif branch.inner or isinstance(branch.value, dict):
                inner = branch.inner or within(_map_of(branch.value), _map_of(old[name]), branch.changes)
                self.edit_map(key, _map_of(old[name]), inner)
            elif not values_equal(old[name], branch.value):
                raise FrontMatterError("a table cannot become another kind of value", self._place_of(key))
        self._add_keys(path, {name: branch for name, branch in branches.items() if name not in old})

    def _edit_value(self, at: TomlAssignment, old: object, branch: Branch) -> None:
        if at.in_array:
            raise FrontMatterError("it stands in one of several tables of that name", at.span.start)
        item = tomlkit.parse(f"k = {self._text[at.value.start : at.value.end]}\n")["k"]
        new = _edited(item, old, branch)
        if new is not None:
            self._add(at.value, new.as_string(), branch.changes)

    def _add_keys(self, parent: Key, branches: Mapping[str, Branch]) -> None:
        """New keys of the table `parent`."""
        tables = {
            name: branch
            for name, branch in branches.items()
            if not parent and isinstance(branch.as_value, dict)
        }
        new = {name: branch for name, branch in branches.items() if name not in tables}
        last = self._last_of(parent)
        lead = self._text[last.span.start : last.key.start] if last else ""
        within_table = "".join(f"{_key_text(name)}." for name in (parent[len(last.table) :] if last else ()))
        lines = [
            f"{lead}{within_table}{_key_text(name)} = {_item(branch.as_value).as_string()}\n"
            for name, branch in new.items()
        ]
        offset, before, after = self._place_for(parent, last)
        for index, (line, branch) in enumerate(zip(lines, new.values(), strict=True)):
            is_last = index == len(lines) - 1
            text = ("" if index else before) + line + (after if is_last else "")
            self._insert(offset, text, branch.changes)
        for name, branch in tables.items():
            self._add_table(name, _map_of(branch.as_value), branch.changes)

    def _place_for(self, parent: Key, last: TomlAssignment | None) -> tuple[int, str, str]:
        """Where new keys of the table `parent` go, behind its `last` one; and what stands around them."""
        if last is not None:
            return last.span.end, "", ""
        if parent in self._headers:
            return self._headers[parent].span.end, "", ""
        if not self._statements:
            return self._end(), "", ""
        header = f"[{'.'.join(map(_key_text, parent))}]\n" if parent else ""
        return self._before_first(parent), header, "\n"

    def _add_table(self, table: str, value: Mapping[str, object], changes: list[int]) -> None:
        lines = "".join(f"{_key_text(name)} = {_item(each).as_string()}\n" for name, each in value.items())
        has_text = any(splice.edit.new_text for splice in self.splices) or bool(self._text.strip())
        gap = "\n" if has_text else ""
        self._insert(self._end(), f"{gap}[{_key_text(table)}]\n{lines}", changes)

    def _last_of(self, parent: Key) -> TomlAssignment | None:
        """The last key of the map `parent`, below its own header where it has one, else dotted elsewhere."""
        keys = [each for each in self._statements if isinstance(each, TomlAssignment) and not each.in_array]
        if not parent or parent in self._headers:
            return next((each for each in reversed(keys) if each.table == parent), None)
        dotted = [
            each for each in keys if len(each.table) < len(parent) and each.path[: len(parent)] == parent
        ]
        own = (each for each in reversed(dotted) if each.path[:-1] == parent)
        # A table that dotted keys have made can have no header: what is new in it is after them.
        return next(own, dotted[-1] if dotted else None)

    def _before_first(self, parent: Key) -> int:
        """Start of the first header inside of the table `parent`, with the comments right above it."""
        first = next(
            each
            for each in self._statements
            if isinstance(each, TomlHeader) and each.path[: len(parent)] == parent
        )
        line = self._lines.line_at(first.span.start)
        while line > 1 and self._lines.content(line - 1).lstrip(" \t").startswith("#"):
            line -= 1
        return self._lines.start(line)

    def _delete(self, key: Key, changes: list[int]) -> None:
        for span in self._spans_of(key):
            self._add(span, "", changes)

    def _spans_of(self, key: Key) -> Iterator[Span]:
        """Lines of all statements of `key`: of a table from its header to its last key, and a blank line."""
        length = len(key)
        table: TomlHeader | None = None
        end = 0
        for each in (*self._statements, None):
            is_inside = each is not None and each.path[:length] == key
            if table is not None and (each is None or isinstance(each, TomlHeader)):
                yield Span(table.span.start, self._with_blank(table.span.start, end))
                table = None
            if isinstance(each, TomlHeader) and is_inside:
                table = each
            elif isinstance(each, TomlAssignment) and table is None and is_inside:
                yield each.span
            end = each.span.end if each is not None else end

    def _with_blank(self, start: int, end: int) -> int:
        """`end`, or the end of the blank line there, if one stands before `start` too, or nothing does."""
        lines = self._lines
        behind = lines.line_at(end) if end < len(self._text) else 0
        before = lines.line_at(start) - 1
        is_blank = behind and not lines.content(behind).strip(" \t")
        return (
            lines.end(behind) if is_blank and (not before or not lines.content(before).strip(" \t")) else end
        )

    def _end(self) -> int:
        """Offset behind the last line that is not blank."""
        line = self._lines.count
        while line and not self._lines.content(line).strip(" \t"):
            line -= 1
        return self._lines.end(line) if line else 0

    def _place_of(self, key: Key) -> int:
        return next(each.span.start for each in self._statements if each.path[: len(key)] == key)

    def _insert(self, offset: int, text: str, changes: list[int]) -> None:
        self._add(Span(offset, offset), text, changes)

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        self.splices.append(Splice(TextEdit(span, new_text), tuple(changes)))


def _edited(item: Any, old: object, branch: Branch) -> Item | None:  # noqa: ANN401 (tomlkit has no one type)
    """What becomes of the value `item`, which says `old`; None where nothing does."""
    new = branch.as_value
    if not branch.inner and values_equal(old, as_read(new)):
        return None
    if isinstance(item, InlineTable) and isinstance(old, dict) and isinstance(new, dict):
        return _edited_table(item, old, branch.inner or within(new, old, branch.changes))
    if isinstance(item, Array) and isinstance(old, list) and isinstance(new, list):
        kept = frozenset(kept_items(old, new))
        if kept or not old:
            return _edited_array(item, kept, new[len(kept) :])
    return _like(item, new)


def _edited_table(item: InlineTable, old: Mapping[str, object], branches: Mapping[str, Branch]) -> Item:
    for name, branch in branches.items():
        if branch.is_removed:
            item.remove(name)
        elif name not in old:
            item.append(name, _item(branch.as_value))
        elif (edited := _edited(item[name], old[name], branch)) is not None:
            item[name] = edited
    return item


def _edited_array(item: Array, kept: frozenset[int], added: Sequence[object]) -> Item:
    """`item` with its items `kept`, and those `added` behind them."""
    for index in reversed(range(len(item))):
        if index not in kept:
            del item[index]
    for each in added:
        item.append(_like(item[-1] if kept else None, each))
    return item


def _like(item: object, value: object) -> Item:
    """`value` as tomlkit writes it; a string in the quotes of `item` where they can carry it."""
    if isinstance(item, String) and isinstance(value, str):
        text = item.as_string()
        if text.startswith("'") and not text.startswith("'''") and "'" not in value and value.isprintable():
            return String(StringType.SLL, value, value, tomlkit.items.Trivia(trail=""))
    return _item(value)


def _item(value: object) -> Item:
    if value is None:
        raise FrontMatterError("TOML has no null")
    if isinstance(value, DateText):
        dated: Item = tomlkit.parse(f"k = {value.text}\n")["k"]
        return dated
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for name, each in value.items():
            table.append(name, _item(each))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for each in value:
            array.append(_item(each))
        return array
    return tomlkit.item(value)


def _key_text(name: str) -> str:
    return tomlkit.key(name).as_string()


def _map_of(value: object) -> dict[str, Any]:
    assert isinstance(value, dict), "what holds keys is a map"
    return value
