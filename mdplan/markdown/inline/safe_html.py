"""Markdown of strangers as HTML that does nothing: no tags of theirs, no links, no images, no attributes.

It is for looking at. Tags in the text show as text, links as marked text, images as their alternative text.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.parser import SAFE_NESTING, inert_parser
from mdplan.text.visible import escaped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_CLASSES: Final = {
    "blockquote": "md-quote",
    "table": "md-table",
    **{f"h{level}": f"md-heading md-h{level}" for level in range(1, 7)},
}


def safe_html(text: str) -> str | None:
    """`text` (valid Unicode, any line ends) as HTML; None where it is nested too deep to be shown.

    What hides or steers, such as characters that turn the direction of text, shows as an escape. Headings
    are paragraphs of a class, so that they are not headings of the page around them.
    """
    lines = escaped(text.replace("\r\n", "\n").replace("\r", "\n"))
    parser = _parser()
    environment: dict[str, object] = {}
    try:
        tokens = parser.parse(lines, environment)
        _disarm(tokens)
        html: str = parser.renderer.render(tokens, parser.options, environment)
    except RecursionError:
        return None
    return html


@cache
def _parser() -> "MarkdownIt":
    return inert_parser(SAFE_NESTING)


def _disarm(tokens: "Sequence[Token]") -> None:
    """Take from `tokens` all that leads elsewhere, and every attribute that the text chose."""
    for token in tokens:
        start = token.attrs.get("start") if token.type == "ordered_list_open" else None
        token.attrs = {} if start is None else {"start": start}
        if token.type == "image":
            # The renderer would make an image of it; its text is in its children, as plain text.
            token.type, token.tag, token.children = "text", "", None
            token.content = f"[image: {token.content}]"
        elif token.type in {"link_open", "link_close"}:
            token.tag = "span"
            token.attrs = {"class": "md-link"} if token.nesting > 0 else {}
        elif token.type == "fence":
            token.info = ""
        elif token.nesting and (name := _CLASSES.get(token.tag)) is not None:
            token.attrs = {"class": name} if token.nesting > 0 else {}
            token.tag = "p" if token.type.startswith("heading") else token.tag
        if token.children:
            _disarm(token.children)
