"""Which words of changed lines differ.

The marks are exact: what is not marked is the same text on both sides, in the same order. Lines of a block
are compared as one text, so that a paragraph that was wrapped again shows the words that changed, not all
lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mdplan.text.diff import ComparedBlock, LineComparison

# What comparing the words of one file may cost, and of one block of it, in pairs of words. Past it, the words
# between those that are once on both sides are marked without being compared.
_MOST_OF_A_FILE: Final = 400_000
_MOST_OF_A_BLOCK: Final = 40_000
# Blocks that share less than this part of their letters are other texts, in which marks would be noise.
_LEAST_SHARED: Final = 0.25

_LINE_END: Final = "\n"
# Scripts that write no blanks between words: each character is a word.
_WITHOUT_BLANKS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# What belongs to the character before it: accents, joiners, variation selectors.
_JOINED: Final = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f]"
_WORD: Final = re.compile(
    rf"[{_WITHOUT_BLANKS}]{_JOINED}*|(?:[^\W{_WITHOUT_BLANKS}]{_JOINED}*)+|[ \t]+{_JOINED}*|.{_JOINED}*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Part of a line; `changed` says that it has no counterpart on the other side."""

    text: str
    changed: bool


Pieces = tuple[MarkedText, ...]


class WordMarks:
    """Marks in the changed lines of one file, within one allowance of work for all of them."""

    def __init__(self) -> None:
        """Start with the whole allowance."""
        self._left = _MOST_OF_A_FILE

    def of(self, old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Pieces, ...], tuple[Pieces, ...]]:
        """The pieces of the lines `old`, which were replaced, and of the lines `new`; neither has line ends.

        Pieces of a line joined are the line; the empty line has none.
        """
        old_words, new_words = _words(old), _words(new)
        comparison = LineComparison(min(self._left, _MOST_OF_A_BLOCK))
        before = comparison.comparisons_left
        blocks = list(comparison.differing(old_words, new_words)) if old and new else []
        self._left -= before - comparison.comparisons_left
        if not (old and new) or not _is_similar(old_words, new_words, blocks):
            blocks = [ComparedBlock(0, len(old_words), 0, len(new_words))]
        old_marks = _marked(old_words, [(block.old_start, block.old_end) for block in blocks])
        new_marks = _marked(new_words, [(block.new_start, block.new_end) for block in blocks])
        return tuple(_lines(old_words, old_marks, len(old))), tuple(_lines(new_words, new_marks, len(new)))


def _words(lines: Sequence[str]) -> list[str]:
    """Words of `lines`, with a line end between two lines."""
    return [word for line in lines for word in (_LINE_END, *_WORD.findall(line))][1:]


def _is_similar(old: Sequence[str], new: Sequence[str], blocks: Sequence[ComparedBlock]) -> bool:
    letters = max(_letters(old), _letters(new))
    changed = max(
        sum(_letters(old[block.old_start : block.old_end]) for block in blocks),
        sum(_letters(new[block.new_start : block.new_end]) for block in blocks),
    )
    return letters - changed >= letters * _LEAST_SHARED


def _letters(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _marked(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> list[bool]:
    marks = [False] * len(words)
    for start, end in ranges:
        marks[start:end] = [True] * (end - start)
    return marks


def _lines(words: Sequence[str], marks: Sequence[bool], count: int) -> Iterator[Pieces]:
    """The pieces of `count` lines, neighbours of one kind joined."""
    line: list[tuple[str, bool]] = []
    for word, mark in zip(words, marks, strict=True):
        if word == _LINE_END:
            yield _joined(line)
            line = []
        else:
            line.append((word, mark))
    if count:
        yield _joined(line)


def _joined(line: Sequence[tuple[str, bool]]) -> Pieces:
    runs = groupby(line, key=lambda word: word[1])
    return tuple(MarkedText("".join(text for text, _ in run), changed) for changed, run in runs)
