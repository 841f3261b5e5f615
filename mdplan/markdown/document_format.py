"""Whether a file is Markdown or plain text."""

import re
from enum import StrEnum
from typing import Final

from mdplan.markdown.front_matter import find_front_matter

_MARKDOWN_SUFFIXES: Final = frozenset({"md", "markdown", "mdown", "mkd", "mdx"})
_STARTS_WITH_HEADING: Final = re.compile(r"(?:[ \t]*+[\r\n])*+ {0,3}#{1,6}(?:[ \t\r\n]|\Z)")


class DocumentFormat(StrEnum):
    """How the structure of a file is found; plain text has none but the preamble."""

    MARKDOWN = "markdown"
    TEXT = "text"


def document_format(path: str, text: str, given: str | None = None) -> DocumentFormat:
    """Format of the file `path` (forward slashes), which holds `text` without byte order mark.

    The value `given` by the caller, ``markdown`` or ``text``, decides; else the suffix of the name. A name
    without suffix is Markdown when front matter or an ATX heading starts the text, unless its name says that
    ``#`` starts a comment there: a hidden file (``.gitignore``), or one like ``Makefile``.
    """
    if given is not None:
        return DocumentFormat(given)
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    if stem:
        return DocumentFormat.MARKDOWN if suffix in _MARKDOWN_SUFFIXES else DocumentFormat.TEXT
    if name.startswith(".") or name.endswith("file"):
        return DocumentFormat.TEXT
    is_markdown = _STARTS_WITH_HEADING.match(text) or find_front_matter(text)
    return DocumentFormat.MARKDOWN if is_markdown else DocumentFormat.TEXT
