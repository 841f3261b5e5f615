"""Which removed line belongs next to which added one: a new title next to the old one."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

# Pairs of lines that one block may compare; in a larger one lines are paired by position.
_MOST_COMPARISONS: Final = 10_000
# Lines that share less than this part of their words are no pair.
_LEAST_SHARED: Final = 0.35
# What two headings of one level are worth without a common word, so that a new title is next to the old one.
_HEADINGS: Final = 0.5
_BLANK: Final = 0.05
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]")
_WORD: Final = re.compile(r"\w+")

Pair = tuple[int | None, int | None]


class _Line(NamedTuple):
    """A line; `level` is that of a heading, else 0, and `section` has the words below a heading."""

    text: str
    level: int
    words: Counter[str]
    section: Counter[str]


def paired(old: Sequence[str], new: Sequence[str]) -> Iterator[Pair]:
    """Indexes of the lines `old` and `new`, each once and in order; None where a line has no counterpart.

    Lines that are alike are next to each other. Between two such pairs the others go by their position.
    """
    at_old = at_new = 0
    for old_index, new_index in (*_anchors(old, new), (len(old), len(new))):
        yield from zip_longest(range(at_old, old_index), range(at_new, new_index))
        if old_index < len(old):
            yield old_index, new_index
        at_old, at_new = old_index + 1, new_index + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs that are alike: of all lists that keep the order, the one with the most in common."""
    if len(old) * len(new) > _MOST_COMPARISONS or not (old and new):
        return []
    # best[i][j] is what the lines from `i` and from `j` on have in common.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    new_lines = _lines(new)
    likeness = [[_likeness(line, other) for other in new_lines] for line in _lines(old)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            with_pair = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] else 0.0
            best[i][j] = max(with_pair, best[i + 1][j], best[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _likeness(old: "_Line", new: "_Line") -> float:
    """How much two lines have in common, up to 1; 0 where they are no pair."""
    if bool(old.level) != bool(new.level):
        return 0.0
    if not old.words and not new.words:
        return _BLANK if old.text.strip() == new.text.strip() else 0.0
    shared = _shared(old.words, new.words)
    if not old.level:
        return shared if shared >= _LEAST_SHARED else 0.0
    # A title can be all new: then the section below it says which heading it was.
    alike = shared / 2 + _shared(old.section, new.section) / 2
    return _HEADINGS * (1 + alike) if old.level == new.level else alike * _HEADINGS


def _shared(old: Counter[str], new: Counter[str]) -> float:
    longest = max(old.total(), new.total())
    return (old & new).total() / longest if longest else 0.0


def _lines(texts: Sequence[str]) -> list["_Line"]:
    """`texts` with their words, and for headings those of the lines up to the next heading."""
    lines: list[_Line] = []
    section: Counter[str] = Counter()
    for text in reversed(texts):
        heading = _HEADING.match(text)
        words = Counter(_WORD.findall(text.lower()))
        lines.append(_Line(text, len(heading[1]) if heading else 0, words, section if heading else Counter()))
        section = Counter() if heading else section + words
    return lines[::-1]
