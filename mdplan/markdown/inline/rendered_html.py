"""What a text looks like, for comparison: HTML in which white space counts only where it is shown."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Final

from mdplan.markdown.blocks.parser import html_parser

_SHOWN_AS_IT_IS: Final = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\n]+")


def rendered_html(text: str, definitions: Mapping[str, object]) -> str:
    """HTML of `text`, which has LF line ends, with one blank for each run of white space outside of code.

    `definitions` is the environment of a block pass: what labels in the text can mean. Raises
    `RecursionError` for text that is nested too deep.
    """
    html: str = html_parser().render(text, deepcopy(dict(definitions)))
    pieces = _SHOWN_AS_IT_IS.split(html)
    # Between two pieces of text stand a match and the name of its tag.
    outside = (_SPACE.sub(" ", piece) for piece in pieces[::3])
    inside = (*pieces[1::3], "")
    return "".join(text + code for text, code in zip(outside, inside, strict=True)).strip(" ")
