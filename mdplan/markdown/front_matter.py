"""Reading front matter: its values, whether they are what a caller expects, and what its editors need."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

from mdplan.data.content import DataContent, read_data
from mdplan.data.tree import DataError, Language, Path
from mdplan.limits import FRONT_MATTER_CHARACTERS
from mdplan.markdown.format_detection import FrontMatter, FrontMatterFormat
from mdplan.text.lines import LineIndex, Span

MAX_DEPTH: Final = 32

DATES: Final = (dt.date, dt.time)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a block cannot be read, as the end of a sentence about it, and where in its content."""

    reason: str
    offset: int | None


@dataclass(frozen=True)
class FrontMatterContent:
    """The text between the fences, and the `values` that it gives; `data` has their places.

    After a change it may have `most_characters`.
    """

    format: FrontMatterFormat
    data: DataContent
    most_characters: int = FRONT_MATTER_CHARACTERS

    @property
    def text(self) -> str:
        """The text."""
        return self.data.text

    @property
    def values(self) -> dict[str, Any]:
        """What it says."""
        values: dict[str, Any] = self.data.values
        return values

    @property
    def lines(self) -> LineIndex:
        """Lines of `text`."""
        return self.data.lines

    @property
    def places(self) -> dict[Path, Span]:
        """Where keys with their values are in `text`; of a table of TOML its header, if it has one."""
        return self.data.places


def empty_content(
    format: FrontMatterFormat,  # noqa: A002 (as in stat)
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> FrontMatterContent:
    """What a block says that is yet to be created."""
    return FrontMatterContent(format, DataContent(Language(format), "", {}), most_characters)


def read_content(
    format: FrontMatterFormat,  # noqa: A002 (as in stat)
    text: str,
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> FrontMatterContent:
    """What `text`, which is between fences, says. Raises `DataError`."""
    if len(text) > most_characters:
        raise DataError(f"it has more than {most_characters} characters")
    data = read_data(Language(format), text, is_strict=True)
    if not isinstance(data.values, dict):
        raise DataError("it is not a map of keys and values", data.root.start if data.root else None)
    return FrontMatterContent(format, data, most_characters)


def content_of(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> FrontMatterContent | Unreadable:
    """What the block `front_matter` of `text` says."""
    span = front_matter.content
    try:
        return read_content(front_matter.format, text[span.start : span.end], most_characters)
    except DataError as error:
        return Unreadable(error.reason, error.offset)


def read_values(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> dict[str, Any] | None:
    """Values of `front_matter` in `text` by key; None when it is not a mapping or cannot be read safely."""
    found = content_of(text, front_matter, most_characters)
    return found.values if isinstance(found, FrontMatterContent) else None


def read_keys(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> tuple[str, ...] | None:
    """Top-level keys of `front_matter` in their order; None where its values cannot be read."""
    values = read_values(text, front_matter, most_characters)
    return None if values is None else tuple(values)
