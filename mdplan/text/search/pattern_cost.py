"""How large a regular expression is once its repetitions are written out.

The `regex` package writes out what must repeat, and nothing can stop it while it does: ``a{1000000000}``
takes all memory there is. So the size is estimated before a pattern is compiled, and never too low.
"""

import re
from typing import Final

# Compiling takes up to 50 microseconds a part, so this many take a second at most.
MOST_PARTS: Final = 20_000

_COUNT: Final = r"\{\s*(?P<least>[0-9][0-9\s]*)(?:,[0-9\s]*)?\}"
_TOKEN: Final = re.compile(
    rf"\\.|(?P<open>\()|(?P<close>\))|(?P<set>\[\^?\]?(?:\\.|[^\[\]\\])*\])|(?P<odd>[\[#])"
    rf"|{_COUNT}|(?P<suffix>[\s?*+])|.",
    re.DOTALL,
)


def has_too_many_parts(pattern: str) -> bool:
    """Whether the regular expression `pattern` may come to more than `MOST_PARTS` parts."""
    bound = len(pattern)
    for count in re.finditer(_COUNT, pattern):
        bound *= _least(count)
        if bound > MOST_PARTS:
            break
    return bound > MOST_PARTS and (len(pattern) > MOST_PARTS or _parts(pattern) > MOST_PARTS)


def _parts(pattern: str) -> int:
    """Characters, sets and groups of `pattern`, each as often as it must occur.

    Where brackets could be in a comment or in a set of sets, it is more than any pattern may have.
    """
    sums = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        if token["odd"]:
            return MOST_PARTS + 1
        if token["open"]:
            sums.append(1)
        elif token["close"]:
            last = sums.pop() if len(sums) > 1 else sums[0]
            sums[-1] += last
        elif token["least"]:
            sums[-1] += last * (_least(token) - 1)
            last *= _least(token)
        elif token["suffix"]:
            # A count after it, or after white space that does not matter, repeats the same.
            sums[-1] += 1
            last = max(last, 1)
        else:
            last = len(token[0])
            sums[-1] += last
    return sum(sums)


def _least(count: re.Match[str]) -> int:
    digits = "".join(count["least"].split())
    return max(1, int(digits)) if len(digits) < 10 else MOST_PARTS + 1
