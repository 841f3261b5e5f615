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
from typing import TYPE_CHECKING, Any, Final

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
from mdplan.data.node import DataError, Kind, Language, Node, Path, aliased, places_of, values_of
from mdplan.data.toml_statements import Statement, TomlHeader, read_statements
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import line_end_around, to_lf, with_line_ends
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source

# Few texts are INI files.
if TYPE_CHECKING:
    from mdplan.data.ini_data import IniPlaces
    from mdplan.plaintext.ini_outline import IniOutline

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
    def ini(self) -> "IniPlaces":
        """Sections and keys of an INI file."""
        from mdplan.data.ini_data import IniPlaces

        assert self.root is not None, "an INI file is a map"
        return IniPlaces.of(_ini_outline(self.text), self.root)

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

            root = ini_tree(_ini_outline(text))
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

            return ini_edits(content.ini, branch)


def _ini_outline(text: str) -> "IniOutline":
    from mdplan.plaintext.ini_outline import IniOutline

    return IniOutline(Source.from_text(text))


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
    match content.language:
        case Language.JSON:
            before, after = _plain_json(content.text), _plain_json(text)
            is_other = before is not None and not values_equal(after, changed(before, branch_of(changes)))
        case Language.INI:
            from mdplan.data.ini_data import is_read_alike

            is_other = (
                is_read_alike(content.ini.outline) is True and is_read_alike(result.ini.outline) is False
            )
        case _:
            is_other = False
    if is_other:
        raise DataError("another reader would see another change")


def verify_values(content: DataContent, result: DataContent, changes: Sequence[Change]) -> None:
    """Raise `DataError` unless `result` says what `content` does after `changes`."""
    wanted = changed(content.values, branch_of(changes))
    is_toml = content.language is Language.TOML
    if is_toml and not values_equal(result.values, wanted):
        wanted = without_emptied(wanted, changes, result.values)
    after = aliased(result.root)
    still = {name for name, _ in after}
    if not values_equal(
        [[*each] for each in aliased(content.root) if each[0] in still], [[*each] for each in after]
    ):
        raise DataError("an alias repeats the text that would change")
    found = result.values
    if content.language is Language.INI:
        from mdplan.data.ini_data import named_values

        # One that is left of several equal names has that name alone.
        found, wanted = named_values(found), named_values(wanted)
    # A table of TOML is where TOML allows it.
    if not values_equal(found, wanted, in_order=not is_toml):
        raise DataError("the change cannot be made without changing another value")


def _plain_json(text: str) -> Any:  # noqa: ANN401 (any value)
    """What another reader sees in `text`; None for what only JSON5 and comments allow."""
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
