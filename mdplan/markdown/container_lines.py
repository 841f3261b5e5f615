"""Lines inside of quotes and lists: the marks and the indentation that stand before their text."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_MARK_OF_ITEM: Final = re.compile(r"[^ \t>]")


def prefix_behind(first: str) -> str:
    """What the lines behind a block's first one begin with, where its own begins with `first`.

    `first` is what stands before the text of the block: indentation, the marks of quotes, which every line
    repeats, and those of list items, in whose place blanks stand (CommonMark 0.31.2, sections 5.1 and 5.2).
    """
    return _MARK_OF_ITEM.sub(" ", first)


def with_prefix(prefix: str, line: str) -> str:
    """`line` behind `prefix`; an empty one gets no blanks at its end."""
    if not line:
        return prefix.rstrip(" \t")
    # One blank behind the mark of a quote belongs to the mark.
    return f"{prefix} {line}" if prefix.endswith(">") and line[0] in " \t" else prefix + line


def without_prefix(prefix: str, line: str) -> str:
    """`line` without what it has of `prefix`; a line may have less of it than others."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(prefix, line, strict=False))
    return line[sum(1 for _ in same) :]


def lines_of(text: str) -> list[str]:
    """Lines of `text`, which has LF line ends, without these; the last line end may be left out."""
    return text.removesuffix("\n").split("\n") if text else []


def common_edges(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines at the start of both are the same, and how many of the others at the end."""
    before = _common(old, new)
    return before, _common(old[before:][::-1], new[before:][::-1])


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
