"""What a reader sees of inline Markdown, as one line of plain text."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.parser import new_inline_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKUP: Final = re.compile(r"[\\`*_~\[<&\n]")
# An underscore that is neither, because it stands in a word (CommonMark 6.2).
_IN_WORD: Final = re.compile(r"(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9])")
# A code span (CommonMark 6.1): what stands between a run of backticks and the next run of the same length.
_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


class _EveryLabel(dict[str, dict[str, str]]):
    """Definitions for whatever label is asked for but those of footnotes.

    The name of a section must not change when a definition elsewhere comes or goes.
    """

    def get(self, label: str, _default: object = None) -> dict[str, str] | None:  # type: ignore[override]
        """A definition, unless the label is blank or that of a footnote."""
        return None if not label or label.startswith("^") else {"href": "", "title": ""}


def render_text(content: str) -> str:
    """Rendered text of the inline `content` of a heading, one line.

    The markup of code, emphasis, strikethrough, links and images is removed and their text kept, that of
    images being the alternative text; tags are removed, entities decoded, footnote references dropped, and
    line breaks are spaces. ``[text][label]`` and ``[label]`` are links whatever is defined. Content that is
    nested deeper than the parser goes is returned as it is.
    """
    if not _MARKUP.search(content):
        return content
    # Titles name code more often than all else, and for that no parser has to be loaded.
    has_code_alone = not _MARKUP.search(_IN_WORD.sub("", _CODE_SPAN.sub(" ", content)).replace("`", ""))
    return _CODE_SPAN.sub(_code, content) if has_code_alone else _render(content)


def _code(span: re.Match[str]) -> str:
    """The text of a code span, without the space that keeps it from its backticks."""
    text = span[2].replace("\n", " ")
    return text[1:-1] if text.startswith(" ") and text.endswith(" ") and text.strip(" ") else text


def heading_title(content: str) -> str:
    """Rendered text of the inline `content` of a heading, as `one_line` makes it."""
    return one_line(render_text(content))


def one_line(text: str) -> str:
    """Rendered `text` with its white space collapsed, as a browser shows it."""
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _render(content: str) -> str:
    parser = _text_parser()
    environment: dict[str, object] = {"references": _EveryLabel()}
    try:
        tokens = parser.inline.parse(content, parser, environment, [])
    except RecursionError:
        return content
    return "".join(_texts(tokens))


def _texts(tokens: "Sequence[Token]") -> Iterator[str]:
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.type == "image":
            yield from _texts(token.children or ())
        elif token.type in {"text", "text_special", "code_inline"}:
            yield token.content


@cache
def _text_parser() -> "MarkdownIt":
    from mdit_py_plugins.footnote.index import footnote_ref

    parser = new_inline_parser()
    parser.inline.ruler.at(
        "footnote_ref", lambda state, silent: footnote_ref(state, silent, always_match=True)
    )
    return parser
