"""Read front matter."""

from functools import lru_cache
from typing import Final

from mdplan.data.content import DataContent, read_data
from mdplan.data.tree import DataError, Language
from mdplan.limits import FRONT_MATTER_CHARACTERS
from mdplan.markdown.format_detection import FrontMatter
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct

MAX_DEPTH: Final = 32


class Unreadable(Struct):
    """The `reason` why a block cannot be read, and the offset in its content."""

    reason: str
    offset: int | None


def empty_content(format: DocumentFormat) -> DataContent:  # noqa: A002 (as in stat)
    """Return the content for a new block."""
    return DataContent(Language(format), "", {})


# A plan reads a base once and its result twice: to verify it and for warnings.
@lru_cache(maxsize=8)
def read_content(
    format: DocumentFormat,  # noqa: A002 (as in stat)
    text: str,
    most_characters: int = FRONT_MATTER_CHARACTERS,
) -> DataContent:
    """Parse `text`, the content between the fences. Raise `DataError`."""
    if len(text) > most_characters:
        raise DataError(f"it has more than {most_characters} characters")
    content = read_data(Language(format), text, is_strict=True)
    if not isinstance(content.values, dict):
        raise DataError("it is not a map of keys and values", content.root.start if content.root else None)
    return content


def content_of(
    text: str, front_matter: FrontMatter, most_characters: int = FRONT_MATTER_CHARACTERS
) -> DataContent | Unreadable:
    """Parse the block `front_matter` of `text`."""
    span = front_matter.content
    try:
        return read_content(front_matter.format, text[span.start : span.end], most_characters)
    except DataError as error:
        return Unreadable(error.reason, error.offset)
