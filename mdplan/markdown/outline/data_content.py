"""Values of a data file, or of the front matter of a document."""

from collections.abc import Callable
from functools import partial
from typing import Final

from mdplan.data.content import DataContent, read_data
from mdplan.data.node import DataError, Language
from mdplan.markdown.front_matter.values import FrontMatterContent, Unreadable
from mdplan.markdown.outline.outline import Outline
from mdplan.text.document_format import DocumentFormat
from mdplan.text.source import Source


def data_content(outline: Outline) -> DataContent | Unreadable | None:
    """Keys and values of the file of `outline`, read once; of Markdown those of its front matter.

    None for plain text, and where there is no front matter.
    """
    if outline.format is DocumentFormat.MARKDOWN:
        found = outline.front_matter_content
        return found.data if isinstance(found, FrontMatterContent) else found
    if outline.format is DocumentFormat.TEXT:
        return None
    return outline.derived(_READERS[Language(outline.format)])


def _read(source: Source, language: Language) -> DataContent | Unreadable:
    try:
        return read_data(language, source.text)
    except DataError as error:
        return Unreadable(error.reason, error.offset)


# One function for each language, so that an outline knows what it has read.
_READERS: Final[dict[Language, Callable[[Source], DataContent | Unreadable]]] = {
    language: partial(_read, language=language) for language in Language
}
