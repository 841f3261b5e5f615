"""Detects the format of a file: Markdown, a data file, or plain text."""

import re
from typing import Final

from mdplan.markdown.front_matter.location import find_front_matter
from mdplan.markdown.links.link_path import MARKDOWN_SUFFIXES
from mdplan.text.source import DocumentFormat

_SUFFIXES: Final = {
    **dict.fromkeys((suffix[1:] for suffix in MARKDOWN_SUFFIXES), DocumentFormat.MARKDOWN),
    **dict.fromkeys(("ini", "cfg", "conf"), DocumentFormat.INI),
    **dict.fromkeys(("yaml", "yml"), DocumentFormat.YAML),
    **dict.fromkeys(("json", "jsonc", "json5"), DocumentFormat.JSON),
    "toml": DocumentFormat.TOML,
}
# Only a name without a suffix asks for it.
_STARTS_WITH_HEADING: Final = r"(?:[ \t]*+[\r\n])*+ {0,3}#{1,6}(?:[ \t\r\n]|\Z)"


def has_mdx_name(path: str) -> bool:
    """Whether the file `path` is MDX by its suffix."""
    return path.lower().endswith(".mdx")


def document_format(path: str, text: str, given: str | None = None) -> DocumentFormat:
    """Format of the file `path` (forward slashes), which contains `text` without byte order mark.

    The value `given` by the caller decides; else the suffix of the name, where it says something; else the
    text, which is INI when it has sections with keys and nothing else. A name without suffix is Markdown
    when front matter or an ATX heading starts the text, unless its name says that ``#`` starts a comment
    there: a hidden file (``.gitignore``), or one like ``Makefile``.
    """
    if given is not None:
        return DocumentFormat(given)
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    if stem and suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    from mdplan.data.ini import looks_like_ini

    if looks_like_ini(text):
        return DocumentFormat.INI
    if stem or name.startswith(".") or name.endswith("file"):
        return DocumentFormat.TEXT
    is_markdown = re.match(_STARTS_WITH_HEADING, text) or find_front_matter(text)
    return DocumentFormat.MARKDOWN if is_markdown else DocumentFormat.TEXT
