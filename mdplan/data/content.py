"""Parse a data text, edit it, and verify that the edits change nothing else.

The new text is parsed again and must have the old values with the requested changes. If another parser
accepts the text, it must agree. Otherwise the changes are refused.
"""

import datetime as dt
import json
import tomllib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from mdplan.data import tree
from mdplan.data.brackets import FlowWriter, JsonText, read_json
from mdplan.data.toml import Statement, TomlHeader, read_statements, toml_edits
from mdplan.field_names import short_name
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, line_end_around, to_lf, with_line_ends
from mdplan.text.source import Source
from mdplan.values import Struct

# INI files are rare.
if TYPE_CHECKING:
    from mdplan.data.ini import IniOutline


_TOML_KEY: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n\r]*+"|'[^'\n\r]*+')"""
_TOML_DEPTH: Final = 32

_DEEP_TOML_KEY: Final = lazy_pattern(
    rf"(?<![A-Za-z0-9_-]){_TOML_KEY}(?:[ \t]*+\.[ \t]*+{_TOML_KEY}){{{_TOML_DEPTH},}}"
)

_TOML_PLACE: Final = lazy_pattern(r"\(at line (\d+), column \d+\)")


class DataContent(Struct, dict=True):
    """A `text` and its `values`; `root` is the tree, except for TOML. `is_strict` for front matter."""

    language: tree.Language
    text: str
    values: Any = None
    root: tree.Node | None = None
    is_strict: bool = False

    @property
    def written_values(self) -> Any:  # noqa: ANN401 (any value)
        """The values with numbers as written."""
        if self.language is tree.Language.TOML:
            return load_toml(self.text, tree.plain_float)
        return {} if self.root is None else tree.values_of(self.root, self.text)

    @cached_property
    def lines(self) -> LineIndex:
        """The line table of `text`."""
        return LineIndex(self.text)

    @cached_property
    def ini(self) -> "IniOutline":
        """The sections and keys of an INI file."""
        from mdplan.data.ini import IniOutline

        return IniOutline(Source.from_text(self.text))

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of a TOML file. Raise `DataError` for unsupported syntax."""
        return tuple(read_statements(self.text, self.lines))

    @cached_property
    def places(self) -> dict[tree.Path, Span]:
        """The spans of keys and items with their values; for a TOML table its header."""
        if self.language is not tree.Language.TOML:
            return dict(tree.places_of(self.root))
        return {
            each.path: each.span if isinstance(each, TomlHeader) else Span(each.key.start, each.value.end)
            for each in reversed(self.statements)
        }

    @cached_property
    def ranges(self) -> tuple[tuple[tree.Path, Span], ...]:
        """Keys and items with their spans, in text order; a TOML table ends before the next one."""
        places = dict(self.places)
        headers = (
            [each for each in self.statements if isinstance(each, TomlHeader)]
            if self.language is tree.Language.TOML
            else []
        )
        # From the end: each table finds the next header in a few steps.
        behind: list[tuple[tree.Path, int]] = [((), len(self.text))]
        for header in reversed(headers):
            while len(behind) > 1 and behind[-1][0][: len(header.path)] == header.path:
                behind.pop()
            start = header.span.start
            places[header.path] = Span(start, start + len(self.text[start : behind[-1][1]].rstrip()))
            behind.append((header.path, start))
        return tuple(sorted(places.items(), key=lambda each: (each[1].start, len(each[0]))))


def read_data(language: tree.Language, text: str, *, is_strict: bool = False) -> DataContent:
    """Parse `text`. Raise `DataError`. Strict YAML has no anchors or tags."""
    root: tree.Node | None = None
    match language:
        case tree.Language.YAML:
            # Loaded only if needed: most texts are Markdown.
            from mdplan.data.yaml import read_yaml

            root = read_yaml(text, LineIndex(text), is_strict=is_strict)
        case tree.Language.JSON:
            root = read_json(text)
        case tree.Language.TOML:
            return DataContent(language, text, _toml_values(text))
        case tree.Language.INI:
            ini = DataContent(language, text).ini
            return DataContent(language, text, tree.values_of(ini.root), ini.root)
    return DataContent(language, text, {} if root is None else tree.values_of(root), root, is_strict)


def data_edits(content: DataContent, changes: Sequence[tree.Change]) -> list[tree.Splice]:
    """Return text edits that make `changes`, whose keys do not contain each other.

    New lines end in LF. Raise `DataError` if the edits cannot be made in place.
    """
    branch = tree.change_tree(changes)
    if not branch.is_inside and content.language is not tree.Language.YAML:
        raise tree.DataError("the whole file is not set as a value")
    match content.language:
        case tree.Language.YAML:
            from mdplan.data.yaml import yaml_edits

            return yaml_edits(content.text, content.lines, content.root, branch, is_block=content.is_strict)
        case tree.Language.JSON:
            return _json_edits(content, branch)
        case tree.Language.TOML:
            return toml_edits(content.text, content.lines, content.statements, content.values, branch)
        case tree.Language.INI:
            from mdplan.data.ini_edits import ini_edits

            return ini_edits(content.ini, branch)


def placed(splices: Sequence[tree.Splice], start: int, lines: LineIndex) -> tuple[tree.Splice, ...]:
    """Shift `splices` to `start` of a document with the given `lines`, using its newlines."""
    moved: list[tree.Splice] = []
    for splice in splices:
        span, new_text = splice.edit.span, splice.edit.new_text
        if len(span) or new_text:
            span = Span(span.start + start, span.end + start)
            new_text = with_line_ends(new_text, line_end_around(lines, span.start))
            moved.append(tree.Splice(TextEdit(span, new_text), splice.changes))
    return tuple(moved)


def verify_edits(content: DataContent, edits: EditList, changes: Sequence[tree.Change]) -> None:
    """Raise `DataError` unless `edits` of `content` make exactly `changes`."""
    text = edits.apply(content.text)
    try:
        result = read_data(content.language, text)
    except tree.DataError as error:
        raise tree.DataError(f"after the change {error.reason}") from error
    verify_values(content, result, changes)
    match content.language:
        case tree.Language.JSON:
            before, after = _plain_json(content.text), _plain_json(text)
            is_other = before is not None and not tree.values_equal(
                after, tree.value_after(before, tree.change_tree(changes))
            )
        case tree.Language.INI:
            from mdplan.data.ini_edits import count_twins, is_read_alike

            if count_twins(result.ini) > count_twins(content.ini):
                raise tree.DataError("two keys of a section would differ in case only")
            is_other = is_read_alike(content.ini) is True and is_read_alike(result.ini) is False
        case _:
            is_other = False
    if is_other:
        raise tree.DataError("another reader would see another change")


def verify_values(content: DataContent, result: DataContent, changes: Sequence[tree.Change]) -> None:
    """Raise `DataError` unless `result` has the values of `content` after `changes`."""
    actual, expected = result.values, tree.value_after(content.values, tree.change_tree(changes))
    is_toml = content.language is tree.Language.TOML
    if is_toml and not tree.values_equal(actual, expected):
        expected = tree.without_emptied(expected, changes, actual)
    after = tree.aliased(result.root)
    still = {name for name, _ in after}
    if not tree.values_equal(
        [[*each] for each in tree.aliased(content.root) if each[0] in still], [[*each] for each in after]
    ):
        raise tree.DataError("an alias repeats the text that would change")
    if content.language is tree.Language.INI:
        from mdplan.data.ini_edits import named_values

        # The last of several duplicate names loses its number.
        actual, expected = named_values(actual), named_values(expected)
    # TOML restricts the order of tables.
    if not tree.values_equal(actual, expected, in_order=not is_toml):
        raise tree.DataError("the change cannot be made without changing another value")


def _plain_json(text: str) -> Any:  # noqa: ANN401 (any value)
    """Return `text` as parsed by `json`; None if it has comments or is JSON5."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json_edits(content: DataContent, branch: tree.ChangeTree) -> list[tree.Splice]:
    splices: list[tree.Splice] = []
    if content.root is None or content.root.kind is tree.Kind.SCALAR:
        raise tree.DataError("its outermost value is not a map or list")
    writer = FlowWriter(content.text, content.lines, JsonText(content.text, content.root), splices)
    writer.edit_value(content.root, branch)
    return splices


def load_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse the TOML `text`. Raise `DataError`, or as `tomllib`."""
    # Check first: parsing takes quadratic time and memory in the depth.
    deep = _DEEP_TOML_KEY.search(text)
    if deep is not None:
        raise tree.DataError("it is nested too deeply", deep.start())
    values = tomllib.loads(to_lf(text), parse_float=parse_float)
    tree.check_count(sum(tree.level_sizes(values)))
    return values


def _toml_values(text: str) -> dict[str, Any]:
    try:
        values = load_toml(text)
    except tree.DataError:
        raise
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        offset = LineIndex(text).start(int(place[1])) if place else None
        raise tree.DataError("it is not valid TOML", offset) from error
    except (ValueError, RecursionError) as error:
        raise tree.DataError("it contains a value that cannot be read") from error
    if len(tree.level_sizes(values)) > _TOML_DEPTH + 1:
        raise tree.DataError("it is nested too deeply")
    return values


# --- Converting values from and to JSON, where dates are strings

DATES: Final = (dt.date, dt.time)


def read_date(language: str, text: str) -> object:
    """Parse `text` as a date or time; None if it is neither."""
    # A `#` would start a comment.
    if not text[:1].isdigit() or set("\n\r#") & set(text):
        return None
    try:
        content = f"k: {text}\n" if language == tree.Language.YAML else f"k = {text}\n"
        value = read_data(tree.Language(language), content, is_strict=True).values.get("k")
    except tree.DataError:
        return None
    return value if isinstance(value, DATES) else None


def dated(language: str, value: object, old: object) -> object:
    """Return `value`, parsed as a date if it is a string replacing the date or time `old`."""
    return with_dates(language, value) if isinstance(value, str) and isinstance(old, DATES) else value


def numbered(value: object, old: object) -> object:
    """Return `value`, parsed as a number if it is a string replacing the number `old`."""
    is_number = isinstance(old, int | float) and not isinstance(old, bool)
    return tree.spelled(value) if is_number and isinstance(value, str) else value


def with_dates(language: str, value: object) -> object:
    """Return `value` with date-like strings parsed, also in lists and maps."""
    match value:
        case str():
            date = read_date(language, value)
            return value if date is None else tree.DateText(value.strip(" \t"), date)
        case list():
            return [with_dates(language, each) for each in value]
        case dict():
            return {key: with_dates(language, each) for key, each in value.items()}
        case _:
            return value


def other_value(name: str, value: object, expected: object) -> str:
    """Return the message that the key `name` has `value` instead of `expected`."""
    shown, wanted = (short_name(json.dumps(as_json(each), ensure_ascii=False)) for each in (value, expected))
    return f"{name} is `{shown}`, not `{wanted}`"


def value_matches(language: str, value: object, expected: object) -> bool:
    """Return True if `value`, from a text in `language`, equals the JSON value `expected`.

    A date equals every string that parses to it; 1 equals 1.0. Values without JSON form compare by `as_json`.
    """
    if isinstance(value, tree.Opaque):
        return as_json(value) == expected
    expected = expected.value if isinstance(expected, tree.Plain) else expected
    if isinstance(value, DATES):
        return isinstance(expected, str) and read_date(language, expected) == value
    if isinstance(value, dict) and isinstance(expected, dict):
        named = {str(key): each for key, each in value.items()}
        return (
            len(named) == len(value)
            and named.keys() == expected.keys()
            and all(value_matches(language, named[key], expected[key]) for key in named)
        )
    if isinstance(value, list) and isinstance(expected, list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(
            value_matches(language, left, right) for left, right in pairs
        )
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return value == expected


def written_in(language: str, value: object) -> object:
    """Return `value` as `language` can hold it: INI turns numbers, true and false into strings."""
    if language != tree.Language.INI or value is None or isinstance(value, str | list):
        return value
    if isinstance(value, dict):
        return {key: written_in(language, each) for key, each in value.items()}
    return tree.plain_text(value)


def as_json(value: object) -> object:
    """Convert `value` to JSON, dates to ISO 8601."""
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, tree.Opaque):
        return f"*{value.value}" if value.kind == "alias" else as_json(value.value)
    if isinstance(value, DATES):
        return value.isoformat()
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
