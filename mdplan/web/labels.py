"""Words and numbers for display. None of this is HTML: the templates escape it."""

from functools import partial
from typing import Final

from mdplan.plan import PREFIX
from mdplan.text import source, visible

_SHORT_DIGITS = 12

# ``1 file``, ``1,000 files``.
counted: Final = partial(visible.counted, thousands=",")


def shown(text: str) -> str:
    """Return text of a file, a path or a comment with hidden characters escaped."""
    return visible.escaped(source.visible(text))


def short(sha256: str) -> str:
    """Return the first digits of a plan ID or hash, enough to recognize it."""
    return sha256.removeprefix(PREFIX)[:_SHORT_DIGITS]
