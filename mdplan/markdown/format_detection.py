"""Decode a file, detect its format and find its front matter."""

import re
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.paths import MARKDOWN_SUFFIXES
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import DecodeFailure, DecodeProblem, DocumentFormat, Source
from mdplan.values import Struct
from mdplan.words import either, say

_SUFFIXES: Final = {
    **dict.fromkeys((suffix[1:] for suffix in MARKDOWN_SUFFIXES), DocumentFormat.MARKDOWN),
    **dict.fromkeys(("ini", "cfg", "conf"), DocumentFormat.INI),
    **dict.fromkeys(("yaml", "yml"), DocumentFormat.YAML),
    **dict.fromkeys(("json", "jsonc", "json5", "canvas"), DocumentFormat.JSON),
    "toml": DocumentFormat.TOML,
    **dict.fromkeys(("service", "socket", "timer", "mount", "desktop"), DocumentFormat.INI),
}
_NAMES: Final = {
    ".pages": DocumentFormat.YAML,
    **dict.fromkeys(
        (".editorconfig", ".gitconfig", ".gitmodules", ".flake8", ".pylintrc", ".coveragerc"),
        DocumentFormat.INI,
    ),
}

# Used only for names without a suffix.
_STARTS_WITH_HEADING: Final = r"(?:[ \t]*+[\r\n])*+ {0,3}#{1,6}(?:[ \t\r\n]|\Z)"


def has_mdx_name(path: str) -> bool:
    """Return True if the file `path` is MDX by its suffix."""
    return path.lower().endswith(".mdx")


def document_format(path: str, text: str, given: str | None = None) -> DocumentFormat:
    """Return the format of the file `path` (forward slashes) with the content `text`, without BOM.

    Precedence: `given` by the caller; a known suffix or name; a text of INI sections with keys and nothing
    else. A file without suffix is Markdown if it starts with front matter or an ATX heading, unless ``#``
    starts a comment there: hidden files (``.gitignore``) and names like ``Makefile``.
    """
    if given is not None:
        return DocumentFormat(given)
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    if stem and suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if name in _NAMES:
        return _NAMES[name]
    from mdplan.data.ini import looks_like_ini

    if looks_like_ini(text):
        return DocumentFormat.INI
    if stem or name.startswith(".") or name.endswith("file"):
        return DocumentFormat.TEXT
    is_markdown = re.match(_STARTS_WITH_HEADING, text) or (text[:1] != "{" and find_front_matter(text))
    return DocumentFormat.MARKDOWN if is_markdown else DocumentFormat.TEXT


# --- Front matter detection
#
# A strict rule, so that a block scalar with an indented ``---``, a thematic break or a BOM cannot shift it.
# It does not check that the block is valid YAML or TOML.
_LINE_END: Final = r"[ \t]*(?:\r\n?|\n)"
_FENCES: Final = {"---": "yaml", "+++": "toml", ";;;": "json"}
_CLOSE: Final = {"---": r"(?:---|\.\.\.)", "+++": r"\+\+\+", ";;;": ";;;"}
_KEY: Final = r"""(?:"[^"\r\n]*"|'[^'\r\n]*'|[\w.$/-]++)[ \t]*(?::(?=\s|\Z)|=)"""

# Text between thematic breaks may follow a blank line; only a key proves front matter there.
_OPEN: Final = lazy_pattern(
    rf"(?P<fence>---|\+\+\+|;;;)(?:[ \t]*(?P<language>yaml|yml|toml|json){_LINE_END}"
    rf"|{_LINE_END}(?![ \t]*[\r\n])|{_LINE_END}(?=\s+{_KEY}))"
)

# Other programs accept front matter after blank lines and comments, in other fences, or without any.
_BEFORE: Final = r"(?:[\s\ufeff\u200b]|<!--.*?-->|\{/\*.*?\*/\}|\{\{.*?\}\}|\{%.*?%\})*+"
_ALMOST: Final = lazy_pattern(
    rf"{_BEFORE}(?P<fence>[-+;%]{{3,}}+[^\r\n]*+\s++(?:{_KEY}|\{{\s*+[\w\"'$}}]))"
    rf"|{_BEFORE}(?P<json>\{{\s*+(?:\"[^\"\r\n]*+\"|'[^'\r\n]*+'|[\w$-]++)\s*+:)"
    r"|(?P<nothing>---\s*+(?:#[^\r\n]*+\s++)*+(?<=[\r\n])(?:---|\.\.\.)[ \t]*+(?![^\r\n]))"
    r"|(?P<directive>%YAML)|(?P<bare>(?:[A-Za-z][\w-]*+:[ \t]+\S[^\r\n]*+(?:\r\n?|\n)){2}"
    r"|[A-Za-z][\w-]*+:[ \t]+\S[^\r\n]*+(?:\r\n?|\n)---)",
    re.DOTALL,
)


class FrontMatter(Struct):
    """`span` includes both fences, `content` is the text between them. JSON needs no fences."""

    format: DocumentFormat
    span: Span
    content: Span


def find_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter at the start of `text`, if any.

    The first line is exactly ``---``, ``+++`` or ``;;;``, optionally with a language name; a later line
    repeats it (or ``...`` for ``---``) at column 1; trailing spaces are ignored. A blank second line requires
    a key after it. A JSON object on lines of its own also counts.
    """
    if text.startswith("{"):
        return _bare_json(text)
    opening = _OPEN.match(text)
    if opening is None:
        return None
    closing = _closing(text, opening["fence"], opening.end())
    if closing is None:
        return None
    language = (opening["language"] or _FENCES[opening["fence"]]).replace("yml", "yaml")
    span = Span(0, closing.end())
    return FrontMatter(DocumentFormat(language), span, Span(opening.end(), closing.start()))


def unrecognised_front_matter(text: str) -> int | None:
    """Return the offset of text that another program may read as front matter, or None."""
    almost = _ALMOST.match(text)
    return almost.start(almost.lastgroup or 0) if almost else None


def _bare_json(text: str) -> FrontMatter | None:
    import json

    try:
        values, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    closing = re.compile(rf"{_LINE_END}|[ \t]*\Z").match(text, end)
    if closing is None or not isinstance(values, dict):
        return None
    return FrontMatter(DocumentFormat.JSON, Span(0, closing.end()), Span(0, end))


def _closing(text: str, fence: str, at: int) -> re.Match[str] | None:
    """Find the first closing fence after `at`.

    `^` does not match after a lone CR, so the pattern adds that case if needed.
    """
    line_start = r"(?:(?<=\n)|(?<=\r)(?!\n))" if "\r" in text else "^"
    return re.compile(rf"{line_start}{_CLOSE[fence]}(?:{_LINE_END}|[ \t]*\Z)", re.MULTILINE).search(text, at)


# --- Decoding within the limits

_PROBLEMS: Final = {
    DecodeFailure.NOT_TEXT: (Code.NOT_A_TEXT_FILE, say("if it is text, give its {encoding}")),
    DecodeFailure.UNKNOWN_ENCODING: (
        Code.INVALID_ARGUMENT,
        'use a name such as "utf-8", "latin-1", "cp1252" or "shift_jis"',
    ),
    DecodeFailure.DOES_NOT_DECODE: (Code.ENCODING_UNKNOWN, "give the encoding that the file has, or omit it"),
}


def decode_document(path: str, data: bytes, encoding: str | None, max_lines: int) -> Source | Diagnostic:
    """Decode `data`, the bytes of the file `path`.

    Return NOT_A_TEXT_FILE, INVALID_ARGUMENT (unknown encoding), ENCODING_UNKNOWN, or FILE_TOO_LARGE (more
    than `max_lines` lines).
    """
    source = Source.decode(data, encoding)
    if isinstance(source, DecodeProblem):
        code, hint = _PROBLEMS[source.failure]
        return code.problem(f"`{path}` cannot be read as text: {source.reason}", hint, file=path)
    # Fewer characters than the limit cannot have more lines.
    if len(source.text) > max_lines and source.lines.count > max_lines:
        return Code.FILE_TOO_LARGE.problem(
            f"`{path}` has {source.lines.count} lines, and the limit is {max_lines}",
            either("split the file", say("raise {--max-lines}")),
            file=path,
        )
    return source
