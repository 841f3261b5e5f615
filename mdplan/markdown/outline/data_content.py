"""Values of a data file, or of the front matter of a document."""

from mdplan.data.content import DataContent, read_data
from mdplan.data.tree import DataError, Language
from mdplan.markdown.front_matter.values import FrontMatterContent, Unreadable
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import DocumentFormat


def data_content(outline: Outline) -> DataContent | Unreadable | None:
    """Keys and values of the file of `outline`, read once; of Markdown those of its front matter.

    None for plain text, and where there is no front matter.
    """
    if outline.format is DocumentFormat.MARKDOWN:
        found = outline.front_matter_content
        return found.data if isinstance(found, FrontMatterContent) else found
    if outline.format is DocumentFormat.TEXT:
        return None
    return outline.derived(_read, Language(outline.format))


def _read(outline: Outline, language: Language) -> DataContent | Unreadable:
    try:
        return read_data(language, outline.source.text)
    except DataError as error:
        return Unreadable(error.reason, error.offset)
