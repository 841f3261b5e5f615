"""Write TOML values, parse TOML into statements with positions, and edit it in place."""

import datetime as dt
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.data import tree
from mdplan.data.brackets import TOML_STRING, FlowWriter, read_toml_value
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span
from mdplan.values import Struct

_BARE_KEY: Final = lazy_pattern(r"[A-Za-z0-9_-]+")


class TomlText:
    """Write TOML keys and values on one line."""

    sign = " = "
    comment_signs: tuple[str, ...] = ("#",)

    def key(self, name: str, like: tree.Node | None) -> str:
        """Write the key `name`."""
        del like
        return key_text(name)

    def value(self, value: object, like: tree.Node | None, indent: str | None) -> str:
        """Return `value` as TOML, in the quotes of the string `like` if possible."""
        del indent
        quotes = like.style if like is not None and isinstance(value, str) else ""
        if quotes == "'" and isinstance(value, str) and "'" not in value and value.isprintable():
            return f"'{value}'"
        return value_text(value)


def key_text(name: str) -> str:
    """Return the key `name`, bare if possible."""
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def value_text(value: object) -> str:
    """Return `value` on one line. Raise `DataError` for types missing in TOML."""
    match value:
        case None:
            raise tree.DataError("TOML has no null")
        case list():
            text = f"[{', '.join(map(value_text, value))}]"
        case dict():
            pairs = (f"{key_text(name)} = {value_text(each)}" for name, each in value.items())
            text = f"{{{', '.join(pairs)}}}"
        case _:
            text = _scalar(value)
    return text


def _assignments(values: Mapping[Any, object]) -> str:
    """Return a line for each of `values`."""
    return "".join(f"{key_text(str(name))} = {value_text(value)}\n" for name, value in values.items())


def _scalar(value: object) -> str:
    match value:
        case str():
            text = _string(value)
        case tree.DateText():
            text = value.text
        case dt.date() | dt.time():
            text = value.isoformat()
        case _:
            text = tree.plain_text(value)
    return text


def _string(value: str) -> str:
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise tree.DataError("TOML has no lone surrogates")
    # A JSON string is a TOML string, except for this character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- Parsing TOML into statements with positions: headers, and keys with values
#
# No library provides positions, so this scans the lines. `tomllib` has accepted the text before, and parses
# the result of every edit again. TOML 1.0, sections "Keys", "String", "Array" and "Table".

_BLANKS: Final = lazy_pattern(r"[ \t]*")
_COMMENT: Final = lazy_pattern(r"#[^\r\n]*")
_IN_VALUE: Final = lazy_pattern(r"[^\"'#\[\]{}\r\n]+")


class TomlHeader(Struct):
    """A line ``[path]`` or ``[[path]]``; `span` is the whole line, `parts` are its names.

    In `path`, an index follows the name of an array of tables.
    """

    path: tree.Path
    span: Span
    parts: tuple[Span, ...]


class TomlAssignment(Struct):
    """``key = value`` under the header of `table`; `path` is from the root.

    `span` covers whole lines, `key` and `value` the texts in them, `parts` the names in the key.
    """

    path: tree.Path
    table: tree.Path
    span: Span
    key: Span
    value: Span
    parts: tuple[Span, ...]


Statement = TomlHeader | TomlAssignment


def read_statements(text: str, lines: LineIndex) -> Iterator[Statement]:
    """Yield the statements of the TOML `text` in order. Raise `DataError` for unsupported syntax."""
    table: tree.Path = ()
    counts: dict[tree.Path, int] = {}
    line = 1
    while line <= lines.count:
        at = _skip_blanks(text, lines.start(line))
        if at == lines.content_end(line) or text[at] == "#":
            line += 1
            continue
        if text[at] == "[":
            is_array = text.startswith("[[", at)
            names, parts, _ = _read_key(text, at + 1 + is_array)
            table = _table_path(names, counts, is_array=is_array)
            yield TomlHeader(table, lines.span(line, line), parts)
            line += 1
            continue
        name, parts, end = _read_key(text, at)
        if text[end : end + 1] != "=":
            raise tree.DataError("a line of it cannot be followed", at)
        start = _skip_blanks(text, end + 1)
        value = Span(start, _value_end(text, start))
        last = lines.line_at(max(value.end - 1, at))
        key = Span(at, at + len(text[at:end].rstrip(" \t")))
        yield TomlAssignment(table + name, table, lines.span(line, last), key, value, parts)
        line = last + 1


def _table_path(names: tuple[str, ...], counts: dict[tree.Path, int], *, is_array: bool) -> tree.Path:
    """Return the path of the header `names`; `counts` are the tables so far by path."""
    path: tree.Path = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if is_array and index == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _read_key(text: str, at: int) -> tuple[tuple[str, ...], tuple[Span, ...], int]:
    """Parse the dotted key at `at`; return its names, their spans, and the offset after trailing spaces."""
    names: list[str] = []
    parts: list[Span] = []
    while True:
        at = _skip_blanks(text, at)
        quoted, bare = TOML_STRING.match(text, at), _BARE_KEY.match(text, at)
        name = quoted or bare
        if name is None:
            raise tree.DataError("a key of it cannot be followed", at)
        names.append(tomllib.loads(f"k={name[0]}")["k"] if quoted else name[0])
        parts.append(Span(name.start(), name.end()))
        at = _skip_blanks(text, name.end())
        if text[at : at + 1] != ".":
            return tuple(names), tuple(parts), at
        at += 1


def _value_end(text: str, at: int) -> int:
    """Return the end of the value that starts at `at`, without trailing spaces or comment."""
    depth, end = 0, at
    while at < len(text):
        string = TOML_STRING.match(text, at)
        plain = _IN_VALUE.match(text, at)
        comment = _COMMENT.match(text, at)
        if string:
            at = end = string.end()
        elif plain:
            end = at + len(plain[0].rstrip(" \t")) if plain[0].strip(" \t") else end
            at = plain.end()
        elif comment or text[at] in "\r\n":
            if not depth:
                break
            at = comment.end() if comment else at + 1
        else:
            depth += 1 if text[at] in "[{" else -1
            at = end = at + 1
            if not depth:
                break
    return end


def _skip_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


# --- Editing TOML in place: a new key follows the last one of its table. A new map becomes a table at the
# end, but inside tables it is inline. Deleting its last key deletes a table without header.


def toml_edits(
    text: str,
    lines: LineIndex,
    statements: Sequence[Statement],
    values: Mapping[str, Any],
    branch: tree.ChangeTree,
) -> list[tree.Splice]:
    """Return splices that make the changes of `branch` in the TOML `text` with `values`.

    New lines end in LF. Raise `DataError` if the edits cannot be made in place.
    """
    writer = _TomlWriter(text, lines, statements)
    writer.edit_map((), values, branch)
    return writer.splices


class _TomlWriter:
    """Collect the splices of one text."""

    def __init__(self, text: str, lines: LineIndex, statements: Sequence[Statement]) -> None:
        self._text = text
        self._lines = lines
        self._statements = statements
        self._assigned = {each.path: each for each in statements if isinstance(each, TomlAssignment)}
        self._headers = {each.path: each for each in statements if isinstance(each, TomlHeader)}
        self.splices: list[tree.Splice] = []
        self._flow = FlowWriter(text, lines, TomlText(), self.splices)

    def edit_map(self, path: tree.Path, old: Mapping[str, Any], branch: tree.ChangeTree) -> None:
        """Edit the keys of the table `path` with the values `old`."""
        for name, each in branch.inner.items():
            key = (*path, str(name))
            if each.is_removed:
                self._delete(key, each.changes)
            elif name in old:
                self._edit_key(key, old[str(name)], each)
        new = {str(name): each for name, each in branch.inner.items() if name not in old}
        for entry in sorted(branch.inserted, key=lambda item: item.source is None):
            if entry.source is None and entry.place == tree.LAST:
                new[str(entry.name)] = tree.ChangeTree(entry.changes, entry.value)
                continue
            if entry.source is None:
                line = _assignments({entry.name: entry.value})
            else:
                line = self._moved_line((*path, str(entry.source)))
            self._insert(self._line_before(path, entry.place, old), line, entry.changes)
        self._add_keys(path, new)

    def _edit_key(self, key: tree.Path, old: object, branch: tree.ChangeTree) -> None:
        if branch.name is not None:
            self._rename(key, branch)
        if branch.is_inside and not (branch.inner or branch.inserted):
            return
        if not branch.is_inside and tree.values_equal(old, tree.as_read(branch.value)):
            return
        if key in self._assigned:
            value = self._assigned[key].value
            self._flow.edit_value(read_toml_value(self._text, value.start, value.end), branch)
        elif isinstance(old, list):
            self._edit_tables(key, old, branch)
        elif branch.value == {} and key not in self._headers:
            raise tree.DataError("a table without its own header cannot be empty", self._place_of(key))
        else:
            self._edit_table(key, _map_of(old), branch)

    def _edit_table(self, key: tree.Path, old: Mapping[str, Any], branch: tree.ChangeTree) -> None:
        if branch.is_inside:
            self.edit_map(key, old, branch)
        elif isinstance(branch.value, dict):
            self.edit_map(key, old, tree.map_changes(branch.value, old, branch.changes))
        else:
            raise tree.DataError("a table cannot become another kind of value", self._place_of(key))

    def _edit_tables(self, key: tree.Path, old: list[Any], branch: tree.ChangeTree) -> None:
        """Edit the items of an array of tables."""
        if not branch.is_inside:
            raise tree.DataError("a list of tables is not edited by its key", self._place_of(key))
        for name, each in branch.inner.items():
            index = int(str(name))
            if each.is_removed:
                self._delete_table((*key, index), each.changes)
            else:
                self._edit_table((*key, index), old[index], each)
        for new in branch.inserted:
            self._insert_table(key, new, len(old))

    def _insert_table(self, key: tree.Path, new: tree.NewItem, count: int) -> None:
        place = min(new.place, count)
        spans = [self._span_of((*key, index)) for index in range(count)]
        if isinstance(new.source, int):
            moved = spans[new.source]
            block = self._text[moved.start : moved.end]
        elif isinstance(new.value, dict):
            header = self._headers[(*key, 0)]
            names = self._text[header.parts[0].start : header.parts[-1].end]
            block = f"[[{names}]]\n{_assignments(new.value)}"
        else:
            raise tree.DataError("an item of a list of tables is a map", self._place_of(key))
        if place < count:
            at = self._above(spans[place].start)
            self._insert(at, block.rstrip("\r\n") + "\n\n", new.changes)
        else:
            self._insert(spans[count - 1].end, "\n" + block.rstrip("\r\n") + "\n", new.changes)

    def _rename(self, key: tree.Path, branch: tree.ChangeTree) -> None:
        """Rename the last name of `key` in all statements."""
        assert branch.name is not None, "it was asked for"
        depth = sum(isinstance(each, str) for each in key) - 1
        for each in self._statements:
            if each.path[: len(key)] != key:
                continue
            own = depth
            if isinstance(each, TomlAssignment):
                own -= sum(isinstance(name, str) for name in each.table)
            if 0 <= own < len(each.parts):
                self._add(each.parts[own], key_text(branch.name), branch.changes)

    def _moved_line(self, key: tree.Path) -> str:
        own = [each for each in self._statements if each.path[: len(key)] == key]
        if not all(isinstance(each, TomlAssignment) and each.table == key[:-1] for each in own):
            raise tree.DataError("tables with headers are not moved", self._place_of(key))
        return "".join(self._text[each.span.start : each.span.end].rstrip("\r\n") + "\n" for each in own)

    def _line_before(self, path: tree.Path, place: int, old: Mapping[str, Any]) -> int:
        """Return the insertion offset for key number `place` of the table `path`.

        Keys precede subtables, so that none comes between those.
        """
        firsts = [self._first_of((*path, name)) for name in old]
        following = firsts[place] if place < len(firsts) else None
        if isinstance(following, TomlAssignment) and following.table == path:
            return self._above(following.span.start)
        if place and firsts and isinstance(firsts[:place][-1], TomlHeader):
            raise tree.DataError("in TOML the keys of a table come before the tables in it")
        last = self._last_of(path)
        if last is None:
            raise tree.DataError("a table without keys has no such place")
        return last.span.end

    def _add_keys(self, parent: tree.Path, branches: Mapping[str, tree.ChangeTree]) -> None:
        """Add new keys to the table `parent`."""
        tables = {
            name: branch
            for name, branch in branches.items()
            if not parent and isinstance(branch.as_value, dict)
        }
        new = {name: branch for name, branch in branches.items() if name not in tables}
        last = self._last_of(parent)
        lead = self._text[last.span.start : last.key.start] if last else ""
        inside = parent[len(last.table) :] if last else ()
        within_table = "".join(f"{key_text(name)}." for name in _names(inside))
        lines = [
            f"{lead}{within_table}{key_text(name)} = {value_text(branch.as_value)}\n"
            for name, branch in new.items()
        ]
        offset, before, after = self._place_for(parent, last)
        for index, (line, branch) in enumerate(zip(lines, new.values(), strict=True)):
            is_last = index == len(lines) - 1
            text = ("" if index else before) + line + (after if is_last else "")
            self._insert(offset, text, branch.changes)
        for name, branch in tables.items():
            has_text = any(splice.edit.new_text for splice in self.splices) or bool(self._text.strip())
            gap = "\n" if has_text else ""
            table = f"{gap}[{key_text(name)}]\n{_assignments(_map_of(branch.as_value))}"
            self._insert(self._end(), table, branch.changes)

    def _place_for(self, parent: tree.Path, last: TomlAssignment | None) -> tuple[int, str, str]:
        """Return the offset for new keys of `parent`, and the text before and after them."""
        if last is not None:
            return last.span.end, "", ""
        if parent in self._headers:
            return self._headers[parent].span.end, "", ""
        if not self._statements:
            return self._end(), "", ""
        header = f"[{'.'.join(map(key_text, _names(parent)))}]\n" if parent else ""
        return self._before_first(parent), header, "\n"

    def _last_of(self, parent: tree.Path) -> TomlAssignment | None:
        """Return the last key of the map `parent`: below its header, or dotted elsewhere."""
        keys = [each for each in self._statements if isinstance(each, TomlAssignment)]
        if not parent or parent in self._headers:
            return next((each for each in reversed(keys) if each.table == parent), None)
        dotted = [
            each for each in keys if len(each.table) < len(parent) and each.path[: len(parent)] == parent
        ]
        own = (each for each in reversed(dotted) if each.path[:-1] == parent)
        # A table made by dotted keys cannot have a header: new keys follow them.
        return next(own, dotted[-1] if dotted else None)

    def _before_first(self, parent: tree.Path) -> int:
        """Return the start of the first header inside `parent`, or of the comments above it."""
        first = next(
            each
            for each in self._statements
            if isinstance(each, TomlHeader) and each.path[: len(parent)] == parent
        )
        return self._above(first.span.start)

    def _above(self, offset: int) -> int:
        """Return the start of the line of `offset`, or of the comments directly above it."""
        line = self._lines.line_at(offset)
        while line > 1 and self._lines.content(line - 1).lstrip(" \t").startswith("#"):
            line -= 1
        return self._lines.start(line)

    def _delete(self, key: tree.Path, changes: list[int]) -> None:
        for span in self._spans_of(key):
            self._add(span, "", changes)

    def _delete_table(self, key: tree.Path, changes: list[int]) -> None:
        """Delete a table of an array; at the end of the file with the blank line before it."""
        for span in self._spans_of(key):
            line = self._lines.line_at(span.start)
            is_last = span.end == len(self._text) and line > 1
            start = (
                self._lines.start(line - 1)
                if is_last and not self._lines.content(line - 1).strip()
                else span.start
            )
            self._add(Span(start, span.end), "", changes)

    def _spans_of(self, key: tree.Path) -> Iterator[Span]:
        """Yield the lines of all statements of `key`; tables include one blank line after their last key."""
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

    def _span_of(self, key: tree.Path) -> Span:
        """Return the span from the first to the last line of `key`."""
        spans = list(self._spans_of(key))
        return Span(spans[0].start, spans[-1].end)

    def _with_blank(self, start: int, end: int) -> int:
        """Return `end`, or the end of the blank line there if `start` also follows one or starts the file."""
        lines = self._lines
        behind = lines.line_at(end) if end < len(self._text) else 0
        before = lines.line_at(start) - 1
        is_blank = behind and not lines.content(behind).strip(" \t")
        return (
            lines.end(behind) if is_blank and (not before or not lines.content(before).strip(" \t")) else end
        )

    def _end(self) -> int:
        """Return the offset after the last non-blank line."""
        return self._lines.end(self._lines.last_with_text(1, self._lines.count))

    def _place_of(self, key: tree.Path) -> int:
        return self._first_of(key).span.start

    def _first_of(self, key: tree.Path) -> Statement:
        return next(each for each in self._statements if each.path[: len(key)] == key)

    def _insert(self, offset: int, text: str, changes: list[int]) -> None:
        self._add(Span(offset, offset), text, changes)

    def _add(self, span: Span, new_text: str, changes: Sequence[int]) -> None:
        is_cut = span.start == len(self._text) > 0 and self._text[-1] not in "\r\n"
        if is_cut and new_text:
            new_text = "\n" + new_text.removesuffix("\n")
        self.splices.append(tree.Splice(TextEdit(span, new_text), tuple(changes)))


def _map_of(value: object) -> dict[str, Any]:
    assert isinstance(value, dict), "the parent of a key is a map"
    return value


def _names(path: tree.Path) -> Iterator[str]:
    """Return the names in `path`, without table indexes."""
    return (each for each in path if isinstance(each, str))
