"""Literal texts of which a text must have one, so that a pattern can match anywhere in it."""

import re
from functools import lru_cache
from typing import Final

from mdplan.text.search.pattern import MatchType, Pattern, PatternProblem
from mdplan.text.span import Span

# Sets, groups and escapes as wholes, and what follows a character and repeats it.
_TOKEN: Final = re.compile(
    r"""
    (?P<escaped>\\[^A-Za-z0-9\s])
    | (?P<class>\\[dDwWsSbBAZntr])
    | (?P<set>\[\^?\]?(?:\\[^\s]|[^\[\]\\])*\])
    | (?P<open>\((?:\?(?::|=|!|<=|<!|P?<\w+>))?(?!\?))
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<repeat>[*?+])
    | (?P<count>\{[^{}]*\})
    | (?P<other>[.^$\r\n])
    | (?P<odd>[\\\[\](){}])
    | (?P<literal>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=256)
def required_texts(pattern: str) -> tuple[str, ...] | None:
    """Texts of which all that the regular expression `pattern` matches contains one, by the letter.

    None where that is not certain: for a part without a literal, and for everything but common syntax. An
    expression that is none is left to who searches for it.
    """
    if isinstance(
        Pattern(text=pattern, match_type=MatchType.REGEX).find("", Span(0, 0), 1.0), PatternProblem
    ):
        return None
    found: list[str] = []
    runs, run, depth = [""], "", 0
    # A pattern without an end has no token after it that could repeat its last character.
    for token in [*_TOKEN.finditer(pattern), None]:
        kind = token.lastgroup if token is not None else "or"
        text = token[0] if token is not None else ""
        if kind == "odd":
            return None
        if depth:
            depth += (kind == "open") - (kind == "close")
            continue
        if kind in {"literal", "escaped"}:
            run += text[-1]
            continue
        # What may be absent, or occur some other number of times, ends before the character that it repeats.
        runs.append(run[:-1] if kind == "count" or (kind == "repeat" and text != "+") else run)
        run = ""
        if kind == "close":
            return None
        depth += kind == "open"
        if kind == "or":
            found.append(max(runs, key=len))
            runs = [""]
    return tuple(found) if depth == 0 and all(found) else None


def longest_word(text: str) -> str:
    """The longest part of `text` without white space."""
    return max(text.split(), key=len, default="")
