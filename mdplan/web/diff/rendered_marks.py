"""Two rendered texts with the words marked that differ, and nothing else."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from mdplan.text.diff import LineComparison

# Pairs of words that are compared; past it, all between words that are unique on both sides are marked.
_MOST_COMPARISONS: Final = 200_000
# A tag (those of `safe_html` have no `>` inside), an escaped character, a word, blanks, any character.
_TOKEN: Final = re.compile(r"<[^>]*>|&[#\w]+;|\w+|\s+|.", re.DOTALL)


def marked_html(before: str, after: str) -> tuple[str, str]:
    """Both texts, which `safe_html` made, with `del` and `ins` around the words that only one of them has."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    blocks = list(LineComparison(_MOST_COMPARISONS).differing(old, new))
    gone = [(block.old_start, block.old_end) for block in blocks]
    come = [(block.new_start, block.new_end) for block in blocks]
    return "".join(_marked(old, gone, "del")), "".join(_marked(new, come, "ins"))


def _marked(tokens: Sequence[str], ranges: Sequence[tuple[int, int]], tag: str) -> Iterator[str]:
    at = 0
    for start, end in ranges:
        yield from tokens[at:start]
        for is_tag, run in groupby(tokens[start:end], key=lambda token: token.startswith("<")):
            text = "".join(run)
            words = text.strip()
            if is_tag or not words:
                # Blanks between the rows of a table are no place for an element.
                yield text
            else:
                before, _, behind = text.partition(words)
                yield f"{before}<{tag}>{words}</{tag}>{behind}"
        at = end
    yield from tokens[at:]
