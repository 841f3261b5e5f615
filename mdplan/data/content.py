"""A text of keys and values: what it says, edits that change it, and the proof that they change nothing else.

The new text is read again, and must say what the old one said with the changes that were asked for; where
another reader takes the text, it must see the same. Where that cannot be had the changes are refused.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from mdplan.data.bracket_reader import read_json
from mdplan.data.bracket_writer import BracketWriter
from mdplan.data.change import (
    Branch,
    Change,
    Splice,
    branch_of,
    changed,
    depth_of,
    values_equal,
    without_emptied,
)
from mdplan.data.json_text import JsonText
from mdplan.data.node import DataError, Kind, Language, Node, Path, Unnamed, aliased, places_of, values_of
from mdplan.data.toml_statements import Statement, TomlHeader, read_statements
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source
from mdplan.text.span import Span

_TOML_KEY: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n\r]*+"|'[^'\n\r]*+')"""
_TOML_DEPTH: Final = 32
_DEEP_TOML_KEY: Final = re.compile(
    rf"(?<![A-Za-z0-9_-]){_TOML_KEY}(?:[ \t]*+\.[ \t]*+{_TOML_KEY}){{{_TOML_DEPTH},}}"
)
_TOML_PLACE: Final = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True)
class DataContent:
    """The `text`, and the `values` that it gives; `root` is their tree, but for TOML.

    It `is_strict` where it is front matter.
    """

    language: Language
    text: str
    values: Any = None
    root: Node | None = None
    is_strict: bool = False

    @cached_property
    def lines(self) -> LineIndex:
        """Lines of `text`."""
        return LineIndex(self.text)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Statements of TOML. Raises `DataError` for what cannot be followed."""
        return read_statements(self.text, self.lines)

    @cached_property
    def places(self) -> dict[Path, Span]:
        """Where keys and items with their values are; of a table of TOML its header, if it has one."""
        if self.language is not Language.TOML:
            return dict(places_of(self.root))
        return {
            each.path: each.span if isinstance(each, TomlHeader) else Span(each.key.start, each.value.end)
            for each in reversed(self.statements)
        }

    @cached_property
    def ranges(self) -> tuple[tuple[Path, Span], ...]:
        """Keys and items with their spans, in text order; a TOML table ends at the next one outside it."""
        places = dict(self.places)
        headers = (
            [each for each in self.statements if isinstance(each, TomlHeader)]
            if self.language is Language.TOML
            else []
        )
        # From the end, so that each table finds where the one after it begins in a few steps.
        behind: list[tuple[Path, int]] = [((), len(self.text))]
        for header in reversed(headers):
            while len(behind) > 1 and behind[-1][0][: len(header.path)] == header.path:
                behind.pop()
            start = header.span.start
            places[header.path] = Span(start, start + len(self.text[start : behind[-1][1]].rstrip()))
            behind.append((header.path, start))
        return tuple(sorted(places.items(), key=lambda each: (each[1].start, len(each[0]))))


def read_data(language: Language, text: str, *, is_strict: bool = False) -> DataContent:
    """What `text` says. Raises `DataError`. YAML that `is_strict` has neither anchors nor tags."""
    root: Node | None = None
    match language:
        case Language.YAML:
            # Loaded here: most texts are Markdown without it.
            from mdplan.data.yaml_reader import read_yaml

            root = read_yaml(text, LineIndex(text), is_strict=is_strict)
        case Language.JSON:
            root = read_json(text)
        case Language.TOML:
            return DataContent(language, text, _toml_values(text))
        case Language.INI:
            from mdplan.data.ini_data import ini_tree
            from mdplan.plaintext.ini_outline import IniOutline

            root = ini_tree(IniOutline(Source.from_text(text)))
    return DataContent(language, text, {} if root is None else values_of(root), root, is_strict)


def data_edits(content: DataContent, changes: Sequence[Change]) -> list[Splice]:
    """Text edits of `content` that make `changes`; no key of them lies inside another's.

    New lines end in LF. Raises `DataError` where that cannot be done by cutting.
    """
    branch = branch_of(changes)
    match content.language:
        case Language.YAML:
            from mdplan.data.yaml_writer import yaml_edits

            return yaml_edits(content.text, content.lines, content.root, branch, is_block=content.is_strict)
        case Language.JSON:
            return _json_edits(content, branch)
        case Language.TOML:
            from mdplan.data.toml_writer import toml_edits

            return toml_edits(content.text, content.lines, content.statements, content.values, branch)
        case Language.INI:
            from mdplan.data.ini_data import ini_edits
            from mdplan.plaintext.ini_outline import IniOutline

            return ini_edits(IniOutline(Source.from_text(content.text)), branch)


def placed(splices: Sequence[Splice], start: int, lines: LineIndex) -> tuple[Splice, ...]:
    """`splices` of a text that begins at `start` of the document with the lines `lines`, in its line ends."""
    return tuple(
        Splice(_placed(splice.edit, start, lines), splice.changes)
        for splice in splices
        if len(splice.edit.span) or splice.edit.new_text
    )


def _placed(edit: TextEdit, start: int, lines: LineIndex) -> TextEdit:
    span = Span(edit.span.start + start, edit.span.end + start)
    return TextEdit(span, with_line_ends(edit.new_text, line_end_around(lines, span.start)))


def verify_edits(content: DataContent, edits: EditList, changes: Sequence[Change]) -> None:
    """Raise `DataError` unless `edits` of `content` make `changes`, and no other."""
    text = edits.apply(content.text)
    try:
        result = read_data(content.language, text)
    except DataError as error:
        raise DataError(f"after the change {error.reason}") from error
    verify_values(content, result, changes)
    branch = branch_of(changes)
    before, after = _other_view(content.language, content.text), _other_view(content.language, text)
    if before is not None and (after is None or not values_equal(after, changed(before, branch))):
        raise DataError("another reader would see another change")


def verify_values(content: DataContent, result: DataContent, changes: Sequence[Change]) -> None:
    """Raise `DataError` unless `result` says what `content` does after `changes`."""
    wanted = changed(content.values, branch_of(changes))
    is_toml = content.language is Language.TOML
    if is_toml and not values_equal(result.values, wanted):
        wanted = without_emptied(wanted, changes, result.values)
    if content.language is Language.INI and isinstance(wanted, dict):
        # Keys before the first section stay there.
        wanted = dict(sorted(wanted.items(), key=lambda item: isinstance(item[1], dict)))
    after = aliased(result.root)
    still = {name for name, _ in after}
    if not values_equal(
        [[*each] for each in aliased(content.root) if each[0] in still], [[*each] for each in after]
    ):
        raise DataError("an alias repeats the text that would change")
    # A table of TOML is where TOML allows it.
    if not values_equal(result.values, wanted, in_order=not is_toml):
        raise DataError("the change cannot be made without changing another value")


def _other_view(language: Language, text: str) -> Any:  # noqa: ANN401 (any value)
    """What another reader sees in `text`; None where it takes no such text, or there is none."""
    if language is Language.INI:
        from mdplan.data.ini_data import as_configparser

        return as_configparser(text)
    if language is not Language.JSON:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json_edits(content: DataContent, branch: Branch) -> list[Splice]:
    splices: list[Splice] = []
    if content.root is None or content.root.kind is Kind.SCALAR:
        raise DataError("its outermost value is not a map or list")
    if not branch.is_inside:
        raise DataError("the whole file is not set as a value")
    writer = BracketWriter(content.text, content.lines, JsonText(content.text, content.root), splices)
    writer.edit_value(content.root, branch)
    return splices


def _toml_values(text: str) -> dict[str, Any]:
    # Told before it is read, which takes the square of how deep it is.
    deep = _DEEP_TOML_KEY.search(text)
    if deep is not None:
        raise DataError("it is nested too deeply", deep.start())
    try:
        values = tomllib.loads(to_lf(text))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        offset = LineIndex(text).start(int(place[1])) if place else None
        raise DataError("it is not valid TOML", offset) from error
    except (ValueError, RecursionError) as error:
        raise DataError("it contains a value that cannot be read") from error
    if depth_of(values) > _TOML_DEPTH:
        raise DataError("it is nested too deeply")
    return values


def keys_of(values: Any, parent: Path = ()) -> list[Path]:  # noqa: ANN401 (any value)
    """Paths of all keys of maps that are not in lists, with those inside them."""
    found: list[Path] = []
    for name, value in values.items() if isinstance(values, dict) else ():
        if isinstance(name, Unnamed):
            continue
        key = (*parent, name)
        found += (key, *keys_of(value, key))
    return found
