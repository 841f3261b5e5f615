"""Reading front matter: its values, whether they are what a caller expects, and what its editors need."""

import datetime as dt
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler

from mdplan.markdown.front_matter.block import FrontMatter, FrontMatterError, FrontMatterFormat
from mdplan.markdown.front_matter.change import DateText, Key, depth_of
from mdplan.markdown.front_matter.toml_statements import (
    Statement,
    TomlAssignment,
    TomlHeader,
    read_statements,
)
from mdplan.markdown.front_matter.yaml_layout import Layout
from mdplan.markdown.front_matter.yaml_nodes import (
    YamlContent,
    end_of_text,
    entries_of,
    read_yaml,
)
from mdplan.text.document_limits import FRONT_MATTER_CHARACTERS
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex
from mdplan.text.search.similar_names import NameIndex
from mdplan.text.span import Span

MAX_DEPTH: Final = 32
DATES: Final = (dt.date, dt.time)
_TOML_KEY: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n\r]*+"|'[^'\n\r]*+')"""
_DEEP_TOML_KEY: Final = re.compile(
    rf"(?<![A-Za-z0-9_-]){_TOML_KEY}(?:[ \t]*+\.[ \t]*+{_TOML_KEY}){{{MAX_DEPTH},}}"
)
_TOML_PLACE: Final = re.compile(r"\(at line (\d+), column \d+\)")


class _YamlHandler(BaseHandler):
    """python-frontmatter's handler for a block whose fences were found by our own rule."""

    # The base class refuses to be made without one; only `detect` and its own `split` would look for it.
    FM_BOUNDARY: re.Pattern[str] | None = re.compile(r"^---$", re.MULTILINE)

    def __init__(self, content: str) -> None:
        super().__init__()
        self._content = content
        self.found = YamlContent(None, {})

    def split(self, text: str) -> tuple[str, str]:
        """The content as it is: `text` has lost its line ends, and so the places in it."""
        del text
        return self._content, ""

    def load(self, fm: str, **_: object) -> Any:  # noqa: ANN401 (as the base has it)
        """Values of the YAML text `fm`."""
        self.found = read_yaml(fm)
        return self.found.values


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a block cannot be read, as the end of a sentence about it, and where in its content."""

    reason: str
    offset: int | None


@dataclass(frozen=True)
class FrontMatterContent:
    """The text between the fences, and the `values` that it gives; `root` is that of YAML.

    After a change it may have `most_characters`.
    """

    format: FrontMatterFormat
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    root: yaml.MappingNode | None = None
    most_characters: int = FRONT_MATTER_CHARACTERS

    @cached_property
    def lines(self) -> LineIndex:
        """Lines of `text`."""
        return LineIndex(self.text)

    @cached_property
    def places(self) -> dict[Key, Span]:
        """Where keys with their values stand in `text`; of a table of TOML its header, if it has one."""
        if self.format is FrontMatterFormat.YAML:
            return dict(_places(self.root, ()))
        return {
            each.path: each.span if isinstance(each, TomlHeader) else Span(each.key.start, each.value.end)
            for each in reversed(self.statements)
        }

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Statements of TOML. Raises `FrontMatterError` for what cannot be followed."""
        return read_statements(self.text, self.lines)

    @cached_property
    def assigned(self) -> dict[Key, TomlAssignment]:
        """Keys of TOML that stand in lines of their own, by their paths."""
        return {each.path: each for each in self.statements if isinstance(each, TomlAssignment)}

    @cached_property
    def headers(self) -> dict[Key, TomlHeader]:
        """Headers of the tables of TOML of which there is one of a name."""
        return {
            each.path: each for each in self.statements if isinstance(each, TomlHeader) and not each.is_array
        }

    @cached_property
    def layout(self) -> Layout:
        """How the block is laid out, if it is YAML."""
        return Layout.of(self.root)

    def entries(self, node: yaml.MappingNode) -> dict[str, tuple[yaml.ScalarNode, yaml.Node]]:
        """Nodes of the keys of a map, and of their values, by the texts of keys; made once."""
        if id(node) not in self._entries:
            self._entries[id(node)] = {text: (key, value) for text, key, value in entries_of(node)}
        return self._entries[id(node)]

    @cached_property
    def _entries(self) -> dict[int, dict[str, tuple[yaml.ScalarNode, yaml.Node]]]:
        return {}

    @cached_property
    def names(self) -> NameIndex:
        """All keys, dotted where they lie in maps, among which the nearest is found."""
        return NameIndex(".".join(key) for key in _keys(self.values, ()))


def read_content(
    format: FrontMatterFormat,  # noqa: A002 (as in stat)
    text: str,
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> FrontMatterContent:
    """What `text`, which stands between fences, says. Raises `FrontMatterError`."""
    if len(text) > most_characters:
        raise FrontMatterError(f"it has more than {most_characters} characters")
    if format is FrontMatterFormat.TOML:
        return FrontMatterContent(format, text, _toml_values(text), most_characters=most_characters)
    handler = _YamlHandler(text)
    values, _ = frontmatter.parse(text, handler=handler)
    return FrontMatterContent(format, text, values, handler.found.root, most_characters)


def content_of(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> FrontMatterContent | Unreadable:
    """What the block `front_matter` of `text` says."""
    span = front_matter.content
    try:
        return read_content(front_matter.format, text[span.start : span.end], most_characters)
    except FrontMatterError as error:
        return Unreadable(error.reason, error.offset)


def read_values(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> dict[str, Any] | None:
    """Values of `front_matter` in `text` by key; None when it is no mapping or cannot be read safely."""
    found = content_of(text, front_matter, most_characters)
    return found.values if isinstance(found, FrontMatterContent) else None


def read_keys(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> tuple[str, ...] | None:
    """Top-level keys of `front_matter` in their order; None where its values cannot be read."""
    values = read_values(text, front_matter, most_characters)
    return None if values is None else tuple(values)


def read_date(format: FrontMatterFormat, text: str) -> object:  # noqa: A002 (as above)
    """The date or time that `text` reads as; None where it is none."""
    if not text[:1].isdigit() or "\n" in text or "\r" in text:
        return None
    try:
        content = f"k: {text}\n" if format is FrontMatterFormat.YAML else f"k = {text}\n"
        found = read_content(format, content).values.get("k")
    except FrontMatterError:
        return None
    return found if isinstance(found, DATES) else None


def dated(format: FrontMatterFormat, value: object, old: object) -> object:  # noqa: A002 (as above)
    """`value`, or where it is a string and takes the place of the date or time `old`, the date that it is."""
    return with_dates(format, value) if isinstance(value, str) and isinstance(old, DATES) else value


def with_dates(format: FrontMatterFormat, value: object) -> object:  # noqa: A002 (as above)
    """`value` with dates and times in place of the strings that read as such, also in lists and maps."""
    match value:
        case str():
            found = read_date(format, value)
            return value if found is None else DateText(value.strip(" \t"), found)
        case list():
            return [with_dates(format, each) for each in value]
        case dict():
            return {key: with_dates(format, each) for key, each in value.items()}
        case _:
            return value


def _toml_values(text: str) -> dict[str, Any]:
    # Told before it is read, which takes the square of how deep it is.
    deep = _DEEP_TOML_KEY.search(text)
    if deep is not None:
        raise FrontMatterError("it is nested too deeply", deep.start())
    try:
        values = tomllib.loads(to_lf(text))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        lines = LineIndex(text)
        offset = lines.start(int(place[1])) if place else None
        raise FrontMatterError("it is no valid TOML", offset) from error
    except (ValueError, RecursionError) as error:
        raise FrontMatterError("it holds a value that cannot be read") from error
    if depth_of(values) > MAX_DEPTH:
        raise FrontMatterError("it is nested too deeply")
    return values


def _places(node: yaml.Node | None, parent: Key) -> Iterator[tuple[Key, Span]]:
    for text, key, value in entries_of(node):
        yield (*parent, text), Span(key.start_mark.index, end_of_text(value))
        yield from _places(value, (*parent, text))


def _keys(values: dict[str, Any], parent: Key) -> list[Key]:
    found: list[Key] = []
    for name, value in values.items():
        key = (*parent, name)
        found += (key, *(_keys(value, key) if isinstance(value, dict) else ()))
    return found


def value_matches(format: FrontMatterFormat, value: object, expected: object) -> bool:  # noqa: A002 (as in stat)
    """Whether `value`, of a block in `format`, is the JSON value `expected`.

    A date is its text, in any spelling that reads as the same; 1 and 1.0 are one number.
    """
    if isinstance(value, DATES):
        return isinstance(expected, str) and read_date(format, expected) == value
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            value_matches(format, value[k], expected[k]) for k in value
        )
    if isinstance(value, list) and isinstance(expected, list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(
            value_matches(format, left, right) for left, right in pairs
        )
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return value == expected


def as_json(value: object) -> object:
    """`value` as JSON, dates as ISO 8601."""
    match value:
        case dict():
            return {key: as_json(each) for key, each in value.items()}
        case list():
            return [as_json(each) for each in value]
        case _ if isinstance(value, DATES):
            return value.isoformat()
        case _:
            return value
