"""Reading front matter: its values, whether they are what a caller expects, and what its editors need."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from mdplan.data.content import DataContent, read_data
from mdplan.data.tree import DataError, Language
from mdplan.limits import FRONT_MATTER_CHARACTERS
from mdplan.markdown.format_detection import FrontMatter, FrontMatterFormat

MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a block cannot be read, as the end of a sentence about it, and where in its content."""

    reason: str
    offset: int | None


@dataclass(frozen=True)
class FrontMatterContent:
    """The text between the fences with its values and their places, all in `data`.

    After a change it may have `most_characters`.
    """

    format: FrontMatterFormat
    data: DataContent
    most_characters: int = FRONT_MATTER_CHARACTERS

    @property
    def values(self) -> dict[str, Any]:
        """The values by key."""
        values: dict[str, Any] = self.data.values
        return values


def empty_content(
    format: FrontMatterFormat,  # noqa: A002 (as in stat)
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> FrontMatterContent:
    """Return the content of a block that is yet to be created."""
    return FrontMatterContent(format, DataContent(Language(format), "", {}), most_characters)


# A plan needs the values of a base, and those of a result when it is proven and again for warnings.
@lru_cache(maxsize=8)
def read_content(
    format: FrontMatterFormat,  # noqa: A002 (as in stat)
    text: str,
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> FrontMatterContent:
    """Read `text`, which is between fences. Raises `DataError`."""
    if len(text) > most_characters:
        raise DataError(f"it has more than {most_characters} characters")
    data = read_data(Language(format), text, is_strict=True)
    if not isinstance(data.values, dict):
        raise DataError("it is not a map of keys and values", data.root.start if data.root else None)
    return FrontMatterContent(format, data, most_characters)


def content_of(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> FrontMatterContent | Unreadable:
    """Read the block `front_matter` of `text`."""
    span = front_matter.content
    try:
        return read_content(front_matter.format, text[span.start : span.end], most_characters)
    except DataError as error:
        return Unreadable(error.reason, error.offset)
