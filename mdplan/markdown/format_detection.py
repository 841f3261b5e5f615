"""From bytes to a document: decode a file, detect its format, and find its front matter."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.paths import MARKDOWN_SUFFIXES
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import DecodeFailure, DecodeProblem, DocumentFormat, Source

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
    """Return True if the file `path` is MDX by its suffix."""
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


# --- The place of front matter
#
# A strict rule of our own finds it, so that a block scalar with an indented ``---``, a thematic break, or a
# byte order mark cannot shift it. The rule does not ask if the block is valid YAML or TOML.
_OPEN: Final = lazy_pattern(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)(?![ \t]*[\r\n])")
_CLOSE: Final = {"---": r"(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", "+++": r"\+\+\+[ \t]*(?:\r\n?|\n|\Z)"}


class FrontMatterFormat(StrEnum):
    """Languages that front matter is written in."""

    YAML = "yaml"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`span` is the block with both fences, `content` what is between them."""

    format: FrontMatterFormat
    span: Span
    content: Span


def find_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter at the very start of `text`, if there is one.

    The first line is exactly ``---`` (or ``+++``), the next is not blank, and a later line is exactly
    ``---`` or ``...`` (or ``+++``) at column 1; blanks after the fences do not matter.
    """
    opening = _OPEN.match(text)
    if opening is None:
        return None
    closing = _closing(text, opening[1], opening.end())
    if closing is None:
        return None
    language = FrontMatterFormat.YAML if opening[1] == "---" else FrontMatterFormat.TOML
    return FrontMatter(language, Span(0, closing.end()), Span(opening.end(), closing.start()))


def _closing(text: str, fence: str, at: int) -> re.Match[str] | None:
    """Find the first closing fence after `at`; `^` ignores a lone CR, so the pattern adds it if needed."""
    line_start = r"(?:(?<=\n)|(?<=\r)(?!\n))" if "\r" in text else "^"
    return re.compile(line_start + _CLOSE[fence], re.MULTILINE).search(text, at)


# --- From the bytes of a file to its text, within the limits

_CODES: Final = {
    DecodeFailure.NOT_TEXT: Code.NOT_A_TEXT_FILE,
    DecodeFailure.UNKNOWN_ENCODING: Code.INVALID_ARGUMENT,
    DecodeFailure.DOES_NOT_DECODE: Code.ENCODING_UNKNOWN,
}

_HINTS: Final = {
    DecodeFailure.NOT_TEXT: 'if it is text, give its `"encoding"`',
    DecodeFailure.UNKNOWN_ENCODING: 'use a name such as "utf-8", "latin-1", "cp1252" or "shift_jis"',
    DecodeFailure.DOES_NOT_DECODE: "give the encoding that the file has, or omit it",
}


def decode_document(path: str, data: bytes, encoding: str | None, max_lines: int) -> Source | Diagnostic:
    """Return the source of the file `path`, whose bytes are `data`.

    Errors: NOT_A_TEXT_FILE, INVALID_ARGUMENT (an unknown encoding), ENCODING_UNKNOWN, FILE_TOO_LARGE (more
    than `max_lines` lines).
    """
    source = Source.decode(data, encoding)
    if isinstance(source, DecodeProblem):
        return Diagnostic(
            code=_CODES[source.failure],
            message=f"`{path}` cannot be read as text: {source.reason}",
            hint=_HINTS[source.failure],
            file=path,
        )
    if source.lines.count > max_lines:
        return Diagnostic(
            code=Code.FILE_TOO_LARGE,
            message=f"`{path}` has {source.lines.count} lines, and the limit is {max_lines}",
            hint="split the file, or raise `--max-lines`",
            file=path,
        )
    return source
