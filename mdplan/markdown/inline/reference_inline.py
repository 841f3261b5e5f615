"""Inline content by markdown-it-py: how it is rendered, and whether it has nodes."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Final

from mdplan.markdown.blocks.parser import html_parser

_SHOWN_AS_IT_IS: Final = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\n]+")
# Tokens of text, of line ends and of emphasis.
_PLAIN: Final = re.compile(r"text.*|(?:soft|hard)break|(?:em|strong|s)_(?:open|close)")


def rendered_html(text: str, definitions: Mapping[str, object]) -> str:
    """HTML of `text`, which has LF line ends, with one blank for each run of white space outside code.

    `definitions` is the environment of a block pass: what labels in the text can mean. Raises
    `RecursionError` for text that is nested too deep.
    """
    html: str = html_parser().render(text, deepcopy(dict(definitions)))
    pieces = _SHOWN_AS_IT_IS.split(html)
    # Between two pieces of text are a match and the name of its tag.
    outside = (_SPACE.sub(" ", piece) for piece in pieces[::3])
    inside = (*pieces[1::3], "")
    return "".join(text + code for text, code in zip(outside, inside, strict=True)).strip(" ")


def has_nodes(text: str, definitions: Mapping[str, object]) -> bool:
    """Whether the inline content of `text`, which is whole root blocks, may be more than text and emphasis.

    `definitions` are as above.
    """
    if "[[" in text or "[^" in text:
        return True
    try:
        tokens = html_parser().parse(text, deepcopy(dict(definitions)))
    except RecursionError:
        return True
    inline = (child for token in tokens for child in token.children or ())
    return any(_PLAIN.fullmatch(child.type) is None for child in inline)
